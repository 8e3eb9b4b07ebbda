/** Lists what servers offer: tools, resources and prompts, once the servers have settled. */

import type { ServerStatus } from '../../domain/host/status.ts';
import { isUsable } from '../../domain/server-state.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { waitOnce } from '../../runtime/wait-once.ts';
import type { ControlResults } from './protocol.ts';
import {
  demandServer,
  type SettleOptions,
  unusableError,
  waitUntilSettled,
} from './settled-servers.ts';

// A server is ready before resources and prompts are listed. Two seconds after that, a list that is
// still empty is taken for empty.
const laterListsMs = 2_000;
// Templates are listed right after resources, and most servers have none.
const templatesMs = 250;

/**
 * Lists the tools of all servers once they have settled, or of one, which is started if necessary.
 * @throws TroupeError when that one is unusable
 */
export async function listTools(
  troupe: Troupe,
  server: string | undefined,
  options: SettleOptions,
): Promise<ControlResults['tools']> {
  const { of, error } = await settled(troupe, server, options);
  return found({ tools: troupe.tools().filter(of) }, error);
}

/** Lists resources and templates; otherwise like {@link listTools}. */
export async function listResources(
  troupe: Troupe,
  server: string | undefined,
  options: SettleOptions,
): Promise<ControlResults['resources']> {
  const { of, error, servers } = await settled(troupe, server, options);
  if (await untilListed(troupe, servers, 'resources', options))
    await waitOnce(within(templatesMs, options), (wake) => troupe.on('resources.changed', wake));
  const resources = troupe.resources().filter(of);
  return found({ resources, resourceTemplates: troupe.resourceTemplates().filter(of) }, error);
}

/** Lists prompts; otherwise like {@link listTools}. */
export async function listPrompts(
  troupe: Troupe,
  server: string | undefined,
  options: SettleOptions,
): Promise<ControlResults['prompts']> {
  const { of, error, servers } = await settled(troupe, server, options);
  await untilListed(troupe, servers, 'prompts', options);
  return found({ prompts: troupe.prompts().filter(of) }, error);
}

/** A server that is briefly unavailable keeps what it last listed. */
function found<Lists extends object>(lists: Lists, error: Error | undefined): Lists {
  const isEmpty = Object.values(lists).every((list: readonly unknown[]) => list.length === 0);
  if (isEmpty && error !== undefined) throw error;
  return lists;
}

async function settled(troupe: Troupe, server: string | undefined, options: SettleOptions) {
  if (server === undefined) {
    const servers = await waitUntilSettled(troupe, undefined, options);
    return { servers, of: () => true };
  }
  const status = await demandServer(troupe, server, options);
  return {
    servers: [status],
    of: (item: { readonly server: string }) => item.server === server,
    error: unusableError(status),
  };
}

/**
 * Waits until each server that has just become ready and offers such a list has listed something.
 * Returns whether there was anything to wait for.
 */
async function untilListed(
  troupe: Troupe,
  servers: readonly ServerStatus[],
  list: 'resources' | 'prompts',
  options: SettleOptions,
): Promise<boolean> {
  const awaited = servers.filter(
    ({ name, state, since }) =>
      isUsable(state) &&
      Date.now() - Date.parse(since) < laterListsMs &&
      troupe.profile(name)?.capabilities[list] !== undefined,
  );
  await waitOnce(within(laterListsMs, options), (wake) => {
    const check = (): void => {
      const listed = new Set(troupe[list]().map(({ server }) => server));
      if (awaited.every(({ name }) => listed.has(name))) wake();
    };
    check();
    return troupe.on(`${list}.changed`, check);
  });
  return awaited.length > 0;
}

function within(limitMs: number, { signal }: SettleOptions) {
  return { clock: realClock, deadlineAt: realClock.now() + limitMs, signal };
}
