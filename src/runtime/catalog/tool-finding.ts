import type { NamingPolicy } from '../../domain/policy.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { isSameTool } from '../../policies/approvals/tool-pins.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import { serverPrefixes } from '../../policies/tools/name.ts';
import { changedTool, toolChangedSince } from '../errors/call-refusal.ts';
import { ambiguousAlias, hiddenTool, unknownTool } from '../errors/unknown-name.ts';
import type { Sighting, StatusBoard } from '../status/board.ts';
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

/**
 * Finds the server of an exposed name, or of an alias that means one tool; also while
 * its tools are not known yet.
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
  const meant = tools.aliased(exposedName);
  if (meant.length > 1) throw ambiguousAlias(exposedName, meant);
  if (meant[0] !== undefined) return meant[0];
  const sightings = board.sightings();
  const namings = new Set([defaultPolicy.naming, ...sightings.map(namingOf)]);
  const longest = (server: string, those: Iterable<NamingPolicy>): Candidate => {
    const prefixes = [...those].flatMap((naming) => serverPrefixes(server, naming));
    const lengths = prefixes.flatMap((it) => (exposedName.startsWith(it) ? it.length : []));
    return { server, length: Math.max(0, ...lengths) };
  };
  const candidates = [
    ...board.statuses().map(({ name }) => {
      const sighting = board.sighting(name);
      return longest(name, sighting === undefined ? namings : [namingOf(sighting)]);
    }),
    // How the tools of a server that is gone were named, nobody knows any more.
    ...absent.map((name) => longest(name, namings)),
  ];
  const [best] = candidates.sort((a, b) => b.length - a.length);
  if (best === undefined || best.length === 0) throw unknownTool(exposedName, tools.all());
  return { server: best.server, exposedName };
}

interface Candidate {
  readonly server: string;
  /** Of the longest of its prefixes that the name begins with. */
  readonly length: number;
}

function namingOf({ desired }: ReturnType<StatusBoard['sightings']>[number]): NamingPolicy {
  return desired.policy.naming;
}
