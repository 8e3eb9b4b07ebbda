/**
 * Reads the results of callers' requests field by field. A result whose request was answered is never
 * withheld: what has a wrong shape is repaired or left out, with a note about it.
 */

import { keepNumbers } from '../domain/data/exact-json.ts';
import { isRecord } from '../domain/data/is-record.ts';
import type { SessionRequest } from '../domain/session.ts';
import type { ToolResult } from '../domain/tool.ts';

export type Fields = Readonly<Record<string, unknown>>;
/** Called with what a result is returned without, or with another value. */
export type Note = (what: string) => void;
/** Returns the result in the shape that callers rely on. */
export type Read<Result> = (result: Fields, note: Note) => Result;

/** Returns the field's value, or what it is returned as; undefined to leave the field out. */
type ReadField = (value: unknown, note: Note) => unknown;
type ReadFields = Readonly<Record<string, ReadField>>;

const metaField: ReadFields = { _meta: (value, note) => fit('_meta', value, isRecord, note) };

const toolFields: ReadFields = {
  ...metaField,
  content: listOf('content', blockIn),
  // Structured content may be any JSON since 2026-07-28, and servers of all revisions send lists.
  isError: (value, note) => {
    if (value === undefined || typeof value === 'boolean') return value;
    note('"isError" is neither true nor false');
    return value !== 'false' && Boolean(value);
  },
};

const completionFields: ReadFields = {
  values: listOf('values', (entry) => (typeof entry === 'string' ? entry : undefined)),
  total: (value, note) => fit('total', value, isNumber, note),
  hasMore: (value, note) => fit('hasMore', value, isBoolean, note),
};

const fieldsOf: Readonly<Record<SessionRequest['kind'], ReadFields>> = {
  readResource: { ...metaField, contents: listOf('contents', recordIn) },
  getPrompt: {
    ...metaField,
    messages: listOf('messages', recordIn),
    description: (value, note) => fit('description', value, isText, note),
  },
  complete: {
    ...metaField,
    completion: (value, note) =>
      readFields(fit('completion', value, isRecord, note) ?? {}, completionFields, note),
  },
};

export const readToolResult: Read<ToolResult> = (result, note) =>
  readFields(result, toolFields, note) as unknown as ToolResult;

export function readerFor(kind: SessionRequest['kind']): Read<Fields> {
  return (result, note) => readFields(result, fieldsOf[kind], note);
}

/** Returns the object itself if all its fields have the right shape. */
function readFields(given: Fields, fields: ReadFields, note: Note): Fields {
  let read: Record<string, unknown> | undefined;
  for (const [name, readField] of Object.entries(fields)) {
    // Some servers write null for absent fields.
    const value = readField(given[name] ?? undefined, note);
    if (value === given[name]) continue;
    read ??= { ...given };
    if (value === undefined) delete read[name];
    else read[name] = value;
  }
  return read === undefined ? given : keepNumbers(read, given);
}

function fit<Value>(
  name: string,
  value: unknown,
  isFit: (value: unknown) => value is Value,
  note: Note,
): Value | undefined {
  if (value === undefined || isFit(value)) return value;
  note(`"${name}" has a wrong shape`);
  return undefined;
}

/** Reads a list without the entries that cannot be read. A value that is no list may be its entry. */
function listOf(name: string, read: (entry: unknown) => unknown): ReadField {
  return (value, note) => {
    // Servers of early revisions omitted the content when there was none.
    if (value === undefined) return [];
    const isList = Array.isArray(value);
    if (isList && value.every((entry) => read(entry) === entry)) return value;
    const entries: readonly unknown[] = isList ? value : [value];
    if (!isList) note(`"${name}" is not a list`);
    const kept = entries.map(read);
    const odd = kept.filter((entry, at) => entry !== entries[at]).length;
    if (isList) note(`"${name}" has ${odd} of ${entries.length} entries in a wrong shape`);
    return kept.filter((entry) => entry !== undefined);
  };
}

function recordIn(entry: unknown): unknown {
  return isRecord(entry) ? entry : undefined;
}

/** Returns a block of content; a text block is recognized without its type. */
function blockIn(entry: unknown): unknown {
  if (typeof entry === 'string') return { type: 'text', text: entry };
  if (!isRecord(entry)) return undefined;
  if (typeof entry['type'] === 'string') return entry;
  return typeof entry['text'] === 'string' ? { ...entry, type: 'text' } : undefined;
}

const isText = (value: unknown): value is string => typeof value === 'string';
const isNumber = (value: unknown): value is number => typeof value === 'number';
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
