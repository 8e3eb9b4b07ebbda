/** Adds and removes one table of a TOML text, and leaves everything else in it unchanged. */

import { parse } from 'smol-toml';
import { equalData } from '../../policies/equal-data.ts';
import { isRecord } from '../../policies/is-record.ts';

export interface TomlTable {
  readonly holder: string;
  readonly name: string;
}

type Entry = Readonly<Record<string, unknown>>;

/** Undefined when the text is invalid. */
export function tomlEntry(text: string, { holder, name }: TomlTable): unknown {
  const tables = parse(text)[holder];
  return isRecord(tables) ? tables[name] : undefined;
}

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
  const { [table.holder]: _before, ...others } = parse(text);
  const { [table.holder]: _after, ...othersAfter } = parse(edited);
  const isSafe =
    equalData(others, othersAfter) &&
    equalData(otherTables(text, table), otherTables(edited, table)) &&
    equalData(tomlEntry(edited, table), entry);
  return isSafe ? edited : undefined;
}

function otherTables(text: string, { holder, name }: TomlTable): Entry {
  const tables = parse(text)[holder];
  const { [name]: _own, ...others } = isRecord(tables) ? tables : {};
  return others;
}

/** Removes the lines from the table's head, or a sub-table's, to the next other head. */
function withoutTable(text: string, { holder, name }: TomlTable): string {
  let isInside = false;
  const kept = text.split(/(?<=\n)/u).filter((line) => {
    const head = /^\s*\[\[?([^\]]*)\]/u.exec(line)?.[1]?.replaceAll(/[\s"']/gu, '');
    if (head !== undefined) {
      const own = `${holder}.${name}`;
      isInside = head === own || head.startsWith(`${own}.`);
    }
    return !isInside;
  });
  return kept.length === text.split(/(?<=\n)/u).length
    ? text
    : kept.join('').replace(/(\r?\n)+$/u, '$1');
}

/** A JSON string is a valid TOML string, and so is a list of them. */
function tableLines({ holder, name }: TomlTable, entry: Entry): readonly string[] {
  const values = Object.entries(entry).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return [`[${holder}.${name}]`, ...values];
}
