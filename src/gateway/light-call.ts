/**
 * A call of a tool that is under way beside the SDK. Most calls have nothing to say but their answer,
 * and are answered in one JSON document. One that has more to say (news of its progress, a line of
 * a log, a question, an error, content that is more than text) is handed over to the SDK as it
 * is: it goes on, and what it said until then is told first.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { ServerContext } from '@modelcontextprotocol/server';

import { isRecord } from '../policies/is-record.ts';
import type { Answer } from './held-calls.ts';

/** What a call is told of the request that it answers. */
export interface RequestContext {
  readonly mcpReq: Pick<
    ServerContext['mcpReq'],
    'id' | 'method' | 'signal' | '_meta' | 'envelope' | 'inputResponses' | 'requestState' | 'notify'
  >;
}

type Notify = RequestContext['mcpReq']['notify'];
type RequestId = string | number;

/** A request for a call about which there can be no two opinions. */
export interface PlainRequest {
  readonly id: RequestId;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly progressToken?: RequestId;
}

/**
 * Reads a request for a call of a client before 2026-07-28. Undefined: it is something else, or not
 * beyond doubt what it should be, and the SDK decides.
 */
export function plainRequestIn(
  headers: IncomingHttpHeaders,
  body: unknown,
  negotiatedVersion: string | undefined,
): PlainRequest | undefined {
  if (!areUsual(headers, negotiatedVersion)) return undefined;
  if (!isRecord(body) || !hasOnly(body, requestKeys)) return undefined;
  const { jsonrpc, id, method, params } = body;
  if (jsonrpc !== '2.0' || method !== 'tools/call' || !isId(id)) return undefined;
  return isRecord(params) ? callIn(id, params) : undefined;
}

function callIn(
  id: RequestId,
  params: Readonly<Record<string, unknown>>,
): PlainRequest | undefined {
  if (!hasOnly(params, paramKeys)) return undefined;
  const { name, arguments: args = {}, _meta: meta = {} } = params;
  if (typeof name !== 'string' || name === '' || !isRecord(args)) return undefined;
  if (!isRecord(meta) || !hasOnly(meta, metaKeys)) return undefined;
  const { progressToken } = meta;
  if (progressToken === undefined) return { id, name, args };
  return isId(progressToken) ? { id, name, args, progressToken } : undefined;
}

const requestKeys: ReadonlySet<string> = new Set(['jsonrpc', 'id', 'method', 'params']);
const paramKeys: ReadonlySet<string> = new Set(['name', 'arguments', '_meta']);
const metaKeys: ReadonlySet<string> = new Set(['progressToken']);

function areUsual(headers: IncomingHttpHeaders, negotiatedVersion: string | undefined): boolean {
  const { accept = '' } = headers;
  const version = headers['mcp-protocol-version'] ?? negotiatedVersion;
  return (
    accept.includes('application/json') &&
    accept.includes('text/event-stream') &&
    version === negotiatedVersion
  );
}

function hasOnly(value: object, keys: ReadonlySet<string>): boolean {
  return Object.keys(value).every((key) => keys.has(key));
}

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/** The request that a message gives up; undefined for any other message. */
export function givenUpBy(body: unknown): unknown {
  if (!isRecord(body) || body['method'] !== 'notifications/cancelled') return undefined;
  return isRecord(body['params']) ? body['params']['requestId'] : undefined;
}

export class LightCall {
  readonly #stop = new AbortController();
  readonly #answer: Promise<Answer>;
  readonly #news: Parameters<Notify>[] = [];
  #notify: Notify | undefined;
  #onNews: (() => void) | undefined;

  constructor(
    id: RequestId,
    progressToken: RequestId | undefined,
    call: (context: RequestContext) => Promise<Answer>,
  ) {
    this.#answer = call({
      mcpReq: {
        id,
        method: 'tools/call',
        signal: this.#stop.signal,
        requestState: () => undefined,
        notify: (...news) => this.#tell(news),
        ...(progressToken !== undefined && { _meta: { progressToken } }),
      },
    });
    // Whoever it is handed over to is told.
    this.#answer.catch(() => undefined);
  }

  get isAborted(): boolean {
    return this.#stop.signal.aborted;
  }

  abort(): void {
    this.#stop.abort();
  }

  /** Nobody hears any more what it says; it goes on. */
  silence(): void {
    this.#notify = () => Promise.resolve();
    this.#news.length = 0;
  }

  /** Settles with an answer that is all there is to tell; undefined = hand it over. */
  async plainAnswer(): Promise<Answer | undefined> {
    const hasNews = new Promise<undefined>((resolve) => {
      this.#onNews = () => resolve(undefined);
      if (this.#news.length > 0) resolve(undefined);
    });
    try {
      const answer = await Promise.race([this.#answer, hasNews]);
      const isAll = this.#news.length === 0;
      return isAll && answer !== undefined && isOfText(answer) ? answer : undefined;
    } catch {
      return undefined;
    } finally {
      this.#onNews = undefined;
    }
  }

  /** Goes on within a request of the SDK, which hears what was said before. */
  goOn({ mcpReq: { signal, notify } }: RequestContext): Promise<Answer> {
    this.#notify = notify;
    // Nobody listens any more where it cannot be told.
    for (const news of this.#news.splice(0)) notify(...news).catch(() => undefined);
    signal.addEventListener('abort', () => this.abort(), { once: true });
    if (signal.aborted) this.abort();
    return this.#answer;
  }

  #tell(news: Parameters<Notify>): Promise<void> {
    if (this.#notify !== undefined) return this.#notify(...news);
    this.#news.push(news);
    this.#onNews?.();
    return Promise.resolve();
  }
}

/** Of all else the SDK looks at the shape. */
function isOfText({ content, resultType, _meta: meta = {} }: Answer): boolean {
  return (
    resultType === undefined &&
    isRecord(meta) &&
    Array.isArray(content) &&
    content.every(
      (block) =>
        isRecord(block) &&
        block['type'] === 'text' &&
        typeof block['text'] === 'string' &&
        Object.keys(block).length === 2,
    )
  );
}
