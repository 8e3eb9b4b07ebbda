/** Lists what servers offer: tools, resources and prompts, once the servers have settled. */

import type { ServerStatus } from '../../domain/host/status.ts';
import { isUsable } from '../../domain/server-state.ts';
import type { ExposedTool } from '../../domain/tool.ts';
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
): Promise<readonly ExposedTool[]> {
  const { of, error } = await settled(troupe, server, options);
  const tools = troupe.tools().filter(of);
  // A server that is briefly unavailable keeps the tools it last listed.
  if (tools.length === 0 && error !== undefined) throw error;
  return tools;
}

/** Lists resources and templates; otherwise like {@link listTools}. */
export async function listResources(
  troupe: Troupe,
  server: string | undefined,
  options: SettleOptions,
): Promise<ControlResults['resources']> {
  const { of, error, servers } = await settled(troupe, server, options);
  const lists = (): ControlResults['resources'] => ({
    resources: troupe.resources().filter(of),
    resourceTemplates: troupe.resourceTemplates().filter(of),
  });
  const listed = (name: string): boolean => troupe.resources().some((each) => each.server === name);
  const hasWaited = await untilListed(troupe, servers, 'resources', listed, options);
  if (hasWaited) await anyChange(troupe, templatesMs, options);
  const found = lists();
  const isEmpty = found.resources.length === 0 && found.resourceTemplates.length === 0;
  if (isEmpty && error !== undefined) throw error;
  return found;
}

/** Lists prompts; otherwise like {@link listTools}. */
export async function listPrompts(
  troupe: Troupe,
  server: string | undefined,
  options: SettleOptions,
): Promise<ControlResults['prompts']> {
  const { of, error, servers } = await settled(troupe, server, options);
  const listed = (name: string): boolean => troupe.prompts().some((each) => each.server === name);
  await untilListed(troupe, servers, 'prompts', listed, options);
  const prompts = troupe.prompts().filter(of);
  if (prompts.length === 0 && error !== undefined) throw error;
  return { prompts };
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
  isListed: (server: string) => boolean,
  { signal }: SettleOptions,
): Promise<boolean> {
  const awaited = servers.filter(
    ({ name, state, since }) =>
      isUsable(state) &&
      Date.now() - Date.parse(since) < laterListsMs &&
      troupe.profile(name)?.capabilities[list] !== undefined,
  );
  const isDone = (): boolean => awaited.every(({ name }) => isListed(name));
  const bounds = { clock: realClock, deadlineAt: realClock.now() + laterListsMs, signal };
  await waitOnce(bounds, (wake) => {
    const check = (): void => {
      if (isDone()) wake();
    };
    check();
    return troupe.on(`${list}.changed`, check);
  });
  return awaited.length > 0;
}

function anyChange(troupe: Troupe, withinMs: number, { signal }: SettleOptions): Promise<void> {
  const bounds = { clock: realClock, deadlineAt: realClock.now() + withinMs, signal };
  return waitOnce(bounds, (wake) => troupe.on('resources.changed', wake));
}
