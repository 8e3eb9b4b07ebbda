/** Adds and removes one table of a TOML text, and leaves everything else in it unchanged. */

import { parse } from 'smol-toml';
import { isRecord } from '../../domain/data/is-record.ts';
import { equalData } from '../../policies/equal-data.ts';

export interface TomlTable {
  readonly holder: string;
  readonly name: string;
}

type Entry = Readonly<Record<string, unknown>>;

/**
 * Replaces the table by the entry, or removes it. The text is checked: undefined when the edit would change
 * anything else.
 *
 * @throws the parser's error for an invalid text
 */
export function withTomlEntry(
  text: string,
  table: TomlTable,
  entry: Entry | undefined,
): string | undefined {
  const rest = withoutTable(text, table);
  const lines = entry === undefined ? [] : tableLines(table, entry);
  const eol = text.includes('\r\n') ? '\r\n' : '\n';
  const gap = lines.length === 0 || rest.trim() === '' ? '' : eol;
  const head = rest === '' || rest.endsWith('\n') ? rest : rest + eol;
  const edited = `${head}${gap}${lines.map((line) => line + eol).join('')}`;
  const [old, now] = [parse(text), validContent(edited)];
  const isSafe =
    now !== undefined &&
    equalData(withoutEntry(old, table), withoutEntry(now, table)) &&
    equalData(entryOf(now, table), entry);
  return isSafe ? edited : undefined;
}

function entryOf(content: Entry, { holder, name }: TomlTable): unknown {
  const tables = content[holder];
  return isRecord(tables) ? tables[name] : undefined;
}

function withoutEntry(content: Entry, { holder, name }: TomlTable): Entry {
  const tables = content[holder];
  const { [name]: _own, ...others } = isRecord(tables) ? tables : {};
  return { ...content, [holder]: others };
}

/** Undefined for an invalid text, as an edit of a dotted key, an inline table or a string over several lines gives. */
function validContent(text: string): Entry | undefined {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** Removes the table and its sub-tables. Blank lines and comments below their last key stay. */
function withoutTable(text: string, { holder, name }: TomlTable): string {
  const own = `${holder}.${name}`;
  const lines = text.split(/(?<=\n)/u);
  const kept: string[] = [];
  let isInside = false;
  let loose: string[] = [];
  for (const line of lines) {
    const head = /^\s*\[\[?([^\]]*)\]/u.exec(line)?.[1]?.replaceAll(/[\s"']/gu, '');
    if (head !== undefined) {
      isInside = head === own || head.startsWith(`${own}.`);
      kept.push(...loose);
      loose = [];
    }
    if (!isInside) kept.push(line);
    else if (!/^\s*(?:#|$)/u.test(line)) loose = [];
    else if (loose.length > 0 || line.trim() !== '') loose.push(line);
  }
  kept.push(...loose);
  return kept.length === lines.length ? text : kept.join('').replace(/(\r?\n)+$/u, '$1');
}

/** A JSON string is a valid TOML string, and so is a list of them. */
function tableLines({ holder, name }: TomlTable, entry: Entry): readonly string[] {
  const values = Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return [`[${holder}.${name}]`, ...values];
}
