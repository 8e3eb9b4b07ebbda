/**
 * A tool call that bypasses the SDK, which is faster. Most calls need only one JSON document as an answer. Any
 * other call (with progress, a log line, a question, an error, or content other than text) is handed over to
 * the SDK while it runs, together with its notifications so far.
 */

import type { IncomingHttpHeaders } from 'node:http';
import type { ServerContext } from '@modelcontextprotocol/server';
import { isRecord } from '../domain/data/is-record.ts';
import { headerNames } from '../protocol/headers.ts';
import { methods } from '../protocol/methods.ts';
import type { Answer } from './held-calls.ts';

/** The part of a request's context that a call uses. */
export interface RequestContext {
  readonly mcpReq: Pick<
    ServerContext['mcpReq'],
    'id' | 'method' | 'signal' | '_meta' | 'envelope' | 'inputResponses' | 'requestState' | 'notify'
  >;
}

type Notify = RequestContext['mcpReq']['notify'];
type RequestId = string | number;

/** A tool call with only the usual fields. */
export interface PlainRequest {
  readonly id: RequestId;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly meta: Readonly<Record<string, unknown>>;
}

/**
 * Reads a legacy client's tool call. Returns undefined for any other or unusual request, which the SDK
 * handles.
 */
export function plainRequestIn(
  headers: IncomingHttpHeaders,
  body: unknown,
  negotiatedVersion: string | undefined,
): PlainRequest | undefined {
  if (!areUsual(headers, negotiatedVersion) || !isRecord(body)) return undefined;
  const { jsonrpc, id, method, params, ...others } = body;
  if (jsonrpc !== '2.0' || method !== methods.callTool.name || !isId(id) || !isRecord(params))
    return undefined;
  const { name, arguments: args = {}, _meta: meta = {}, ...otherParams } = params;
  if (!isName(name) || !isRecord(args) || !isRecord(meta)) return undefined;
  if ([others, otherParams].some((each) => Object.keys(each).length > 0)) return undefined;
  const { progressToken = 0 } = meta;
  return isId(progressToken) ? { id, name, args, meta } : undefined;
}

function areUsual(headers: IncomingHttpHeaders, negotiatedVersion: string | undefined): boolean {
  const { accept = '' } = headers;
  const version = headers[headerNames.protocolVersion] ?? negotiatedVersion;
  return (
    accept.includes('application/json') &&
    accept.includes('text/event-stream') &&
    version === negotiatedVersion
  );
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

function isId(value: unknown): value is RequestId {
  return typeof value === 'string' || Number.isSafeInteger(value);
}

/** The id of the request that a message cancels; undefined for any other message. */
export function cancelledBy(body: unknown): unknown {
  if (!isRecord(body) || body['method'] !== methods.cancelled.name) return undefined;
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
    meta: PlainRequest['meta'],
    call: (context: RequestContext) => Promise<Answer>,
  ) {
    this.#answer = call({
      mcpReq: {
        id,
        method: methods.callTool.name,
        signal: this.#stop.signal,
        requestState: () => undefined,
        notify: (...news) => this.#notifyNow(news),
        _meta: meta,
      },
    });
    // Handled by `plainAnswer` or `goOn`.
    this.#answer.catch(() => undefined);
  }

  get isAborted(): boolean {
    return this.#stop.signal.aborted;
  }

  abort(): void {
    this.#stop.abort();
  }

  /** Drops all notifications; the call continues. */
  silence(): void {
    this.#notify = () => Promise.resolve();
    this.#news.length = 0;
  }

  /**
   * Resolves with the answer if there is nothing else to send; otherwise with undefined, and the call must be
   * handed over unless the client is gone.
   */
  async plainAnswer(gone: AbortSignal): Promise<Answer | undefined> {
    const isOver = new Promise<undefined>((resolve) => {
      this.#onNews = () => resolve(undefined);
      gone.addEventListener('abort', this.#onNews, { once: true });
      if (this.#news.length > 0 || gone.aborted) resolve(undefined);
    });
    try {
      const answer = await Promise.race([this.#answer, isOver]);
      const isAll = this.#news.length === 0;
      return isAll && answer !== undefined && isOfText(answer) ? answer : undefined;
    } catch {
      return undefined;
    } finally {
      this.#onNews = undefined;
    }
  }

  /** Continues within a request of the SDK, which gets the earlier notifications. */
  goOn({ mcpReq: { signal, notify } }: RequestContext): Promise<Answer> {
    this.#notify = notify;
    // Sending fails when the client has disconnected.
    for (const news of this.#news.splice(0)) notify(...news).catch(() => undefined);
    signal.addEventListener('abort', () => this.abort(), { once: true });
    if (signal.aborted) this.abort();
    return this.#answer;
  }

  #notifyNow(news: Parameters<Notify>): Promise<void> {
    if (this.#notify !== undefined) return this.#notify(...news);
    this.#news.push(news);
    this.#onNews?.();
    return Promise.resolve();
  }
}

/** The SDK validates all other results. */
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
