/**
 * Calls that wait for their client. A server before 2026-07-28 asks questions during a call; a modern client
 * gets a result that requests input, and repeats the call with it. In between, the call is held here under a
 * secret state that only its client has.
 */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../domain/clock.ts';
import { isRecord } from '../domain/data/is-record.ts';
import type {
  Question,
  QuestionAnswer,
  QuestionHandler,
  SamplingResult,
} from '../domain/question.ts';
import type { CallProgress } from '../domain/session.ts';
import { methods } from '../protocol/methods.ts';
import { type Retention, retain, unusedSince } from '../runtime/retention.ts';

/** A question for a client, in the form of the protocol. */
interface InputRequest {
  readonly method: string;
  readonly params: Readonly<Record<string, unknown>>;
}

/**
 * Calls back once the settings no longer let a client use what it uses, also at once; returns how to unsubscribe.
 */
export type OnRevoked = (end: () => void) => () => void;

/** The result for a client. */
export type Answer = Record<string, unknown>;

type Turn =
  | { readonly result: Answer }
  | { readonly inputRequests: Record<string, InputRequest>; readonly requestState: string };

const statePrefix = 'troupe-call:';
// No call lasts longer; a client that returns later must start again.
const heldMs = 600_000;
// Each waits for a user; only a client that abandons its calls holds more.
const maxHeld = 256;
// With an issuer's tokens, no user may displace the calls of the others.
const maxHeldOfUser = 32;

/** A call that may span several client requests. */
export class HeldCall {
  /** The method, server and item; a different request cannot continue the call. */
  readonly subject: string;
  /** The state under which the call waits for its client; new for each round. */
  state = '';
  /** Receives progress; set by the current request. */
  onProgress: ((progress: CallProgress) => void) | undefined;
  /** Called when the page that a question was about is no longer needed; set by the current request. */
  onPageDone: ((id: string) => void) | undefined;
  /** Unanswered questions, by id. */
  readonly #open = new Map<
    string,
    { readonly question: Question; readonly settle: (answer?: QuestionAnswer) => void }
  >();
  readonly #stop = new AbortController();
  #isAnswered = false;
  #result: Promise<{ readonly result: Answer }> | undefined;
  #refusal: Error | undefined;
  #onQuestion: (() => void) | undefined;

  constructor(subject: string) {
    this.subject = subject;
  }

  /** Fires when the call is cancelled. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Whether its client can be asked now, because a request of the client waits. */
  get canAskNow(): boolean {
    return this.#onQuestion !== undefined;
  }

  readonly ask: QuestionHandler = async (question, asking) => {
    // A call in the background was already answered with a receipt, so no client can answer questions.
    if (this.#isAnswered) return { action: 'decline' };
    return (await this.askMeanwhile(question, asking)) ?? { action: 'cancel' };
  };

  /**
   * Asks a question that may belong to another call of the client. Resolves with undefined when this call ends
   * before the answer, or the signal fires.
   */
  askMeanwhile(
    question: Question,
    { signal }: { readonly signal: AbortSignal },
  ): Promise<QuestionAnswer | undefined> {
    return new Promise((resolve) => {
      if (this.#isAnswered || this.signal.aborted) return resolve(undefined);
      const settle = (answer?: QuestionAnswer): void => {
        this.#open.delete(question.id);
        resolve(answer);
      };
      this.#open.set(question.id, { question, settle });
      signal.addEventListener('abort', () => settle(), { once: true });
      this.#onQuestion?.();
    });
  }

  begin(call: () => Promise<Answer>): void {
    this.#result = call().then((result) => ({ result }));
    // Handled by the next turn, if there is one.
    this.#result.catch(() => undefined);
  }

  /** Settles questions with the client's answers; unanswered questions stay open. */
  answer(responses: Readonly<Record<string, unknown>> | undefined): void {
    for (const [id, { question, settle }] of [...this.#open]) {
      if (responses !== undefined && Object.hasOwn(responses, id))
        settle(answerOf(question, responses[id]));
    }
  }

  /**
   * Resolves with the result or with the open questions.
   *
   * @param hasPageIds - whether addresses to open have an id, as in the protocol before 2026-07-28
   */
  async turn(hasPageIds: boolean): Promise<Turn> {
    const asked = new Promise<undefined>((resolve) => {
      this.#onQuestion = () => resolve(undefined);
      if (this.#open.size > 0) resolve(undefined);
    });
    try {
      const done = await Promise.race([this.#result ?? asked, asked]);
      if (done !== undefined) {
        this.#end();
        return done;
      }
    } catch (error) {
      this.#end();
      throw this.#refusal ?? error;
    } finally {
      this.#onQuestion = undefined;
    }
    this.state = `${statePrefix}${randomBytes(16).toString('base64url')}`;
    const requests = [...this.#open].map(
      ([id, { question }]) => [id, requestOf(question, hasPageIds)] as const,
    );
    return { inputRequests: Object.fromEntries(requests), requestState: this.state };
  }

  /** Cancels the call, which then fails with this error. No effect on a call that was answered. */
  refuse(error: Error): void {
    if (this.#isAnswered || this.signal.aborted) return;
    this.#refusal = error;
    this.abort();
  }

  /** Cancels the call and its open questions. */
  abort(): void {
    this.#stop.abort();
    this.#leave();
  }

  /** Called when its client gets the answer: nothing can be asked with it any more. */
  #end(): void {
    this.#isAnswered = true;
    this.#leave();
  }

  #leave(): void {
    for (const { settle } of [...this.#open.values()]) settle();
  }
}

interface Kept {
  readonly call: HeldCall;
  readonly retention: Retention;
  readonly user: string | undefined;
  endWatch: () => void;
}

export class HeldCalls {
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  static isState(state: string | undefined): state is string {
    return state?.startsWith(statePrefix) === true;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Holds a call until its client returns or may not return, or until the time limit. */
  keep(call: HeldCall, user?: string, onRevoked?: OnRevoked): void {
    const own = [...this.#kept.values()].filter((each) => each.user === user);
    const isFull =
      this.#kept.size >= maxHeld || (user !== undefined && own.length >= maxHeldOfUser);
    const [oldest] = own.length > 0 ? own : this.#kept.values();
    if (isFull && oldest !== undefined) this.drop(oldest.call);
    const clock = this.#clock;
    const retention = retain(clock, unusedSince(clock, heldMs), () => this.drop(call));
    const kept: Kept = { call, retention, user, endWatch: () => undefined };
    this.#kept.set(call.state, kept);
    if (onRevoked !== undefined) kept.endWatch = onRevoked(() => this.drop(call));
  }

  /** Removes and returns the call with this state and subject, if there is one. */
  take(state: string, subject: string): HeldCall | undefined {
    const kept = this.#kept.get(state);
    if (kept?.call.subject !== subject) return undefined;
    this.#forget(kept);
    return kept.call;
  }

  close(): void {
    for (const { call } of [...this.#kept.values()]) this.drop(call);
  }

  /** Cancels a call whose client will not return. */
  drop(call: HeldCall): void {
    const kept = this.#kept.get(call.state);
    if (kept === undefined) return;
    this.#forget(kept);
    call.abort();
  }

  #forget({ call, retention, endWatch }: Kept): void {
    retention.release();
    endWatch();
    this.#kept.delete(call.state);
  }
}

/** Whether a client with these capabilities can answer this kind of question. */
export function canAnswer(
  kind: Question['kind'],
  capabilities: Readonly<Record<string, unknown>> | undefined,
): boolean {
  const { sampling, elicitation } = capabilities ?? {};
  if (kind === 'sampling') return isRecord(sampling);
  if (!isRecord(elicitation)) return false;
  // A client that names no modes supports forms, the only mode in older versions.
  if (kind === 'url') return isRecord(elicitation['url']);
  return isRecord(elicitation['form']) || !isRecord(elicitation['url']);
}

function requestOf(question: Question, hasPageIds: boolean): InputRequest {
  const { method, params } = bareRequestOf(question, hasPageIds);
  return { method, params: { ...params, ...(question.meta && { _meta: question.meta }) } };
}

function bareRequestOf(question: Question, hasPageIds: boolean): InputRequest {
  switch (question.kind) {
    case 'form':
      return {
        method: methods.elicit.name,
        params: { mode: 'form', message: question.message, requestedSchema: question.schema },
      };
    case 'url':
      return {
        method: methods.elicit.name,
        params: {
          mode: 'url',
          message: question.message,
          url: question.url,
          ...(hasPageIds && { elicitationId: question.id }),
        },
      };
    case 'sampling':
      return { method: methods.sample.name, params: { ...question.sampling } };
  }
}

/** An answer that cannot be parsed counts as cancelled. */
function answerOf({ kind }: Question, response: unknown): QuestionAnswer {
  if (!isRecord(response)) return { action: 'cancel' };
  if (kind === 'sampling') {
    const { model, role, content, stopReason } = response;
    const [block] = Array.isArray(content) ? content : [content];
    if (typeof model !== 'string' || !isRecord(block)) return { action: 'cancel' };
    const sampling: SamplingResult = {
      model,
      role: role === 'user' ? 'user' : 'assistant',
      content: block,
      ...(typeof stopReason === 'string' && { stopReason }),
    };
    return { action: 'accept', sampling };
  }
  const { action, content } = response;
  if (action === 'decline') return { action: 'decline' };
  if (action !== 'accept') return { action: 'cancel' };
  // The runtime validates it against the form.
  const filledIn = isRecord(content) ? { content: content as Record<string, string> } : {};
  return { action: 'accept', ...filledIn };
}
