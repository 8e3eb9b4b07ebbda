/**
 * Joins the documents of all sources into one settings value.
 *
 * Later documents win, by server name. What a folder brings may only narrow: it
 * never takes the name of a server that the user's own settings hold, its
 * `excluded` adds and its `allowed` intersects, its numbers do not count.
 */

import type { PolicyChoice } from '../domain/policy.ts';
import type { ServerSpec } from '../domain/server-spec.ts';
import { isFolderScope, type Limit, type Problem, type Settings } from '../domain/settings.ts';
import { defaultPolicy } from '../policies/default-policy.ts';
import { chosenPolicy } from '../policies/override-policy.ts';

import { type ParsedDocument, type ParsedSettings, refuseCommands } from './parse-settings.ts';
import { type ParsedServer, withPolicy } from './server-entry.ts';

export interface MergedSettings {
  readonly settings: Settings;
  /** What decides each connection, by generation; kept out of the settings because it may hold secrets. */
  readonly specs: ReadonlyMap<string, ServerSpec>;
}

// As many as there may be servers: nobody ever stands in line.
const unlimitedSlots = 10_000;

/**
 * Merges sources, lowest precedence first; a source without a document only
 * brings its problems. The overlay, when there is one, comes last.
 *
 * @param policy - where all policies start: the host's choice, before any file's
 */
export function mergeSettings(
  sources: readonly ParsedSettings[],
  overlay?: ParsedSettings,
  policy: PolicyChoice = { overrides: {} },
): MergedSettings {
  const all = overlay === undefined ? sources : [...sources, overlay];
  const written = all.flatMap(({ document }) => document ?? []);
  const own = written.filter(({ scope }) => !isFolderScope(scope));
  const mayRunCommands = lastOf(own, ({ mcp }) => mcp.commandValues) ?? false;
  const documents = mayRunCommands ? written : written.map(refuseCommands);
  const { servers, ignored } = serversOf(documents);
  const allowed = allowedOf(documents);
  const base = own.reduce(
    (before, { mcp }) => (mcp.policy === undefined ? before : chosenPolicy(before, mcp.policy)),
    chosenPolicy(defaultPolicy, policy),
  );
  const { startup, connect, catalog } = base;
  const limits = limitsOf(documents);
  return {
    specs: new Map(
      servers.flatMap(({ desired, spec }) =>
        spec === undefined ? [] : [[desired.generation, spec] as const],
      ),
    ),
    settings: {
      servers: servers.map(({ policy: choice, desired }) =>
        withPolicy(base, choice, {
          ...desired,
          // A policy may gate more than what a folder brings, never less.
          gated: desired.gated || base.approval.gatedScopes.includes(desired.source.scope),
        }),
      ),
      ...(allowed === undefined ? {} : { allowed }),
      excluded: [...new Set(documents.flatMap(({ mcp }) => mcp.excluded ?? []))],
      ...(limits.length === 0 ? {} : { limits }),
      slots: {
        local: lastOf(own, ({ mcp }) => mcp.slots?.local) ?? connect.localSlots ?? unlimitedSlots,
        remote:
          lastOf(own, ({ mcp }) => mcp.slots?.remote) ?? connect.remoteSlots ?? unlimitedSlots,
      },
      startupGateMs: lastOf(own, ({ mcp }) => mcp.startupGateMs) ?? startup.gateMs,
      ...(catalog.maxEntries === null ? {} : { maxCatalogs: catalog.maxEntries }),
      problems: [...all.flatMap(({ problems }) => problems), ...ignored],
    },
  };
}

/** The winners by name, in the order in which each name first appeared. */
function serversOf(documents: readonly ParsedDocument[]): {
  servers: readonly ParsedServer[];
  ignored: readonly Problem[];
} {
  const all = documents.flatMap((document) => document.servers);
  // Shown under a name that is not its own, an entry must not take a server's that has it.
  const taken = new Set(all.flatMap((it) => (it.isMisnamed === true ? [] : it.desired.name)));
  const winners = new Map<string, ParsedServer>();
  const losers: ParsedServer[] = [];
  const hidden: Problem[] = [];
  for (const server of all) {
    const { name, gated, invalid } = server.desired;
    if (server.isMisnamed === true && taken.has(name)) {
      if (invalid !== undefined) hidden.push(invalid);
      continue;
    }
    const earlier = winners.get(name);
    if (gated && earlier?.desired.gated === false) {
      losers.push(server);
      continue;
    }
    if (!gated && earlier?.desired.gated === true) losers.push(earlier);
    winners.set(name, server);
  }
  return { servers: [...winners.values()], ignored: [...losers.map(shadowedProblem), ...hidden] };
}

function shadowedProblem({ desired }: ParsedServer): Problem {
  const { file, key, line, scope } = desired.source;
  return {
    file: file ?? scope,
    ...(line === undefined ? {} : { line }),
    key,
    message: `the ${scope} server "${desired.name}" is ignored because your own settings name it; rename one of the two`,
  };
}

/** The last list of the user's own, narrowed by every list a folder brings. */
function allowedOf(documents: readonly ParsedDocument[]): readonly string[] | undefined {
  const own = documents.filter(({ scope }) => !isFolderScope(scope));
  const bounds = documents
    .filter(({ scope }) => isFolderScope(scope))
    .flatMap(({ mcp }) => (mcp.allowed === undefined ? [] : [mcp.allowed]));
  const first = lastOf(own, ({ mcp }) => mcp.allowed);
  const [list, ...rest] = first === undefined ? bounds : [first, ...bounds];
  if (list === undefined) return undefined;
  return [...new Set(list)].filter((name) => rest.every((bound) => bound.includes(name)));
}

/** The lists that count: every exclusion, and what `allowedOf` looks at. */
function limitsOf(documents: readonly ParsedDocument[]): readonly Limit[] {
  const last = documents.findLast(
    ({ scope, mcp }) => !isFolderScope(scope) && mcp.allowed !== undefined,
  );
  const limit = (document: ParsedDocument, list: Limit['list']): readonly Limit[] => {
    const { file, scope, limitLines } = document;
    const names = document.mcp[list];
    if (names === undefined) return [];
    // What the host itself contributes has no lines that anybody could open.
    const place = scope === 'api' ? {} : { file, ...lineOf(limitLines?.get(list)) };
    return [{ list, names, source: { ...place, key: `mcp.${list}`, scope } }];
  };
  return documents.flatMap((document) => [
    ...limit(document, 'excluded'),
    ...(isFolderScope(document.scope) || document === last ? limit(document, 'allowed') : []),
  ]);
}

function lineOf(line: number | undefined): { readonly line?: number } {
  return line === undefined ? {} : { line };
}

function lastOf<Value>(
  documents: readonly ParsedDocument[],
  pick: (document: ParsedDocument) => Value | undefined,
): Value | undefined {
  return documents
    .map(pick)
    .filter((value) => value !== undefined)
    .at(-1);
}
