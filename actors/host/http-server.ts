/** What the HTTP servers of the gateway and the inspector share: limits, listening, and request checks. */

import type { IncomingHttpHeaders, IncomingMessage, ServerOptions } from 'node:http';
import type { ListenOptions, Server } from 'node:net';

// Real clients send a request at once; these limits end connections that send it byte by byte.
export const requestTimeouts = {
  /** Limit for the headers. */
  headersMs: 10_000,
  /** Limit for the whole request. */
  requestMs: 30_000,
  /** How often connections are checked for these limits. */
  checkEveryMs: 1_000,
};

export type RequestTimeouts = Readonly<typeof requestTimeouts>;

/** Options of Node's server that bound the size of headers and the duration of requests. */
export function requestBounds(timeouts: RequestTimeouts = requestTimeouts): ServerOptions {
  return {
    maxHeaderSize: 16_384,
    headersTimeout: timeouts.headersMs,
    requestTimeout: timeouts.requestMs,
    connectionsCheckingInterval: timeouts.checkEveryMs,
  };
}

/** Resolves when the server listens; rejects with what `explain` makes of the error. */
export function listen(
  server: Server,
  where: ListenOptions,
  explain: (error: NodeJS.ErrnoException) => Error,
): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error) => reject(explain(error)));
    server.listen(where, resolve);
  });
}

/**
 * Recognizes requests that a foreign web page caused: under a foreign name, as after DNS rebinding, or
 * from another origin.
 * @returns why the request must be refused; undefined when it need not be
 */
export function foreignRequest(
  { url = '', headers, headersDistinct }: IncomingMessage,
  isOwnHost: (host: string) => boolean,
): string | undefined {
  const [host, ...others] = headersDistinct['host'] ?? [];
  // A proxy would get a whole URL.
  if (!url.startsWith('/')) return 'this server is not a proxy';
  if (host === undefined || others.length > 0 || !isOwnHost(host))
    return 'the Host header does not name this server';
  const { origin } = headers;
  const isForeign = origin !== undefined && origin !== `http://${host}`;
  return isForeign ? 'requests from other origins are not accepted' : undefined;
}

/** Whether a body is declared as JSON. A form on a web page cannot send this type. */
export function declaresJson({ 'content-type': type }: IncomingHttpHeaders): boolean {
  return type?.split(';')[0]?.trim().toLowerCase() === 'application/json';
}

/** Reads a body; undefined when it has more than `maxBytes`. The caller can still send an answer then. */
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
