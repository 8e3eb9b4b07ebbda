/**
 * Finds servers that several layers declare under different names, so that no program runs
 * twice and no tool is shown twice.
 *
 * Entries of user and folder files are duplicates only if they are equal in every respect, except
 * for where they start if neither names a folder or a file in it; a plugin's server yields to any
 * server with the same command or address. Two entries in one file are deliberate. A disabled, excluded or unapproved server never replaces another.
 */

import type { ServerSpec, StdioSpec } from '../domain/server-spec.ts';
import {
  type DesiredServer,
  type Problem,
  problemOf,
  type SourceRef,
  scopes,
} from '../domain/settings.ts';
import { digestOf, fingerprintOf } from '../policies/fingerprint.ts';
import { dependsOnFolder } from './entry/folder-words.ts';
import type { ParsedServer } from './entry/server-entry.ts';
import { strengthOf } from './layers.ts';

/** @param mayRun - whether switches and lists let a server run */
export function distinctServers(
  all: readonly ParsedServer[],
  mayRun: (desired: DesiredServer) => boolean,
): { readonly servers: readonly ParsedServer[]; readonly problems: readonly Problem[] } {
  const [first] = all;
  if (first === undefined || all.every((server) => isOneFile(first, server)))
    return { servers: all, problems: [] };
  const lost = new Map<ParsedServer, ParsedServer>();
  const running = all.filter(({ desired, spec }) => spec !== undefined && mayRun(desired));
  const isOfPlugin = ({ desired }: ParsedServer): boolean => desired.source.scope === 'plugin';
  // Grouped by generation first, which is already computed and nearly always differs.
  const declared = running.filter((it) => !isOfPlugin(it));
  const equal = groupsBy(declared, ({ desired }) => desired.generation);
  for (const group of [...equal, ...equalButForFolders(declared)])
    for (const same of groupsBy(group, ({ desired }) => effectOf(desired)))
      noteLosers(same, same.reduce(higher), lost);
  const rest = running.filter((server) => !lost.has(server) && !server.desired.gated);
  for (const same of rest.some(isOfPlugin) ? groupsBy(rest, signatureOf) : []) {
    const winner = same.filter((it) => !isOfPlugin(it)).at(-1) ?? same[0];
    const ofPlugins = same.filter(isOfPlugin);
    if (winner !== undefined) noteLosers(ofPlugins, winner, lost);
  }
  return {
    servers: all.filter((server) => !lost.has(server)),
    problems: [...lost].map(([server, winner]) => sameProblem(server.desired, winner.desired)),
  };
}

/** Groups equal servers that start in different folders only because their scopes differ. */
function equalButForFolders(servers: readonly ParsedServer[]): ReturnType<typeof groupsBy> {
  const free = servers.filter(({ isPlaced }) => isPlaced === false);
  const starts = new Set(free.map(({ spec }) => (spec?.type === 'stdio' ? spec.cwd : '')));
  if (starts.size < 2) return [];
  // Few have the same command, and only their specs are hashed again.
  return groupsBy(free, signatureOf).flatMap((group) =>
    groupsBy(group, ({ spec }) => (spec?.type === 'stdio' ? unplacedFingerprintOf(spec) : '')),
  );
}

/** The generation of a server that names no folder, wherever it starts, unless that decides what it does. */
function unplacedFingerprintOf(spec: StdioSpec): string {
  return fingerprintOf({ ...spec, cwd: dependsOnFolder(spec) ? spec.cwd : '' });
}

function noteLosers(
  group: readonly ParsedServer[],
  winner: ParsedServer,
  lost: Map<ParsedServer, ParsedServer>,
): void {
  for (const server of group) {
    if (server !== winner && !isOneFile(server, winner)) lost.set(server, winner);
  }
}

/**
 * Returns the server of higher precedence; of equal ones, the later. A server that
 * waits for approval never replaces one that runs.
 */
function higher(one: ParsedServer, other: ParsedServer): ParsedServer {
  if (one.desired.gated !== other.desired.gated) return one.desired.gated ? other : one;
  return rankOf(other) >= rankOf(one) ? other : one;
}

function rankOf({ desired: { source } }: ParsedServer): number {
  return strengthOf(source.scope) * scopes.length + scopes.indexOf(source.scope);
}

function isOneFile(one: ParsedServer, other: ParsedServer): boolean {
  const [first, second] = [one.desired.source, other.desired.source];
  if (first.scope !== 'plugin') return first.file === second.file && first.scope === second.scope;
  return second.scope === 'plugin' && pluginOf(one) === pluginOf(other);
}

/** The plugin in `plugin:<plugin>:<server>`; an object has no file that identifies it. */
function pluginOf({ desired }: ParsedServer): string | undefined {
  return desired.name.split(':')[1];
}

/** Whether two entries have the same effect, however they are written. */
export function isSameServer(one: ParsedServer, other: ParsedServer): boolean {
  return (
    one.desired.enabled === other.desired.enabled &&
    isSameConnection(one, other) &&
    effectOf(one.desired) === effectOf(other.desired)
  );
}

/** Whether two entries start the same program with the same files, or reach the same address. */
export function isSameConnection(one: ParsedServer, other: ParsedServer): boolean {
  const keys = connectionKeysOf(other);
  return connectionKeysOf(one).some((key) => keys.includes(key));
}

/** Two entries with a key in common are the same connection. */
export function connectionKeysOf({ desired, spec, isPlaced }: ParsedServer): readonly string[] {
  const isOpen = spec?.type === 'stdio' && isPlaced === false && !dependsOnFolder(spec);
  return [desired.generation, ...(isOpen ? [unplacedFingerprintOf(spec)] : [])];
}

function effectOf({ startup, handover, trust, tools, policy }: DesiredServer): string {
  return digestOf({ startup, handover, trust, tools, policy });
}

/** Identifies a server by its command or address alone, and by the folder that its arguments lead into. */
function signatureOf({ spec, desired }: ParsedServer): string {
  return spec === undefined ? desired.name : JSON.stringify(placeOfSpec(spec));
}

function placeOfSpec(spec: ServerSpec): readonly string[] {
  if (spec.type === 'stdio') {
    const { command, args, cwd } = spec;
    return ['stdio', command, ...args, ...(dependsOnFolder({ ...spec, env: {} }) ? [cwd] : [])];
  }
  return spec.type === 'memory' ? ['memory', spec.server] : ['url', spec.url];
}

function groupsBy(
  servers: readonly ParsedServer[],
  keyOf: (server: ParsedServer) => string,
): readonly (readonly ParsedServer[])[] {
  const groups = new Map<string, ParsedServer[]>();
  for (const server of servers) {
    const key = keyOf(server);
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [server]);
    else group.push(server);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}

function sameProblem({ name, source }: DesiredServer, winner: DesiredServer): Problem {
  return {
    server: name,
    ...problemOf(
      source,
      `there is no server "${name}", because it is the same as "${winner.name}" (${placeOf(winner.source)}); use that server, or make the two differ`,
    ),
    severity: 'warning',
  };
}

function placeOf({ file, line, scope }: SourceRef): string {
  if (file === undefined) return scope === 'api' ? "the host's settings" : `the ${scope} settings`;
  return line === undefined ? file : `${file}:${line}`;
}
