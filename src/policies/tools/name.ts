/** Builds a tool's exposed name by its policy. `expose-tools.ts` resolves collisions. */

import { createHash } from 'node:crypto';
import type { NamingPolicy } from '../../domain/policy.ts';
import { defaultPolicy } from '../presets/default-policy.ts';

// Eight digits of base 36 hold 40 bits: among 10,000 tools, two with the same beginning share a
// hash with a probability of 1 in 20,000, and even then they get different names.
const hashLength = 8;
// The share of a cut name before the gap; the tool's own name is mostly behind it.
const headShare = 28 / 60;
const gap = '___';

export type ToolNamer = ReturnType<typeof toolNamer>;

/** Builds the names of one server's tools; their common parts are computed once. */
export function toolNamer(naming: NamingPolicy, server: string) {
  const { overflow, maxLength } = naming;
  const spell = speller(naming, naming.template, server);
  return {
    /**
     * Returns the preferred name of a tool; `hashed` when only a hash makes it unique, and
     * `refused` when the policy allows no name.
     *
     * `rank` is the distance from the tool's own name, which decides a collision: 0 = the name
     * spells server and tool exactly, 1 = except for changes that the policy asks for (lower
     * case, single separators, no prefix of the server), 2 = its middle is cut.
     */
    wanted(tool: string): { name: string; rank: 0 | 1 | 2 } | 'hashed' | 'refused' {
      const { name, isClean, isExact } = spell(tool);
      const isLong = name.length > maxLength;
      if (isLong && overflow === 'error') return 'refused';
      // A replaced character: the name may belong to another tool.
      if (!isClean || (isLong && overflow === 'hash')) return 'hashed';
      if (isLong) return { name: withoutMiddle(name, maxLength), rank: 2 };
      return { name, rank: isExact ? 0 : 1 };
    },
    /** Returns a name that is almost certainly unique; another `salt` gives another name. */
    hashed(tool: string, salt: number): string {
      const salted = salt === 0 ? `${server}\0${tool}` : `${server}\0${tool}\0${salt}`;
      return `${spell(tool).name.slice(0, maxLength - hashLength - 1)}_${hashOf(salted)}`;
    },
  };
}

/** The names under which a tool may be exposed, the preferred one first. */
export function toolNamesOf(
  server: string,
  tool: string,
  naming: NamingPolicy = defaultPolicy.naming,
): readonly string[] {
  const namer = toolNamer(naming, server);
  const wanted = namer.wanted(tool);
  const hashed = namer.hashed(tool, 0);
  return typeof wanted === 'string' ? [hashed] : [wanted.name, hashed];
}

/** Returns further spellings that a call may use. Two tools may share one, so it identifies no tool. */
export function toolAliasesOf(
  server: string,
  tool: string,
  naming: NamingPolicy,
): readonly string[] {
  return naming.aliases.map((template) => speller(naming, template, server)(tool).name);
}

/**
 * Lists the prefixes of a server's exposed names, including aliases; none for a template that does not
 * begin with the server. Another server's tools may share a prefix: it narrows a search and does not
 * identify the server.
 */
export function serverPrefixes(
  server: string,
  naming: NamingPolicy = defaultPolicy.naming,
): readonly string[] {
  const { template, aliases, maxLength } = naming;
  return [template, ...aliases].flatMap((one) => {
    const start = one.slice(0, one.indexOf('{tool}'));
    if (!start.includes('{server}')) return [];
    const { name } = speller(naming, start, server)('');
    return [name.slice(0, cutBefore(naming, maxLength))];
  });
}

/** The beginning of the exposed names of one server's tools. */
export interface ServerInName {
  readonly server: string;
  /** The text before the server, the prefix, and the text between server and tool; absent when names do not begin with the server. */
  readonly place?: { readonly lead: string; readonly prefix: string; readonly parting: string };
}

export function serverInName(server: string, naming: NamingPolicy): ServerInName {
  const [prefix] = serverPrefixes(server, { ...naming, aliases: [] });
  if (prefix === undefined) return { server };
  const { template } = naming;
  const [lead, parting] = template.slice(0, template.indexOf('{tool}')).split('{server}');
  return { server, place: { lead: String(lead), prefix, parting: templateText(String(parting)) } };
}

/** Returns how many of its own characters a cut name keeps at least. */
function cutBefore({ overflow }: NamingPolicy, maxLength: number): number {
  const hashed = maxLength - hashLength - 1;
  return overflow === 'middle' ? Math.min(hashed, headLength(maxLength)) : hashed;
}

/** Returns a function that spells a tool's name by a template. */
function speller(naming: NamingPolicy, template: string, server: string) {
  const respelled = (text: string, whenEmpty: string): string => {
    const cased = naming.case === 'lower' ? text.toLowerCase() : text;
    return naming.separators === 'keep' ? cased : singleSeparators(cased) || whenEmpty;
  };
  const ownServer = respelled(server, 'server');
  const shownServer = nameCharacters(ownServer);
  const around = template
    .split('{tool}')
    .map((part) => part.split('{server}').map(templateText).join(shownServer));
  return (tool: string) => {
    const ownTool = respelled(tool, 'tool');
    const short = naming.stripServerPrefix ? withoutPrefix(ownTool, ownServer) : ownTool;
    const shownTool = nameCharacters(short);
    return {
      name: around.join(shownTool),
      /** Whether no character was replaced except as the policy asks. */
      isClean: shownServer === ownServer && shownTool === short,
      /** The name holds the server and the tool as they call themselves. */
      isExact: ownServer === server && short === tool,
    };
  };
}

function singleSeparators(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9]+/gu, '_').replaceAll(/^_|_$/gu, '');
}

/** Shortens `github_search` of `github` to `search`; a tool named `github` keeps its name. */
function withoutPrefix(tool: string, server: string): string {
  const rest = tool.slice(server.length);
  return tool.startsWith(server) && /^[_-]./u.test(rest) ? rest.slice(1) : tool;
}

function withoutMiddle(name: string, maxLength: number): string {
  const head = headLength(maxLength);
  return `${name.slice(0, head)}${gap}${name.slice(head + gap.length - maxLength)}`;
}

function headLength(maxLength: number): number {
  return Math.floor((maxLength - gap.length) * headShare);
}

/** The characters that a template may add to a name. */
function templateText(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_.:/-]/gu, '_');
}

function nameCharacters(text: string): string {
  // Most names need no change, and checking is cheaper than copying.
  return /^[A-Za-z0-9_-]*$/.test(text) ? text : text.replaceAll(/[^A-Za-z0-9_-]/gu, '_');
}

function hashOf(text: string): string {
  const bits = Number.parseInt(createHash('sha256').update(text).digest('hex').slice(0, 10), 16);
  return bits.toString(36).padStart(hashLength, '0');
}
