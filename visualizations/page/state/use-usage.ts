/** How much servers are used and what they use, asked for while a view shows it. */

import { useEffect, useMemo, useState } from 'preact/hooks';
import type { MemoryUse, ServerUsage } from '../../../src/domain/host/status.ts';
import { command } from './api.ts';
import { canAct, usePage } from './store.ts';
import { useAsked } from './use-asked.ts';

export interface Usage {
  /** Number of calls by server; as recorded where the troupe cannot be asked. */
  readonly calls: ReadonlyMap<string, number>;
  /** By server with a process; undefined before the first answer, and where it was not recorded. */
  readonly memory: ReadonlyMap<string, MemoryUse> | undefined;
  /** Whether a moment is shown of which no memory was recorded. */
  readonly isRecording: boolean;
}

// A process rarely grows faster than someone reads, and the whole process list is read each time.
const pauseMs = 3_000;

/** @param server - one server. Default: all */
export function useUsage(isWanted: boolean, server?: string): Usage {
  const isLive = usePage(canAct);
  const revision = usePage((state) => (isWanted ? state.revision : 0));
  const world = usePage((state) => state.world);
  const isAsked = isWanted && isLive;
  const round = useRounds(isAsked);
  const args = server === undefined ? {} : { server };
  const { answer } = useAsked(isAsked ? `usage ${server ?? ''}` : undefined, round, () =>
    command<{ readonly usage: readonly ServerUsage[] }>('usage', args),
  );
  return useMemo(() => {
    const asked = answer?.usage.map(({ server: name, calls }) => [name, calls] as const) ?? [];
    const memory = answer?.usage.flatMap(({ server: name, memory: use }) =>
      use === undefined ? [] : [[name, use] as const],
    );
    return {
      calls: new Map([...world.calls, ...asked]),
      memory: memory && new Map(memory),
      isRecording: !isLive,
    };
  }, [answer, world, revision, isLive]);
}

/** Counts up from time to time while the page is visible. */
function useRounds(isCounting: boolean): number {
  const [round, setRound] = useState(0);
  useEffect(() => {
    if (!isCounting) return undefined;
    const next = (): void => {
      if (!document.hidden) setRound((count) => count + 1);
    };
    const timer = setInterval(next, pauseMs);
    return () => clearInterval(timer);
  }, [isCounting]);
  return round;
}
