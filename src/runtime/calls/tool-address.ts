/** Calls of tools: resolves the name that a caller uses to its server and to the tool as it is shown. */

import type { NamingPolicy } from '../../domain/policy.ts';
import type { SessionCallOptions, SessionHandle } from '../../domain/session.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import type { ExposedTool, ToolResult } from '../../domain/tool.ts';
import { isSameTool } from '../../policies/approvals/tool-pins.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import { serverPrefixes } from '../../policies/tools/name.ts';
import type { ToolAddress, ToolNames } from '../catalog/tool-names.ts';
import type { Subject } from '../errors/failed.ts';
import { ambiguousAlias, toolChangedSince, unknownTool } from '../errors/refused.ts';
import type { Operation } from './operation.ts';

/** A call of a tool. */
export class ToolOperation implements Operation<ToolResult> {
  readonly server: string;
  readonly kind = 'callTool';
  args: Readonly<Record<string, unknown>>;
  tool: string | undefined;
  readonly calledAs: string;
  readonly #address: ToolAddress;
  /** Read again for each attempt, because a view may change. */
  readonly #names: { readonly tools: ToolNames };

  constructor(
    address: ToolAddress,
    args: Readonly<Record<string, unknown>>,
    names: { readonly tools: ToolNames },
  ) {
    this.server = address.server;
    this.args = args;
    this.calledAs = 'tool' in address ? address.tool : address.exposedName;
    this.tool = names.tools.ownName(address);
    this.#address = address;
    this.#names = names;
  }

  get params(): Readonly<Record<string, unknown>> {
    return this.args;
  }

  get shownTool(): string | undefined {
    return this.tool && this.#names.tools.shownName(this.server, this.tool);
  }

  find(desired: DesiredServer): Subject {
    const { tools } = this.#names;
    const seen = findTool(this.#address, desired, tools);
    const shown = tools.wholeOf(seen);
    this.tool = shown.tool;
    return { tool: seen.tool, words: seen.tool, shown };
  }

  perform(handle: SessionHandle, options: SessionCallOptions) {
    return handle.callTool(this.tool as string, this.args, options);
  }
}

/**
 * Finds the tool as it is currently shown; its server's tools must be known.
 *
 * @throws TroupeError `TOOL_CHANGED`, `CAPABILITY_MISSING` for a tool that runs only as a task, or
 * `TOOL_UNKNOWN` with the reason why it cannot be called.
 */
function findTool(address: ToolAddress, desired: DesiredServer, tools: ToolNames): ExposedTool {
  const { server } = address;
  if ('tool' in address) return shownTool(address, desired, tools);
  const { exposedName } = address;
  const known = tools.named(exposedName);
  if (known?.server === server) return known;
  const [meant, ...rivals] = tools.aliased(exposedName);
  if (meant?.server === server && rivals.length === 0) return shownTool(meant, desired, tools);
  throw tools.withheld(desired, exposedName) ?? unknownTool(exposedName, tools.all());
}

function shownTool(
  address: Extract<ToolAddress, { tool: string }>,
  desired: DesiredServer,
  tools: ToolNames,
): ExposedTool {
  const { server, tool, shown } = address;
  const present = tools.of(server).find((it) => it.tool === tool);
  if (present !== undefined) {
    if (shown !== undefined && !isSameTool(shown, present)) throw toolChangedSince(shown);
    return present;
  }
  const known = tools.of(server).map((it) => ({ name: it.tool }));
  throw tools.withheld(desired, tool) ?? unknownTool(tool, known, server);
}

/**
 * Finds the server of an exposed name or an unambiguous alias, even while its tools are not known
 * yet.
 *
 * @param absent - returns the names of servers that are missing for a known reason
 * @throws TroupeError `TOOL_UNKNOWN`.
 */
export function addressOf(
  exposedName: string,
  tools: ToolNames,
  board: { readonly statuses: () => readonly { readonly name: string }[] },
  namingOf: (server: string) => NamingPolicy,
  absent: () => readonly string[],
): ToolAddress {
  const known = tools.named(exposedName);
  if (known !== undefined) return { server: known.server, exposedName };
  const meant = tools.aliased(exposedName);
  if (meant.length > 1) throw ambiguousAlias(exposedName, meant);
  if (meant[0] !== undefined) return meant[0];
  const names = board.statuses().map(({ name }) => name);
  const namings = new Set([defaultPolicy.naming, ...names.map(namingOf)]);
  const longest = (server: string, those: Iterable<NamingPolicy>): Candidate => {
    const prefixes = [...those].flatMap((naming) => serverPrefixes(server, naming));
    const lengths = prefixes.flatMap((it) => (exposedName.startsWith(it) ? it.length : []));
    return { server, length: Math.max(0, ...lengths) };
  };
  const candidates = [
    ...names.map((name) => longest(name, [namingOf(name)])),
    // A removed server's naming is unknown.
    ...absent().map((name) => longest(name, namings)),
  ];
  const [best] = candidates.sort((a, b) => b.length - a.length);
  if (best === undefined || best.length === 0) throw unknownTool(exposedName, tools.all());
  return { server: best.server, exposedName };
}

interface Candidate {
  readonly server: string;
  /** Length of the server's longest prefix of the name. */
  readonly length: number;
}
