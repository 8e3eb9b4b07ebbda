/**
 * Handles questions from servers with a protocol before 2026-07-28: intercepts them among the
 * incoming messages and sends the answers. The SDK's client refuses kinds that were not announced.
 *
 * A question is attributed to a call only if the attribution is certain: it arrived on the response
 * stream of the call's own POST, or the server has only one call. An abandoned call counts until
 * its late response arrives, because the server may still be working on it. A question that cannot
 * be attributed with certainty is never passed to a caller.
 */

import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/client';

import type { Clock } from '../../../src/domain/clock.ts';
import type {
  QuestionAnswer,
  QuestionBody,
  QuestionKind,
  QuestionParty,
} from '../../../src/domain/question.ts';
import { isRecord } from '../../../src/policies/is-record.ts';
import type { Connection } from '../../transports/connection/connection.ts';
import type { CallDeadline } from './deadline.ts';
import { kindOf, readQuestion, resultOf, rootsResult } from './question.ts';
import type { SessionQuestions } from './questions.ts';

// No call lasts longer than this.
const givenUpMs = 600_000;
// More calls than may run at once; beyond this, no question can be attributed with certainty.
const maxAtServer = 256;
const invalidParams = -32_602;
// The specification's code for sampling that the user rejected.
const rejected = -1;

/** A caller's request, until it ends. */
interface WireCall {
  readonly party: QuestionParty | undefined;
  deadline: CallDeadline | undefined;
  /** The request's open questions. */
  readonly open: Set<AbortController>;
  /** When the caller stopped waiting, in monotonic milliseconds. */
  overAt: number | undefined;
}

interface OpenQuestion {
  readonly controller: AbortController;
  readonly elicitationId: string | undefined;
  /**
   * `withdrawn`: the server cancelled the question. `completed`: the server reports that the user
   * has finished.
   */
  end: 'withdrawn' | 'completed' | undefined;
}

type ServerRequest = Extract<JSONRPCMessage, { method: string; id: unknown }>;

export class QuestionWire {
  readonly #connection: Connection;
  readonly #transport: Transport;
  readonly #clock: Clock;
  readonly #questions: SessionQuestions;
  readonly #atServer = new Map<number, WireCall>();
  readonly #open = new Map<string | number, OpenQuestion>();
  #sending: WireCall | undefined;
  #hasLostCount = false;

  constructor(connection: Connection, clock: Clock, questions: SessionQuestions) {
    this.#connection = connection;
    this.#transport = connection.transport;
    this.#clock = clock;
    this.#questions = questions;
    connection.stages.questions = (message) => this.#takes(message);
    const send = this.#transport.send.bind(this.#transport);
    this.#transport.send = (message, options) => {
      this.#noteSent(message);
      return send(message, options);
    };
    questions.onRootsChanged(() => {
      this.#send({ jsonrpc: '2.0', method: 'notifications/roots/list_changed' });
    });
  }

  /** Sends a call's request, which is the first message that `send` sends before it returns. */
  async during<Result>(
    party: QuestionParty | undefined,
    send: (call: WireCall) => Promise<Result>,
  ): Promise<Result> {
    const call: WireCall = { party, deadline: undefined, open: new Set(), overAt: undefined };
    this.#sending = call;
    try {
      const sent = send(call);
      this.#sending = undefined;
      return await sent;
    } finally {
      this.#sending = undefined;
      call.overAt = this.#clock.now();
      for (const controller of call.open) controller.abort();
    }
  }

  #noteSent(message: JSONRPCMessage): void {
    if (this.#sending === undefined || !('method' in message) || !('id' in message)) return;
    if (this.#atServer.size >= maxAtServer) this.#forgetOldest();
    this.#atServer.set(Number(message.id), this.#sending);
    this.#sending = undefined;
  }

  /** Drops the oldest calls; only abandoned calls ever reach the limit. */
  #forgetOldest(): void {
    const [oldest] = this.#atServer.keys();
    if (oldest !== undefined) this.#atServer.delete(oldest);
    this.#hasLostCount = true;
  }

  /** Returns whether it consumed the message. */
  #takes(message: JSONRPCMessage): boolean {
    if (!('method' in message)) {
      if ('id' in message) this.#atServer.delete(Number(message.id));
      return false;
    }
    if (!('id' in message)) return this.#takesNews(message.method, message.params);
    const kind = kindOf(message.method, message.params);
    if (kind !== undefined && this.#questions.answers(message.method)) {
      this.#answer(message, kind).catch((error: unknown) => this.#connection.stages.fault(error));
      return true;
    }
    const { roots } = this.#questions;
    if (message.method !== 'roots/list' || roots === undefined) return false;
    this.#reply(message, rootsResult(roots));
    return true;
  }

  #takesNews(method: string, params: unknown): boolean {
    if (!isRecord(params)) return false;
    if (method === 'notifications/cancelled') {
      const question = this.#open.get(params['requestId'] as string | number);
      return question !== undefined && end(question, 'withdrawn');
    }
    if (method !== 'notifications/elicitation/complete') return false;
    this.#questions.completed(params['elicitationId']);
    for (const question of this.#open.values()) {
      const isMeant = question.elicitationId !== undefined;
      if (isMeant && question.elicitationId === params['elicitationId']) end(question, 'completed');
    }
    return true;
  }

  async #answer(request: ServerRequest, kind: QuestionKind): Promise<void> {
    // The answers to two questions with the same id would be indistinguishable.
    if (this.#open.has(request.id)) return;
    const body = this.#questions.kinds.includes(kind)
      ? readQuestion(request.method, request.params, this.#questions.secrets)
      : `questions of the kind "${kind}" were not offered`;
    const call = this.#callOf(request);
    if (typeof body === 'string') this.#refuse(request, invalidParams, body);
    else if (call === 'over') this.#tell(request, kind, { action: 'cancel' });
    else await this.#park(request, body, call);
  }

  async #park(
    request: ServerRequest,
    body: QuestionBody,
    call: WireCall | undefined,
  ): Promise<void> {
    const controller = new AbortController();
    const elicitationId = body.kind === 'url' ? body.elicitationId : undefined;
    const question: OpenQuestion = { controller, elicitationId, end: undefined };
    this.#open.set(request.id, question);
    call?.open.add(controller);
    call?.deadline?.hold();
    const answer = await this.#questions.ask(body, call?.party, controller.signal);
    call?.deadline?.release();
    call?.open.delete(controller);
    this.#open.delete(request.id);
    if (question.end === 'withdrawn' || this.#questions.isOver) return;
    // The host did not answer, or the caller aborted.
    const unanswered = controller.signal.aborted ? 'cancel' : 'decline';
    const action = question.end === 'completed' ? 'accept' : unanswered;
    const isAnswered = question.end === undefined && answer !== undefined;
    this.#tell(request, body.kind, isAnswered ? answer : { action });
  }

  /**
   * Returns the call that a question belongs to; undefined if that is uncertain, `over` if its
   * caller no longer waits.
   */
  #callOf(request: ServerRequest): WireCall | 'over' | undefined {
    if (this.#connection.kind === 'http') {
      const id = this.#connection.requestOf?.(request);
      // The question arrived on the stream that belongs to no request.
      if (id === undefined) return undefined;
      const call = this.#atServer.get(Number(id));
      return call === undefined || call.overAt !== undefined ? 'over' : call;
    }
    const longAgo = this.#clock.now() - givenUpMs;
    for (const [id, { overAt = Infinity }] of this.#atServer)
      if (overAt <= longAgo) this.#atServer.delete(id);
    const [only, another] = this.#atServer.values();
    const isCertain = another === undefined && !this.#hasLostCount && only?.overAt === undefined;
    return isCertain ? only : undefined;
  }

  #tell(request: ServerRequest, kind: QuestionKind, answer: QuestionAnswer): void {
    const result = resultOf(kind, answer);
    if (result === undefined) this.#refuse(request, rejected, 'The request was declined');
    else this.#reply(request, result);
  }

  #reply({ id }: ServerRequest, result: Readonly<Record<string, unknown>>): void {
    this.#send({ jsonrpc: '2.0', id, result });
  }

  #refuse({ id }: ServerRequest, code: number, message: string): void {
    this.#send({ jsonrpc: '2.0', id, error: { code, message } });
  }

  #send(message: JSONRPCMessage): void {
    // A connection that cannot send reports that elsewhere.
    this.#transport.send(message).catch(() => {});
  }
}

function end(question: OpenQuestion, how: 'withdrawn' | 'completed'): true {
  question.end = how;
  question.controller.abort();
  return true;
}
