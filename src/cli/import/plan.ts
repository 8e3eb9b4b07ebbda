/** Plans what an import writes into one settings file; `commands/import.ts` writes it. */

import path from 'node:path';
import { defined } from '../../domain/data/defined.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import type { InputDefinition } from '../../domain/input.ts';
import type { Problem, SourceRef } from '../../domain/settings.ts';
import { settingsError } from '../../domain/user-errors.ts';
import { equalData } from '../../policies/equal-data.ts';
import { type Addition, addToSettings } from '../../settings/edit-settings.ts';
import { dependsOnFolder } from '../../settings/entry/folder-words.ts';
import { literalSecretsOf, withoutSecrets } from '../../settings/entry/literal-secrets.ts';
import type { DocumentOrigin } from '../../settings/entry/places.ts';
import { privilegedKeys } from '../../settings/entry/schema.ts';
import {
  type ParsedServer,
  parseServerEntry,
  problemAt,
} from '../../settings/entry/server-entry.ts';
import type { Conversion } from '../../settings/formats/conversion.ts';
import { convertSettings } from '../../settings/formats/convert-settings.ts';
import { readAnyTree } from '../../settings/formats/settings-language.ts';
import { parseInputs } from '../../settings/inputs-section.ts';
import { type McpSection, parseMcpSection } from '../../settings/mcp-section.ts';
import { isSameConnection, isSameServer } from '../../settings/same-servers.ts';
import {
  type Fault,
  lineAt,
  memberOf,
  membersOf,
  type TreeMember,
  type TreeNode,
  valueOf,
  writtenPath,
} from '../../settings/settings-tree.ts';
import { ownRoot } from '../settings/settings-file.ts';

export interface ImportSource {
  readonly file: string;
  readonly text: string;
  readonly program?: string;
}

/** The folder that entries of a file are placed in, to compare them: the project, or the same one for all of the user's own. */
interface Placed {
  readonly folder: string;
}

/** `add`: written. `same`: exists already. `conflict`, `invalid`: not written; `why` gives the reason. */
export interface ImportedServer {
  readonly name: string;
  readonly action: 'add' | 'same' | 'conflict' | 'invalid';
  readonly from: Pick<SourceRef, 'file' | 'key' | 'line'>;
  /** In our format, without values that look like secrets. */
  readonly entry: unknown;
  readonly why?: string;
}

export interface ImportPlan {
  readonly servers: readonly ImportedServer[];
  /** Keys of the section `mcp` that are also written. */
  readonly mcp: readonly string[];
  /** What was skipped. */
  readonly problems: readonly Problem[];
  /** What was written and should be checked. */
  readonly warnings: readonly Problem[];
  /** The new text of the target; absent when there is nothing to write. */
  readonly text?: string;
}

type Entry = Readonly<Record<string, unknown>>;

/** A server that has its name in the target already. */
interface TakenServer {
  readonly entry: Entry;
  readonly parsed: ParsedServer;
  /** The folder that it was placed in. */
  readonly folder: string;
  /** Whether this import adds it. */
  readonly isNew?: true;
}

/**
 * Plans the import of sources into one file.
 * @throws TroupeError `INVALID_CONFIG` when a source or the target cannot be read
 */
export async function planImport(
  sources: readonly (ImportSource & Placed)[],
  target: Placed & {
    readonly file: string;
    readonly text?: string;
    /** Whether it is a file of the project folder, which may not set everything. */
    readonly isGated?: boolean;
  },
  projectRoot: string,
): Promise<ImportPlan> {
  const existing = existingIn(target, projectRoot);
  const taken = new Map(existing.servers);
  const servers: ImportedServer[] = [];
  const additions: Addition[] = [];
  const problems: Problem[] = [];
  const warnings: Problem[] = [];
  const isFresh = existing.servers.size === 0 && sources.length === 1;
  const mcpKeys: string[] = [];
  for (const source of sources) {
    const origin = originOf(source, projectRoot);
    const conversion = await conversionOf(source, projectRoot);
    const { section, faults: ofSection } = sectionOf(conversion, origin);
    const switchOf = switchesOf(section);
    const { inputs, faults } = inputsOf(conversion);
    const lost = isFresh ? [] : keptOut(conversion);
    problems.push(
      ...[...conversion.faults, ...ofSection, ...faults, ...lost].map((fault) =>
        problemAt(origin, fault),
      ),
    );
    warnings.push(...(conversion.renamed ?? []).map((fault) => problemAt(origin, fault)));
    const isGateway = ({ name, node }: TreeMember): boolean => startsTroupe(name, valueOf(node));
    const gateways = conversion.servers.filter(isGateway);
    problems.push(...gateways.map((member) => problemAt(origin, leftOut(member))));
    for (const member of conversion.servers.filter((each) => !gateways.includes(each))) {
      // A target without servers gets the lists as well.
      const isOn = isFresh ? undefined : switchOf(member.name);
      const twin = conversion.servers.find((it) => it !== member && it.name === member.name);
      const server = importOne(
        member,
        { ...origin, inputs, twin, isGated: target.isGated === true, to: target.folder },
        taken,
        isOn,
      );
      servers.push(server.shown);
      warnings.push(...server.warnings);
      if (server.shown.action !== 'add') continue;
      const { entry, parsed } = server;
      taken.set(server.shown.name, { entry, parsed, folder: origin.folder, isNew: true });
      additions.push({ path: ['mcpServers', server.shown.name], value: server.entry });
    }
    if (isFresh) {
      const added = membersOf(conversion.mcp?.node).filter(
        ({ name }) => name in section && !existing.mcpKeys.has(name),
      );
      mcpKeys.push(...added.map(({ name }) => name));
      additions.push(
        ...added.map(({ name, node }) => ({ path: ['mcp', name], value: valueOf(node) })),
      );
    }
    additions.push(...inputsFor(conversion, existing.inputs, additions));
  }
  const plan = { servers, mcp: mcpKeys, problems, warnings };
  if (additions.length === 0) return plan;
  const text = addToSettings(target.text ?? '{}\n', additions);
  if (text === undefined)
    throw settingsError(
      `cannot add to ${target.file} without changing its content; set --to to another file`,
    );
  return { ...plan, text: text.endsWith('\n') ? text : `${text}\n` };
}

function inputsOf({ inputs }: Conversion): ReturnType<typeof parseInputs> {
  return inputs === undefined ? { inputs: [], faults: [] } : parseInputs(inputs);
}

/** Whether an entry runs `troupe serve`. A troupe that ran itself as a server would start without end. */
export function startsTroupe(name: string, entry: unknown): boolean {
  if (!isRecord(entry)) return false;
  const { command, args } = entry;
  const words = [command, ...(Array.isArray(args) ? (args as unknown[]) : [])];
  if (name === 'troupe' && words.includes('serve')) return true;
  const at = words.findIndex(
    (word) =>
      typeof word === 'string' && /(?:^|[/\\])(?:mcp-)?troupe(?:\.\w+)?$|mcp-troupe/u.test(word),
  );
  return at !== -1 && words.slice(at + 1).includes('serve');
}

function leftOut(member: TreeMember): Fault {
  return {
    line: member.line,
    path: writtenPath(member, ['mcpServers', member.name], []),
    message: 'this is troupe itself; it is left out',
  };
}

interface Existing {
  readonly servers: ReadonlyMap<string, TakenServer>;
  readonly mcpKeys: ReadonlySet<string>;
  readonly inputs: ReadonlySet<unknown>;
}

type Origin = DocumentOrigin & Placed;

function originOf(
  { file, folder }: Pick<ImportSource, 'file'> & Placed,
  projectRoot: string,
): Origin {
  return { file, scope: 'config', projectRoot, folder };
}

/** Reads the target, which must have our own format. */
function existingIn(
  { file, text, folder }: Placed & { readonly file: string; readonly text?: string },
  projectRoot: string,
): Existing {
  const root = ownRoot(file, text, projectRoot);
  const origin = originOf({ file, folder }, projectRoot);
  const inputsMember = memberOf(root, 'inputs');
  const definitions = inputsMember === undefined ? [] : parseInputs(inputsMember).inputs;
  const inputs = inputsMember?.node;
  const conversion = convertSettings(root, { projectRoot, file, isOwn: true });
  const members =
    conversion === undefined || 'fault' in conversion
      ? []
      : conversion.servers.filter(({ written }) => written?.[0] !== 'projects');
  const servers = members.map((member) => {
    const parsed = parseServerEntry(member, origin, definitions);
    return [member.name, { entry: valueOf(member.node) as Entry, parsed, folder }] as const;
  });
  return {
    servers: new Map(servers),
    mcpKeys: new Set(membersOf(memberOf(root, 'mcp')?.node).map(({ name }) => name)),
    inputs: new Set(inputs?.kind === 'array' ? inputs.items.map((it) => idOf(valueOf(it))) : []),
  };
}

async function conversionOf(source: ImportSource, projectRoot: string): Promise<Conversion> {
  const { file, program } = source;
  const tree = await readAnyTree(source);
  if ('fault' in tree) return refuse(file, tree.fault);
  const conversion = convertSettings(tree.root, defined({ projectRoot, program, file }));
  if (conversion === undefined)
    return refuse(file, {
      line: 1,
      message: 'found no MCP servers in a known format; see docs/import.md',
    });
  return 'fault' in conversion ? refuse(file, conversion.fault) : conversion;
}

function refuse(file: string, { line, message }: Pick<Fault, 'line' | 'message'>): never {
  throw settingsError(`nothing is imported, because of ${file}:${line}: ${message}`);
}

/** Parses the source's section `mcp`; an invalid limit stops the import. */
function sectionOf(
  { mcp }: Conversion,
  { file }: DocumentOrigin,
): { readonly section: McpSection; readonly faults: readonly Fault[] } {
  if (mcp === undefined) return { section: {}, faults: [] };
  const { section, faults } = parseMcpSection(mcp);
  return section === undefined
    ? refuse(file, faults[0] ?? { line: mcp.line, message: 'fix it' })
    : { section, faults };
}

/** Whether the source's lists enable or disable a server; undefined when they do not mention it. */
function switchesOf(section: McpSection): (name: string) => boolean | undefined {
  const { allowed, excluded = [], disabledServers = [], enabledServers = [] } = section;
  return (name) => {
    const isLeftOut = excluded.includes(name) || allowed?.includes(name) === false;
    if (isLeftOut || disabledServers.includes(name)) return false;
    return enabledServers.includes(name) ? true : undefined;
  };
}

function importOne(
  member: TreeMember,
  origin: Origin & {
    readonly inputs: readonly InputDefinition[];
    /** Another server of the source that has its name. */
    readonly twin: TreeMember | undefined;
    readonly isGated: boolean;
    /** Where it is placed once it is written. */
    readonly to: string;
  },
  taken: ReadonlyMap<string, TakenServer>,
  isOn: boolean | undefined,
): { shown: ImportedServer; warnings: readonly Problem[] } & TakenServer {
  const warn: Problem[] = [];
  const at = (where: readonly (string | number)[], message: string): Problem =>
    problemAt(origin, {
      line: where.length === 0 ? member.line : lineAt(member.node, where),
      path: writtenPath(member, ['mcpServers', member.name], where),
      message,
    });
  const { name } = member;
  const parsed = parseServerEntry(member, origin, origin.inputs);
  const { desired, withoutConsent } = parsed;
  const { folder } = origin;
  const value = valueOf(member.node);
  const raw: Entry = isRecord(value) ? value : {};
  // The lists may switch a server on or off.
  const isSwitched = isOn !== undefined && isOn !== (raw['enabled'] ?? true);
  const switched = isSwitched ? { ...raw, enabled: isOn } : raw;
  const { entry: kept, ignored } = keptIn(switched, origin.isGated);
  const entry = withFolder(kept, parsed, { from: folder, to: origin.to });
  const { file, line } = desired.source;
  const from = { key: at([], '').key ?? '', ...defined({ file, line }) };
  const shown = (action: ImportedServer['action'], why?: string) => ({
    shown: { name, action, from, entry: withoutSecrets(entry), ...defined({ why }) },
    entry,
    parsed,
    folder,
    warnings: warn,
  });
  if (desired.invalid !== undefined) return shown('invalid', placed(desired.invalid, from.key));
  // Programs differ in which of the two counts.
  if (origin.twin !== undefined)
    return shown(
      'invalid',
      `line ${origin.twin.line} has this name, too; rename or remove one of the two`,
    );
  const earlier = taken.get(name);
  if (earlier !== undefined && isSameAs(earlier, { entry, parsed, folder }, raw))
    return shown('same', earlier.isNew === true ? 'the same as above' : 'exists already');
  if (earlier !== undefined)
    return shown('conflict', 'a different server has this name; rename or remove one of them');
  if (isSwitched) warn.push(at([], `written with "enabled": ${isOn}, because of the file's lists`));
  for (const key of ignored)
    warn.push(
      at(
        [key],
        `"${key}" is left out, because a project file cannot set it; add it in settings of your own`,
      ),
    );
  if (withoutConsent !== undefined) warn.push(withoutConsent);
  warn.push(...remarksOn(entry).map(([where, message]) => at(where, message)));
  return shown('add');
}

/** An entry without the keys that count only outside the project folder, and those keys. */
function keptIn(entry: Entry, isGated: boolean): { entry: Entry; ignored: readonly string[] } {
  const ignored: readonly string[] = isGated
    ? privilegedKeys.filter((key) => Object.hasOwn(entry, key))
    : [];
  const kept = Object.entries(entry).filter(([key]) => !ignored.includes(key));
  return { entry: Object.fromEntries(kept), ignored };
}

/** What to check in an entry that is written. */
function remarksOn(
  entry: Entry,
): readonly (readonly [where: readonly (string | number)[], message: string])[] {
  const asks = JSON.stringify(entry).includes('${input:');
  const input =
    'asks for an input, which troupe serve cannot do in a host; write ${VAR} in its place, or ${keychain:SERVICE/ACCOUNT} in settings of your own';
  const secret =
    'looks like a secret and is copied as it is; move it to a variable and write ${NAME}';
  return [
    ...(asks ? [[[], input] as const] : []),
    ...literalSecretsOf(entry).map((where) => [where, secret] as const),
  ];
}

/** Names the key of an entry that a problem is about. */
function placed({ key = '', line, message }: Problem, entry: string): string {
  const within = key.startsWith(`${entry}.`) ? key.slice(entry.length + 1) : '';
  return within === '' ? message : `line ${line ?? 1}, ${within}: ${message}`;
}

const lists: readonly string[] = ['allowed', 'excluded', 'disabledServers', 'enabledServers'];

/** What a section `mcp` says beyond its own servers, which a file that has servers does not get. */
function keptOut({ mcp, servers }: Conversion): readonly Fault[] {
  const isOfServer = (item: TreeNode): boolean =>
    servers.some(({ name }) => name === valueOf(item));
  return membersOf(mcp?.node).flatMap(({ name, line, node, written }) => {
    const isCovered = lists.includes(name) && node.kind === 'array' && node.items.every(isOfServer);
    const message =
      'not written to a file that has servers already, because it would apply to them too; add it to "mcp" there';
    return isCovered ? [] : [{ line, path: written ?? ['mcp', name], message }];
  });
}

function isSameAs(
  earlier: TakenServer,
  { entry, parsed, folder }: TakenServer,
  raw: Entry,
): boolean {
  const isEqual = equalData(earlier.entry, entry) || equalData(earlier.entry, raw);
  const isInPlace = earlier.folder === folder || isSameConnection(earlier.parsed, parsed);
  return (isEqual && isInPlace) || isSameServer(earlier.parsed, parsed);
}

/** Definitions of the inputs that the added servers use. */
function inputsFor(
  { inputs }: Conversion,
  known: ReadonlySet<unknown>,
  additions: readonly Addition[],
): readonly Addition[] {
  const text = JSON.stringify(additions.map(({ value }) => value));
  const items = inputs?.node.kind === 'array' ? inputs.node.items.map(valueOf) : [];
  return items
    .filter((item) => !known.has(idOf(item)) && text.includes(`\${input:${String(idOf(item))}}`))
    .map((value) => ({ path: ['inputs', -1], value }));
}

function idOf(input: unknown): unknown {
  return isRecord(input) ? input['id'] : undefined;
}

/**
 * Keeps what an entry of the project means when it is written to a file outside it: returns it with the folder
 * that it leaves, where that decides what it means.
 */
function withFolder(
  entry: Entry,
  { spec, isPlaced }: ParsedServer,
  { from, to }: { readonly from: string; readonly to: string },
): Entry {
  if (spec?.type !== 'stdio' || from === to) return entry;
  const isLiteral = spec.values?.literal === true;
  const paths = (['command', 'cwd', 'envFile'] as const).flatMap((key) => {
    const text = entry[key];
    const isRelative = typeof text === 'string' && (key !== 'command' || /^\.\.?[\\/]/u.test(text));
    return isRelative && (isLiteral || !text.startsWith('${'))
      ? [[key, path.resolve(from, text)]]
      : [];
  });
  const isBound = isPlaced === false && dependsOnFolder(spec);
  return { ...entry, ...Object.fromEntries(paths), ...(isBound && { cwd: from }) };
}
