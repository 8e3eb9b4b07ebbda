import { serverPrefix } from '../policies/expose-tools.ts';
import type { ToolAddress } from './call-errand.ts';
import type { StatusBoard } from './status-board.ts';
import type { ToolList } from './tool-list.ts';
import { unknownTool } from './unknown-name.ts';

/**
 * Finds the server of an exposed name, also while its tools are not known yet.
 *
 * @param absent - names of servers that are not there for a reason that can be told
 * @throws TroupeError `TOOL_UNKNOWN`.
 */
export function addressOf(
  exposedName: string,
  tools: ToolList,
  board: StatusBoard,
  absent: readonly string[],
): ToolAddress {
  const known = tools.named(exposedName);
  if (known !== undefined) return { server: known.server, exposedName };
  const candidates = [...board.statuses().map(({ name }) => name), ...absent]
    .filter((name) => exposedName.startsWith(serverPrefix(name)))
    .sort((a, b) => serverPrefix(b).length - serverPrefix(a).length);
  const [server] = candidates;
  if (server === undefined) throw unknownTool(exposedName, tools.all());
  return { server, exposedName };
}
