import type { NamingPolicy } from '../../domain/policy.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import { serverPrefixes } from '../../policies/tools/name.ts';
import { ambiguousAlias, unknownTool } from '../errors/unknown-name.ts';
import type { StatusBoard } from '../status/board.ts';
import type { ToolAddress } from './tool-finding.ts';
import type { ToolList } from './tool-list.ts';

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
