/** Adds our gateway to another program's settings, or removes it. */

import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import path from 'node:path';
import { readSettingsFile } from '../../../actors/settings/file.ts';
import { changeSettings } from '../../config/edit-settings.ts';
import { readTree, valueOf } from '../../config/settings-tree.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { defined } from '../../policies/defined.ts';
import { equalData } from '../../policies/equal-data.ts';
import { isRecord } from '../../policies/is-record.ts';
import { printableLine } from '../../policies/text/printable.ts';
import { redactWords } from '../../policies/text/redact-words.ts';
import { isAgreed } from '../ask/confirm.ts';
import type { CliSession } from '../command.ts';
import { placeFactsOf } from '../import/discover.ts';
import { serveWords } from '../import/init.ts';
import { realOrPlanned } from '../launch.ts';
import { replaceFile } from '../settings/target.ts';
import { entryName, type Host, type HostName, hostOf } from './hosts.ts';
import { tomlEntry, withTomlEntry } from './toml-entry.ts';

type Entry = Readonly<Record<string, unknown>>;

/** A change of another program's settings. */
interface HostEdit {
  readonly host: HostName;
  /** The file as named, and its real path. */
  readonly file: string;
  readonly place: string;
  readonly before: string | undefined;
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
    output.lines([`the earlier file is kept as ${printableLine(backup, 500)}`]);
  if (isWritten) output.lines([`${done} ${name}; restart it to apply this`]);
  return 0;
}

async function editOf(session: CliSession, name: HostName, wish: boolean): Promise<HostEdit> {
  const host = hostOf(name, placeFactsOf(session));
  const { file } = host;
  const place = realOrPlanned(file);
  const reading = await readSettingsFile(place);
  if ('message' in reading)
    throw new TroupeError('INVALID_CONFIG', `cannot edit ${file}: ${reading.message}`);
  const before = 'text' in reading ? reading.text : undefined;
  const entry = wish ? { ...host.more, ...gatewayOf(session) } : undefined;
  const text = editedText(host, before, entry);
  return { host: name, file, place, before, ...defined({ text, entry }) };
}

/** Returns the path of the earlier file's copy; undefined when there was no file. */
async function write({ place, before }: HostEdit, text: string): Promise<string | undefined> {
  const backup = before === undefined ? undefined : `${place}.before-troupe`;
  if (backup !== undefined) await copyFile(place, backup);
  if (await replaceFile(place, before, text)) return backup;
  throw new TroupeError(
    'INVALID_CONFIG',
    `${printableLine(place, 500)} was edited meanwhile, so nothing was written; run the command again`,
  );
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

function editedText(
  { file, key, isToml }: Host,
  before: string | undefined,
  entry: Entry | undefined,
): string | undefined {
  const fail = (why: string): never => {
    throw new TroupeError('INVALID_CONFIG', `cannot edit ${file}: ${why}`);
  };
  const content = contentOf(file, isToml, before, fail);
  const holder = isRecord(content) ? content[key] : fail('it is not an object; fix it');
  const present = isRecord(holder) ? holder[entryName] : undefined;
  if (equalData(present, entry)) return undefined;
  const table = { holder: key, name: entryName };
  const text = isToml
    ? withTomlEntry(before ?? '', table, entry)
    : changeSettings(before ?? '{}\n', [{ path: [key, entryName], value: entry }]);
  return text ?? fail('its content would change elsewhere; edit it by hand');
}

function contentOf(
  file: string,
  isToml: boolean,
  before: string | undefined,
  fail: (why: string) => never,
): unknown {
  if (isToml) {
    const table = { holder: 'mcp_servers', name: entryName };
    try {
      return { [table.holder]: { [table.name]: tomlEntry(before ?? '', table) } };
    } catch {
      return fail('it is not valid TOML; fix it');
    }
  }
  const tree = readTree(before === undefined || before.trim() === '' ? '{}' : before);
  return 'fault' in tree
    ? fail(`line ${tree.fault.line}: ${tree.fault.message}`)
    : valueOf(tree.root);
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
