/** Converts input schemas to the form that OpenAI's functions accept. */

type Schema = Readonly<Record<string, unknown>>;

// Keywords that strict mode has always supported. A schema with any other keyword is sent without
// strict mode, because the API refuses the whole request for one unsupported schema.
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
// The oldest models with strict mode accept five levels.
const maxStrictDepth = 5;
const combinators = ['allOf', 'anyOf', 'oneOf'] as const;

/**
 * Converts a tool's schema without changing its meaning. It is strict only if the server's own schema
 * fulfils the rules of strict mode. The API refuses alternatives at the top level, so these become
 * one list of properties; the server still validates the arguments.
 */
export function functionSchema(inputSchema: Schema): {
  parameters: Record<string, unknown>;
  strict: boolean;
} {
  const { type, anyOf, $ref } = inputSchema;
  const isPlainObject = type === 'object' && anyOf === undefined && $ref === undefined;
  const strict = isPlainObject && isStrict(inputSchema, 1);
  return { parameters: { ...(strict ? inputSchema : flatRoot(inputSchema)) }, strict };
}

function flatRoot(schema: Schema): Schema {
  const { allOf: _all, anyOf: _any, oneOf: _one, not: _not, enum: _enum, ...rest } = schema;
  const branches = combinators.flatMap((key) => listOf(schema[key])).map(recordOf);
  const properties = [...branches, schema].flatMap((one) =>
    Object.entries(recordOf(one['properties'])),
  );
  // A property that only one alternative requires is optional.
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

/** Whether additional properties are forbidden and all properties are required. */
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
