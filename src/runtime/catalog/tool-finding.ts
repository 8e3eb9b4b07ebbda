import type { ExposedTool } from '../../domain/tool.ts';
import { isSameTool } from '../../policies/approvals/tool-pins.ts';
import { changedTool, toolChangedSince } from '../errors/call-refusal.ts';
import { hiddenTool, unknownTool } from '../errors/unknown-name.ts';
import type { Sighting } from '../status/board.ts';
import type { ToolList } from './tool-list.ts';

/**
 * Which tool is meant: a server's own name for it, and how it must look if that matters,
 * or an exposed name yet to be found.
 */
export type ToolAddress =
  | { readonly server: string; readonly tool: string; readonly shown?: ExposedTool }
  | { readonly server: string; readonly exposedName: string };

/**
 * The tool as it is shown now, once those of its server are known.
 *
 * @throws TroupeError `TOOL_CHANGED` or `TOOL_UNKNOWN` with the reason why it cannot be called.
 */
export function findTool(address: ToolAddress, sighting: Sighting, tools: ToolList): ExposedTool {
  const { server } = address;
  if ('tool' in address) return shownTool(address, sighting, tools);
  const { exposedName } = address;
  const known = tools.named(exposedName);
  if (known?.server === server) return known;
  const [meant, ...rivals] = tools.aliased(exposedName);
  if (meant?.server === server && rivals.length === 0) return shownTool(meant, sighting, tools);
  if (tools.isHeld(sighting, exposedName)) throw changedTool(server, exposedName);
  const hidden = tools.hiddenBy(sighting, exposedName);
  if (hidden !== undefined) throw hiddenTool(server, hidden);
  throw unknownTool(exposedName, tools.all());
}

function shownTool(
  address: Extract<ToolAddress, { tool: string }>,
  sighting: Sighting,
  tools: ToolList,
): ExposedTool {
  const { server, tool, shown } = address;
  const present = tools.of(server).find((it) => it.tool === tool);
  if (present !== undefined) {
    if (shown !== undefined && !isSameTool(shown, present)) throw toolChangedSince(shown);
    return present;
  }
  if (tools.isHeld(sighting, tool)) throw changedTool(server, tool);
  if (tools.hiddenBy(sighting, tool) !== undefined) throw hiddenTool(server, tool);
  const known = tools.of(server).map((it) => ({ name: it.tool }));
  throw unknownTool(tool, known, server);
}
