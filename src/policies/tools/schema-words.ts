/**
 * Makes the words in a JSON Schema of a server safe to show, by the rules for the words of its tool,
 * and takes secrets out of it.
 *
 * Words are what a schema says to people: titles, descriptions, remarks, names of choices. All else
 * is kept to the byte: names of properties and values are what a call must have, even where they look
 * like words. A schema without anything to mend is returned as it is.
 */

import { isRecord } from '../is-record.ts';
import { printableLine, printableText } from '../text/printable.ts';
import { redact } from '../text/redact.ts';

type Schema = Readonly<Record<string, unknown>>;

export interface WordLimits {
  /** Characters of a description; 0 = none at all. */
  readonly description: number;
  readonly title: number;
}

/** The schema with printable words. */
export function printableSchema(schema: Schema, limits: WordLimits): Schema {
  return mendedSchema(schema, {
    text: (part) => textOf(part, limits.description),
    line: (part) => lineOf(part, limits.title),
    value: (part) => part,
  });
}

/** The schema without secrets in its words and in the values that it suggests or allows. */
export function redactedSchema(schema: Schema, secrets: readonly string[]): Schema {
  const clean = (part: unknown): unknown => redactedData(part, secrets);
  return mendedSchema(schema, { text: clean, line: clean, value: clean });
}

/** Data without secrets: the same object when it holds none. Keys stay as they are. */
export function redactedData(data: unknown, secrets: readonly string[]): unknown {
  if (typeof data === 'string') return redact(data, secrets);
  if (Array.isArray(data)) return mendedList(data, (one) => redactedData(one, secrets));
  return isRecord(data) ? mended(data, (_name, part) => redactedData(part, secrets)) : data;
}

/** What becomes of each kind of part; undefined = it is left out. */
interface Mending {
  readonly text: (part: unknown) => unknown;
  readonly line: (part: unknown) => unknown;
  readonly value: (part: unknown) => unknown;
}

function mendedSchema(schema: Schema, mending: Mending): Schema {
  return mended(schema, (word, part) => {
    if (listsOfWords.has(word)) return Array.isArray(part) ? mendedList(part, mending.line) : part;
    if (texts.has(word)) return mending.text(part);
    if (word === 'title') return mending.line(part);
    if (namedSchemas.has(word) && isRecord(part))
      return mended(part, (_name, inner) => schemaOf(inner, mending));
    return values.has(word) ? mending.value(part) : schemaOf(part, mending);
  });
}

const texts: ReadonlySet<string> = new Set(['description', 'markdownDescription', '$comment']);
const listsOfWords: ReadonlySet<string> = new Set(['enumNames', 'enumDescriptions']);
// What stands there bears names of the server's own choice: a property may be called "description".
const namedSchemas: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
  'dependencies',
]);
// Data, whatever its keys are called.
const values: ReadonlySet<string> = new Set(['const', 'enum', 'default', 'example', 'examples']);

function schemaOf(part: unknown, mending: Mending): unknown {
  if (isRecord(part)) return mendedSchema(part, mending);
  return Array.isArray(part) ? mendedList(part, (one) => schemaOf(one, mending)) : part;
}

/** The same object when nothing of it changes. */
function mended(whole: Schema, mend: (name: string, part: unknown) => unknown): Schema {
  const before = Object.entries(whole);
  const after = before.map(([name, part]) => [name, mend(name, part)] as const);
  if (after.every(([, part], at) => part === before[at]?.[1])) return whole;
  // Not by assignment: a key "__proto__" stays a key.
  return Object.fromEntries(after.filter(([, part]) => part !== undefined));
}

function textOf(part: unknown, maxLength: number): unknown {
  if (typeof part !== 'string') return part;
  return maxLength === 0 ? undefined : printableText(part, maxLength);
}

function lineOf(part: unknown, maxLength: number): unknown {
  return typeof part === 'string' ? printableLine(part, maxLength) : part;
}

function mendedList(list: readonly unknown[], mend: (one: unknown) => unknown): readonly unknown[] {
  const after = list.map(mend);
  return after.every((one, at) => one === list[at]) ? list : after;
}
