/** Formats tools: one signature each, or everything about one. */

import { writeJson } from '../../domain/data/exact-json.ts';
import { printableLine, printableText } from '../../domain/data/printable.ts';
import type { ExposedTool, ToolAnnotations } from '../../domain/tool.ts';
import { quotedFor } from '../../policies/text/quoted.ts';
import type { Paint } from './output.ts';
import {
  exampleOf,
  literalText,
  type Parameter,
  parametersOf,
  type Schema,
  typeText,
} from './schema-text.ts';
import { columnsOf, cutTo, wrapText } from './table.ts';

const longestName = 200;
/** A signature is wrapped, not cut: arguments are what it is for. */
const longestSignature = 4_000;
const longestDescription = 20_000;
const longestSchema = 200_000;
const titleWidth = 13;
const indent = '  ';

/** The tools of one server: `name(a: number, b?: string = "x")`, each with its description's first line. */
export function signatureLines(
  tools: readonly ExposedTool[],
  width: number,
  paint: Paint,
): string[] {
  return tools.flatMap((tool) => {
    const signature = printableLine(signatureOf(tool), longestSignature);
    const name = printableLine(tool.tool, longestName);
    const known = tool.catalog === 'live' ? '' : ` [${tool.catalog}]`;
    const about = `${firstLineOf(tool)}${known}`.trim();
    const whole = about === '' ? signature : `${signature} — ${about}`;
    const bold = (line: string): string =>
      line.startsWith(name) ? paint('bold', name) + line.slice(name.length) : line;
    if (columnsOf(whole) <= width) return [bold(whole)];
    const [first = '', ...more] = wrapText(signature, width, '');
    const rest = more.map((line) => cutTo(`${indent.repeat(2)}${line}`, width));
    const below = about === '' ? [] : [cutTo(`${indent}${about}`, width)];
    return [bold(first), ...rest, ...below];
  });
}

/** Everything about one tool, in lines that fit `width`; `example` is a command line to copy. */
export function toolDetails(tool: ExposedTool, width: number, example: string): string[] {
  const { inputSchema: root, outputSchema, annotations } = tool;
  const parameters = parametersOf(root);
  const fact = (title: string, text: string): string[] =>
    text === '' ? [] : wrapText(text, width, title.padEnd(titleWidth));
  return [
    ...fact('tool', printableLine(tool.tool, longestName)),
    ...fact('server', printableLine(tool.server, longestName)),
    ...fact('title', printableLine(tool.title ?? annotations?.title ?? '', longestName)),
    ...fact('catalog', tool.catalog === 'live' ? '' : tool.catalog),
    ...textLines('description', tool.description, width),
    ...(parameters.length === 0
      ? fact('arguments', 'none')
      : ['arguments', ...parameters.flatMap((each) => parameterLines(each, root, width))]),
    ...fact('hints', hintsOf(annotations).join(', ')),
    ...fact('note', distrustOf(tool)),
    // Never wrapped, so that it can be copied.
    `${'example'.padEnd(titleWidth)}${example}`,
    ...(outputSchema === undefined ? [] : ['output', ...schemaLines(outputSchema)]),
  ];
}

/** The arguments of a call that fits the tool's schema, as words for a shell. */
export function exampleWords({ inputSchema: root }: Pick<ExposedTool, 'inputSchema'>): string {
  return parametersOf(root)
    .filter(({ required }) => required)
    .map(({ name, schema }) => {
      const value = exampleOf(schema, root);
      const text = typeof value === 'string' ? value : literalText(value);
      return quotedFor('shell', printableLine(`${name}=${text}`, longestSignature));
    })
    .join(' ');
}

function signatureOf({ tool, inputSchema: root }: ExposedTool): string {
  const parameters = parametersOf(root).map(({ name, schema, required }) => {
    const preset = Object.hasOwn(schema, 'default') ? ` = ${literalText(schema['default'])}` : '';
    return `${name}${required ? '' : '?'}: ${typeText(schema, root)}${preset}`;
  });
  return `${tool}(${parameters.join(', ')})`;
}

function firstLineOf({ description, title }: ExposedTool): string {
  const lines = printableText(description ?? title ?? '', longestDescription).split('\n');
  return printableLine(lines.find((line) => line.trim() !== '') ?? '', longestDescription);
}

function parameterLines({ name, schema, required }: Parameter, root: Schema, width: number) {
  const facts = [
    typeText(schema, root),
    required ? 'required' : '',
    Object.hasOwn(schema, 'default') ? `default ${literalText(schema['default'])}` : '',
    ...limits.map((key) => (schema[key] === undefined ? '' : `${key} ${literalText(schema[key])}`)),
  ].filter((fact) => fact !== '');
  const head = `${indent}${printableLine(name, longestName)}  `;
  return [
    ...wrapText(printableLine(facts.join(', '), longestSignature), width, head),
    ...blockOf(schema['description'], width, indent.repeat(3)),
  ];
}

/** Keywords with a short value that a caller has to obey. */
const limits = ['format', 'minimum', 'maximum', 'minLength', 'maxLength', 'pattern', 'maxItems'];

function hintsOf(annotations: ToolAnnotations = {}): string[] {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  const said = { readOnlyHint, destructiveHint, idempotentHint, openWorldHint };
  return Object.entries(said).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}: ${value}`],
  );
}

/** Explains why a tool that calls itself read-only is not treated as one. */
function distrustOf({ annotations, traits }: ExposedTool): string {
  if (annotations?.readOnlyHint !== true || traits === undefined || traits.readOnly) return '';
  return 'not treated as read-only, because the server is not trusted; "trust" in its settings changes that';
}

function textLines(title: string, text: string | undefined, width: number): string[] {
  const lines = blockOf(text, width, ' '.repeat(titleWidth));
  const [first = '', ...more] = lines;
  return lines.length === 0
    ? []
    : [`${title.padEnd(titleWidth)}${first.slice(titleWidth)}`, ...more];
}

/** A text of several lines, each wrapped behind `head`. */
function blockOf(text: unknown, width: number, head: string): string[] {
  if (typeof text !== 'string' || text.trim() === '') return [];
  return printableText(text, longestDescription)
    .trim()
    .split('\n')
    .flatMap((line) => (line.trim() === '' ? [''] : wrapText(line.trimEnd(), width, head)));
}

function schemaLines(schema: Schema): string[] {
  return printableText(writeJson(schema, 2), longestSchema)
    .split('\n')
    .map((line) => `${indent}${line}`);
}
