/** Waits for the lists of servers: their first ones, and those that a caller requests again. */

import type { SnapshotFrom } from 'xstate';

import type { refreshMachine } from '../../../machines/session/list-refresh.ts';
import type { Clock } from '../../domain/clock.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { isOnItsWay, isUsable } from '../../domain/server-state.ts';
import type { ListName } from '../../domain/session.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { refusalAtRest } from '../calls/gate.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import type { ServerView, StatusBoard } from '../status/board.ts';
import type { ServerSnapshot } from '../status/status-of.ts';
import type { Troupe, WaitOptions } from '../troupe.ts';
import { waitOnce } from '../wait-once.ts';
import { afterFirstPass, type FirstPassPorts } from '../waits/for-status.ts';

interface ListPorts {
  readonly parts: { readonly clock: Clock };
  readonly board: StatusBoard;
  readonly catalogs: Pick<Catalogs, 'listedBy'>;
}

type SessionRef = NonNullable<ServerSnapshot['children']['session']>;

// Half a minute for the list, which is its default deadline, and a moment for a list that just ended.
const repeatTimeoutMs = 35_000;

const allLists: readonly ListName[] = ['tools', 'resources', 'prompts'];

/**
 * Sends the request to list again, and waits until the server has answered for all its lists.
 *
 * @throws TroupeError with the reason why its tools were not listed
 */
export async function listedAgain(
  { board, catalogs, parts: { clock } }: ListPorts,
  server: string,
  request: () => void,
  { signal, timeoutMs = repeatTimeoutMs }: WaitOptions,
): Promise<ServerStatus> {
  const deadlineAt = clock.now() + timeoutMs;
  const toolsOf = ({ generation }: ServerStatus) => catalogs.listedBy({ server, generation }).tools;
  const before = board.view(server);
  const tools = before && toolsOf(before.status);
  request();
  for (;;) {
    const { status, session } = usable(server, board.view(server));
    const isListed = toolsOf(status) !== tools;
    const isOver = clock.now() >= deadlineAt;
    if (isListed && (isOver || !isListing(session))) return status;
    if (!isListing(session)) throw notListed(server, session.getSnapshot().context.gaps.tools);
    if (signal?.aborted === true)
      throw new TroupeError('CANCELLED', `The wait for ${server} was cancelled.`, { server });
    if (isOver) throw notListed(server, { message: `nothing came within ${timeoutMs} ms` });
    await waitOnce({ clock, deadlineAt, signal }, (wake) => {
      const settling = session.subscribe({ next: wake, error: wake, complete: wake });
      const unwatch = board.watch(server, wake);
      return () => {
        settling.unsubscribe();
        unwatch();
      };
    });
  }
}

// One minute: the time a server may take to connect and to list its tools, 30 s each.
const firstListTimeoutMs = 60_000;

/**
 * Waits until no server is about to send this list for the first time. A stored list counts; a server
 * that is neither starting nor listing will not send one soon.
 */
export async function waitUntilListed(
  services: ListPorts & FirstPassPorts,
  list: ListName,
  { server, signal, timeoutMs = firstListTimeoutMs }: Parameters<Troupe['listed']>[1] = {},
  isShown: (server: string) => boolean = () => true,
): Promise<boolean> {
  const { board, catalogs, parts } = services;
  const { clock } = parts;
  const deadlineAt = clock.now() + timeoutMs;
  const isRead = afterFirstPass(services, { signal, deadlineAt }).then(
    () => true,
    () => false,
  );
  // Before that, no server is known.
  if (!(await isRead)) return false;
  const isKnown = ({ status: { name, generation, catalog } }: ServerView): boolean => {
    if (list === 'tools') return catalog !== 'none';
    const { unlisted = [] } = catalogs.listedBy({ server: name, generation });
    return !unlisted.some((each) => each === list || (list === 'resources' && each !== 'prompts'));
  };
  for (;;) {
    const awaited = board
      .views()
      .filter(({ status: { name } }) => isShown(name) && (server === undefined || name === server))
      .filter((view) => !isKnown(view))
      .map(({ status, ref }) => ({ status, session: ref.getSnapshot().children.session }))
      .filter(
        ({ status, session }) =>
          isOnItsWay(status.state) || (session !== undefined && isListing(session, [list])),
      );
    if (awaited.length === 0) return true;
    if (signal?.aborted === true || clock.now() >= deadlineAt) return false;
    await waitOnce({ clock, deadlineAt, signal }, (wake) => {
      const ends = awaited.map(({ session }) =>
        session?.subscribe({ next: wake, error: wake, complete: wake }),
      );
      const unwatch = board.watchAll(wake);
      return () => {
        for (const end of ends) end?.unsubscribe();
        unwatch();
      };
    });
  }
}

/** Returns the server's session. @throws TroupeError if the server is not ready. */
function usable(server: string, view: ServerView | undefined) {
  const session = view?.ref.getSnapshot().children.session;
  if (view === undefined || session === undefined || !isUsable(view.status.state))
    throw notUsable(server, view?.status);
  return { status: view.status, session };
}

/** Returns whether a list is being fetched, or will be because the request came during a list. */
function isListing(session: SessionRef, lists: readonly ListName[] = allLists): boolean {
  const { children } = session.getSnapshot();
  return lists.some((list) => {
    const refresh = children[list]?.getSnapshot() as
      | SnapshotFrom<typeof refreshMachine>
      | undefined;
    return refresh?.matches('listing') === true || refresh?.matches({ pausing: 'due' }) === true;
  });
}

function notUsable(server: string, status: ServerStatus | undefined): TroupeError {
  const atRest = status && refusalAtRest(status);
  if (atRest !== undefined) return atRest;
  return new TroupeError(
    'UNAVAILABLE',
    `Server ${server} is ${status?.state ?? 'not there'}, and lists its tools when it becomes ready. Start it, or wait for it: troupe start ${server}`,
    { server, retryable: true },
  );
}

function notListed(server: string, gap: { readonly message: string } | null): TroupeError {
  const cause = gap === null ? '' : `: ${gap.message.replace(/\.$/, '')}`;
  return new TroupeError(
    'TIMEOUT_WAITING',
    `Server ${server} did not list its tools again${cause}. Its earlier list stays; see troupe status ${server}`,
    { server, retryable: true },
  );
}
