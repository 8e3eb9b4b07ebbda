/**
 * Converts a tool's result to the three kinds of parts that every framework supports: texts, images
 * and files. Content that a model cannot read is described, never dropped silently.
 */

import { type ToolResult, writeJson } from '../index.ts';

export type ResultPart =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'image' | 'file';
      /** Base64. */
      readonly data: string;
      readonly mediaType: string;
      readonly filename: string;
    };

/** Returns a result's parts in order; structured content alone becomes JSON text. */
export function partsOf({ content, structuredContent }: ToolResult): readonly ResultPart[] {
  if (content.length > 0) return content.map(partOf);
  return structuredContent === undefined ? [] : [text(writeJson(structuredContent))];
}

/** Joins all parts; undefined unless all are texts. */
export function wholeText(parts: readonly ResultPart[]): string | undefined {
  const texts = parts.map((part) => (part.kind === 'text' ? part.text : undefined));
  return texts.includes(undefined) ? undefined : texts.join('\n');
}

/** Joins all parts, with notes in place of binary data. */
export function textWithNotes(parts: readonly ResultPart[]): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : noteOn(part))).join('\n');
}

/** Describes a failed call for a model. */
export function errorText(error: unknown): string {
  return `MCP error: ${error instanceof Error ? error.message : String(error)}`;
}

function partOf(block: ToolResult['content'][number]): ResultPart {
  const { type } = block;
  if (type === 'text' && typeof block['text'] === 'string') return text(block['text']);
  if ((type === 'image' || type === 'audio') && typeof block['data'] === 'string') {
    return binary(block['data'], block['mimeType'], type);
  }
  if (type === 'resource') return resourcePart(block['resource']) ?? text(writeJson(block));
  if (type === 'resource_link') return text(linkText(block));
  // A model may be able to use an unknown kind of content.
  return text(writeJson(block));
}

function resourcePart(resource: unknown): ResultPart | undefined {
  const { uri, mimeType, text: words, blob } = (resource ?? {}) as Record<string, unknown>;
  if (typeof words === 'string') return text(words);
  if (typeof blob !== 'string') return undefined;
  return binary(blob, mimeType, typeof uri === 'string' ? lastSegment(uri) : '');
}

function binary(data: string, mimeType: unknown, name: string): ResultPart {
  const mediaType =
    typeof mimeType === 'string' && mimeType !== '' ? mimeType : 'application/octet-stream';
  const kind = mediaType.startsWith('image/') ? 'image' : 'file';
  return { kind, data, mediaType, filename: name === '' ? 'file' : name };
}

function linkText({ uri, name, description }: Readonly<Record<string, unknown>>): string {
  const about = [name, description].filter((it) => typeof it === 'string' && it !== '');
  return `Resource ${String(uri)}${about.length > 0 ? ` (${about.join(': ')})` : ''}`;
}

/** The last segment of a URI as a safe file name. */
function lastSegment(uri: string): string {
  const path = uri.replace(/[?#].*$/su, '');
  return path
    .slice(path.lastIndexOf('/') + 1)
    .replaceAll(/[^\w.-]/gu, '_')
    .slice(-64);
}

function noteOn({ data, mediaType, kind }: Extract<ResultPart, { data: string }>): string {
  const bytes = Math.floor((data.length * 3) / 4);
  return `[${kind} of ${bytes} bytes, ${mediaType}, which cannot be shown here]`;
}

function text(words: string): ResultPart {
  return { kind: 'text', text: words };
}
