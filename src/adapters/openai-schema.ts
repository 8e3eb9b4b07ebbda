/** Schemas of arguments as the functions of OpenAI take them. */

type Schema = Readonly<Record<string, unknown>>;

/** A schema of arguments, and whether it may be promised to be followed to the letter. */
export interface FunctionSchema {
  readonly parameters: Record<string, unknown>;
  readonly strict: boolean;
}

// What strict mode has taken since it exists. A schema with anything else is sent without it,
// because the API refuses the whole request for one schema that it does not like.
const strictKeywords = new Set([
  '$schema',
  '$defs',
  '$ref',
  'additionalProperties',
  'anyOf',
  'const',
  'definitions',
  'description',
  'enum',
  'items',
  'properties',
  'required',
  'title',
  'type',
]);
// The API takes five levels on the oldest models that know strict mode.
const maxStrictDepth = 5;
const combinators = ['allOf', 'anyOf', 'oneOf'] as const;

/**
 * Never changes what a tool means: a schema is strict when it is so as its server wrote it.
 * Alternatives at the top, which the API refuses, become one list of properties, and the server
 * goes on checking them.
 */
export function functionSchema(inputSchema: Schema): FunctionSchema {
  const strict = isStrictObject(inputSchema, 1);
  return { parameters: { ...(strict ? inputSchema : flatRoot(inputSchema)) }, strict };
}

function flatRoot(schema: Schema): Schema {
  const { allOf: _all, anyOf: _any, oneOf: _one, not: _not, enum: _enum, ...rest } = schema;
  const branches = combinators.flatMap((key) => listOf(schema[key])).map(recordOf);
  const properties = [...branches, schema].flatMap((one) =>
    Object.entries(recordOf(one['properties'])),
  );
  // Of alternatives only some hold, so what one of them requires is not required.
  const required = [schema, ...listOf(schema['allOf']).map(recordOf)].flatMap((one) =>
    listOf(one['required']),
  );
  return {
    ...rest,
    type: 'object',
    properties: Object.fromEntries(properties),
    ...(required.length > 0 ? { required: [...new Set(required)] } : {}),
  };
}

function isStrictObject(schema: Schema, depth: number): boolean {
  if (schema['type'] !== 'object' || !isStrict(schema, depth)) return false;
  return schema['anyOf'] === undefined && schema['$ref'] === undefined;
}

function isStrict(schema: Schema, depth: number): boolean {
  if (depth > maxStrictDepth) return false;
  if (!Object.keys(schema).every((key) => strictKeywords.has(key))) return false;
  const properties = recordOf(schema['properties']);
  const names = Object.keys(properties);
  const isObject = listOf(schema['type']).concat(schema['type']).includes('object');
  if (isObject && !isClosed(schema, names)) return false;
  const parts = [
    ...Object.values(properties),
    ...Object.values(recordOf(schema['$defs'])),
    ...Object.values(recordOf(schema['definitions'])),
    ...listOf(schema['anyOf']),
    ...(schema['items'] === undefined ? [] : [schema['items']]),
  ];
  return parts.every((part) => isRecord(part) && isStrict(part, depth + 1));
}

/** Nothing may be added to it, and nothing left out. */
function isClosed(schema: Schema, names: readonly string[]): boolean {
  if (schema['additionalProperties'] !== false || !isRecord(schema['properties'])) return false;
  const required = new Set(listOf(schema['required']));
  return required.size === names.length && names.every((name) => required.has(name));
}

function isRecord(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function recordOf(value: unknown): Schema {
  return isRecord(value) ? value : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
