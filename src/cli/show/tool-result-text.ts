/** Formats a tool's result: text as text, everything else on one line. */

import { writeJson } from '../../domain/data/exact-json.ts';
import { printableLine, printableText } from '../../domain/data/printable.ts';
import type { ToolResult } from '../../domain/tool.ts';

/** The runtime's limit for a result; bounds the work here. */
const longestText = 16 * 1_048_576;
const longestName = 500;

/** The lines of a tool's result. */
export function resultLines(result: ToolResult): string[] {
  const lines = result.content.flatMap(blockLines);
  if (lines.length > 0 || result.structuredContent === undefined) return lines;
  return printableText(writeJson(result.structuredContent, 2), longestText).split('\n');
}

function blockLines(block: Readonly<Record<string, unknown>>): string[] {
  switch (block['type']) {
    case 'text':
      return printableText(textOf(block['text']), longestText).split('\n');
    case 'image':
    case 'audio':
      return [binaryLine(textOf(block['type']), block['mimeType'], block['data'])];
    case 'resource_link':
      return [printableLine(`[link ${textOf(block['uri'])}]`, longestName)];
    case 'resource':
      return resourceLines(block['resource']);
    default:
      return [printableLine(`[${textOf(block['type'])}]`, longestName)];
  }
}

function resourceLines(resource: unknown): string[] {
  if (typeof resource !== 'object' || resource === null) return ['[resource]'];
  const { uri, text, mimeType, blob } = resource as Readonly<Record<string, unknown>>;
  const title = printableLine(`[resource ${textOf(uri)}]`, longestName);
  if (typeof text === 'string') return [title, ...printableText(text, longestText).split('\n')];
  return [title, binaryLine('blob', mimeType, blob)];
}

function binaryLine(kind: string, mimeType: unknown, data: unknown): string {
  // Four characters of base64 hold three bytes.
  const bytes = Math.floor((textOf(data).length * 3) / 4);
  return printableLine(`[${kind} ${textOf(mimeType)}, ${bytes} bytes]`, longestName);
}

/** A text of a server; empty for anything else. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
