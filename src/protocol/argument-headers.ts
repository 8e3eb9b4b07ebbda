/**
 * Validates `x-mcp-header` in a tool's input schema. With it, servers of 2026-07-28 request that an
 * argument is also sent as an HTTP header. A tool with an invalid mark must not be called over HTTP
 * (Streamable HTTP, "Custom headers from tool parameters").
 */

import { numberTextAt } from '../domain/data/exact-json.ts';
import { isRecord } from '../domain/data/is-record.ts';

const mark = 'x-mcp-header';
/** A token of RFC 9110. */
const headerName = /^[\w!#$%&'*+\-.^`|~]+$/;
/** The specification excludes `number`, because its text differs between languages. */
const markable: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

/** Keywords with a schema or a list of schemas, which may not belong to a single argument. */
const keywordsOfSchemas = [
  'items',
  'prefixItems',
  'contains',
  'additionalProperties',
  'unevaluatedProperties',
  'unevaluatedItems',
  'propertyNames',
  'oneOf',
  'anyOf',
  'allOf',
  'not',
  'if',
  'then',
  'else',
];
/** Keywords with schemas by name. */
const keywordsOfNamedSchemas = ['patternProperties', 'dependentSchemas', '$defs', 'definitions'];

/** Describes the first invalid mark; undefined when all are valid. */
export function wrongArgumentHeader(
  inputSchema: Readonly<Record<string, unknown>>,
): string | undefined {
  const names = new Set<string>();
  const look = (schema: unknown, isArgument: boolean, isRoot: boolean): string | undefined => {
    if (!isRecord(schema)) return undefined;
    const wrong = Object.hasOwn(schema, mark) ? wrongMark(schema, isArgument, names) : undefined;
    if (wrong !== undefined) return wrong;
    return [
      ...partsOf(schema['properties']).map((part) => look(part, isArgument || isRoot, false)),
      ...otherParts(schema).map((part) => look(part, false, false)),
    ].find((fault) => fault !== undefined);
  };
  return look(inputSchema, false, true);
}

function wrongMark(
  schema: Readonly<Record<string, unknown>>,
  isArgument: boolean,
  names: Set<string>,
): string | undefined {
  const name = schema[mark];
  if (!isArgument) return `has an ${mark} on what is no argument of its own`;
  if (typeof name !== 'string' || !headerName.test(name))
    return `has an ${mark} that is no name of a header`;
  if (!markable.has(schema['type']))
    return `has an ${mark} on an argument that is neither string, integer nor boolean`;
  const lower = name.toLowerCase();
  if (names.has(lower)) return `has the same ${mark} twice`;
  names.add(lower);
  return undefined;
}

function otherParts(schema: Readonly<Record<string, unknown>>): readonly unknown[] {
  return [
    ...keywordsOfSchemas.flatMap((keyword) => schema[keyword]),
    ...keywordsOfNamedSchemas.flatMap((keyword) => partsOf(schema[keyword])),
  ];
}

function partsOf(named: unknown): readonly unknown[] {
  return isRecord(named) ? Object.values(named) : [];
}

/**
 * Returns the headers that a tool's input schema requires for its arguments. A schema with an invalid
 * mark requires none; an argument that is missing, null or not plain has none.
 */
export function argumentHeaders(
  inputSchema: Readonly<Record<string, unknown>> | undefined,
  args: unknown,
): Record<string, string> | undefined {
  if (inputSchema === undefined || wrongArgumentHeader(inputSchema) !== undefined) return undefined;
  const headers: Record<string, string> = {};
  const collect = (schema: unknown, value: unknown, written?: string): void => {
    if (!isRecord(schema)) return;
    const name = schema[mark];
    const text = plainText(value, written);
    if (typeof name === 'string' && text !== undefined)
      headers[`mcp-param-${name}`] = headerValue(text);
    const { properties } = schema;
    if (!isRecord(properties)) return;
    for (const [key, part] of Object.entries(properties))
      if (isRecord(value) && Object.hasOwn(value, key))
        collect(part, value[key], numberTextAt(value, key));
  };
  collect(inputSchema, args);
  return headers;
}

function plainText(value: unknown, written: string | undefined): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return String(value);
  if (typeof value !== 'number' || !Number.isFinite(value)) return undefined;
  if (!Number.isInteger(value) || Number.isSafeInteger(value)) return String(value);
  // Its own digits, if they were read from JSON.
  return written !== undefined && /^-?\d+$/.test(written) ? written : undefined;
}

/**
 * Encodes a string for a header. Headers contain plain ASCII; the 2026-07-28 revision encodes other
 * strings in base64.
 */
export function headerValue(text: string): string {
  const isPlain =
    /^[\t -~]+$/u.test(text) && text.trim() === text && !/^=\?base64\?.*\?=$/u.test(text);
  return isPlain ? text : `=?base64?${base64(text)}?=`;
}

function base64(text: string): string {
  // One byte at a time: a long text as arguments of one call would exceed the stack.
  const bytes = Array.from(new TextEncoder().encode(text), (byte) => String.fromCharCode(byte));
  return btoa(bytes.join(''));
}
