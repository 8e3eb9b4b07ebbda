/** Makes an edit and waits until the running troupe, if there is one, has applied it. */

import { defined } from '../../domain/data/defined.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { realClock } from '../../runtime/real-clock.ts';
import { waitOnce } from '../../runtime/wait-once.ts';
import type { CliSession } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';
import { decidingLaunch, findRunning, type RunningTroupe } from '../control/running-troupe.ts';
import type { Launch } from '../launch.ts';

// A reading and a pass take milliseconds, and a reading within the first second of a troupe waits for it.
const applyMs = 5_000;

/** The running troupe, as far as an edit needs it. */
export interface EditedTroupe {
  readonly statusOf: (server: string) => Promise<ServerStatus | undefined>;
  readonly hasTool: (server: string, tool: string) => Promise<boolean>;
}

export interface Edit {
  readonly write: () => Promise<void>;
  readonly isApplied: (troupe: EditedTroupe) => Promise<boolean>;
}

/** `applied`: absent without a running troupe that reads the file. */
export interface EditResult {
  readonly applied?: boolean;
  readonly status?: ServerStatus;
}

/**
 * Runs `use` with the launch whose files decide: that of the running troupe, unless the command names its own.
 */
export async function withEditedTroupe<Result>(
  launch: Launch,
  use: (seen: Launch, running: RunningTroupe | undefined) => Promise<Result>,
): Promise<Result> {
  const running = await findRunning(launch);
  const isItsOwn = running?.differences.includes('--config') ?? false;
  try {
    return await use(decidingLaunch(launch, running), isItsOwn ? undefined : running);
  } finally {
    running?.client.close();
  }
}

/** @param running - undefined: only writes */
export async function applyEdit(
  { output }: CliSession,
  running: RunningTroupe | undefined,
  server: string,
  { write, isApplied }: Edit,
): Promise<EditResult> {
  if (running === undefined) {
    await write();
    return {};
  }
  const { client } = running;
  const troupe = editedTroupe(client);
  let check = (): void => undefined;
  const following = client.follow(['status.changed', 'tools.changed', 'reconciled'], () => check());
  // Reported by the requests.
  following.catch(() => undefined);
  await write();
  await client.request('reload', {});
  let isDone = false;
  const bounds = { clock: realClock, deadlineAt: realClock.now() + applyMs, signal: undefined };
  await waitOnce(bounds, (wake) => {
    check = () => {
      isApplied(troupe).then(
        (is) => {
          isDone ||= is;
          if (is) wake();
        },
        () => undefined,
      );
    };
    check();
    return () => {
      check = () => undefined;
    };
  });
  if (!isDone) output.note('the running troupe has not applied this yet; see troupe status');
  const status = await troupe.statusOf(server);
  return { applied: isDone, ...defined({ status }) };
}

function editedTroupe(client: ControlClient): EditedTroupe {
  return {
    statusOf: async (server) =>
      (await client.request('status', {})).servers.find(({ name }) => name === server),
    // Asks for all servers: asking for one would start it.
    hasTool: async (server, tool) =>
      (await client.request('tools', { timeoutMs: 1 })).tools.some(
        (each) => each.server === server && each.tool === tool,
      ),
  };
}
