/** Reads one tool as a server announced it: the known fields, checked, bounded and printable. */

import type { ListedTool, ToolAnnotations } from '../src/domain/tool.ts';
import { printableLine, printableText } from '../src/policies/printable.ts';
import { isRecord } from './session-messages.ts';

const nameCharacters = 128;
// Callers see at most 2,048; the digest that pins a definition should cover more.
const descriptionCharacters = 16_384;
const schemaCharacters = 262_144;
const schemaDepth = 32;

/** The tool, or in a few words why it cannot be used. */
export function readTool(value: unknown): ListedTool | string {
  if (!isRecord(value)) return 'is not an object';
  const { name, title, description } = value;
  if (typeof name !== 'string' || name === '') return 'has no name';
  if (name.length > nameCharacters) return `has a name of more than ${nameCharacters} characters`;
  if (printableLine(name, nameCharacters) !== name) return 'has a name that cannot be printed';
  const inputSchema = value['inputSchema'];
  if (!isRecord(inputSchema) || inputSchema['type'] !== 'object')
    return 'has no input schema of type object';
  const outputSchema = value['outputSchema'];
  const problem =
    schemaProblem(inputSchema) ??
    (outputSchema === undefined ? undefined : schemaProblem(outputSchema));
  if (problem !== undefined) return problem;
  const annotations = readAnnotations(value['annotations']);
  return {
    name,
    ...(typeof title === 'string' && { title: printableLine(title, nameCharacters) }),
    ...(typeof description === 'string' && {
      description: printableText(description, descriptionCharacters),
    }),
    inputSchema,
    ...(isRecord(outputSchema) && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
  };
}

function schemaProblem(schema: unknown): string | undefined {
  if (!isRecord(schema)) return 'has a schema that is not an object';
  if (isDeeperThan(schema, schemaDepth)) return `has a schema of more than ${schemaDepth} levels`;
  return JSON.stringify(schema).length > schemaCharacters
    ? 'has a schema of more than 256 KB'
    : undefined;
}

function isDeeperThan(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((part) => isDeeperThan(part, levels - 1));
}

function readAnnotations(value: unknown): ToolAnnotations | undefined {
  if (!isRecord(value)) return undefined;
  const { title, readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = value;
  return {
    ...(typeof title === 'string' && { title: printableLine(title, nameCharacters) }),
    ...(typeof readOnlyHint === 'boolean' && { readOnlyHint }),
    ...(typeof destructiveHint === 'boolean' && { destructiveHint }),
    ...(typeof idempotentHint === 'boolean' && { idempotentHint }),
    ...(typeof openWorldHint === 'boolean' && { openWorldHint }),
  };
}
