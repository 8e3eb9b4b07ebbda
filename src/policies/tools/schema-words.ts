/**
 * Makes the strings in a server's JSON Schemas printable, and redacts secrets in its tools.
 *
 * Texts are titles, descriptions, comments and names of choices. Everything else stays unchanged to
 * the byte, because calls need the names of properties and values. A schema without changes is
 * returned as the same object.
 */

import { keepNumbers } from '../../domain/data/exact-json.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import { printableLine, printableText } from '../../domain/data/printable.ts';
import type { ListedTool } from '../../domain/tool.ts';
import { redact } from '../text/redact.ts';

type Schema = Readonly<Record<string, unknown>>;

export interface WordLimits {
  /** Characters of a description; 0 = none at all. */
  readonly description: number;
  readonly title: number;
}

/** Returns the schema with printable strings. */
export function printableSchema(schema: Schema, limits: WordLimits): Schema {
  return changedSchema(schema, {
    text: (part) => textOf(part, limits.description),
    line: (part) => lineOf(part, limits.title),
    value: (part) => part,
  });
}

/** Redacts secrets in a schema's strings and in the values that it suggests or allows. */
export function redactedSchema(schema: Schema, secrets: readonly string[]): Schema {
  const clean = (part: unknown): unknown => redactedData(part, secrets);
  return changedSchema(schema, { text: clean, line: clean, value: clean });
}

/** Redacts secrets in data; returns the same object when there are none. Keys stay unchanged. */
function redactedData(data: unknown, secrets: readonly string[]): unknown {
  if (typeof data === 'string') return redact(data, secrets);
  if (Array.isArray(data)) return changedList(data, (one) => redactedData(one, secrets));
  return isRecord(data) ? changed(data, (_name, part) => redactedData(part, secrets)) : data;
}

/** How each kind of part is changed; undefined = it is left out. */
interface Changes {
  readonly text: (part: unknown) => unknown;
  readonly line: (part: unknown) => unknown;
  readonly value: (part: unknown) => unknown;
}

function changedSchema(schema: Schema, changes: Changes): Schema {
  return changed(schema, (word, part) => {
    if (listsOfWords.has(word)) return Array.isArray(part) ? changedList(part, changes.line) : part;
    if (texts.has(word)) return changes.text(part);
    if (word === 'title') return changes.line(part);
    if (namedSchemas.has(word) && isRecord(part))
      return changed(part, (_name, inner) => schemaOf(inner, changes));
    return values.has(word) ? changes.value(part) : schemaOf(part, changes);
  });
}

const texts: ReadonlySet<string> = new Set(['description', 'markdownDescription', '$comment']);
const listsOfWords: ReadonlySet<string> = new Set(['enumNames', 'enumDescriptions']);
// Their keys are names that the server chose: a property may be called "description".
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

function schemaOf(part: unknown, changes: Changes): unknown {
  if (isRecord(part)) return changedSchema(part, changes);
  return Array.isArray(part) ? changedList(part, (one) => schemaOf(one, changes)) : part;
}

/** Returns the same object when nothing changes. */
function changed(whole: Schema, change: (name: string, part: unknown) => unknown): Schema {
  const before = Object.entries(whole);
  const after = before.map(([name, part]) => [name, change(name, part)] as const);
  if (after.every(([, part], at) => part === before[at]?.[1])) return whole;
  // Not by assignment: a key "__proto__" stays a key.
  const kept = Object.fromEntries(after.filter(([, part]) => part !== undefined));
  return keepNumbers(kept, whole);
}

function textOf(part: unknown, maxLength: number): unknown {
  if (typeof part !== 'string') return part;
  return maxLength === 0 ? undefined : printableText(part, maxLength);
}

function lineOf(part: unknown, maxLength: number): unknown {
  return typeof part === 'string' ? printableLine(part, maxLength) : part;
}

function changedList(
  list: readonly unknown[],
  change: (one: unknown) => unknown,
): readonly unknown[] {
  const after = list.map(change);
  return after.every((one, at) => one === list[at]) ? list : keepNumbers(after, list);
}

/** Redacts secrets in tools; undefined when there are none. */
export function redactedTools(
  tools: readonly ListedTool[],
  secrets: readonly string[],
): readonly ListedTool[] | undefined {
  if (secrets.length === 0) return undefined;
  const shown = tools.map((tool) => redactedTool(tool, secrets));
  return shown.every((tool, at) => tool === tools[at]) ? undefined : shown;
}

function redactedTool(tool: ListedTool, secrets: readonly string[]): ListedTool {
  // Nearly always there is none: searching the whole is faster than searching each part.
  const text = JSON.stringify(tool);
  if (redact(text, secrets) === text) return tool;
  const { name, title, description, inputSchema, outputSchema, annotations, ...rest } = tool;
  return {
    ...(redactedData(rest, secrets) as typeof rest),
    // Callers need it.
    name,
    ...(title !== undefined && { title: redact(title, secrets) }),
    ...(description !== undefined && { description: redact(description, secrets) }),
    inputSchema: redactedSchema(inputSchema, secrets),
    ...(outputSchema && { outputSchema: redactedSchema(outputSchema, secrets) }),
    ...(annotations && {
      annotations: redactedData(annotations, secrets) as typeof annotations,
    }),
  };
}
