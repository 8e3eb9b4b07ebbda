/**
 * What a process has to know of the messages that it passes on between a client and a server, so that
 * the client can go on with another server when the first is lost. It changes no message.
 *
 * 1. What may be sent again is sent again; the client sees one answer.
 * 2. A call is never sent again: it may have run.
 * 3. What the client has told the first server, the next one is told as well: its introduction, the log
 *    level and the resources that it watches.
 */

import { isRecord } from '../domain/data/is-record.ts';
import { parsedJson } from '../domain/data/parsed-json.ts';
import { type Method, methods } from './methods.ts';

type Id = string | number;

interface Sent {
  /** Undefined for a notification. */
  readonly id: Id | undefined;
  readonly method: string;
  readonly line: string;
}

/** What is to be done after a loss. */
export interface Recovery {
  /** Lines for the next server, in this order. */
  readonly again: readonly string[];
  /** Requests that may have taken effect, which get no other answer. */
  readonly unknown: readonly { readonly id: Id; readonly isCall: boolean }[];
  /** The server's own requests, which the client no longer has to answer. */
  readonly withdrawn: readonly Id[];
}

const known: ReadonlyMap<string, Method> = new Map(
  Object.values(methods).map((method) => [method.name, method]),
);

export class RelayedSession {
  readonly #pending = new Map<Id, Sent>();
  readonly #asked = new Set<Id>();
  /** What later servers hear first, by what replaces it. */
  readonly #introduction = new Map<string, Sent>();
  /** Requests that the client sees no second answer to. */
  readonly #answered = new Set<Id>();

  /** Notes a line that the client sends. */
  fromClient(line: string): void {
    const message = parsedJson(line);
    if (!isRecord(message)) return;
    const { id, method, params } = message;
    if (typeof method !== 'string') {
      if (isId(id)) this.#asked.delete(id);
      return;
    }
    const sent = { id: isId(id) ? id : undefined, method, line };
    if (isId(id)) this.#pending.set(id, sent);
    const { uri, requestId } = isRecord(params) ? params : {};
    switch (method) {
      case methods.initialize.name:
      case methods.initialized.name:
      case methods.setLogLevel.name:
        this.#introduction.set(method, sent);
        break;
      case methods.subscribe.name:
        this.#introduction.set(`watched ${String(uri)}`, sent);
        break;
      case methods.unsubscribe.name:
        this.#introduction.delete(`watched ${String(uri)}`);
        break;
      case methods.cancelled.name:
        if (isId(requestId)) this.#pending.delete(requestId);
        break;
      default:
    }
  }

  /** Notes a line that the server sends; returns whether the client gets it. */
  fromServer(line: string): boolean {
    const message = parsedJson(line);
    if (!isRecord(message) || !isId(message['id'])) return true;
    const { id, method } = message;
    if (typeof method === 'string') {
      this.#asked.add(id);
      return true;
    }
    this.#pending.delete(id);
    return !this.#answered.delete(id);
  }

  /** Forgets what was in flight with a server that is lost. */
  lose(): Recovery {
    const told = [...this.#introduction.values()];
    const pending = [...this.#pending].filter(([, sent]) => !told.includes(sent));
    const unknown = pending.filter(([, { method }]) => known.get(method)?.repeatable !== true);
    for (const [id] of unknown) this.#pending.delete(id);
    this.#answered.clear();
    for (const { id } of told)
      if (id !== undefined && !this.#pending.has(id)) this.#answered.add(id);
    const withdrawn = [...this.#asked];
    this.#asked.clear();
    const repeated = pending.map(([, sent]) => sent).filter(({ id }) => this.#isPending(id));
    return {
      again: [...told, ...repeated].map(({ line }) => line),
      unknown: unknown.map(([id, { method }]) => ({
        id,
        isCall: method === methods.callTool.name,
      })),
      withdrawn,
    };
  }

  /** Requests that have no answer. */
  unanswered(): readonly Id[] {
    return [...this.#pending.keys()];
  }

  #isPending(id: Id | undefined): boolean {
    return id !== undefined && this.#pending.has(id);
  }
}

function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number';
}
