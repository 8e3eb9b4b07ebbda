/**
 * Handles questions from servers with a protocol before 2026-07-28: intercepts them among the
 * incoming messages and sends the answers. The client refuses kinds that were not announced.
 *
 * A question is passed to a caller only if it certainly belongs there: it arrived on the response
 * stream of the call's own POST, or all calls that it may belong to are of one client
 * (`client-to-ask.ts`). Any other question is for the host, which may decline it.
 */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import type { Clock } from '../../../src/domain/clock.ts';
import { isRecord } from '../../../src/domain/data/is-record.ts';
import type {
  QuestionAnswer,
  QuestionBody,
  QuestionClient,
  QuestionKind,
  QuestionParty,
} from '../../../src/domain/question.ts';
import {
  type AskingCall,
  AskingCalls,
  maxRemembered,
  type QuestionOwner,
  type Unattributed,
} from '../../../src/policies/calls/client-to-ask.ts';
import { methods } from '../../../src/protocol/methods.ts';
import { type OpenRequest, takeRequestId } from '../../../src/protocol/requests.ts';
import { invalidParams, rejected } from '../../../src/protocol/rpc-codes.ts';
import type { Connection } from '../../transports/connection/connection.ts';
import { kindOf, readQuestion, resultOf, rootsResult, unansweredBy } from './question-reading.ts';
import type { SessionQuestions } from './session-questions.ts';

/** One message of a caller's request, until it is answered. */
interface WireCall extends AskingCall {
  readonly request: Pick<OpenRequest, 'hold' | 'release' | 'unanswered' | 'perhapsUnanswered'>;
  readonly party: QuestionParty | undefined;
  readonly client: QuestionClient | undefined;
  /** The open questions that may belong to the request. */
  readonly open: Set<OpenQuestion>;
  leftAt: number | undefined;
  /** Whether the server has answered a ping that was sent after the cancellation. */
  isStopped: boolean;
}

interface OpenQuestion {
  readonly controller: AbortController;
  /** The requests that it may belong to; it is withdrawn with the last of them. */
  readonly calls: Set<WireCall>;
  /** Whether it belonged to one call only when it arrived. */
  readonly isCertain: boolean;
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
  readonly #clock: Clock;
  readonly #questions: SessionQuestions;
  readonly #calls = new AskingCalls<WireCall>();
  /** Abandoned calls by the id of a ping that was sent after their cancellation. */
  readonly #stopping = new Map<number, WireCall>();
  readonly #open = new Map<string | number, OpenQuestion>();

  constructor(connection: Connection, clock: Clock, questions: SessionQuestions) {
    this.#connection = connection;
    this.#clock = clock;
    this.#questions = questions;
    connection.stages.questions = (message) => this.#takes(message);
    questions.onRootsChanged(() => {
      this.#send({ jsonrpc: '2.0', method: methods.rootsChanged.name });
    });
  }

  /**
   * Lets a request be asked about while a message of it is in flight. `exchange` sends the message,
   * and reports its id just before.
   */
  async during<Result>(
    party: QuestionParty | undefined,
    request: WireCall['request'],
    exchange: (onSending: (id: number) => void) => Promise<Result>,
  ): Promise<Result> {
    const client = party?.client;
    const open = new Set<OpenQuestion>();
    const call: WireCall = {
      request,
      party,
      client,
      user: client?.user,
      open,
      leftAt: undefined,
      isStopped: false,
      get isAsking() {
        return [...open].some(({ isCertain }) => isCertain);
      },
    };
    let id = -1;
    try {
      return await exchange((sent) => {
        id = sent;
        this.#calls.sent(id, call);
      });
    } finally {
      call.leftAt = this.#clock.now();
      // An answered call is no longer there.
      if (this.#calls.get(id) === call) this.#confirm(call);
      for (const question of call.open) {
        question.calls.delete(call);
        if (question.calls.size === 0) question.controller.abort();
      }
    }
  }

  /** Learns when the server has read that a caller no longer waits, if that makes a difference. */
  #confirm(call: WireCall): void {
    if (call.user === undefined || this.#questions.isOver || this.#connection.kind === 'http')
      return;
    const id = takeRequestId();
    this.#stopping.set(id, call);
    const [oldest] = this.#stopping.keys();
    if (this.#stopping.size > maxRemembered && oldest !== undefined) this.#stopping.delete(oldest);
    this.#send({ jsonrpc: '2.0', id, method: methods.ping.name });
  }

  /** Returns whether it consumed the message. */
  #takes(message: JSONRPCMessage): boolean {
    if (!('method' in message)) {
      const id = Number(message.id);
      const stopped = this.#stopping.get(id);
      if (stopped !== undefined) stopped.isStopped = true;
      this.#calls.answered(id);
      return this.#stopping.delete(id);
    }
    if (!('id' in message)) return this.#takesNews(message.method, message.params);
    const kind = kindOf(message.method, message.params);
    if (kind !== undefined && this.#questions.answers(message.method)) {
      this.#answer(message, kind).catch((error: unknown) => this.#connection.stages.fault(error));
      return true;
    }
    const { roots } = this.#questions;
    if (message.method !== methods.listRoots.name || roots === undefined) return false;
    this.#reply(message, rootsResult(roots));
    return true;
  }

  #takesNews(method: string, params: unknown): boolean {
    if (!isRecord(params)) return false;
    if (method === methods.cancelled.name) {
      const question = this.#open.get(params['requestId'] as string | number);
      return question !== undefined && end(question, 'withdrawn');
    }
    if (method !== methods.elicited.name) return false;
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
    const owner = this.#ownerOf(request);
    if (typeof body === 'string') this.#refuse(request, invalidParams, body);
    else if (owner === 'over') this.#tell(request, kind, { action: 'cancel' });
    else await this.#park(request, body, owner);
  }

  async #park(
    request: ServerRequest,
    body: QuestionBody,
    owner: QuestionOwner<WireCall>,
  ): Promise<void> {
    const controller = new AbortController();
    const elicitationId = body.kind === 'url' ? body.elicitationId : undefined;
    const question: OpenQuestion = {
      controller,
      calls: new Set(callsOf(owner)),
      isCertain: owner.type === 'call',
      elicitationId,
      end: undefined,
    };
    const answer = await this.#ask(request, body, question, partyOf(owner));
    if (question.end === 'withdrawn' || this.#questions.isOver) return;
    // The host did not answer, or the caller aborted.
    const unanswered = controller.signal.aborted ? 'cancel' : 'decline';
    const isUnasked = owner.type === 'nobody' && answer === undefined && unanswered === 'decline';
    const why = isUnasked ? reasons[owner.why] : undefined;
    if (why !== undefined) this.#questions.onDeclined(why);
    const action = question.end === 'completed' ? 'accept' : unanswered;
    const isAnswered = question.end === undefined && answer !== undefined;
    const told: QuestionAnswer = isAnswered ? answer : { action };
    this.#note(owner, why ?? unansweredBy(told));
    this.#tell(request, body.kind, told, why);
  }

  /** Notes, for the errors of the calls that a question may belong to, why it was not answered. */
  #note(owner: QuestionOwner<WireCall>, why: string | undefined): void {
    if (owner.type === 'call') owner.call.request.unanswered = why;
    else
      for (const { request } of owner.type === 'nobody' ? this.#calls.waiting() : owner.calls)
        request.perhapsUnanswered = why;
  }

  /** Asks it; the time of all calls that it may belong to is paused meanwhile. */
  async #ask(
    { id }: ServerRequest,
    body: QuestionBody,
    question: OpenQuestion,
    party: QuestionParty | undefined,
  ): Promise<QuestionAnswer | undefined> {
    const calls = [...question.calls];
    this.#open.set(id, question);
    for (const { open, request } of calls) {
      open.add(question);
      request.hold();
    }
    const answer = await this.#questions.ask(body, party, question.controller.signal);
    for (const { open, request } of calls) {
      request.release();
      open.delete(question);
    }
    this.#open.delete(id);
    return answer;
  }

  /** Returns whose question it is; `over` if its caller no longer waits. */
  #ownerOf(request: ServerRequest): QuestionOwner<WireCall> | 'over' {
    if (this.#connection.kind !== 'http') return this.#calls.ownerAt(this.#clock.now());
    const id = this.#connection.requestOf?.(request);
    // The question arrived on the stream that belongs to no request.
    if (id === undefined) return this.#calls.ownerOutsideCalls();
    const call = this.#calls.get(Number(id));
    return call === undefined || call.leftAt !== undefined ? 'over' : { type: 'call', call };
  }

  #tell(request: ServerRequest, kind: QuestionKind, answer: QuestionAnswer, why?: string): void {
    const result = resultOf(kind, answer);
    const words = why === undefined ? '' : `: ${why}`;
    if (result === undefined) this.#refuse(request, rejected, `The request was declined${words}`);
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
    this.#connection.transport.send(message).catch(() => {});
  }
}

function callsOf(owner: QuestionOwner<WireCall>): readonly WireCall[] {
  if (owner.type === 'nobody') return [];
  return owner.type === 'call' ? [owner.call] : owner.calls;
}

function partyOf(owner: QuestionOwner<WireCall>): QuestionParty | undefined {
  if (owner.type === 'call') return owner.call.party;
  const { client } = callsOf(owner)[0] ?? {};
  return client && { onQuestion: client.onQuestion };
}

/** Why a question was declined without being passed to a caller. */
const reasons: Readonly<Record<Unattributed, string>> = {
  noCall: 'no call is in flight, so it belongs to no caller',
  onlyAbandoned: 'the callers that it may belong to no longer wait',
  severalClients:
    'calls that may be of several clients are in flight, and the question does not name its call',
  abandonedByOther: 'it may belong to an abandoned call of another client',
};

function end(question: OpenQuestion, how: 'withdrawn' | 'completed'): true {
  question.end = how;
  question.controller.abort();
  return true;
}
