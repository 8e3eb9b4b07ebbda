import type { StandardSchemaV1 } from '@modelcontextprotocol/client';

/** Creates an SDK schema that accepts what a type guard accepts. */
export function schemaOf<Value>(
  isFit: (value: unknown) => value is Value,
  message: string,
): StandardSchemaV1<unknown, Value> {
  return {
    '~standard': {
      version: 1,
      vendor: 'mcp-troupe',
      validate: (value: unknown) => (isFit(value) ? { value } : { issues: [{ message }] }),
    },
  };
}
