/**
 * Keeps the questions of servers until they are answered: by whoever made the call they belong
 * to, by the host's callback, or by their id from anywhere. Each is settled exactly once: by an
 * answer that fits, by its time limit, or because nobody waits for it any more.
 *
 * A question that the caller answers itself is between the two: nobody else sees it, unless the
 * caller leaves it to others.
 */

import type { Clock } from '../../domain/clock.ts';
import type { TroupeEvents } from '../../domain/host/event.ts';
import type { CallPolicy } from '../../domain/policy.ts';
import type {
  Question,
  QuestionAnswer,
  QuestionBody,
  QuestionEnd,
  QuestionHandler,
  QuestionKind,
  QuestionParty,
} from '../../domain/question.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { answerFault, readyAnswer } from './question-answer.ts';

export interface QuestionDeskPorts {
  readonly clock: Clock;
  /** What the host can have answered; anything else only by the caller's own callback. */
  readonly kinds: readonly QuestionKind[];
  /** Asked for what belongs to no caller who answers himself. */
  readonly onQuestion: QuestionHandler | undefined;
  /** Of the server's settings, as they are now. */
  readonly limitsOf: (server: string) => Pick<CallPolicy, 'questionTimeoutMs' | 'maxQuestions'>;
  readonly emit: <Name extends 'question.asked' | 'question.settled'>(
    name: Name,
    event: TroupeEvents[Name],
  ) => void;
  /** The questions of a server that others may answer are not the ones they were. */
  readonly onChange: (server: string) => void;
  /** For the log of the server; holds nothing that was answered. */
  readonly remark: (server: string, line: string) => void;
}

interface Parked {
  readonly question: Question;
  readonly settle: (answer: QuestionAnswer, end: QuestionEnd) => void;
  /** Others may see and answer it. */
  isListed: boolean;
}

export class QuestionDesk {
  readonly #ports: QuestionDeskPorts;
  readonly #parked = new Map<string, Parked>();
  /** Servers of which it was remarked that they ask too much. */
  readonly #crowded = new Set<string>();
  #count = 0;
  #isClosed = false;

  constructor(ports: QuestionDeskPorts) {
    this.#ports = ports;
  }

  /** What may be answered now, oldest first. */
  list(): readonly Question[] {
    return [...this.#parked.values()].flatMap(({ question, isListed }) =>
      isListed ? [question] : [],
    );
  }

  /** The oldest question of a server that may be answered now. */
  firstOf(server: string): Question | undefined {
    return this.list().find((question) => question.server === server);
  }

  /**
   * Parks a question until it is settled. Never rejects. Undefined = nobody is there to answer
   * such a question, or nobody waits for the answer any more.
   */
  ask(
    server: string,
    body: QuestionBody,
    party: QuestionParty | undefined,
    signal: AbortSignal,
  ): Promise<QuestionAnswer | undefined> {
    const handler = party?.onQuestion ?? this.#hostHandlerFor(body.kind);
    if (handler === undefined || this.#isClosed || signal.aborted)
      return Promise.resolve(undefined);
    const { maxQuestions, questionTimeoutMs } = this.#ports.limitsOf(server);
    const waiting = [...this.#parked.values()].filter((it) => it.question.server === server);
    if (waiting.length >= maxQuestions) {
      this.#remarkCrowd(server, maxQuestions);
      return Promise.resolve({ action: 'cancel' });
    }
    const question = this.#questionOf(server, body, party, questionTimeoutMs);
    const isOwn = party?.onQuestion !== undefined;
    return this.#park(question, handler, isOwn, questionTimeoutMs, signal);
  }

  /** @throws TroupeError `INVALID_ARGUMENTS`: no such question waits, or the answer does not fit it. */
  answer(id: string, answer: QuestionAnswer): void {
    const parked = this.#parked.get(id);
    if (parked?.isListed !== true) {
      const words = `no question "${id.slice(0, 20)}" waits for an answer; see troupe questions`;
      throw new TroupeError('INVALID_ARGUMENTS', words);
    }
    const { question } = parked;
    const fault = answerFault(question, answer);
    if (fault !== undefined) {
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `this is no answer to question ${id} of ${question.server}: ${fault}; correct it and answer again`,
        { server: question.server },
      );
    }
    parked.settle(readyAnswer(question, answer), answer.action);
  }

  /** Every question is settled, and none is taken any more. */
  close(): void {
    this.#isClosed = true;
    for (const { settle } of [...this.#parked.values()]) settle({ action: 'cancel' }, 'withdrawn');
  }

  #hostHandlerFor(kind: QuestionKind): QuestionHandler | undefined {
    return this.#ports.kinds.includes(kind) ? this.#ports.onQuestion : undefined;
  }

  #questionOf(
    server: string,
    body: QuestionBody,
    party: QuestionParty | undefined,
    timeoutMs: number,
  ): Question {
    const nowMs = this.#ports.clock.wallNow();
    this.#count += 1;
    return deepFreeze({
      id: `q${this.#count}`,
      server,
      ...(party?.tool !== undefined && { tool: party.tool }),
      ...(party?.requestId !== undefined && { requestId: party.requestId }),
      askedAt: new Date(nowMs).toISOString(),
      deadlineAt: new Date(nowMs + timeoutMs).toISOString(),
      ...body,
    });
  }

  #park(
    question: Question,
    handler: QuestionHandler,
    isOwn: boolean,
    timeoutMs: number,
    signal: AbortSignal,
  ): Promise<QuestionAnswer | undefined> {
    const { clock, emit, onChange } = this.#ports;
    const { id, server } = question;
    return new Promise((resolve) => {
      const wanted = new AbortController();
      const settle = (answer: QuestionAnswer, end: QuestionEnd): void => {
        if (!this.#parked.delete(id)) return;
        clock.clearTimeout(timer);
        signal.removeEventListener('abort', withdraw);
        this.#crowded.delete(server);
        resolve(end === 'withdrawn' ? undefined : answer);
        wanted.abort();
        if (!parked.isListed) return;
        emit('question.settled', { id, server, end });
        onChange(server);
      };
      const withdraw = (): void => settle({ action: 'cancel' }, 'withdrawn');
      const parked: Parked = { question, settle, isListed: false };
      const timer = clock.setTimeout(() => settle({ action: 'cancel' }, 'timedOut'), timeoutMs);
      signal.addEventListener('abort', withdraw, { once: true });
      this.#parked.set(id, parked);
      if (!isOwn) this.#show(parked);
      void this.#consult(parked, handler, wanted.signal);
    });
  }

  /** Others may see and answer it from now on. */
  #show(parked: Parked): void {
    if (parked.isListed || !this.#parked.has(parked.question.id)) return;
    parked.isListed = true;
    this.#ports.emit('question.asked', { question: parked.question });
    this.#ports.onChange(parked.question.server);
  }

  /** The handler is code of the host: it may throw, be late, or answer with anything. */
  async #consult(parked: Parked, handler: QuestionHandler, signal: AbortSignal): Promise<void> {
    const { question, settle } = parked;
    let answer: QuestionAnswer | undefined;
    try {
      answer = await handler(question, { signal });
    } catch {
      // Its message may hold what a person typed.
      this.#refuse(parked, 'whoever was asked threw an error');
      return;
    }
    if (signal.aborted) return;
    if (answer === undefined) {
      this.#show(parked);
      return;
    }
    const fault = answerFault(question, answer);
    if (fault === undefined) settle(readyAnswer(question, answer), answer.action);
    else this.#refuse(parked, `what was answered does not fit: ${fault}`);
  }

  #refuse({ question, settle }: Parked, why: string): void {
    if (!this.#parked.has(question.id)) return;
    this.#ports.remark(question.server, `its question ${question.id} was cancelled: ${why}`);
    settle({ action: 'cancel' }, 'cancel');
  }

  #remarkCrowd(server: string, most: number): void {
    if (this.#crowded.has(server)) return;
    this.#crowded.add(server);
    this.#ports.remark(
      server,
      `asks more than ${most} questions at once; further ones are cancelled`,
    );
  }
}
