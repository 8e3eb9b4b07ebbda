/** Gives every tool the one name by which callers reach it. */

import { createHash } from 'node:crypto';
import type { ToolFilter } from '../domain/settings.ts';
import type { ExposedTool, ListedTool, ToolAnnotations } from '../domain/tool.ts';
import { defaultPolicy } from './default-policy.ts';
import { printableLine, printableText } from './printable.ts';
import { passesFilter } from './tool-filter.ts';

// No preset is obeyed here yet: names are those of the default.
const { maxLength: maxNameLength } = defaultPolicy.naming;
// Eight digits of base 36 hold 40 bits: among 10,000 tools, two that begin alike
// and share a hash are a chance of 1 in 20,000, and even then get different names.
const hashLength = 8;
const keptLength = maxNameLength - hashLength - 1;
const maxTitleLength = 128;

/** The tools of one server, as far as they are known. */
export interface ServerTools {
  readonly server: string;
  readonly filter: ToolFilter;
  readonly catalog: ExposedTool['catalog'];
  readonly tools: readonly ListedTool[];
  /** Characters of a description that are shown; 0 = none at all. */
  readonly descriptionMaxLength: number;
}

/**
 * Lists the tools that callers see, under names that are unique, at most 64
 * characters long and sorted.
 *
 * A tool keeps its plain name when that spells its server and itself exactly. A
 * name in which a character had to be replaced, or that had to be cut, always
 * ends in a hash, so that a server `my.db` cannot take the names of `my_db`.
 * What is left are names that read in two ways (`a`, `b__c` and `a__b`, `c`):
 * origin (server, then tool) decides, never the order in which servers came up,
 * and the other gets a hash. Of tools that one server lists twice, the first
 * counts.
 */
export function exposeTools(servers: readonly ServerTools[]): readonly ExposedTool[] {
  const origins = servers.flatMap(originsOf).sort(byOrigin);
  const named = new Map<string, Origin>();
  // Plain names first: a hash must never take the name that a tool has by right.
  const unnamed = origins.filter((origin) => {
    const plain = faithfulName(origin.server, origin.tool.name);
    if (plain === undefined || named.has(plain)) return true;
    named.set(plain, origin);
    return false;
  });
  for (const origin of unnamed) {
    let salt = 0;
    while (named.has(hashedName(origin.server, origin.tool.name, salt))) salt += 1;
    named.set(hashedName(origin.server, origin.tool.name, salt), origin);
  }
  return [...named]
    .map(([name, origin]) => exposed(name, origin))
    .sort((a, b) => compare(a.name, b.name));
}

/**
 * What the exposed names of all tools of a server begin with. Tools of another
 * server may begin with it too: it says where to look, not whose a tool is.
 */
export function serverPrefix(server: string): string {
  return plainName(server, '').slice(0, keptLength);
}

/** The names under which a tool may be exposed, the preferred one first. */
export function toolNamesOf(server: string, tool: string): readonly string[] {
  const plain = faithfulName(server, tool);
  const hashed = hashedName(server, tool, 0);
  return plain === undefined ? [hashed] : [plain, hashed];
}

interface Origin {
  readonly server: string;
  readonly catalog: ExposedTool['catalog'];
  readonly tool: ListedTool;
  readonly descriptionMaxLength: number;
}

function originsOf(from: ServerTools): readonly Origin[] {
  const { server, filter, catalog, tools, descriptionMaxLength } = from;
  const byName = new Map<string, Origin>();
  for (const tool of tools) {
    if (byName.has(tool.name) || !passesFilter(filter, tool.name)) continue;
    byName.set(tool.name, { server, catalog, tool, descriptionMaxLength });
  }
  return [...byName.values()];
}

/** The plain name, unless it had to be changed: then another tool may have it by right. */
function faithfulName(server: string, tool: string): string | undefined {
  const plain = plainName(server, tool);
  return plain === `mcp__${server}__${tool}` && plain.length <= maxNameLength ? plain : undefined;
}

function plainName(server: string, tool: string): string {
  return `mcp__${nameCharacters(server)}__${nameCharacters(tool)}`;
}

function hashedName(server: string, tool: string, salt: number): string {
  const salted = salt === 0 ? `${server}\0${tool}` : `${server}\0${tool}\0${salt}`;
  return `${plainName(server, tool).slice(0, keptLength)}_${hashOf(salted)}`;
}

function nameCharacters(text: string): string {
  return text.replaceAll(/[^A-Za-z0-9_-]/gu, '_');
}

function hashOf(text: string): string {
  const bits = Number.parseInt(createHash('sha256').update(text).digest('hex').slice(0, 10), 16);
  return bits.toString(36).padStart(hashLength, '0');
}

function byOrigin(a: Origin, b: Origin): number {
  return compare(a.server, b.server) || compare(a.tool.name, b.tool.name);
}

// By code unit: what a locale thinks of an order differs between machines.
function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

function exposed(
  name: string,
  { server, catalog, tool, descriptionMaxLength }: Origin,
): ExposedTool {
  const { description, inputSchema, annotations } = tool;
  const title = tool.title ?? annotations?.title;
  return {
    name,
    server,
    tool: tool.name,
    ...(title === undefined ? {} : { title: printableLine(title, maxTitleLength) }),
    ...(description === undefined || descriptionMaxLength === 0
      ? {}
      : { description: printableText(description, descriptionMaxLength) }),
    inputSchema,
    ...(annotations === undefined ? {} : { annotations: shownAnnotations(annotations) }),
    catalog,
  };
}

function shownAnnotations(annotations: ToolAnnotations): ToolAnnotations {
  if (annotations.title === undefined) return annotations;
  return { ...annotations, title: printableLine(annotations.title, maxTitleLength) };
}
