/** Calls of tools: resolves the name that a caller uses to its server and to the tool as it is shown. */

import type { NamingPolicy } from '../../domain/policy.ts';
import type { SessionCallOptions, SessionHandle } from '../../domain/session.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import type { ExposedTool, ToolResult } from '../../domain/tool.ts';
import { isSameTool } from '../../policies/approvals/tool-pins.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import { serverPrefixes } from '../../policies/tools/name.ts';
import type { ToolList } from '../catalog/tool-list.ts';
import type { Subject } from '../errors/failed.ts';
import {
  ambiguousAlias,
  changedTool,
  hiddenTool,
  taskTool,
  toolChangedSince,
  unknownTool,
} from '../errors/refused.ts';
import type { StatusBoard } from '../status/board.ts';
import type { Operation } from './operation.ts';

/**
 * Which tool a caller refers to: the server's own name, with the expected definition if that
 * matters, or an exposed name to resolve.
 */
export type ToolAddress =
  | { readonly server: string; readonly tool: string; readonly shown?: ExposedTool }
  | { readonly server: string; readonly exposedName: string };

/** A call of a tool. */
export class ToolOperation implements Operation<ToolResult> {
  readonly server: string;
  readonly args: Readonly<Record<string, unknown>>;
  tool: string | undefined;
  readonly #address: ToolAddress;
  readonly #tools: ToolList;

  constructor(address: ToolAddress, args: Readonly<Record<string, unknown>>, tools: ToolList) {
    this.server = address.server;
    this.args = args;
    this.tool = 'tool' in address ? address.tool : tools.named(address.exposedName)?.tool;
    this.#address = address;
    this.#tools = tools;
  }

  find(desired: DesiredServer): Subject {
    const shown = findTool(this.#address, desired, this.#tools);
    const { tool } = shown;
    this.tool = tool;
    return { tool, words: tool, shown };
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
function findTool(address: ToolAddress, desired: DesiredServer, tools: ToolList): ExposedTool {
  const { server } = address;
  if ('tool' in address) return shownTool(address, desired, tools);
  const { exposedName } = address;
  const known = tools.named(exposedName);
  if (known?.server === server) return known;
  const [meant, ...rivals] = tools.aliased(exposedName);
  if (meant?.server === server && rivals.length === 0) return shownTool(meant, desired, tools);
  if (tools.isHeld(desired, exposedName)) throw changedTool(server, exposedName);
  if (tools.runsAsTask(desired, exposedName)) throw taskTool(server, exposedName);
  const hidden = tools.hiddenBy(desired, exposedName);
  if (hidden !== undefined) throw hiddenTool(desired, hidden);
  throw unknownTool(exposedName, tools.all());
}

function shownTool(
  address: Extract<ToolAddress, { tool: string }>,
  desired: DesiredServer,
  tools: ToolList,
): ExposedTool {
  const { server, tool, shown } = address;
  const present = tools.of(server).find((it) => it.tool === tool);
  if (present !== undefined) {
    if (shown !== undefined && !isSameTool(shown, present)) throw toolChangedSince(shown);
    return present;
  }
  if (tools.isHeld(desired, tool)) throw changedTool(server, tool);
  if (tools.runsAsTask(desired, tool)) throw taskTool(server, tool);
  if (tools.hiddenBy(desired, tool) !== undefined) throw hiddenTool(desired, tool);
  const known = tools.of(server).map((it) => ({ name: it.tool }));
  throw unknownTool(tool, known, server);
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
  tools: ToolList,
  board: StatusBoard,
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
