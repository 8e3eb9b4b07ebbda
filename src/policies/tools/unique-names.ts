/** Gives every tool a unique exposed name. */

import type { NamingPolicy } from '../../domain/policy.ts';
import { compare } from '../text/compare.ts';
import { type ToolNamer, toolNamer } from './name.ts';

/** A tool by its server and the name from which its exposed name is made. */
export interface NamedTool {
  readonly server: string;
  readonly tool: string;
  /** The same for all tools of a server. */
  readonly naming: NamingPolicy;
}

/** A tool that is not shown because of its name. */
export interface NamelessTool {
  readonly server: string;
  readonly tool: string;
  readonly why: 'long' | 'collision';
}

/**
 * Returns tools with unique names, sorted by name, within the length limit of their policy.
 *
 * A tool keeps its plain name if the name spells its server and itself exactly, or as its
 * policy requires. A name with a replaced character or a cut end always ends in a hash, so
 * that a server `my.db` cannot take the names of `my_db`. Some names remain ambiguous (`a`,
 * `b__c` and `a__b`, `c`). The more exact one wins, then the first by server and tool, but
 * never the server that started first; the other gets a hash. A policy may instead give both
 * a hash, or hide both.
 *
 * @param tools - those of one server have different names
 * @param onNameless - called for each tool that is left out because of its name
 */
export function uniqueNames<Tool extends NamedTool>(
  tools: readonly Tool[],
  onNameless: (tool: NamelessTool) => void = () => {},
): readonly (readonly [name: string, tool: Tool])[] {
  const claims = new Map<string, Claim<Tool>[]>();
  const unnamed: Tool[] = [];
  const namerOf = namers();
  const leaveOut = ({ server, tool }: Tool, why: NamelessTool['why']) =>
    onNameless({ server, tool, why });
  for (const tool of tools.toSorted(byOrigin)) {
    const wanted = namerOf(tool).wanted(tool.tool);
    if (wanted === 'refused') leaveOut(tool, 'long');
    else if (wanted === 'hashed') unnamed.push(tool);
    else claim(claims, wanted.name, { tool, rank: wanted.rank });
  }
  const named = new Map<string, Tool>();
  for (const [name, rivals] of claims) {
    const { winner, losers } = judge(rivals);
    if (winner !== undefined) named.set(name, winner);
    if (losers === 'nameless') for (const { tool } of rivals) leaveOut(tool, 'collision');
    else unnamed.push(...losers);
  }
  // Plain names first: a hashed name must never displace a plain one.
  for (const tool of unnamed.sort(byOrigin)) {
    const namer = namerOf(tool);
    let salt = 0;
    while (named.has(namer.hashed(tool.tool, salt))) salt += 1;
    named.set(namer.hashed(tool.tool, salt), tool);
  }
  return [...named].sort(([a], [b]) => compare(a, b));
}

/** Returns a function that makes one namer for each server. */
function namers(): (tool: NamedTool) => ToolNamer {
  const made = new Map<string, ToolNamer>();
  return ({ server, naming }) => {
    const namer = made.get(server) ?? toolNamer(naming, server);
    made.set(server, namer);
    return namer;
  };
}

interface Claim<Tool> {
  readonly tool: Tool;
  readonly rank: number;
}

function claim<Tool>(claims: Map<string, Claim<Tool>[]>, name: string, one: Claim<Tool>): void {
  const rivals = claims.get(name);
  if (rivals === undefined) claims.set(name, [one]);
  else rivals.push(one);
}

/** Decides which tool gets a name that several want; the strictest policy applies. */
function judge<Tool extends NamedTool>(
  rivals: readonly Claim<Tool>[],
): { readonly winner?: Tool | undefined; readonly losers: readonly Tool[] | 'nameless' } {
  const [only] = rivals;
  if (rivals.length === 1) return { winner: only?.tool, losers: [] };
  const all = rivals.toSorted((a, b) => a.rank - b.rank).map(({ tool }) => tool);
  const wishes = new Set(all.map(({ naming }) => naming.collision));
  if (!wishes.has('error') && !wishes.has('suffix'))
    return { winner: all[0], losers: all.slice(1) };
  return { losers: wishes.has('error') ? 'nameless' : all };
}

function byOrigin(a: NamedTool, b: NamedTool): number {
  return compare(a.server, b.server) || compare(a.tool, b.tool);
}
