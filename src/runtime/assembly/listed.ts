import { isOnItsWay } from '../../domain/server-state.ts';
import type { ListName } from '../../domain/session.ts';
import type { ServerView } from '../status/board.ts';
import type { Troupe } from '../troupe.ts';
import { waitOnce } from '../wait-once.ts';
import { isListing, type SessionRef } from './list-refresh.ts';
import { afterFirstPass } from './server-requests.ts';
import type { Services } from './services.ts';

// One minute: the time a server may take to connect and to list its tools, 30 s each.
const defaultTimeoutMs = 60_000;

/**
 * Waits until no server is about to send this list for the first time. A stored list counts; a server
 * that is neither starting nor listing will not send one soon.
 */
export async function waitUntilListed(
  services: Services,
  list: ListName,
  { server, signal, timeoutMs = defaultTimeoutMs }: Parameters<Troupe['listed']>[1] = {},
): Promise<boolean> {
  const { board, catalogs, parts } = services;
  const { clock } = parts;
  const deadlineAt = clock.now() + timeoutMs;
  const given = { timeoutMs, ...(signal !== undefined && { signal }) };
  // Before that, no server is known.
  if (!(await afterFirstPass(services, given).catch(() => undefined))) return false;
  const isKnown = ({ status: { name, generation, catalog } }: ServerView): boolean => {
    if (list === 'tools') return catalog !== 'none';
    const { unlisted = [] } = catalogs.listedBy({ server: name, generation });
    return !unlisted.some((each) => each === list || (list === 'resources' && each !== 'prompts'));
  };
  for (;;) {
    const awaited = board
      .views()
      .filter((view) => (server === undefined || view.status.name === server) && !isKnown(view))
      .map(({ status, ref }) => ({ status, session: ref.getSnapshot().children.session }))
      .filter(({ status, session }) => isOnItsWay(status.state) || isListingNow(session, list));
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

function isListingNow(session: SessionRef | undefined, list: ListName): boolean {
  return session !== undefined && isListing(session, [list]);
}
