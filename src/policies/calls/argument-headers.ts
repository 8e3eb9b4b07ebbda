/**
 * Servers of 2026-07-28 may want arguments of a tool repeated as headers of the HTTP request: its
 * input schema marks them with `x-mcp-header`. A tool whose marks cannot be kept must not be called
 * over HTTP (Streamable HTTP, "Custom headers from tool parameters").
 */

import { isRecord } from '../is-record.ts';

const mark = 'x-mcp-header';
/** A token of RFC 9110. */
const headerName = /^[\w!#$%&'*+\-.^`|~]+$/;
/** The type `number` is left out there on purpose: its texts differ between languages. */
const markable: ReadonlySet<unknown> = new Set(['string', 'integer', 'boolean']);

/** Keywords whose value is a schema or a list of them; of no one argument for certain. */
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
/** Keywords whose value holds schemas by name. */
const keywordsOfNamedSchemas = ['patternProperties', 'dependentSchemas', '$defs', 'definitions'];

/** Why the arguments of a tool cannot be repeated as it wants; undefined = they can. */
export function wrongArgumentHeader(
  inputSchema: Readonly<Record<string, unknown>>,
): string | undefined {
  const names = new Set<string>();
  const look = (schema: unknown, isArgument: boolean, isRoot: boolean): string | undefined => {
    if (!isRecord(schema)) return undefined;
    const wrong = Object.hasOwn(schema, mark) ? wrongMark(schema, isArgument, names) : undefined;
    if (wrong !== undefined) return wrong;
    for (const part of partsOf(schema['properties'])) {
      const within = look(part, isArgument || isRoot, false);
      if (within !== undefined) return within;
    }
    for (const part of otherParts(schema)) {
      const within = look(part, false, false);
      if (within !== undefined) return within;
    }
    return undefined;
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
