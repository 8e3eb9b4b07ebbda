/** Writes JSON Schemas the way a user would type them: `number`, `"a" | "b"`, `{name: string}[]`. */

import { isRecord } from '../../domain/data/is-record.ts';

export type Schema = Readonly<Record<string, unknown>>;

/** One argument of a tool. */
export interface Parameter {
  readonly name: string;
  readonly schema: Schema;
  readonly required: boolean;
}

// A reader follows two levels; below them the output schema or --json shows the rest.
const deepest = 3;
// More are written as `…`.
const mostParts = 12;
const longestExample = 1_000;

/** Lists a tool's arguments, required ones first, otherwise in the server's order. */
export function parametersOf(root: Schema): readonly Parameter[] {
  const names = requiredOf(root);
  const all = fieldsOf(root).map(([name, schema]) => ({
    name,
    schema: resolved(schema, root),
    required: names.has(name),
  }));
  return [...all.filter(({ required }) => required), ...all.filter(({ required }) => !required)];
}

/** The type of a value. `root` is the schema that `$ref` points into. */
export function typeText(schema: Schema, root: Schema, depth = 0): string {
  const own = resolved(schema, root);
  if (depth >= deepest) return simpleType(own);
  if (Array.isArray(own['enum'])) return unionOf(own['enum'].map(literalText));
  if (Object.hasOwn(own, 'const')) return literalText(own['const']);
  const alternatives = own['anyOf'] ?? own['oneOf'];
  if (Array.isArray(alternatives)) {
    return unionOf(alternatives.filter(isRecord).map((each) => typeText(each, root, depth + 1)));
  }
  const types = own['type'];
  if (Array.isArray(types)) {
    return unionOf(types.map((type) => typeText({ ...own, type }, root, depth + 1)));
  }
  if (types === 'array') return listText(own['items'], root, depth);
  if (types === 'object' || own['properties'] !== undefined) return objectText(own, root, depth);
  return simpleType(own);
}

/**
 * A value that fits the schema, for an example to copy: its default or own example where it has one.
 * A pattern is not followed.
 */
export function exampleOf(schema: Schema, root: Schema, depth = 0): unknown {
  const own = resolved(schema, root);
  const examples = Array.isArray(own['examples']) ? own['examples'] : [];
  const given = [own['default'], ...examples, own['const'], firstOf(own['enum'])];
  const chosen = given.find((value) => value !== undefined && value !== null);
  if (chosen !== undefined && literalText(chosen).length <= longestExample) return chosen;
  const alternative = [own['anyOf'], own['oneOf'], own['allOf']].flat().find(isRecord);
  if (own['type'] === undefined && alternative !== undefined && depth < deepest)
    return exampleOf(alternative, root, depth + 1);
  switch (firstOf(own['type']) ?? own['type']) {
    case 'number':
    case 'integer':
      return numberWithin(own);
    case 'boolean':
      return true;
    case 'null':
      return null;
    case 'array':
      return isRecord(own['items']) && depth < deepest
        ? [exampleOf(own['items'], root, depth + 1)]
        : [];
    case 'object':
      return depth < deepest ? exampleObject(own, root, depth) : {};
    default:
      return textOf(own);
  }
}

function exampleObject(schema: Schema, root: Schema, depth: number): unknown {
  const names = requiredOf(schema);
  return Object.fromEntries(
    fieldsOf(schema)
      .filter(([name]) => names.has(name))
      .map(([name, field]) => [name, exampleOf(field, root, depth + 1)]),
  );
}

function numberWithin(schema: Schema): number {
  const least = schema['minimum'];
  const most = schema['maximum'];
  if (typeof least === 'number' && least > 1) return least;
  return typeof most === 'number' && most < 1 ? most : 1;
}

function textOf(schema: Schema): string {
  switch (schema['format']) {
    case 'uri':
    case 'url':
      return 'https://example.com';
    case 'email':
      return 'me@example.com';
    case 'date':
      return '2026-01-31';
    case 'date-time':
      return '2026-01-31T12:00:00Z';
    default: {
      const least = schema['minLength'];
      return 'text'.padEnd(typeof least === 'number' ? Math.min(least, longestExample) : 0, 't');
    }
  }
}

function listText(items: unknown, root: Schema, depth: number): string {
  if (!isRecord(items)) return 'any[]';
  const item = typeText(items, root, depth + 1);
  return / \| /.test(item) && !item.startsWith('{') ? `(${item})[]` : `${item}[]`;
}

function objectText(schema: Schema, root: Schema, depth: number): string {
  const names = requiredOf(schema);
  const fields = fieldsOf(schema);
  if (fields.length === 0) return 'object';
  const shown = fields.slice(0, mostParts).map(([name, field]) => {
    const mark = names.has(name) ? '' : '?';
    return `${name}${mark}: ${typeText(field, root, depth + 1)}`;
  });
  const more = fields.length > mostParts ? ['…'] : [];
  return `{${[...shown, ...more].join(', ')}}`;
}

function simpleType(schema: Schema): string {
  const type = schema['type'];
  if (typeof type === 'string') return type === 'array' ? 'any[]' : type;
  return Array.isArray(type) ? unionOf(type.map(String)) : 'any';
}

function unionOf(parts: readonly string[]): string {
  const each = [...new Set(parts)];
  if (each.length === 0) return 'any';
  return [...each.slice(0, mostParts), ...(each.length > mostParts ? ['…'] : [])].join(' | ');
}

export function literalText(value: unknown): string {
  return JSON.stringify(value) ?? 'any';
}

export function fieldsOf(schema: Schema): readonly (readonly [name: string, schema: Schema])[] {
  const properties = schema['properties'];
  if (!isRecord(properties)) return [];
  // `true` allows anything.
  return Object.entries(properties).map(([name, field]) => [name, isRecord(field) ? field : {}]);
}

export function requiredOf(schema: Schema): ReadonlySet<unknown> {
  return new Set(Array.isArray(schema['required']) ? schema['required'] : []);
}

function firstOf(value: unknown): unknown {
  return Array.isArray(value) ? value[0] : undefined;
}

/** Follows a `$ref` within the document; what stands beside it wins. */
export function resolved(schema: Schema, root: Schema): Schema {
  let own = schema;
  for (let followed = 0; followed < deepest; followed += 1) {
    const { $ref: reference, ...rest } = own;
    if (typeof reference !== 'string' || !reference.startsWith('#')) return own;
    const found = reference
      .slice(1)
      .split('/')
      .slice(1)
      .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
      .reduce<unknown>(
        (value, key) => (isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined),
        root,
      );
    own = { ...(isRecord(found) ? found : {}), ...rest };
  }
  return own;
}
