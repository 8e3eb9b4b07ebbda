/**
 * Decides which documents count, and which server wins a name that several declare.
 *
 * Documents are ordered by scope. The later server wins, except that a folder's server never
 * takes another layer's name, and a plugin's server never takes a name of the user's. Managed
 * settings win every name, and reduce the user's own settings to the rights of a folder's.
 */

import { isFolderScope, type Problem, problemOf, type Scope, scopes } from '../domain/settings.ts';
import { isServerName, legibleServerName } from '../policies/text/name-rule.ts';
import { isPrivileged, type ParsedServer } from './entry/server-entry.ts';
import type { ParsedDocument, ParsedSettings } from './parse-settings.ts';

export interface Layers {
  /** Lowest precedence first. */
  readonly documents: readonly ParsedDocument[];
  /** Documents whose numbers and rules count. */
  readonly own: readonly ParsedDocument[];
  /** Documents whose lists only narrow. */
  readonly narrowing: readonly ParsedDocument[];
  /** Managed settings; beside them no other server runs. */
  readonly managed?: ParsedDocument;
}

/** Sorts documents by layer; equal scopes keep their order. */
export function layersOf(found: readonly ParsedDocument[]): Layers {
  const documents = scopes.flatMap((scope) => found.filter((document) => document.scope === scope));
  const managed = documents.find(({ scope }) => scope === 'managed');
  const isOwn = ({ scope }: ParsedDocument): boolean =>
    managed === undefined ? isPrivileged(scope) : scope === 'managed';
  const own = documents.filter(isOwn);
  return {
    documents,
    own,
    narrowing: documents.filter(
      (document) => document.scope !== 'plugin' && !own.includes(document),
    ),
    ...(managed === undefined ? {} : { managed }),
  };
}

/** Ranks scopes: the higher one gets the name, and of equal ones the later. */
export function strengthOf(scope: Scope): number {
  if (scope === 'managed') return 3;
  if (isPrivileged(scope)) return 2;
  return isFolderScope(scope) ? 0 : 1;
}

/** Returns the server of each name, in order of first appearance. */
export function winnersOf(documents: readonly ParsedDocument[]): {
  readonly servers: readonly ParsedServer[];
  readonly problems: readonly Problem[];
} {
  const [first, ...others] = documents.filter(({ servers }) => servers.length > 0);
  // The names in one document are unique, unless a plugin's name made some too long.
  if (others.length === 0 && first?.scope !== 'plugin')
    return { servers: first?.servers ?? [], problems: [] };
  const all = documents.flatMap((document) => document.servers);
  // An entry shown under a legible form of its name must not take another server's name.
  const taken = new Set(all.flatMap((it) => (it.isMisnamed === true ? [] : it.desired.name)));
  const winners = new Map<string, ParsedServer>();
  const losers: ParsedServer[] = [];
  const hidden: Problem[] = [];
  for (const server of all) {
    const { name, invalid } = server.desired;
    if (server.isMisnamed === true && taken.has(name)) {
      if (invalid !== undefined) hidden.push(invalid);
      continue;
    }
    const earlier = winners.get(name);
    const order = earlier === undefined ? 1 : strengthIn(server) - strengthIn(earlier);
    if (order < 0) {
      losers.push(server);
      continue;
    }
    if (order > 0 && earlier !== undefined) {
      losers.push(earlier);
      // The winner's position counts, because the budget follows this order.
      winners.delete(name);
    }
    winners.set(name, server);
  }
  const strongest = (name: string): Scope => winners.get(name)?.desired.source.scope ?? 'user';
  return {
    servers: [...winners.values()],
    problems: [
      ...losers.map(({ desired }) => shadowedProblem(desired, strongest(desired.name))),
      ...hidden,
    ],
  };
}

function strengthIn({ desired }: ParsedServer): number {
  return strengthOf(desired.source.scope);
}

function shadowedProblem({ name, source }: ParsedServer['desired'], winner: Scope): Problem {
  const who = isPrivileged(winner) && winner !== 'managed' ? 'your own' : `the ${winner}`;
  const message = `the ${source.scope} server "${name}" is ignored because ${who} settings name it; rename one of the two`;
  return { ...problemOf(source, message), severity: 'warning' };
}

/**
 * Puts `plugin:<plugin>:` before each server's name and removes the section `mcp`, so that two
 * plugins, or a plugin and the user, may use the same name.
 */
export function ofPlugin(plugin: string, parsed: ParsedSettings): ParsedSettings {
  if (parsed.document === undefined) return parsed;
  const servers = parsed.document.servers.map((server) => renamed(server, `plugin:${plugin}:`));
  return { ...parsed, document: { ...parsed.document, servers, mcp: {} } };
}

function renamed(server: ParsedServer, prefix: string): ParsedServer {
  const { desired } = server;
  const name = `${prefix}${desired.name}`;
  if (isServerName(name)) return { ...server, desired: { ...desired, name } };
  const message =
    'the server name is too long with the name of its plugin; shorten one of the two to 100 characters in all';
  const invalid = problemOf(desired.source, message);
  const { spec: _spec, ...rest } = server;
  return {
    ...rest,
    isMisnamed: true,
    desired: { ...desired, name: legibleServerName(name), invalid: desired.invalid ?? invalid },
  };
}
