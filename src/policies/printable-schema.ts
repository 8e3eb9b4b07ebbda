/**
 * Makes the words in a JSON Schema of a server safe to show, by the rules for the words of its tool.
 *
 * Words are what a schema says to people: titles, descriptions, remarks, names of choices. All else
 * is kept to the byte: names of properties and values are what a call must have, even where they look
 * like words. A schema without anything to mend is returned as it is.
 */

import { isRecord } from './is-record.ts';
import { printableLine, printableText } from './printable.ts';

type Schema = Readonly<Record<string, unknown>>;

export interface WordLimits {
  /** Characters of a description; 0 = none at all. */
  readonly description: number;
  readonly title: number;
}

/** The schema with printable words. Undefined for a word means that it is left out. */
export function printableSchema(schema: Schema, limits: WordLimits): Schema {
  return mended(schema, (word, part) => {
    if (listsOfWords.has(word)) return wordsOf(part, limits.title);
    if (texts.has(word)) return textOf(part, limits.description);
    if (word === 'title') return lineOf(part, limits.title);
    if (namedSchemas.has(word) && isRecord(part))
      return mended(part, (_name, inner) => schemaOf(inner, limits));
    return values.has(word) ? part : schemaOf(part, limits);
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

function schemaOf(part: unknown, limits: WordLimits): unknown {
  if (isRecord(part)) return printableSchema(part, limits);
  if (!Array.isArray(part)) return part;
  const inner = part.map((one) => schemaOf(one, limits));
  return inner.every((one, at) => one === part[at]) ? part : inner;
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

function wordsOf(part: unknown, maxLength: number): unknown {
  if (!Array.isArray(part)) return part;
  const lines = part.map((one) => lineOf(one, maxLength));
  return lines.every((line, at) => line === part[at]) ? part : lines;
}
