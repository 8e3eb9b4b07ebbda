import { isFirstRun } from '../../../machines/server/context.ts';
import type { Clock } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import {
  type MissingServer,
  RequiredServersError,
} from '../../domain/host/required-servers-error.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { isUsable } from '../../domain/server-state.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { firstRunExtraMs } from '../../policies/package-download.ts';
import { nameHint } from '../../policies/text/closest-name.ts';
import { refusalAtRest } from '../calls/gate.ts';
import type { RootRef, ServerView, StatusBoard } from '../status/board.ts';
import type { WaitOptions } from '../troupe.ts';
import { waitOnce } from '../wait-once.ts';

/** The parts of a troupe that tell when its settings have been read. */
export interface FirstPassPorts {
  readonly parts: { readonly clock: Clock };
  readonly progress: { readonly hasReadSettings: () => boolean };
  readonly root: RootRef;
}

interface FirstPassBounds {
  readonly signal?: AbortSignal | undefined;
  /** Monotonic time in milliseconds. Default: no deadline. */
  readonly deadlineAt?: number | undefined;
}

/**
 * Waits until the settings have been read, because names are meaningless before that.
 *
 * @throws TroupeError `CANCELLED`, or `CONNECTING` at the call's own deadline.
 */
export async function afterFirstPass(
  { parts: { clock }, progress, root }: FirstPassPorts,
  { signal, deadlineAt = Number.POSITIVE_INFINITY }: FirstPassBounds = {},
): Promise<void> {
  while (!progress.hasReadSettings() && signal?.aborted !== true && clock.now() < deadlineAt) {
    await waitOnce({ clock, deadlineAt, signal }, (wake) => {
      const subscription = root.subscribe({ next: wake, complete: wake, error: wake });
      return () => subscription.unsubscribe();
    });
  }
  if (signal?.aborted === true) {
    throw new TroupeError('CANCELLED', 'The call was cancelled before it was sent.');
  }
  if (deadlineAt <= clock.now()) {
    throw new TroupeError(
      'CONNECTING',
      'The settings were not read within the deadline of the call. Call again, or allow more time.',
      { retryable: true },
    );
  }
}

interface StatusWait {
  readonly board: StatusBoard;
  readonly clock: Clock;
  readonly server: string;
  /** Ends the wait with a status, continues it with undefined, or throws. */
  readonly answer: (view: ServerView | undefined) => ServerStatus | undefined;
  /** Completes the sentence "Server x was not … in time". */
  readonly wanted: string;
  readonly isOver: () => boolean;
}

// One minute: the time a server may take to connect and to list its tools, 30 s each.
const defaultTimeoutMs = 60_000;

/**
 * Waits until a server's status settles the wait.
 *
 * @throws TroupeError `TIMEOUT_WAITING`, `CANCELLED` or `SHUTTING_DOWN`.
 */
export async function waitForStatus(wait: StatusWait, options: WaitOptions): Promise<ServerStatus> {
  const { board, clock, server, answer } = wait;
  const { signal, timeoutMs = defaultTimeoutMs } = options;
  const deadlineAt = clock.now() + timeoutMs;
  for (;;) {
    const found = answer(board.view(server));
    if (found !== undefined) return found;
    if (signal?.aborted === true) {
      throw new TroupeError('CANCELLED', `The wait for ${server} was cancelled.`, { server });
    }
    if (wait.isOver()) {
      throw new TroupeError('SHUTTING_DOWN', `The troupe stopped; ${server} will not change.`, {
        server,
      });
    }
    if (clock.now() >= deadlineAt) {
      throw new TroupeError(
        'TIMEOUT_WAITING',
        `Server ${server} was not ${wait.wanted} in time ${whatInstead(board, server)}`,
        { server, retryable: true },
      );
    }
    await waitOnce({ clock, deadlineAt, signal }, (wake) => board.watch(server, wake));
  }
}

/** Returns the status of a server that matches and is not leaving. */
export function presentStatus(
  view: ServerView | undefined,
  matches: (status: ServerStatus, view: ServerView) => boolean,
): ServerStatus | undefined {
  if (view === undefined || view.leaving) return undefined;
  return matches(view.status, view) ? view.status : undefined;
}

/**
 * Returns whether a server is ready in a later session than before.
 *
 * @throws TroupeError with the reason why it will not become ready
 */
export function isReadyAgain({ status, ref, session }: ServerView, before?: ServerView): boolean {
  // A replacement counts its sessions from 1.
  const isLater = ref !== before?.ref || session > before.session;
  // A stop wins over the restart, also while the old session closes.
  const mayNotStart = ['blocked', 'disabled', 'stopped'].includes(status.state);
  const refusal = isLater || mayNotStart ? refusalAtRest(status) : undefined;
  if (refusal !== undefined) throw refusal;
  return isLater && isUsable(status.state);
}

/** Returns the rest of the message: the current state, or a suggestion for a mistyped name. */
function whatInstead(board: StatusBoard, server: string): string {
  const status = board.status(server);
  if (status !== undefined) return `(it is ${status.state}). Look at it: troupe status ${server}`;
  const names = board.statuses().map(({ name }) => name);
  const hint = nameHint(server, names, 'List what is there: troupe status');
  return `(there is no server of this name). ${hint}`;
}

interface RequiredWait extends Pick<StatusWait, 'board' | 'clock' | 'isOver'> {
  readonly servers: readonly DesiredServer[];
  /** Monotonic time in milliseconds from which the startup timeouts count. */
  readonly since: number;
}

/**
 * Resolves once every required server is ready, or is known not to become ready by itself.
 *
 * @throws RequiredServersError with the servers that are not ready; TroupeError `SHUTTING_DOWN`.
 */
export async function waitForRequired(wait: RequiredWait): Promise<void> {
  const required = wait.servers.filter(({ enabled, policy }) => enabled && policy.startup.required);
  const outcomes = await Promise.all(required.map((server) => isReadyInTime(wait, server)));
  const missing = required.filter((_, place) => outcomes[place] === false);
  if (missing.length > 0) throw new RequiredServersError(missing.map((it) => missingOf(wait, it)));
}

async function isReadyInTime(
  { board, clock, since, isOver }: RequiredWait,
  { name, policy, mayDownload }: DesiredServer,
): Promise<boolean> {
  const answer = (view: ServerView | undefined) =>
    presentStatus(view, (status) => isUsable(status.state) || hasGivenUp(status));
  const context = board.view(name)?.ref.getSnapshot().context;
  const isFirst = context === undefined ? mayDownload === true : isFirstRun(context);
  const extraMs = isFirst ? firstRunExtraMs(policy.connect) : 0;
  const timeoutMs = Math.max(0, since + policy.startup.timeoutMs + extraMs - clock.now());
  try {
    await waitForStatus(
      { board, clock, server: name, answer, wanted: 'ready', isOver },
      { timeoutMs },
    );
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== 'TIMEOUT_WAITING') throw error;
  }
  const view = board.view(name);
  return view !== undefined && isUsable(view.status.state);
}

/**
 * Returns whether a server has given up, because it failed or is dormant after a failure. In other
 * states, the user may still approve it or log in.
 */
function hasGivenUp({ state, lastError }: ServerStatus): boolean {
  return state === 'failed' || (state === 'dormant' && lastError !== undefined);
}

function missingOf({ board }: RequiredWait, { name }: DesiredServer): MissingServer {
  const status = board.status(name);
  return { name, state: status?.state ?? 'stopped', ...defined({ reason: status?.reason }) };
} // prettier-ignore
