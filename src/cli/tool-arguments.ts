/**
 * Parses the arguments of a tool. `key=value` is parsed by the tool's schema; values without a type in
 * the schema stay text.
 */

import { isJsonNumber, numberTextAt, parseJson, setNumberText } from '../domain/data/exact-json.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { parsedJson } from '../domain/data/parsed-json.ts';
import { printableLine } from '../domain/data/printable.ts';
import { argumentsError } from '../domain/user-errors.ts';
import { closestName } from '../policies/text/closest-name.ts';

type Schema = Readonly<Record<string, unknown>>;
export type ToolArguments = Readonly<Record<string, unknown>>;

/** Enough for any schema that is filled in by hand. */
const mostAlternatives = 100;

/**
 * Parses `key=value` words, and bare values for the other keys in the schema's order. A key whose type
 * is a list may be repeated.
 * @throws TroupeError `INVALID_ARGUMENTS` with the fix
 */
export function argumentsFromWords(words: readonly string[], schema: Schema): ToolArguments {
  const values = new Map<string, unknown>();
  const texts = new Map<string, string>();
  const properties = propertiesOf(schema);
  for (const [key, text] of pairsOf(words, properties)) {
    const property = properties.get(key);
    if (property === undefined) refuseUnknownKey(key, schema, properties);
    const list = property !== undefined && typesOf(property).has('array');
    if (list && !text.trimStart().startsWith('[')) {
      const items = (values.get(key) as unknown[] | undefined) ?? [];
      const item = property['items'];
      const value = isRecord(item) ? readValue(key, text, item) : text;
      values.set(key, items);
      items.push(value);
      setNumberText(items, items.length - 1, text);
    } else if (values.has(key)) {
      throw argumentsError(`${key} was given twice; use it once`);
    } else {
      values.set(key, property === undefined ? text : readValue(key, text, property));
      texts.set(key, text);
    }
  }
  const required = Array.isArray(schema['required']) ? schema['required'] : [];
  const missing = required.find((key) => typeof key === 'string' && !values.has(key));
  if (missing !== undefined) throw argumentsError(`${missing} is missing; add ${missing}=…`);
  const given = Object.fromEntries(values);
  for (const [key, text] of texts) setNumberText(given, key, text);
  return given;
}

/** One line for each argument that the schema neither lists nor declares open. */
export function unlistedNotes(args: ToolArguments, schema: Schema): readonly string[] {
  const isOpen = schema['additionalProperties'] !== undefined || 'patternProperties' in schema;
  if (isOpen || !isRecord(schema['properties'])) return [];
  const known = Object.keys(schema['properties']);
  const listed = known.length === 0 ? 'no arguments' : known.join(', ');
  return Object.keys(args)
    .filter((key) => !known.includes(key))
    .map((key) =>
      printableLine(`the tool does not list ${key}, which is sent anyway; it lists ${listed}`, 500),
    );
}

/**
 * Parses the text of `--args`: one JSON object.
 * @throws TroupeError `INVALID_ARGUMENTS`
 */
export function argumentsFromJson(text: string, where: string): ToolArguments {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : '';
    throw argumentsError(`${where} is not JSON (${why}); write for example '{"message": "hello"}'`);
  }
  if (isRecord(value)) return value;
  throw argumentsError(`${where} is not a JSON object; write for example '{"message": "hello"}'`);
}

type Pair = readonly [key: string, text: string];

/** Every word with its key; a bare value belongs to the next key that no word names. */
function pairsOf(words: readonly string[], known: ReadonlyMap<string, Schema>): readonly Pair[] {
  const named = words.map((word) => pairOf(word, known));
  const taken = new Set(named.map((pair) => pair?.[0]));
  const free = [...known.keys()].filter((key) => !taken.has(key)).values();
  return words.map((word, index): Pair => {
    const key = named[index]?.[0] ?? free.next().value;
    const isObject = named[index] === undefined && isRecord(parsedJson(word));
    if (isObject && !typesOf(known.get(key ?? '') ?? {}).has('object'))
      throw argumentsError(`pass all arguments as one JSON object with --args: --args '${word}'`);
    if (key === undefined)
      throw argumentsError(`the tool has no argument for ${word}; write key=value, or use --args`);
    return named[index] ?? [key, word];
  });
}

/** `key=value`, or `key:value` with a known key; undefined for a bare value. */
function pairOf(word: string, known: ReadonlyMap<string, Schema>): Pair | undefined {
  const [, key = '', mark, text = ''] = /^([^=:]*)([=:])([^]*)$/u.exec(word) ?? [];
  if (known.has(key)) return [key, text];
  const at = word.indexOf('=');
  if (at === 0)
    throw argumentsError(`${word} is not a tool argument; write key=value, or use --args`);
  // A URL or a path may have an equals sign, too.
  const isPair = mark === '=' && /^[\w.$-]+$/u.test(key);
  return isPair ? [key, text] : undefined;
}

function propertiesOf(schema: Schema): ReadonlyMap<string, Schema> {
  const properties = isRecord(schema['properties']) ? schema['properties'] : {};
  return new Map(
    Object.entries(properties).filter((entry): entry is [string, Schema] => isRecord(entry[1])),
  );
}

/** Accepts an unknown key if the schema allows it and has no similar key. */
function refuseUnknownKey(key: string, schema: Schema, known: ReadonlyMap<string, Schema>): void {
  const closest = closestName(key, known.keys());
  if (schema['additionalProperties'] !== false && closest === undefined) return;
  const names = [...known.keys()].join(', ');
  const next =
    closest !== undefined
      ? `did you mean ${closest}?`
      : names === ''
        ? 'it takes no arguments'
        : `use ${names}`;
  throw argumentsError(`the tool has no argument ${key}; ${next}`);
}

function readValue(key: string, text: string, schema: Schema): unknown {
  const choices = choicesOf(schema);
  const chosen = choices?.find(
    (choice, index) => (numberTextAt(choices, index) ?? String(choice)) === text,
  );
  if (choices !== undefined) {
    if (chosen !== undefined) return chosen;
    throw argumentsError(`${key} must be one of ${choices.map(String).join(', ')}`);
  }
  const types = typesOf(schema);
  for (const [type, read] of readers) {
    // If the schema also allows a string, only the canonical form of a number counts as one: `1.0` is a string.
    const isNumeric = type === 'integer' || type === 'number';
    if (isNumeric && types.has('string') && String(Number(text)) !== text) continue;
    const value = types.has(type) ? read(text) : undefined;
    if (value !== undefined) return value;
  }
  if (types.size === 0) return text;
  const wanted = [...types].join(' or ');
  throw argumentsError(
    `${key}=${text} is invalid; ${key} must be ${wanted}${spelling(text, types)}`,
  );
}

/** How JSON writes a number that is typed in another way, such as 007 or .5. */
function spelling(text: string, types: ReadonlySet<string>): string {
  const isNumeric = types.has('integer') || types.has('number');
  if (!isNumeric || isJsonNumber(text) || !/^[+-]?(?:\d+\.?\d*|\.\d+)$/.test(text)) return '';
  return `; write ${Number(text)}`;
}

/** Parsers by type; undefined = the text does not fit. Text always fits, so it is last. */
const readers: readonly (readonly [type: string, read: (text: string) => unknown])[] = [
  ['integer', (text) => numberFrom(text, true)],
  ['number', (text) => numberFrom(text, false)],
  ['boolean', (text) => (text === 'true' ? true : text === 'false' ? false : undefined)],
  ['null', (text) => (text === 'null' ? null : undefined)],
  ['object', objectFrom],
  ['array', objectFrom],
  ['string', (text) => text],
];

function choicesOf(schema: Schema): readonly unknown[] | undefined {
  if (Array.isArray(schema['enum'])) return schema['enum'];
  return Object.hasOwn(schema, 'const') ? [schema['const']] : undefined;
}

/** The types that the schema allows; empty when it names none. */
function typesOf(schema: Schema): ReadonlySet<string> {
  const types = new Set<string>();
  const open: Schema[] = [schema];
  for (let looked = 0; open.length > 0 && looked < mostAlternatives; looked += 1) {
    const next = open.pop() as Schema;
    const type = next['type'];
    for (const each of Array.isArray(type) ? type : [type]) {
      if (typeof each === 'string') types.add(each);
    }
    open.push(...[next['anyOf'], next['oneOf']].flat().filter(isRecord));
  }
  return types;
}

function numberFrom(text: string, whole: boolean): number | undefined {
  if (!isJsonNumber(text)) return undefined;
  const value = Number(text);
  return whole && !Number.isInteger(value) ? undefined : value;
}

/** A JSON object or list. */
function objectFrom(text: string): unknown {
  const value = parsedJson(text);
  return typeof value === 'object' && value !== null ? value : undefined;
}
