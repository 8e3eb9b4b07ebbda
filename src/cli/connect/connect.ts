/** Adds our gateway to another program's settings, or removes it. */

import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { changeSettings } from '../../config/edit-settings.ts';
import { readTree, valueOf } from '../../config/settings-tree.ts';
import { settingsError } from '../../domain/user-errors.ts';
import { defined } from '../../policies/defined.ts';
import { equalData } from '../../policies/equal-data.ts';
import { isRecord } from '../../policies/is-record.ts';
import { printableLine } from '../../policies/text/printable.ts';
import { redactWords } from '../../policies/text/redact-words.ts';
import { isAgreed } from '../ask/confirm.ts';
import type { CliSession } from '../command.ts';
import { placeFactsOf } from '../import/discover.ts';
import { serveWords } from '../import/init.ts';
import { startsTroupe } from '../import/plan.ts';
import { realOrPlanned } from '../launch.ts';
import { orRefusal, replaceFile, textToEdit } from '../settings/target.ts';
import { entryName, type Host, type HostName, hostOf } from './hosts.ts';
import { type TomlTable, tomlEntry, withTomlEntry } from './toml-entry.ts';

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
}

/** Runs `troupe connect` and `troupe disconnect`. */
export async function connectHost(
  session: CliSession,
  name: HostName,
  { wish, yes = false }: { readonly wish: boolean; readonly yes?: boolean },
): Promise<number> {
  const { output } = session;
  const edit = await editOf(session, name, wish);
  const { file, place, before = '', text } = edit;
  const shown = printableLine(place, 500);
  if (text !== undefined) output.lines([shown, ...diffLines(before, text)]);
  const question = `${wish ? 'add troupe to' : 'remove troupe from'} the settings of ${name}?`;
  const isWritten = text !== undefined && (yes || (await isAgreed(session, question)));
  const backup = isWritten ? await write(edit, text) : undefined;
  const isDone = isWritten || text === undefined;
  output.document({
    host: name,
    file,
    connected: isDone === wish,
    written: isWritten,
    ...defined({ backup, entry: edit.entry }),
  });
  if (!isDone) output.note('nothing is written');
  const done = wish ? 'connected' : 'disconnected';
  if (text === undefined) output.lines([`${name} is already ${done}: ${shown}`]);
  if (backup !== undefined)
    output.lines([`the file as it was without troupe is kept as ${printableLine(backup, 500)}`]);
  if (isWritten) output.lines([`${done} ${name}; restart it to apply this`]);
  return 0;
}

async function editOf(session: CliSession, name: HostName, wish: boolean): Promise<HostEdit> {
  const host = hostOf(name, placeFactsOf(session));
  const { file } = host;
  const place = realOrPlanned(file);
  const before = await textToEdit(place, `cannot edit ${file}`);
  const entry = wish ? { ...host.more, ...gatewayOf(session) } : undefined;
  const present = entryIn(host, before);
  const text = equalData(present, entry) ? undefined : editedText(host, before, entry);
  const isConnected = present !== undefined;
  return { host: name, file, place, before, isConnected, ...defined({ text, entry }) };
}

/** Returns the path of the copy of the file as it was without us; undefined when there is none. */
async function write(
  { place, before, isConnected }: HostEdit,
  text: string,
): Promise<string | undefined> {
  const backup = `${place}.before-troupe`;
  // With our entry, the file is not worth more than the copy that was made before we added it.
  const isKept = before === undefined || (isConnected && existsSync(backup));
  if (!isKept) await orRefusal(backup, () => copyFile(place, backup));
  await replaceFile(place, before, text);
  return existsSync(backup) ? backup : undefined;
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
function entryIn({ file, key, isToml }: Host, before: string | undefined): unknown {
  const table = { holder: key, name: entryName };
  const present = (isToml ? presentToml : presentJson)(file, before ?? '', table);
  if (present === undefined || startsTroupe(entryName, present)) return present;
  return cannotEdit(
    file,
    `its "${entryName}" in ${key} does not run troupe serve; rename it to keep it, or remove it`,
  );
}

function editedText(
  { file, key, isToml }: Host,
  before: string | undefined,
  entry: Entry | undefined,
): string {
  const table = { holder: key, name: entryName };
  const text = isToml
    ? withTomlEntry(before ?? '', table, entry)
    : changeSettings(before ?? '{}\n', [{ path: [key, entryName], value: entry }]);
  return text ?? cannotEdit(file, 'its content would change elsewhere; edit it by hand');
}

function presentToml(file: string, before: string, table: TomlTable): unknown {
  try {
    return tomlEntry(before, table);
  } catch {
    return cannotEdit(file, 'it is not valid TOML; fix it');
  }
}

function presentJson(file: string, before: string, { holder, name }: TomlTable): unknown {
  const tree = readTree(before.trim() === '' ? '{}' : before);
  if ('fault' in tree) return cannotEdit(file, `line ${tree.fault.line}: ${tree.fault.message}`);
  const content = valueOf(tree.root);
  const servers = isRecord(content)
    ? content[holder]
    : cannotEdit(file, 'it is not an object; fix it');
  return isRecord(servers) ? servers[name] : undefined;
}

/** The changed lines of two texts, which differ in one place. */
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
