/**
 * Parses the text of a settings file into servers and limits.
 *
 * A text that is invalid as a whole yields no document, so that the caller can keep an earlier one.
 * An invalid entry yields a server with `invalid` set. Nothing here reads a file, an environment or
 * a clock.
 */

import { isFolderScope, type Problem, type Scope } from '../domain/settings.ts';

import { closestName } from '../policies/text/closest-name.ts';
import { type PlainReading, readEdited } from './edited-entries.ts';
import type { DocumentOrigin, FolderFault } from './entry/places.ts';
import { isPrivileged, type ParsedServer, problemAt } from './entry/server-entry.ts';
import { type Conversion, isOwnFile } from './formats/conversion.ts';
import { convertSettings } from './formats/convert-settings.ts';
import { readAnyTree } from './formats/settings-language.ts';
import { EntryTexts, readTreeByEntry } from './incremental-parse.ts';
import { parseInputs } from './inputs-section.ts';
import { type EntryParser, KnownServers } from './known-servers.ts';
import { type McpSection, parseMcpSection } from './mcp-section.ts';
import {
  type Fault,
  memberOf,
  membersOf,
  readableText,
  readTree,
  type TreeMember,
  type TreeNode,
  type TreeReading,
  writtenPath,
} from './settings-tree.ts';
import { folderText, ownText, type TextBounds } from './text-bounds.ts';

/** A parsed settings text. */
export interface ParsedDocument {
  readonly file: string;
  readonly scope: Scope;
  /** In declaration order; names are unique. */
  readonly servers: readonly ParsedServer[];
  readonly mcp: McpSection;
  /** Lines of the keys of its section `mcp`, for example of `policy.startup.gateMs`. */
  readonly lines?: ReadonlyMap<string, number>;
}

export interface ParsedSettings {
  /** Whether one of the user's own files has never been readable, so that what it limits is unknown. */
  readonly isUnread?: true;
  /** Absent when the text is invalid as a whole. */
  readonly document?: ParsedDocument;
  readonly problems: readonly Problem[];
}

// More than any user manages, and few enough to parse in a moment.
const maxServers = 10_000;

// For one file of a project folder, which is read before it is approved. Each server costs about
// 50 µs here and a search along PATH.
const maxFolderServers = 1_000;

// Each costs about 80 µs.
const entriesPerTurn = 100;

const knownKeys = ['mcpServers', 'mcp', 'inputs', '$schema'] as const;

/** Scopes whose files, or the host, hold settings in our form. */
const ownScopes: readonly Scope[] = ['managed', 'user', 'workspace', 'local', 'api'];

/** Parses any program's settings in JSON; a host's own settings need no other language. */
export function parseSettings(text: string, origin: DocumentOrigin): ParsedSettings {
  return allTurns(settingsIn(readTree(text), origin, new SettingsMemory()));
}

/** Parses the text of a file, which may also be TOML or YAML. */
export async function parseSettingsFile(
  text: string,
  origin: DocumentOrigin,
  upkeep: Upkeep = { memory: new SettingsMemory(), pause: noPause },
): Promise<ParsedSettings> {
  const { file, scope } = origin;
  const bounds = isFolderScope(scope) ? folderText : ownText;
  const edited = upkeep.memory.edited(text, origin, bounds);
  if (edited !== undefined) return edited;
  const readJson = (json: string) => treeOfJson(json, bounds, upkeep);
  const tree = await readAnyTree({ file, text, bounds, readJson });
  return inTurns(settingsIn(tree, origin, upkeep.memory), upkeep);
}

/** Parses a host's settings, which are JSON. */
export async function parseHostText(
  text: string,
  origin: DocumentOrigin,
  upkeep: Upkeep,
): Promise<ParsedSettings> {
  const edited = upkeep.memory.edited(text, origin, ownText);
  if (edited !== undefined) return edited;
  const tree = await treeOfJson(text, ownText, upkeep);
  return inTurns(settingsIn(tree, origin, upkeep.memory), upkeep);
}

/** Makes the next reading of the same source cheap, and keeps this one from blocking. */
export interface Upkeep {
  readonly memory: SettingsMemory;
  /** Lets other work run; called every few milliseconds of a long parse, and never for a short one. */
  readonly pause: () => Promise<void>;
}

/** What is known about the documents of one source's latest settings. */
export class SettingsMemory {
  readonly texts = new EntryTexts();
  readonly servers = new KnownServers();
  #last: { readonly reading: PlainReading; readonly parsed: WholeSettings } | undefined;

  /** Returns the settings of an edited text; undefined when the whole text must be read. */
  edited(text: string, origin: DocumentOrigin, bounds: TextBounds): ParsedSettings | undefined {
    const last = this.#last;
    this.#last = undefined;
    // A text in another language than the last one leaves no places of its own.
    this.texts.places = undefined;
    if (last === undefined || JSON.stringify(origin) !== JSON.stringify(last.reading.origin))
      return undefined;
    const readable = readableText(text, bounds);
    const reading =
      'fault' in readable ? undefined : readEdited(readable.body, last.reading, bounds);
    if (reading === undefined) return undefined;
    const document = { ...last.parsed.document, servers: reading.servers };
    this.#last = { reading, parsed: { ...last.parsed, document } };
    return this.#last.parsed;
  }

  /** Remembers what was read, if an edit of it can be read on its own. */
  note(
    { isPlain, servers: entries }: Conversion,
    facts: Pick<PlainReading, 'origin' | 'inputs'>,
    parsed: WholeSettings,
  ): void {
    const { places } = this.texts;
    const { servers } = parsed.document;
    const isOneEach = servers.length === entries.length && servers.length === places?.starts.length;
    if (isPlain === true && places !== undefined && isOneEach)
      this.#last = { reading: { places, servers, ...facts }, parsed };
  }
}

type WholeSettings = ParsedSettings & Required<Pick<ParsedSettings, 'document'>>;

async function noPause(): Promise<void> {}

async function treeOfJson(text: string, bounds: TextBounds, upkeep: Upkeep): Promise<TreeReading> {
  const readable = readableText(text, bounds);
  if ('fault' in readable) return readable;
  const root = await inTurns(readTreeByEntry(readable.body, bounds, upkeep.memory.texts), upkeep);
  return root === undefined ? readTree(text, bounds) : { root };
}

/** Pauses after each turn. */
export async function inTurns<Result>(
  turns: Generator<void, Result>,
  { pause }: Pick<Upkeep, 'pause'>,
): Promise<Result> {
  for (;;) {
    const turn = turns.next();
    if (turn.done === true) return turn.value;
    await pause();
  }
}

/** Runs all turns in one. */
export function allTurns<Result>(turns: Generator<void, Result>): Result {
  for (;;) {
    const turn = turns.next();
    if (turn.done === true) return turn.value;
  }
}

function* settingsIn(
  tree: TreeReading,
  origin: DocumentOrigin,
  memory: SettingsMemory,
): Generator<void, ParsedSettings> {
  const fail = (fault: Fault): ParsedSettings => ({ problems: [problemAt(origin, fault)] });
  if ('fault' in tree) return fail(tree.fault);

  const { root } = tree;
  const isOwn = ownScopes.includes(origin.scope) || isOwnFile(origin.file);
  const isHostObject = origin.scope === 'api';
  const conversion =
    convertSettings(root, { ...origin, isOwn, isHostObject }) ?? hostSettings(root, origin.file);
  if ('fault' in conversion) return fail(conversion.fault);
  const most = isFolderScope(origin.scope) ? maxFolderServers : maxServers;
  if (conversion.servers.length > most) {
    const line = conversion.servers[0]?.line ?? root.line;
    return fail({ line, path: [], message: `there are more than ${most} servers; split the file` });
  }
  return yield* convertedSettings(conversion, root, origin, memory);
}

function* convertedSettings(
  conversion: Conversion,
  root: TreeNode,
  origin: DocumentOrigin,
  memory: SettingsMemory,
): Generator<void, ParsedSettings> {
  const { mcp } = conversion;
  const section = mcp === undefined ? { section: {}, faults: [] } : parseMcpSection(mcp);
  const isOurs = conversion.format === 'mcpServers';
  const given = conversion.inputs ?? (isOurs ? memberOf(root, 'inputs') : undefined);
  const { inputs, faults } = given === undefined ? { inputs: [], faults: [] } : parseInputs(given);
  const problems = [
    ...(isOurs ? unknownKeys(root, origin) : []),
    ...conversion.faults,
    ...(conversion.renamed ?? []),
    ...section.faults,
    ...faults,
    ...(section.section && mcp ? ignoredKeys(mcp, origin) : []),
  ].map((fault) => problemAt(origin, fault));
  if (section.section === undefined) return { problems };

  const parser = memory.servers.parser(origin, inputs);
  const parsed = yield* parseServers(conversion.servers, origin, parser);
  parser.end();
  const { file, scope } = origin;
  const lines = 'lines' in section && { lines: section.lines };
  const settings = {
    document: { file, scope, servers: parsed.servers, mcp: section.section, ...lines },
    problems: [...problems, ...parsed.problems],
  };
  memory.note(conversion, { origin, inputs }, settings);
  return settings;
}

/** Settings without servers: an unknown program's, or ours with only an `mcp` section. */
function hostSettings(root: TreeNode, file: string): Conversion {
  const mcp = memberOf(root, 'mcp');
  // A host's settings are JSON.
  const isForeign = mcp === undefined && /\.(?:ya?ml|toml)$/iu.test(file);
  const message = 'found no MCP servers in a known format; see docs/import.md';
  const fault: Fault = { line: root.line, path: [], message, severity: 'warning' };
  return {
    format: 'mcpServers',
    servers: [],
    ...(mcp === undefined ? {} : { mcp }),
    faults: isForeign ? [fault] : [],
  };
}

/**
 * Reports top-level keys that are probably servers or misspellings of our keys; they have no effect. Others
 * are ignored, because a host may keep more in the file. Beside its servers, that may also be a command. The
 * short keys are compared only in files of our own.
 */
function unknownKeys(root: TreeNode, { file, scope }: DocumentOrigin): Fault[] {
  const isOwn = isOwnFile(file);
  const candidates = isOwn ? ['mcpServers', 'mcp', 'inputs'] : ['mcpServers'];
  const mayBeServers = isOwn || (scope === 'config' && memberOf(root, 'mcpServers') === undefined);
  return membersOf(root).flatMap(({ name, line, node }) => {
    if (knownKeys.some((key) => key === name)) return [];
    if (mayBeServers && isServerLike(node)) {
      const message = 'a server has no effect here; move it below "mcpServers"';
      return [{ line, path: [name], message, severity: 'warning' }];
    }
    const meant =
      name === 'servers' ? 'mcpServers' : closestName(name.replaceAll(/[_-]/g, ''), candidates);
    if (meant === undefined) return [];
    const message = `unknown key; did you mean "${meant}"?`;
    return [{ line, path: [name], message, severity: 'warning' }];
  });
}

function isServerLike(node: TreeNode): boolean {
  return ['command', 'url'].some((key) => {
    const value = memberOf(node, key)?.node;
    return value?.kind === 'scalar' && typeof value.value === 'string';
  });
}

// Keys that affect servers of other layers, or that would start a program.
const ungatedKeys: ReadonlySet<string> = new Set([
  'enabledServers',
  'slots',
  'startupGateMs',
  'policy',
  'limits',
  'views',
  'hooks',
  'ledger',
  'dockerGateway',
  'background',
  'commandValues',
  'projectServers',
  'permissions.allow',
]);

function ignoredKeys(mcp: TreeMember, origin: DocumentOrigin): Fault[] {
  if (isPrivileged(origin.scope)) return [];
  // A plugin brings servers and may not affect any others.
  if (origin.scope === 'plugin') {
    const message = '"mcp" is ignored in the settings of a plugin; remove it';
    return [{ line: mcp.line, path: ['mcp'], message, severity: 'warning' }];
  }
  const allowing = membersOf(memberOf(mcp.node, 'permissions')?.node)
    .filter(({ name }) => name === 'allow')
    .map(({ line }) => {
      const written = ['mcp', 'permissions', 'allow'];
      return { name: 'permissions.allow', line, written };
    });
  return [...membersOf(mcp.node), ...allowing]
    .filter(({ name }) => ungatedKeys.has(name))
    .map(({ name, line, written }) => ({
      line,
      path: written ?? ['mcp', name],
      message: `"${name}" is ignored in a ${origin.scope} file; set it in settings of your own`,
      severity: 'warning',
    }));
}

function* parseServers(
  members: readonly TreeMember[],
  origin: DocumentOrigin,
  parser: EntryParser,
): Generator<void, { servers: readonly ParsedServer[]; problems: readonly Problem[] }> {
  const taken = new Map<string, { readonly member: TreeMember; readonly server: ParsedServer }>();
  const problems: Problem[] = [];
  let newCount = 0;
  for (const member of members) {
    const { server, isNew } = parser.parse(member);
    if (isNew) newCount += 1;
    if (newCount === entriesPerTurn) {
      newCount = 0;
      yield;
    }
    problems.push(...server.problems);
    const { name } = server.desired;
    const earlier = taken.get(name);
    if (earlier === undefined) {
      taken.set(name, { member, server });
    } else if (member.name !== name) {
      // Its name is invalid and its legible form is taken: only its problem is shown.
      problems.push(...listOf(server.desired.invalid));
    } else if (earlier.member.name !== name) {
      problems.push(...listOf(earlier.server.desired.invalid));
      taken.set(name, { member, server });
    } else {
      // Neither is used, because a reviewer may have read the other one.
      const invalid = problemAt(origin, {
        line: member.line,
        path: writtenPath(member, ['mcpServers', name], []),
        message: `the server is already on line ${earlier.member.line}; rename or remove one of the two`,
      });
      taken.set(name, { member: earlier.member, server: refuse(earlier.server, invalid) });
    }
  }
  return { servers: [...taken.values()].map(({ server }) => server), problems };
}

/** Marks a server as invalid. */
function refuse({ desired, policy, problems }: ParsedServer, invalid: Problem): ParsedServer {
  return { desired: { ...desired, invalid }, policy, problems };
}

/** Marks the servers that have a problem as invalid. */
function refuseThose(
  document: ParsedDocument,
  problemOf: (server: ParsedServer) => Problem | undefined,
): ParsedDocument {
  const isRefused = (server: ParsedServer): boolean => problemOf(server) !== undefined;
  if (!document.servers.some(isRefused)) return document;
  const servers = document.servers.map((server) => {
    const problem = problemOf(server);
    return problem === undefined ? server : refuse(server, problem);
  });
  return { ...document, servers };
}

/** Lists the folders that a document's entries name and that must exist, as absolute paths. */
export function foldersOf(document: ParsedDocument): readonly string[] {
  const folders = new Set<string>();
  for (const { folder } of document.servers) if (folder !== undefined) folders.add(folder.path);
  return [...folders];
}

/** Refuses the servers whose folder is unusable. */
export function refuseFolders(
  document: ParsedDocument,
  faults: ReadonlyMap<string, FolderFault>,
): ParsedDocument {
  if (faults.size === 0) return document;
  return refuseThose(document, ({ folder }) => {
    const fault = faults.get(folder?.path ?? '');
    return fault && folder?.problemOf(fault);
  });
}

/** Refuses the servers whose values come from commands. */
export function refuseCommands(document: ParsedDocument): ParsedDocument {
  return refuseThose(document, ({ withoutConsent }) => withoutConsent);
}

function listOf<Item>(item: Item | undefined): readonly Item[] {
  return item === undefined ? [] : [item];
}
