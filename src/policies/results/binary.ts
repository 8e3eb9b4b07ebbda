/** Finds binary data in a result, and chooses file extensions that the server cannot influence. */

import type { ToolResult } from '../../domain/tool.ts';

type Block = ToolResult['content'][number];

export interface Binary {
  readonly kind: 'image' | 'audio' | 'blob';
  /** Claimed to be base64. */
  readonly data: string;
  /** As declared by the server. */
  readonly mimeType: string;
}

export function binaryOf(block: Block): Binary | undefined {
  const { type } = block;
  if (type === 'image' || type === 'audio') return partOf(type, block, 'data');
  const { resource } = block;
  if (type !== 'resource' || typeof resource !== 'object' || resource === null) return undefined;
  return partOf('blob', resource as Block, 'blob');
}

function partOf(kind: Binary['kind'], from: Block, field: string): Binary | undefined {
  const data = from[field];
  if (typeof data !== 'string') return undefined;
  const mimeType = typeof from['mimeType'] === 'string' ? from['mimeType'] : '';
  return { kind, data, mimeType };
}

/** Returns whether a string is valid base64 and decodes without loss. */
export function isBase64(text: string): boolean {
  return text !== '' && text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text);
}

/** Number of bytes that a base64 text encodes. */
export function bytesOf(base64: string): number {
  const padding = base64.endsWith('==') ? 2 : Number(base64.endsWith('='));
  return Math.floor((base64.length * 3) / 4) - padding;
}

// Programs only show or play these files. Types that may contain a script, such as HTML and SVG,
// are left out, and names from the sender are never used.
const extensions: ReadonlyMap<string, string> = new Map([
  ['application/json', 'json'],
  ['application/pdf', 'pdf'],
  ['application/zip', 'zip'],
  ['audio/flac', 'flac'],
  ['audio/mp4', 'm4a'],
  ['audio/mpeg', 'mp3'],
  ['audio/ogg', 'ogg'],
  ['audio/wav', 'wav'],
  ['audio/x-wav', 'wav'],
  ['image/avif', 'avif'],
  ['image/gif', 'gif'],
  ['image/jpeg', 'jpg'],
  ['image/png', 'png'],
  ['image/webp', 'webp'],
  ['text/csv', 'csv'],
  ['text/markdown', 'md'],
  ['text/plain', 'txt'],
  ['video/mp4', 'mp4'],
  ['video/webm', 'webm'],
]);

export function extensionOf(mimeType: string): string {
  const [type = ''] = mimeType.split(';');
  return extensions.get(type.trim().toLowerCase()) ?? 'bin';
}
