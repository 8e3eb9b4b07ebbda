/**
 * Parses one entry of `mcpServers` into a desired server.
 *
 * An invalid entry still gives a server, with `invalid` set: it is shown as blocked,
 * and all others are unaffected.
 */

import path from 'node:path';
import { defined } from '../../domain/data/defined.ts';
import { printableLine, printableText } from '../../domain/data/printable.ts';
import type { InputDefinition } from '../../domain/input.ts';
import type {
  PolicyChoice,
  PolicyGroup,
  PolicyOverrides,
  ServerPolicy,
} from '../../domain/policy.ts';
import {
  type Era,
  type RemoteSpec,
  type ServerSpec,
  type TransportKind,
} from '../../domain/server-spec.ts';
import {
  type CallLimits,
  type DesiredServer,
  isFolderScope,
  type Problem,
  type Scope,
  type SourceRef,
  type ToolFilter,
  type ToolOverride,
} from '../../domain/settings.ts';
import { digestOf, fingerprintOf } from '../../policies/fingerprint.ts';
import { mayDownload } from '../../policies/package-download.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import { isServerName, legibleServerName } from '../../policies/text/name-rule.ts';
import {
  chosenPolicy,
  type ParsedPolicy,
  parsePolicyChoice,
  sharedChoice,
} from '../policy-choice.ts';
import {
  type Fault,
  findFault,
  lineAt,
  memberOf,
  schemaFault,
  type TreeMember,
  type TreePath,
  valueOf,
  writtenPath,
} from '../settings-tree.ts';
import { parseOAuth } from './oauth.ts';
import {
  type DocumentOrigin,
  fromFolder,
  isFixed,
  type NamedFolder,
  namedFolderOf,
  type Places,
  placesOf,
  withProject,
} from './places.ts';
import { type BrokenRule, brokenRuleOf } from './rules.ts';
import {
  maxDescriptionLength,
  privilegedKeys,
  type ServerEntry,
  serverEntrySchema,
} from './schema.ts';
import { type EntryValues, entryValuesOf } from './values.ts';

export interface ParsedServer {
  readonly desired: DesiredServer;
  /** Absent when the entry is invalid. */
  readonly spec?: ServerSpec;
  /** Its name is invalid: it is shown under a legible form, which may be another server's name. */
  readonly isMisnamed?: true;
  /** Absent when the entry names none, or it is not known yet. */
  readonly folder?: NamedFolder;
  /** False for a local server that names no folder, so that its scope decides where it starts. */
  readonly isPlaced?: false;
  /** Its folder is named by a relative path, which begins at the file and not in the project. */
  readonly isBesideFile?: true;
  /** Set when commands give values of it: the problem unless the user's own settings consent. */
  readonly withoutConsent?: Problem;
  /** The entry's own policy choice, on top of the troupe's. */
  readonly policy: PolicyChoice;
  /** Parts of the entry that are ignored. */
  readonly problems: readonly Problem[];
}

/** Returns whether settings of this scope may decide how servers are treated. */
export function isPrivileged(scope: Scope): boolean {
  return !isFolderScope(scope) && scope !== 'plugin';
}

/** Reports a problem at one place of a document. Settings of the host have no lines. */
export function problemAt(origin: DocumentOrigin, fault: Fault): Problem {
  return {
    file: origin.file,
    ...(hasLines(origin) ? { line: fault.line } : {}),
    ...(fault.path.length === 0 ? {} : { key: keyOf(fault.path) }),
    message: fault.message,
    ...(fault.severity === undefined ? {} : { severity: fault.severity }),
  };
}

// Maximum length of a key or path in a message.
const maxShownLength = 200;

/** Formats a path: `mcpServers.db.args.0`. */
function keyOf(where: TreePath): string {
  return where.map((segment) => printableLine(String(segment), maxShownLength)).join('.');
}

/** @param inputs - those declared in the same document */
export function parseServerEntry(
  member: TreeMember,
  origin: DocumentOrigin,
  inputs: readonly InputDefinition[] = [],
): ParsedServer {
  const invalid = (fault: BrokenRule) => invalidServer(member, origin, fault);
  const fault = nameFault(member) ?? findFault(member.node, []);
  if (fault !== undefined) return invalid(fault);
  const parsed = serverEntrySchema.safeParse(valueOf(member.node));
  if (!parsed.success) {
    return invalid(schemaFault(serverEntrySchema, parsed.error));
  }
  const entry = withProject(parsed.data, origin.projectRoot);
  const broken = brokenRuleOf(entry);
  if (broken !== undefined) return invalid(broken);
  if (entry.type === 'memory' && origin.scope !== 'api') {
    const message =
      '"type": "memory" is for servers that a host provides; write "command" or "url"';
    return invalid({ path: ['type'], message });
  }
  const isGated = !isPrivileged(origin.scope);
  const logIn = parseOAuth(entry.oauth, entry.values === 'literal');
  if ('fault' in logIn) return invalid(logIn.fault);
  const places = placesOf(origin);
  const values = entryValuesOf(
    entry,
    { ...origin, folder: places.folder, isGated, inputs },
    logIn.oauth,
  );
  if ('fault' in values) return invalid(values.fault);
  const policy = policyOf(entry, origin);
  if ('fault' in policy)
    return invalid({ ...policy.fault, path: ['policy', ...policy.fault.path] });
  const spec = specOf(member.name, entry, values, places);
  const { commandAt } = values;
  const isBesideFile =
    entry.cwd !== undefined &&
    !isFixed(entry.cwd, entry.values) &&
    places.folder !== origin.projectRoot;
  const parts = { entry, spec, isBesideFile, ...defined({ commandAt }) };
  return validServer(member, origin, parts, policy.choice);
}

function nameFault({ name }: TreeMember): BrokenRule | undefined {
  if (isServerName(name)) return undefined;
  const message =
    'this name cannot be used; write 1 to 100 letters, digits, "_", ".", ":" or "-", not beginning with "-"';
  return { path: [], message };
}

function validServer(
  member: TreeMember,
  origin: DocumentOrigin,
  {
    entry,
    spec,
    isBesideFile,
    commandAt,
  }: {
    readonly entry: ServerEntry;
    readonly spec: ServerSpec;
    readonly isBesideFile: boolean;
  } & Pick<EntryValues, 'commandAt'>,
  choice: PolicyChoice,
): ParsedServer {
  const isOwn = isPrivileged(origin.scope);
  const folder = namedFolderOf({ ...entry, isBesideFile }, spec, () =>
    problemInEntry(member, origin, ['cwd'], ''),
  );
  return {
    spec,
    ...(folder && { folder }),
    ...(entry.cwd === undefined && spec.type === 'stdio' && { isPlaced: false as const }),
    ...(isBesideFile && { isBesideFile }),
    ...(commandAt && {
      withoutConsent: problemInEntry(member, origin, commandAt, consentMissing(commandAt)),
    }),
    policy: sharedChoice(choice),
    problems: isOwn ? noProblems : ignoredKeys(member, origin, entry),
    desired: withPolicy(defaultPolicy, choice, {
      name: member.name,
      generation: fingerprintOf(spec),
      transport: spec.type,
      ...(mayDownload(spec) && { mayDownload: true }),
      enabled: entry.enabled ?? true,
      trust: isOwn && entry.trust === true,
      tools: toolFilterOf(entry, isOwn),
      ...(entry.limits && { limits: entry.limits as CallLimits }),
      ...noLoginOf(spec),
      ...(entry.handover === 'seamless' && { handover: 'seamless' }),
      ...(entry.description !== undefined && {
        description: printableText(entry.description, maxDescriptionLength),
      }),
      source: sourceOf(member, origin),
      gated: isFolderScope(origin.scope),
    }),
  };
}

/** Reports the keys that count only in the user's own settings. */
function ignoredKeys(
  member: TreeMember,
  origin: DocumentOrigin,
  entry: ServerEntry,
): readonly Problem[] {
  const ignored: TreePath[] = privilegedKeys
    .filter((key) => entry[key] !== undefined)
    .map((key) => [key]);
  if (entry.tools?.permissions?.allow !== undefined)
    ignored.push(['tools', 'permissions', 'allow']);
  if (ignored.length === 0) return noProblems;
  return ignored.map((where) => {
    const message = `"${where.at(-1)}" is ignored in a ${origin.scope} file; set it in settings of your own`;
    return { ...problemInEntry(member, origin, where, message), severity: 'warning' };
  });
}

function noLoginOf(spec: ServerSpec): Pick<DesiredServer, 'noLogin'> {
  if (!('url' in spec)) return {};
  const { oauth, headers, values } = spec;
  if (oauth === false) return { noLogin: 'off' };
  const keys = [...Object.keys(headers), ...(values?.commands ?? []).map(({ key }) => key)];
  const isOwn = keys.some((key) => /^(?:headers\.)?authorization$|^headersCommand$/iu.test(key));
  return isOwn ? { noLogin: 'headers' } : {};
}

function consentMissing([key]: TreePath): string {
  const remedy = 'write "mcp": { "commandValues": true } in settings of your own to allow them';
  return key === 'headersCommand'
    ? `programs that print headers are not allowed; ${remedy}`
    : `values from commands are not allowed; ${remedy}, or "values": "literal" if the text itself is meant`;
}

/** Applies the troupe's policy and the entry's own choice to a server. */
export function withPolicy(
  base: ServerPolicy,
  choice: PolicyChoice,
  server: Omit<DesiredServer, 'policy' | 'startup'>,
): DesiredServer {
  const policy = chosenPolicy(base, choice);
  const { mode, required } = policy.startup;
  // A required server starts eagerly, because `required()` waits for it.
  const { name, ...rest } = server;
  // The name comes first: under Node.js 20, an object that begins with a copy and gets new fields has
  // a hidden class of its own, which costs memory, and time at each later access.
  return { name, ...rest, policy, startup: mode === 'lazy' && !required ? 'lazy' : 'eager' };
}

function problemInEntry(
  member: TreeMember,
  origin: DocumentOrigin,
  where: TreePath,
  message: string,
): Problem {
  const line = lineAt(member.node, where);
  return problemAt(origin, { line, path: pathInText(member, where), message });
}

function specOf(
  name: string,
  entry: ServerEntry,
  given: EntryValues,
  { start, folder }: Places,
): ServerSpec {
  const { env, rules } = given;
  const era = entry.era ?? 'auto';
  if (entry.type === 'memory') return { type: 'memory', server: name, era };
  const values = rules === undefined ? {} : { values: rules };
  if (entry.command === undefined)
    return { ...remoteSpecOf(entry, given, era), ...given.reach, ...values };
  return {
    type: 'stdio',
    command: /^\.\.?[\\/]/.test(entry.command)
      ? path.resolve(folder, entry.command)
      : entry.command,
    args: entry.args ?? [],
    env,
    cwd: entry.cwd === undefined ? start : fromFolder(folder, entry.cwd, entry.values),
    era,
    ...values,
  };
}

function remoteSpecOf(
  { type, url = '', account }: ServerEntry,
  { headers, oauth }: EntryValues,
  era: Era,
): RemoteSpec {
  const address = { url, headers, era, ...defined({ oauth, account }) };
  if (type === 'sse' || type === 'ws') return { type, ...address };
  if (type !== undefined) return { type: 'http', ...address };
  if (/^wss?:/iu.test(url)) return { type: 'ws', ...address };
  // The modern era excludes a server of 2024.
  return { type: 'http', ...address, ...(era === 'modern' ? {} : { fallback: 'sse' }) };
}

// Most entries have neither; one object each saves memory, and time when they are compared.
const allTools: ToolFilter = { include: ['*'], exclude: [] };
const noProblems: readonly Problem[] = [];

function toolFilterOf({ tools }: ServerEntry, isOwn: boolean): ToolFilter {
  if (tools === undefined) return allTools;
  const overrides = Object.entries(tools.overrides ?? {}).map(
    ([tool, override]) => ({ tool, ...override }) as ToolOverride,
  );
  // A folder or a plugin may ask and deny; its `allow` is ignored.
  const { allow, ...narrowing } = tools.permissions ?? {};
  const permissions = { ...(isOwn && allow && { allow }), ...narrowing };
  return {
    include: tools.include ?? ['*'],
    exclude: tools.exclude ?? [],
    ...(overrides.length > 0 && { overrides }),
    ...(Object.keys(permissions).length > 0 && { permissions }),
  };
}

/** An entry outside the user's own settings may decide when it starts and nothing else of its policy. */
function policyOf(entry: ServerEntry, origin: DocumentOrigin): ParsedPolicy {
  const { startup } = entry;
  if (!isPrivileged(origin.scope))
    return { choice: { overrides: startup === undefined ? {} : { startup: { mode: startup } } } };
  const parsed = parsePolicyChoice(entry.policy ?? {}, 'server');
  if ('fault' in parsed) return parsed;
  const { choice } = parsed;
  return { choice: { ...choice, overrides: withShorthands(choice.overrides, entry) } };
}

/** The policy fields that each short key of an entry sets. */
const shorthands = {
  startup: [['startup', 'mode']],
  required: [['startup', 'required']],
  startupTimeoutMs: [['startup', 'timeoutMs']],
  maxAttempts: [
    ['startup', 'maxAttempts'],
    ['restart', 'maxAttempts'],
  ],
  connectTimeoutMs: [
    ['connect', 'localTimeoutMs'],
    ['connect', 'firstRunTimeoutMs'],
    ['connect', 'remoteTimeoutMs'],
  ],
  restart: [['restart', 'on']],
  idleStopMs: [['idle', 'stopMs']],
  sharing: [['connect', 'sharing']],
  timeoutMs: [['call', 'timeoutMs']],
} as const satisfies Partial<
  Record<keyof ServerEntry, readonly (readonly [PolicyGroup, string])[]>
>;

/** Adds what the short keys of an entry set; they win over its policy. */
function withShorthands(given: PolicyOverrides, entry: ServerEntry): PolicyOverrides {
  let all = given;
  for (const [key, fields] of Object.entries(shorthands)) {
    const value = entry[key as keyof typeof shorthands];
    if (value === undefined) continue;
    for (const [group, field] of fields)
      all = { ...all, [group]: { ...all[group], [field]: value } };
  }
  return all;
}

function hasLines({ scope, isObject }: DocumentOrigin): boolean {
  return scope !== 'api' && isObject !== true;
}

function sourceOf(member: TreeMember, origin: DocumentOrigin): SourceRef {
  const { file, scope } = origin;
  const key = keyOf(pathInText(member, []));
  return hasLines(origin) ? { file, key, line: member.line, scope } : { key, scope };
}

/** An unknown key has its own line; a missing one gets the entry's. */
function invalidServer(
  member: TreeMember,
  origin: DocumentOrigin,
  { path: where, message, line }: BrokenRule & { readonly line?: number },
): ParsedServer {
  const name = legibleServerName(member.name);
  const at = line ?? (where.length === 0 ? member.line : lineAt(member.node, where));
  return {
    problems: [],
    policy: { overrides: {} },
    ...(name !== member.name && { isMisnamed: true }),
    desired: {
      name,
      // Of the entry as written: fixing it is a new generation, reformatting it is not.
      generation: digestOf(valueOf(member.node)),
      transport: likelyTransport(member),
      // A disabled server need not be reported as broken.
      enabled: memberValue(member, 'enabled') !== false,
      startup: 'eager',
      trust: false,
      tools: { include: ['*'], exclude: [] },
      policy: defaultPolicy,
      source: sourceOf(member, origin),
      gated: isFolderScope(origin.scope),
      invalid: problemAt(origin, { line: at, path: pathInText(member, where), message }),
    },
  };
}

/** The path of a part of an entry in the text; other programs keep it elsewhere. */
function pathInText(member: TreeMember, where: TreePath): TreePath {
  return writtenPath(member, ['mcpServers', member.name], where);
}

function likelyTransport(member: TreeMember): TransportKind {
  const type = memberValue(member, 'type');
  if (type === 'sse' || type === 'ws' || type === 'http' || type === 'memory') return type;
  return type !== 'stdio' && memberOf(member.node, 'url') !== undefined ? 'http' : 'stdio';
}

function memberValue(member: TreeMember, key: string): unknown {
  const found = memberOf(member.node, key);
  return found === undefined ? undefined : valueOf(found.node);
}
