/** Writes the tools of a project as TypeScript declarations, for typed calls with the library. */

import { isRecord } from '../../domain/data/is-record.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import { fieldsOf, requiredOf, resolved, type Schema } from './schema-text.ts';

/** Ends schemas that contain themselves. Below it, everything is `unknown`. */
const deepest = 8;
/** More alternatives than a reader could use; their union is `unknown`. */
const mostAlternatives = 200;
const longestComment = 200;

const head = `// Written by troupe types. Run it again after the tools of a server changed.

import type { CallOptions, CallReport, Troupe } from 'mcp-troupe';
`;

const client = `
/** The exposed name of each tool, by its server and its own name. */
export interface ServerTools {
SERVERS}

type Result<Content> = Omit<CallReport, 'result'> & {
  readonly result: Omit<CallReport['result'], 'structuredContent'> & {
    /** Absent when the tool returned an error. */
    readonly structuredContent?: Content;
  };
};

/** The arguments may be left out where none is required. */
type Rest<Args> = {} extends Args
  ? [args?: Args, options?: CallOptions]
  : [args: Args, options?: CallOptions];

/** A troupe whose calls are checked: \`const typed = troupe as TypedTroupe\`. */
export interface TypedTroupe extends Omit<Troupe, 'callTool' | 'callServerTool'> {
  callTool<Name extends keyof ToolArguments>(
    name: Name,
    ...rest: Rest<ToolArguments[Name]>
  ): Promise<Result<ToolResults[Name]>>;
  callServerTool<Server extends keyof ServerTools, Tool extends keyof ServerTools[Server]>(
    server: Server,
    tool: Tool,
    ...rest: Rest<ToolArguments[ServerTools[Server][Tool] & keyof ToolArguments]>
  ): Promise<Result<ToolResults[ServerTools[Server][Tool] & keyof ToolResults]>>;
}
`;

/** The text of a declaration file. Equal tools give equal text, in whatever order they are listed. */
export function toolTypes(tools: readonly ExposedTool[]): string {
  const sorted = tools.toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const args = sorted.map(
    (tool) =>
      `${commentOf(tool)}  ${keyOf(tool.name)}: ${typeOf(tool.inputSchema, tool.inputSchema, '  ')};\n`,
  );
  const results = sorted.map(
    ({ name, outputSchema: schema }) =>
      `  ${keyOf(name)}: ${schema === undefined ? 'Record<string, unknown>' : typeOf(schema, schema, '  ')};\n`,
  );
  const servers = [...new Set(sorted.map(({ server }) => server))].map((server) => {
    const own = sorted.filter((each) => each.server === server);
    const names = own.map(({ tool, name }) => `    ${keyOf(tool)}: ${JSON.stringify(name)};\n`);
    return `  ${keyOf(server)}: {\n${names.join('')}  };\n`;
  });
  return [
    head,
    `\n/** The arguments of each tool, by its exposed name. */\nexport interface ToolArguments {\n${args.join('')}}\n`,
    `\n/** The structured content of each tool's result. */\nexport interface ToolResults {\n${results.join('')}}\n`,
    client.replace('SERVERS', () => servers.join('')),
  ].join('');
}

function typeOf(schema: unknown, root: Schema, indent: string, depth = 0): string {
  if (schema === false) return 'never';
  if (!isRecord(schema) || depth > deepest) return 'unknown';
  const own = resolved(schema, root);
  const nested = (each: unknown): string => typeOf(each, root, indent, depth + 1);
  if (Array.isArray(own['enum'])) return unionOf(own['enum'].map(literalOf));
  if (Object.hasOwn(own, 'const')) return literalOf(own['const']);
  const { anyOf, oneOf, allOf, type } = own;
  const parts = [anyOf, oneOf].filter(Array.isArray).map((each) => unionOf(each.map(nested)));
  if (Array.isArray(allOf)) parts.push(...allOf.map(nested));
  if (Array.isArray(type))
    parts.push(unionOf(type.map((each) => plainType({ ...own, type: each }, root, indent, depth))));
  else if (type !== undefined || own['properties'] !== undefined || parts.length === 0)
    parts.push(plainType(own, root, indent, depth));
  const known = [...new Set(parts)].filter((part) => part !== 'unknown');
  const whole =
    known.length === 0
      ? 'unknown'
      : known.map((part) => grouped(part, known.length > 1)).join(' & ');
  return own['nullable'] === true ? unionOf([whole, 'null']) : whole;
}

function plainType(schema: Schema, root: Schema, indent: string, depth: number): string {
  switch (schema['type']) {
    case 'string':
    case 'boolean':
    case 'null':
      return schema['type'];
    case 'number':
    case 'integer':
      return 'number';
    case 'array':
      return `readonly ${grouped(typeOf(schema['items'] ?? true, root, indent, depth + 1), true)}[]`;
    default:
      return schema['type'] === 'object' || schema['properties'] !== undefined
        ? objectType(schema, root, indent, depth)
        : 'unknown';
  }
}

function objectType(schema: Schema, root: Schema, indent: string, depth: number): string {
  const more = schema['additionalProperties'];
  const required = requiredOf(schema);
  const inner = `${indent}  `;
  const fields = fieldsOf(schema).map(([name, field]) => {
    const mark = required.has(name) ? '' : '?';
    const type = typeOf(field, root, inner, depth + 1);
    return `${commentOf(resolved(field, root), inner)}${inner}${keyOf(name)}${mark}: ${type};\n`;
  });
  const rest =
    isRecord(more) && fields.length === 0 ? typeOf(more, root, indent, depth + 1) : 'unknown';
  if (fields.length === 0)
    return more === false ? 'Record<string, never>' : `Record<string, ${rest}>`;
  const isOpen = more === true || isRecord(more) || isRecord(schema['patternProperties']);
  // Another type than that of the named properties would refuse these.
  if (isOpen) fields.push(`${inner}[more: string]: unknown;\n`);
  return `{\n${fields.join('')}${indent}}`;
}

function unionOf(parts: readonly string[]): string {
  const each = [...new Set(parts)];
  if (each.includes('unknown') || each.length > mostAlternatives) return 'unknown';
  return each.length === 0
    ? 'never'
    : each.map((part) => grouped(part, each.length > 1)).join(' | ');
}

/** Puts parentheses around a type of several parts, where that is one part of another. */
function grouped(type: string, isPart: boolean): string {
  return isPart && /[|&]|^readonly /u.test(type) ? `(${type})` : type;
}

/** Objects and lists are not compared by their values. */
function literalOf(value: unknown): string {
  return typeof value === 'object' && value !== null ? 'unknown' : JSON.stringify(value);
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/u.test(name) ? name : JSON.stringify(name);
}

function commentOf(about: { readonly description?: unknown }, indent = '  '): string {
  const { description } = about;
  if (typeof description !== 'string' || description.trim() === '') return '';
  const line = printableLine(description.trim().split('\n', 1)[0] ?? '', longestComment);
  return `${indent}/** ${line.replaceAll('*/', '*\\/')} */\n`;
}
