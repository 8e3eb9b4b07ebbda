/** Applies the lists of all layers: which servers may run, and which calls may go out. */

import type { PermissionRules } from '../domain/permission.ts';
import {
  type Bar,
  isFolderScope,
  type Limit,
  type PlacedRules,
  type Settings,
  type SourceRef,
} from '../domain/settings.ts';
import {
  isAllowedByRule,
  isForbidden,
  type ServerRule,
} from '../policies/admission/server-rule.ts';
import type { ParsedServer } from './entry/server-entry.ts';
import type { Layers } from './layers.ts';
import type { ParsedDocument } from './parse-settings.ts';

type PlacedKey =
  | Limit['list']
  | 'disabledServers'
  | 'dockerGateway'
  | 'background'
  | 'hooks'
  | 'projectServers'
  | 'views'
  | 'permissions.ask'
  | 'permissions.deny';

export interface Limits {
  /** Absent = all are allowed. */
  readonly allowed?: readonly string[];
  readonly excluded: readonly string[];
  /** Every list in force, with its place. */
  readonly limits: readonly Limit[];
  /** Servers that a list bars by their command or address, by name. */
  readonly bars: ReadonlyMap<string, Bar>;
}

/** Lists in force: every exclusion, the last own list of allowed servers, and every narrowing one. */
export function limitsOf(
  { documents, own, narrowing, managed }: Layers,
  servers: readonly ParsedServer[],
): Limits {
  const last = own.findLast(({ mcp }) => mcp.allowed !== undefined);
  const bars = new Map<string, Bar>();
  if (managed !== undefined) {
    const { file, scope } = managed;
    const source = { file, key: 'mcpServers', scope };
    const next = `ask the administrator of ${file}, which allows no other servers`;
    for (const { desired } of servers.filter(isBesideManaged))
      bars.set(desired.name, { verdict: 'notAllowed', rule: 'managed', source, next });
  }
  barProjects(own, servers, bars);
  const limits: Limit[] = [];
  for (const document of documents) {
    const { excluded, allowed } = document.mcp;
    const isNarrowing = narrowing.includes(document);
    if (excluded !== undefined && (isNarrowing || own.includes(document))) {
      const source = placeOfKey(document, 'excluded');
      barExcluded(excluded, source, servers, bars);
      limits.push({ list: 'excluded', names: namesIn(excluded), source });
    }
    if (allowed !== undefined && (isNarrowing || document === last)) {
      const source = placeOfKey(document, 'allowed');
      limits.push({ list: 'allowed', names: allowedBy(allowed, source, servers, bars), source });
    }
  }
  const namesOf = (list: Limit['list']) =>
    limits.flatMap((limit) => (limit.list === list ? [new Set(limit.names)] : []));
  const [first, ...others] = namesOf('allowed');
  return {
    ...(first && { allowed: [...first].filter((name) => others.every((it) => it.has(name))) }),
    excluded: [...new Set(namesOf('excluded').flatMap((names) => [...names]))],
    limits,
    bars,
  };
}

/** Bars what the project folder declares, if the last own file with the switch says so. */
function barProjects(
  own: readonly ParsedDocument[],
  servers: readonly ParsedServer[],
  bars: Map<string, Bar>,
): void {
  const last = own.findLast(({ mcp }) => mcp.projectServers !== undefined);
  if (last?.mcp.projectServers !== false) return;
  const source = placeOfKey(last, 'projectServers');
  const next = `remove ${ruleText(source)}, or add the server to settings of your own`;
  for (const { desired } of servers)
    if (isFolderScope(desired.source.scope) && !bars.has(desired.name))
      bars.set(desired.name, { verdict: 'excluded', rule: 'mcp.projectServers', source, next });
}

/** A server inside the host runs no program, so managed settings do not keep it out. */
function isBesideManaged({ desired: { source, transport } }: ParsedServer): boolean {
  return source.scope !== 'managed' && transport !== 'memory';
}

/** Returns the names that a list allows, and bars servers whose command or address it refuses. */
function allowedBy(
  rules: readonly ServerRule[],
  source: SourceRef,
  servers: readonly ParsedServer[],
  bars: Map<string, Bar>,
): readonly string[] {
  const names = new Set(namesIn(rules));
  const next = `add its command or address to ${ruleText(source)}`;
  for (const { desired, spec } of servers) {
    const { name } = desired;
    const isAllowed = isAllowedByRule(rules, spec);
    if (isAllowed === true) names.add(name);
    if (isAllowed !== false) continue;
    names.delete(name);
    if (!bars.has(name))
      bars.set(name, { verdict: 'notAllowed', rule: 'mcp.allowed', source, next });
  }
  return [...names];
}

function barExcluded(
  rules: readonly ServerRule[],
  source: SourceRef,
  servers: readonly ParsedServer[],
  bars: Map<string, Bar>,
): void {
  const next = `run something else, or remove the matching rule from ${ruleText(source)}`;
  // Also in place of another bar: an exclusion takes precedence.
  for (const { desired, spec } of servers)
    if (isForbidden(rules, spec))
      bars.set(desired.name, { verdict: 'excluded', rule: 'mcp.excluded', source, next });
}

function ruleText({ file, line, key }: SourceRef): string {
  if (file === undefined) return `${key} of the host's settings`;
  return `${key} (${line === undefined ? file : `${file}:${line}`})`;
}

function namesIn(rules: readonly ServerRule[]): readonly string[] {
  return rules.filter((rule) => typeof rule === 'string');
}

/** Finds where a document has a key of its section `mcp`. */
export function placeOfKey({ file, scope, lines }: ParsedDocument, name: PlacedKey): SourceRef {
  const key = `mcp.${name}`;
  // The host's own settings have no file to open.
  if (scope === 'api') return { key, scope };
  const line = lines?.get(name);
  return { file, ...(line !== undefined && { line }), key, scope };
}

/** Joins the permission rules of all layers. A layer that only narrows may ask and deny; its `allow` is ignored. */
export function permissionsOf({ own, narrowing }: Layers): Pick<Settings, 'permissions'> {
  const ofOwn = joined(own, ['allow', 'ask', 'deny']);
  const ofOthers = joined(narrowing, ['ask', 'deny']);
  const isEmpty = Object.keys(ofOwn).length === 0 && Object.keys(ofOthers).length === 0;
  if (isEmpty) return {};
  const places = [...own.flatMap(placesIn), ...narrowing.flatMap(placesIn)];
  return { permissions: { own: ofOwn, narrowing: ofOthers, places } };
}

function joined(
  documents: readonly ParsedDocument[],
  verdicts: readonly (keyof PermissionRules)[],
): PermissionRules {
  const lists = verdicts.flatMap((verdict) => {
    const patterns = documents.flatMap(({ mcp }) => mcp.permissions?.[verdict] ?? []);
    return patterns.length === 0 ? [] : [[verdict, patterns] as const];
  });
  return Object.fromEntries(lists);
}

/** Returns the places of rules that hold calls back; those that allow calls are never shown. */
function placesIn(document: ParsedDocument): readonly PlacedRules[] {
  return (['deny', 'ask'] as const).flatMap((verdict) => {
    const patterns = document.mcp.permissions?.[verdict];
    if (patterns === undefined) return [];
    const source = placeOfKey(document, `permissions.${verdict}`);
    return [{ rules: { [verdict]: patterns }, source }];
  });
}
