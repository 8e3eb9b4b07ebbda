/** Adds our gateway to another program's settings, or removes it. */

import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { parse } from 'smol-toml';
import { readSettingsFile } from '../../../actors/settings/file.ts';
import { defined } from '../../domain/data/defined.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { settingsError } from '../../domain/user-errors.ts';
import { equalData } from '../../policies/equal-data.ts';
import { redactWords } from '../../policies/text/redact-words.ts';
import { changeSettings } from '../../settings/edit-settings.ts';
import type { DocumentOrigin } from '../../settings/entry/places.ts';
import { type ParsedServer, parseServerEntry } from '../../settings/entry/server-entry.ts';
import { convertSettings } from '../../settings/formats/convert-settings.ts';
import { readAnyTree } from '../../settings/formats/settings-language.ts';
import { parseInputs } from '../../settings/inputs-section.ts';
import { connectionKeysOf } from '../../settings/same-servers.ts';
import { readTree, valueOf } from '../../settings/settings-tree.ts';
import { isAgreed } from '../ask/confirm.ts';
import type { CliSession } from '../command.ts';
import { placeFactsOf } from '../import/discover.ts';
import { serveWords } from '../import/init.ts';
import { type ImportSource, startsTroupe } from '../import/plan.ts';
import { type Launch, realOrPlanned, sourcesOf } from '../launch.ts';
import { isOfProject, orRefusal, replaceFile, textToEdit } from '../settings/target.ts';
import { entryName, type Host, type HostName, hostOf } from './hosts.ts';
import { withTomlEntry } from './toml-entry.ts';

type Entry = Readonly<Record<string, unknown>>;

/** A change of another program's settings. */
interface HostEdit {
  readonly host: HostName;
  /** The file as named, and its real path. */
  readonly file: string;
  readonly place: string;
  readonly before: string | undefined;
  /** Whether it has our entry. */
  readonly isConnected: boolean;
  /** Absent: there is nothing to change. */
  readonly text?: string;
  readonly entry?: Entry;
  /** Servers that troupe runs as well: those that the program still starts, and those that move. */
  readonly doubled: readonly string[];
  readonly moved: readonly string[];
}

export interface ConnectFlags {
  readonly yes?: true;
  readonly replace?: true;
}

/** Runs `troupe connect` and `troupe disconnect`. */
export async function connectHost(
  session: CliSession,
  name: HostName,
  { wish, yes, replace }: ConnectFlags & { readonly wish: boolean },
): Promise<number> {
  const { output } = session;
  const edit = await editOf(session, name, wish, replace);
  const { file, place, before = '', text } = edit;
  const shown = printableLine(place, 500);
  if (text !== undefined) output.lines([shown, ...diffLines(before, text)]);
  const question = questionOf(edit, wish);
  const isWritten = text !== undefined && (yes === true || (await isAgreed(session, question)));
  const backup = isWritten ? await write(edit, text) : undefined;
  const isDone = isWritten || text === undefined;
  output.document({
    host: name,
    file,
    connected: isDone === wish,
    written: isWritten,
    ...defined({ backup, entry: edit.entry }),
    doubled: edit.doubled,
    moved: edit.moved,
  });
  if (!isDone) output.note('nothing is written');
  const done = wish ? 'connected' : 'disconnected';
  if (text === undefined) output.lines([`${name} is already ${done}: ${shown}`]);
  if (backup !== undefined)
    output.lines([`the file as it was without troupe is kept as ${printableLine(backup, 500)}`]);
  if (edit.doubled.length > 0)
    output.lines([
      `${name} also starts ${edit.doubled.join(', ')} itself, so these run twice; troupe connect ${name} --replace takes them out of its settings`,
    ]);
  if (isWritten) output.lines([`${done} ${name}; restart it to apply this`]);
  return 0;
}

function questionOf({ host, moved }: HostEdit, wish: boolean): string {
  const names = moved.join(', ');
  const moves = names === '' ? '' : ` and ${wish ? 'take out' : 'put back'} ${names}`;
  return `${wish ? 'add troupe to' : 'remove troupe from'} the settings of ${host}${moves}?`;
}

async function editOf(
  session: CliSession,
  name: HostName,
  wish: boolean,
  isReplacing = false,
): Promise<HostEdit> {
  const host = hostOf(name, placeFactsOf(session));
  const { file } = host;
  const place = realOrPlanned(file);
  const before = await textToEdit(place, `cannot edit ${file}`);
  const entry = wish ? { ...host.more, ...gatewayOf(session) } : undefined;
  const present = entryIn(host, before);
  const isConnected = present !== undefined;
  const edit = { host: name, file, place, before, isConnected, ...defined({ entry }) };
  if (!wish)
    return {
      ...edit,
      doubled: [],
      ...(await withoutTroupe(session, { ...edit, of: host, present })),
    };
  const doubled = await doubledIn(session, host, name, before);
  const moved = isReplacing ? doubled : [];
  const isSame = equalData(present, entry) && moved.length === 0;
  const text = isSame ? undefined : editedText(host, before, entry, moved);
  return { ...edit, doubled: isReplacing ? [] : doubled, moved, ...defined({ text }) };
}

/** The text without our entry, with the servers that `--replace` took out. */
async function withoutTroupe(
  session: CliSession,
  {
    of: host,
    host: name,
    place,
    before,
    present,
  }: Pick<HostEdit, 'host' | 'place' | 'before'> & { readonly of: Host; readonly present: unknown },
): Promise<Pick<HostEdit, 'moved' | 'text'>> {
  if (before === undefined || present === undefined) return { moved: [] };
  const plain = editedText(host, before, undefined);
  const backup = backupOf(place);
  const old = existsSync(backup) ? await textToEdit(backup, `cannot read ${backup}`) : undefined;
  if (old === undefined || old === before) return { moved: [], text: plain };
  const kept = serversIn(host, before);
  const moved = (await doubledIn(session, host, name, old)).filter((each) => !(each in kept));
  // Nothing else was edited since: every byte comes back.
  if (editedText(host, old, present as Entry, moved) === before) return { moved, text: old };
  let text = plain;
  const entries = serversIn(host, old);
  for (const each of moved) text = withEntry(host, text, each, entries[each] as Entry);
  return { moved, text };
}

/** The names of servers in the program's own list that troupe runs, too, and that the program does not disable. */
async function doubledIn(
  { launch }: CliSession,
  host: Host,
  program: HostName,
  text: string | undefined,
): Promise<readonly string[]> {
  if (text === undefined || text.trim() === '') return [];
  const listed = serversIn(host, text);
  const theirs = (await serversOf({ file: host.file, text, program }, launch)).filter(
    ({ desired }) => desired.name in listed,
  );
  const ours = new Set<string>();
  for (const { file } of sourcesOf(launch)) {
    const reading = await readSettingsFile(file);
    if (!('text' in reading)) continue;
    for (const server of await serversOf({ file, text: reading.text }, launch))
      for (const key of connectionKeysOf(server)) ours.add(key);
  }
  return theirs
    .filter((server) => connectionKeysOf(server).some((key) => ours.has(key)))
    .map(({ desired }) => desired.name);
}

/** The enabled servers of a file. Those of the user's own files are compared as if all stood in one. */
async function serversOf(
  source: ImportSource,
  { projectRoot, userSettings }: Launch,
): Promise<readonly ParsedServer[]> {
  const tree = await readAnyTree(source);
  const conversion =
    'fault' in tree
      ? undefined
      : convertSettings(
          tree.root,
          defined({ projectRoot, program: source.program, file: source.file }),
        );
  if (conversion === undefined || 'fault' in conversion) return [];
  const { inputs } =
    conversion.inputs === undefined ? { inputs: [] } : parseInputs(conversion.inputs);
  const isTheirs = await isOfProject(source.file, projectRoot);
  const folder = isTheirs ? projectRoot : path.dirname(userSettings);
  const origin: DocumentOrigin = { file: source.file, scope: 'config', projectRoot, folder };
  return conversion.servers
    .filter((member) => !startsTroupe(member.name, valueOf(member.node)))
    .map((member) => parseServerEntry(member, origin, inputs))
    .filter(({ desired }) => desired.invalid === undefined && desired.enabled);
}

/** Returns the path of the copy of the file as it was without us; undefined when there is none. */
async function write(
  { place, before, isConnected }: HostEdit,
  text: string,
): Promise<string | undefined> {
  const backup = backupOf(place);
  // With our entry, the file is not worth more than the copy that was made before we added it.
  const isKept = before === undefined || (isConnected && existsSync(backup));
  if (!isKept) await orRefusal(backup, () => copyFile(place, backup));
  await replaceFile(place, before, text);
  return existsSync(backup) ? backup : undefined;
}

function backupOf(place: string): string {
  return `${place}.before-troupe`;
}

/** How the program starts us: by name where that is on PATH, otherwise by the path of this program. */
function gatewayOf({ host, launch }: CliSession): { command: string; args: readonly string[] } {
  const [command = '', ...args] = serveWords(launch);
  const own = process.argv[1];
  if (isOnPath(command, host.env['PATH'] ?? '') || own === undefined) return { command, args };
  return { command: process.execPath, args: [...process.execArgv, path.resolve(own), ...args] };
}

function isOnPath(command: string, folders: string): boolean {
  return folders
    .split(path.delimiter)
    .some((folder) => path.isAbsolute(folder) && existsSync(path.join(folder, command)));
}

function cannotEdit(file: string, why: string): never {
  throw settingsError(`cannot edit ${printableLine(file, 500)}: ${why}`);
}

/**
 * Our entry in a file; undefined if there is none.
 * @throws TroupeError `INVALID_CONFIG` when another server has its name
 */
function entryIn(host: Host, before: string | undefined): unknown {
  const present = serversIn(host, before ?? '')[entryName];
  if (present === undefined || startsTroupe(entryName, present)) return present;
  return cannotEdit(
    host.file,
    `its "${entryName}" in ${host.key} does not run troupe serve; rename it to keep it, or remove it`,
  );
}

/** The text with our entry, or without it, and without the servers that `moved` names. */
function editedText(
  host: Host,
  before: string | undefined,
  entry: Entry | undefined,
  moved: readonly string[] = [],
): string {
  // Ours comes first, so that the list is never empty.
  const text = withEntry(host, before, entryName, entry);
  return moved.reduce((rest, name) => withEntry(host, rest, name, undefined), text);
}

function withEntry(
  { file, key, isToml }: Host,
  before: string | undefined,
  name: string,
  entry: Entry | undefined,
): string {
  const text = isToml
    ? withTomlEntry(before ?? '', { holder: key, name }, entry)
    : changeSettings(before ?? '{}\n', [{ path: [key, name], value: entry }]);
  return text ?? cannotEdit(file, 'its content would change elsewhere; edit it by hand');
}

/** The program's own list of servers. */
function serversIn({ file, key, isToml }: Host, before: string): Entry {
  const content = isToml ? tomlContent(file, before) : jsonContent(file, before);
  const servers = content[key];
  return isRecord(servers) ? servers : {};
}

function tomlContent(file: string, before: string): Entry {
  try {
    return parse(before);
  } catch {
    return cannotEdit(file, 'it is not valid TOML; fix it');
  }
}

function jsonContent(file: string, before: string): Entry {
  const tree = readTree(before.trim() === '' ? '{}' : before);
  if ('fault' in tree) return cannotEdit(file, `line ${tree.fault.line}: ${tree.fault.message}`);
  const content = valueOf(tree.root);
  return isRecord(content) ? content : cannotEdit(file, 'it is not an object; fix it');
}

/** The lines of two texts from the first to the last difference. */
function diffLines(before: string, after: string): readonly string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < old.length && start < now.length && old[start] === now[start]) start += 1;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end))
    end += 1;
  const cut = (line: string): string => printableLine(redactWords(line), 1_000);
  const spaced = (sign: string, line: string): string =>
    `  ${sign} ${/^\s*/u.exec(line)?.[0].replaceAll('\t', '  ') ?? ''}${cut(line.trim())}`;
  return [
    ...old.slice(start, old.length - end).map((line) => spaced('-', line)),
    ...now.slice(start, now.length - end).map((line) => spaced('+', line)),
  ];
}
