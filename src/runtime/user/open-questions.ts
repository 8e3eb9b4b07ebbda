/**
 * Keeps servers' questions until they are answered by the caller whose call they belong to, by the
 * host's handler, or through `answer()`. The question chart decides how each question ends.
 */

import { type ActorRefFrom, createActor, fromPromise } from 'xstate';
import type { QuestionPorts } from '../../../actors/session/ports.ts';
import { type QuestionReply, questionMachine } from '../../../machines/question.ts';
import { defined } from '../../domain/data/defined.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import type {
  Question,
  QuestionAnswer,
  QuestionBody,
  QuestionEnd,
  QuestionHandler,
  QuestionKind,
  QuestionParty,
  SamplingResult,
} from '../../domain/question.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { checkForm } from '../../policies/calls/form-answer.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { Roots } from '../options/roots.ts';
import type { SharedPorts } from '../shared-ports.ts';
import type { TroupeOptions } from '../troupe.ts';

interface OpenQuestion {
  readonly question: Question;
  readonly handler: QuestionHandler;
  readonly actor: ActorRefFrom<typeof questionMachine>;
  /** Aborted when the question ends, even after the handler returned undefined. */
  readonly wanted: AbortController;
  /** The latest answer's content, which never enters the chart. */
  answer: QuestionAnswer | undefined;
}

const ends = {
  accepted: 'accept',
  declined: 'decline',
  cancelled: 'cancel',
  timedOut: 'timedOut',
  withdrawn: 'withdrawn',
} as const satisfies Readonly<Record<string, QuestionEnd>>;

export class Questions {
  readonly roots: Roots;
  /** The functions that sessions use. */
  readonly session: QuestionPorts;
  /** Answers are never added to its records. */
  readonly #ports: SharedPorts;
  /** The kinds that the host answers; other questions go only to a caller that answers questions. */
  readonly #kinds: readonly QuestionKind[];
  readonly #onQuestion: QuestionHandler | undefined;
  readonly #chart: typeof questionMachine;
  /** Open questions by id, oldest first. */
  readonly #open = new Map<string, OpenQuestion>();
  /** Servers whose log already has a line about too many questions. */
  readonly #crowded = new Set<string>();
  /** Counts the questions, also those of the other clients. */
  readonly asked: { count: number };
  #isClosed = false;

  constructor(
    { onQuestion, questions, roots }: Pick<TroupeOptions, 'onQuestion' | 'questions' | 'roots'>,
    ports: SharedPorts,
  ) {
    this.#ports = ports;
    this.asked = ports.parts.client?.asked ?? { count: 0 };
    this.#onQuestion = onQuestion;
    // Sampling costs money, so the host must enable it explicitly.
    this.#kinds = questions ?? (onQuestion === undefined ? [] : ['form', 'url']);
    this.roots = new Roots(roots, ports.projectRoot);
    this.#chart = questionMachine.provide({
      actors: {
        consult: fromPromise(({ input, signal }) => this.#consult(input.id, signal)),
      },
    });
    this.session = {
      kinds: this.#kinds,
      roots: () => this.roots.folders,
      onRootsChanged: (callback) => this.roots.onChange(callback),
      ask: (server, body, party, signal) => this.#ask(server, body, party, signal),
    };
  }

  /** Lists the questions that can currently be answered by id, oldest first. */
  list(): readonly Question[] {
    return [...this.#open.values()].filter(isListed).map(({ question }) => question);
  }

  /** Returns the command that answers a server's question; undefined if there is none. */
  stepFor(server: string): string | undefined {
    const question = this.list().find((one) => one.server === server);
    return question && `troupe answer ${question.id}`;
  }

  /**
   * @throws TroupeError `INVALID_ARGUMENTS` if no such question is open or the answer does not fit
   * it.
   */
  answer(id: string, answer: QuestionAnswer): void {
    const open = this.#open.get(id);
    if (open === undefined || !isListed(open)) {
      const message = `no question "${id.slice(0, 20)}" waits for an answer; see troupe questions`;
      throw argumentsError(message);
    }
    const { question, actor } = open;
    const fault = answerFault(question, answer);
    if (fault !== undefined) {
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `invalid answer to question ${id} of ${question.server}: ${fault}; correct it and answer again`,
        { server: question.server },
      );
    }
    open.answer = readyAnswer(question, answer);
    actor.send({ type: 'question.answered', action: answer.action });
  }

  /** Withdraws every question, and accepts no more. */
  close(): void {
    this.#isClosed = true;
    for (const { actor } of [...this.#open.values()]) actor.send({ type: 'question.withdrawn' });
  }

  /**
   * Settles when the question ends; never rejects. Resolves with undefined if there is no handler
   * for this kind of question, or the answer is no longer wanted.
   */
  #ask(
    server: string,
    body: QuestionBody,
    party: QuestionParty | undefined,
    signal: AbortSignal,
  ): Promise<QuestionAnswer | undefined> {
    const hostHandler = this.#kinds.includes(body.kind) ? this.#onQuestion : undefined;
    const handler = party?.onQuestion ?? hostHandler;
    if (handler === undefined || this.#isClosed || signal.aborted)
      return Promise.resolve(undefined);
    const { maxQuestions, questionTimeoutMs } = this.#ports.book.policyOf(server).call;
    const waiting = [...this.#open.values()].filter(({ question }) => question.server === server);
    if (waiting.length >= maxQuestions) {
      if (!this.#crowded.has(server)) {
        this.#crowded.add(server);
        const line = `asks more than ${maxQuestions} questions at once; further ones are cancelled`;
        this.#ports.records.remark(server, line);
      }
      return Promise.resolve({ action: 'cancel' });
    }
    const question = this.#questionOf(server, body, party, questionTimeoutMs);
    const actor = createActor(this.#chart, {
      clock: this.#ports.parts.clock,
      input: {
        id: question.id,
        isOfCaller: party?.onQuestion !== undefined,
        timeoutMs: questionTimeoutMs,
      },
    });
    const wanted = new AbortController();
    return this.#follow({ question, handler, actor, wanted, answer: undefined }, signal);
  }

  #questionOf(
    server: string,
    body: QuestionBody,
    party: QuestionParty | undefined,
    timeoutMs: number,
  ): Question {
    const nowMs = this.#ports.parts.clock.wallNow();
    this.asked.count += 1;
    return deepFreeze({
      id: `q${this.asked.count}`,
      server,
      ...defined({ tool: party?.tool, requestId: party?.requestId }),
      askedAt: new Date(nowMs).toISOString(),
      deadlineAt: new Date(nowMs + timeoutMs).toISOString(),
      ...body,
    });
  }

  /** Runs a question's chart until the question ends. */
  #follow(open: OpenQuestion, signal: AbortSignal): Promise<QuestionAnswer | undefined> {
    const { question, actor } = open;
    const { id, server } = question;
    const { listeners, board, records } = this.#ports;
    const withdraw = (): void => actor.send({ type: 'question.withdrawn' });
    let wasListed = false;
    actor.on('question.listed', () => {
      wasListed = true;
      listeners.emit('question.asked', { question });
      board().refresh(server);
    });
    return new Promise((resolve) => {
      const finish = (end: QuestionEnd, why: string | null): void => {
        this.#open.delete(id);
        this.#crowded.delete(server);
        signal.removeEventListener('abort', withdraw);
        if (why !== null) records.remark(server, `its question ${id} was cancelled: ${why}`);
        resolve(answerAt(end, open.answer));
        open.wanted.abort();
        if (!wasListed) return;
        listeners.emit('question.settled', { id, server, end });
        board().refresh(server);
      };
      actor.subscribe({
        complete: () => {
          const { value, context } = actor.getSnapshot();
          finish(ends[value as keyof typeof ends], context.fault);
        },
        error: () => finish('cancel', 'its chart broke'),
      });
      this.#open.set(id, open);
      signal.addEventListener('abort', withdraw, { once: true });
      actor.start();
    });
  }

  /** Calls the host's handler, which may throw, never settle, or return anything. */
  async #consult(id: string, signal: AbortSignal): Promise<QuestionReply> {
    // One turn later, so that the question is listed before its handler is called.
    await Promise.resolve();
    const open = this.#open.get(id);
    if (open === undefined || signal.aborted) return { action: null, fault: null };
    const { question, handler, wanted } = open;
    const answer = await handler(question, { signal: wanted.signal });
    if (answer === undefined || signal.aborted) return { action: null, fault: null };
    const fault = answerFault(question, answer);
    if (fault !== undefined) return { action: null, fault: `its answer does not fit: ${fault}` };
    open.answer = readyAnswer(question, answer);
    return { action: answer.action, fault: null };
  }
}

/** Returns whether the question is listed, so that anyone can answer it. */
function isListed({ actor }: OpenQuestion): boolean {
  return actor.getSnapshot().matches({ open: 'listed' });
}

/** Returns the answer for the server; undefined if its session or call ended without one. */
function answerAt(
  end: QuestionEnd,
  answer: QuestionAnswer | undefined,
): QuestionAnswer | undefined {
  if (end === 'withdrawn') return undefined;
  if (end === 'accept') return answer;
  return { action: end === 'decline' ? 'decline' : 'cancel' };
}

const actions: readonly string[] = ['accept', 'decline', 'cancel'];

/** Describes an invalid answer without quoting its values; returns undefined if it is valid. */
function answerFault(question: Question, answer: unknown): string | undefined {
  if (!isRecord(answer) || !actions.includes(String(answer['action'])))
    return '"action" must be accept, decline or cancel';
  if (answer['action'] !== 'accept') return undefined;
  const { content, sampling } = answer;
  switch (question.kind) {
    case 'url':
      return undefined;
    case 'sampling':
      return isSamplingResult(sampling)
        ? undefined
        : '"sampling" must hold "model", "role" and one block of "content"';
    case 'form': {
      if (content !== undefined && !isRecord(content)) return '"content" must be an object';
      const checked = checkForm(question.fields, content ?? {});
      return 'fault' in checked ? checked.fault : undefined;
    }
  }
}

/** Returns the answer as it is sent: only the requested fields, with the form's defaults. */
function readyAnswer(question: Question, answer: QuestionAnswer): QuestionAnswer {
  if (answer.action !== 'accept') return { action: answer.action };
  const { content, sampling } = answer;
  switch (question.kind) {
    case 'url':
      return { action: 'accept' };
    case 'sampling':
      return { action: 'accept', ...(sampling !== undefined && { sampling }) };
    case 'form': {
      const checked = checkForm(question.fields, content ?? {});
      return 'content' in checked
        ? { action: 'accept', content: checked.content }
        : { action: 'cancel' };
    }
  }
}

function isSamplingResult(value: unknown): value is SamplingResult {
  if (!isRecord(value)) return false;
  const { model, role, content, stopReason } = value;
  return (
    typeof model === 'string' &&
    (role === 'user' || role === 'assistant') &&
    isRecord(content) &&
    typeof content['type'] === 'string' &&
    (stopReason === undefined || typeof stopReason === 'string')
  );
}
