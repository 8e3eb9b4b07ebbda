/** Fills everything bounded, so that later growth is unbounded growth. */

import { setTimeout as pause } from 'node:timers/promises';

import type { Troupe } from '../../src/index.ts';
import type { Member, Settings } from './cast.ts';

// Half a minute, and ten times as long on a machine that is busy with ten other things.
const mostMs = 900_000;

/** The settings of a troupe before it is aged. */
export function youngSettings(members: readonly Member[], edition = 0): Settings {
  return {
    mcpServers: Object.fromEntries(members.map(({ name, standIn }) => [name, standIn(edition)])),
  };
}

/**
 * Replaces every server again and again until its log is full, which fills last of everything
 * bounded. During the soak itself that would take hours and look like a leak.
 */
export async function age(troupe: Troupe, members: readonly Member[]): Promise<void> {
  const untilMs = performance.now() + mostMs;
  const hasFullLog = ({ name }: Member): boolean => (troupe.logs(name)?.[0]?.number ?? 0) > 1;
  const isReady = ({ name }: Member, before: string | undefined): boolean => {
    const status = troupe.status(name);
    return status?.state === 'ready' && status.generation !== before;
  };
  for (let edition = 1; !members.every(hasFullLog); edition += 1) {
    const before = members.map(({ name }) => troupe.status(name)?.generation);
    troupe.send({ type: 'settings.changed', settings: youngSettings(members, edition) });
    while (!members.every((member, index) => isReady(member, before[index]))) {
      if (performance.now() > untilMs) throw new Error(`not aged within ${mostMs} ms`);
      await pause(2);
    }
  }
}
