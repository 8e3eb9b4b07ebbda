/**
 * A form for a tool's arguments, from its JSON Schema. What a field cannot express is entered as JSON; the server
 * validates the arguments.
 */

import {
  isJsonNumber,
  numberTextAt,
  parseJson,
  setNumberText,
  writeJson,
} from '../../../src/domain/data/exact-json.ts';
import { isRecord } from '../../../src/domain/data/is-record.ts';

export type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'list' | 'json';

export interface Field {
  readonly name: string;
  readonly kind: FieldKind;
  readonly title: string;
  readonly description?: string;
  readonly required: boolean;
  /** The options of a choice. */
  readonly options?: readonly Option[];
  /** Kind of the items of a list. */
  readonly items?: 'text' | 'number' | 'integer';
  /** The initial text. */
  readonly initial: string;
  readonly hint?: string;
  readonly isLong: boolean;
}

interface Option {
  readonly label: string;
  readonly value: unknown;
  /** A number as the schema writes it, where JavaScript would write it differently. */
  readonly written?: string;
}

export interface FormProblem {
  readonly field: string;
  readonly message: string;
}

export type FormAnswer =
  | { readonly args: Readonly<Record<string, unknown>> }
  | { readonly problems: readonly FormProblem[] };

type Schema = Readonly<Record<string, unknown>>;

export function fieldsOf(inputSchema: Schema): readonly Field[] {
  const properties = recordOf(inputSchema['properties']);
  const required = new Set(Array.isArray(inputSchema['required']) ? inputSchema['required'] : []);
  return Object.entries(properties)
    .map(([name, schema]) => fieldOf(name, recordOf(schema), required.has(name)))
    .sort((a, b) => Number(b.required) - Number(a.required));
}

function fieldOf(name: string, given: Schema, required: boolean): Field {
  const schema = withoutNull(given);
  const kind = kindOf(schema);
  const { title, description, default: initial } = schema;
  const items = kind === 'list' ? itemsOf(schema) : undefined;
  const hint = hintOf(schema, kind);
  return {
    name,
    kind,
    title: typeof title === 'string' && title !== '' ? title : name,
    ...(typeof description === 'string' ? { description } : {}),
    required,
    ...(kind === 'choice' ? { options: optionsOf(schema) } : {}),
    ...(items === undefined ? {} : { items }),
    initial: initialOf(kind, schema, initial, numberTextAt(given, 'default')),
    ...(hint === undefined ? {} : { hint }),
    isLong: kind === 'json' || Number(schema['maxLength'] ?? 0) > 200,
  };
}

/** `anyOf: [X, null]` and `type: [X, "null"]` are treated as an optional X. */
function withoutNull(schema: Schema): Schema {
  const either = schema['anyOf'] ?? schema['oneOf'];
  if (Array.isArray(either)) {
    const real = either.map(recordOf).filter((each) => each['type'] !== 'null');
    if (real.length === 1) return { ...schema, ...real[0], anyOf: undefined, oneOf: undefined };
  }
  if (Array.isArray(schema['type'])) {
    const real = schema['type'].filter((type) => type !== 'null');
    if (real.length === 1) return { ...schema, type: real[0] };
  }
  return schema;
}

function kindOf(schema: Schema): FieldKind {
  if (optionsOf(schema).length > 0) return 'choice';
  switch (schema['type']) {
    case 'string':
      return 'text';
    case 'number':
    case 'integer':
    case 'boolean':
      return schema['type'];
    case 'array':
      return itemsOf(schema) === undefined ? 'json' : 'list';
    default:
      return 'json';
  }
}

function optionsOf(schema: Schema): readonly Option[] {
  if ('const' in schema) return [optionOf(schema, 'const')];
  const values = schema['enum'];
  if (Array.isArray(values)) return values.map((_, index) => optionOf(values, index));
  const either = schema['oneOf'];
  if (!Array.isArray(either) || either.length === 0) return [];
  const options = either.map(recordOf);
  if (!options.every((option) => 'const' in option)) return [];
  return options.map((option) => optionOf(option, 'const', option['title']));
}

function optionOf(holder: object, key: string | number, title?: unknown): Option {
  const value = (holder as Readonly<Record<string | number, unknown>>)[key];
  const written = numberTextAt(holder, key);
  const plain = typeof value === 'string' ? value : (written ?? writeJson(value));
  const label = typeof title === 'string' ? title : plain;
  return { label, value, ...(written === undefined ? {} : { written }) };
}

function itemsOf(schema: Schema): 'text' | 'number' | 'integer' | undefined {
  const items = recordOf(schema['items']);
  if (optionsOf(items).length > 0) return undefined;
  if (items['type'] === 'string') return 'text';
  return items['type'] === 'number' || items['type'] === 'integer' ? items['type'] : undefined;
}

function initialOf(
  kind: FieldKind,
  schema: Schema,
  initial: unknown,
  written: string | undefined,
): string {
  if (initial === undefined || initial === null) return '';
  if (kind === 'choice') {
    const place = optionsOf(schema).findIndex(({ value }) => value === initial);
    return place < 0 ? '' : String(place);
  }
  if (written !== undefined) return written;
  if (kind === 'list' && Array.isArray(initial)) return initial.join('\n');
  return typeof initial === 'string' && kind !== 'json' ? initial : writeJson(initial);
}

const bounds = [
  ['minimum', 'at least'],
  ['exclusiveMinimum', 'more than'],
  ['maximum', 'at most'],
  ['exclusiveMaximum', 'less than'],
  ['minLength', 'minimum length'],
  ['maxLength', 'maximum length'],
  ['pattern', 'like'],
  ['format', 'format'],
] as const;

function hintOf(schema: Schema, kind: FieldKind): string | undefined {
  const said = bounds.flatMap(([key, words]) => {
    const value = schema[key];
    return typeof value === 'number' || typeof value === 'string' ? [`${words} ${value}`] : [];
  });
  if (kind === 'list') said.unshift('one item per line');
  if (kind === 'json')
    said.unshift(`JSON${typeof schema['type'] === 'string' ? `, ${schema['type']}` : ''}`);
  return said.length === 0 ? undefined : said.join(', ');
}

/** Converts the typed strings to arguments. An empty optional field is left out. */
export function argumentsOf(
  fields: readonly Field[],
  typed: Readonly<Record<string, string>>,
): FormAnswer {
  const args: Record<string, unknown> = {};
  const problems: FormProblem[] = [];
  for (const field of fields) {
    const text = typed[field.name] ?? field.initial;
    if (text === '' && field.kind !== 'text') {
      if (field.required && field.kind === 'list') args[field.name] = [];
      else if (field.required) problems.push({ field: field.name, message: 'is required' });
      continue;
    }
    if (text === '' && !field.required) continue;
    try {
      args[field.name] = valueOf(field, text);
      const { options } = field;
      const written = options === undefined ? text.trim() : options[Number(text)]?.written;
      setNumberText(args, field.name, written);
    } catch (error) {
      problems.push({
        field: field.name,
        message: error instanceof Error ? error.message : 'is invalid',
      });
    }
  }
  return problems.length > 0 ? { problems } : { args };
}

function valueOf(field: Field, text: string): unknown {
  switch (field.kind) {
    case 'text':
      return text;
    case 'number':
    case 'integer':
      return numberOf(text, field.kind);
    case 'boolean':
      return text === 'true';
    case 'choice':
      return field.options?.[Number(text)]?.value;
    case 'list': {
      const items = text.split('\n').filter((line) => line !== '');
      const { items: kind } = field;
      if (kind !== 'number' && kind !== 'integer') return items;
      const numbers = items.map((item) => numberOf(item, kind));
      for (const [index, item] of items.entries()) setNumberText(numbers, index, item.trim());
      return numbers;
    }
    case 'json':
      return jsonOf(text);
  }
}

function numberOf(text: string, kind: 'number' | 'integer'): number {
  const value = Number(text.trim());
  if (!isJsonNumber(text.trim()) || !Number.isFinite(value))
    throw new Error(`"${text.trim()}" is not a number`);
  if (kind === 'integer' && !Number.isInteger(value))
    throw new Error(`${value} is not a whole number`);
  return value;
}

/** @throws Error in one plain sentence. */
export function jsonOf(text: string): unknown {
  try {
    return parseJson(text);
  } catch {
    throw new Error('is not JSON; strings need quotation marks');
  }
}

function recordOf(value: unknown): Schema {
  return isRecord(value) ? value : {};
}
