/** Request checks shared by the HTTP servers of the gateway and the inspector. */

import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/**
 * Detects requests caused by a foreign web page: sent to a foreign host name, as after DNS
 * rebinding, or from another origin.
 * @returns why the request must be refused; undefined if it is allowed
 */
export function foreignRequest(
  { url = '', headers, headersDistinct }: IncomingMessage,
  isOwnHost: (host: string) => boolean,
): string | undefined {
  const [host, ...others] = headersDistinct['host'] ?? [];
  // Only a proxy is sent a whole URL.
  if (!url.startsWith('/')) return 'this server is not a proxy';
  if (host === undefined || others.length > 0 || !isOwnHost(host))
    return 'the Host header does not name this server';
  const { origin } = headers;
  const isForeign = origin !== undefined && origin !== `http://${host}`;
  return isForeign ? 'requests from other origins are not accepted' : undefined;
}

/** Returns whether the body is declared as JSON. A form on a web page cannot send this type. */
export function declaresJson({ 'content-type': type }: IncomingHttpHeaders): boolean {
  return type?.split(';')[0]?.trim().toLowerCase() === 'application/json';
}

/**
 * Reads a body; returns undefined when it exceeds `maxBytes`. The caller can still send a response
 * then.
 */
export async function readBody(
  request: IncomingMessage,
  maxBytes: number,
): Promise<Buffer | undefined> {
  if (Number(request.headers['content-length'] ?? 0) > maxBytes) return undefined;
  const chunks: Buffer[] = [];
  let size = 0;
  const pieces = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  for await (const chunk of pieces) {
    size += chunk.length;
    if (size > maxBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
