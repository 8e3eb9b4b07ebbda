/**
 * Asks a client the questions that certainly belong to one of its calls, but perhaps to any of them. A
 * client can be asked only during a request, so each question goes out with one of the calls at its
 * server, and with the next one when that call ends first.
 */

import type {
  Question,
  QuestionAnswer,
  QuestionClient,
  QuestionHandler,
} from '../domain/question.ts';
import type { HeldCall } from './held-calls.ts';

interface CallInFlight {
  readonly server: string;
  readonly canAnswer: (kind: Question['kind']) => boolean;
  /** Called for a question that belongs to this call only, and that its client cannot answer. */
  readonly refuse: (question: Question) => void;
}

export class ClientQuestions implements QuestionClient {
  /** Oldest first. */
  readonly #calls = new Map<HeldCall, CallInFlight>();

  began(call: HeldCall, about: CallInFlight): void {
    this.#calls.set(call, about);
  }

  ended(call: HeldCall): void {
    this.#calls.delete(call);
  }

  readonly onQuestion: QuestionHandler = async (question, asking): Promise<QuestionAnswer> => {
    const tried = new Set<HeldCall>();
    for (;;) {
      const call = this.#callFor(question, tried);
      if (call === undefined) {
        const [only, ...others] = this.#callsAt(question.server);
        if (tried.size === 0 && others.length === 0) only?.[1].refuse(question);
        return { action: tried.size === 0 ? 'decline' : 'cancel' };
      }
      tried.add(call);
      const answer = await call.askMeanwhile(question, asking);
      if (answer !== undefined) return answer;
      if (asking.signal.aborted) return { action: 'cancel' };
    }
  };

  /** Prefers a call whose client waits for its answer: it is asked at once. */
  #callFor(question: Question, tried: ReadonlySet<HeldCall>): HeldCall | undefined {
    const calls = this.#callsAt(question.server)
      .filter(([, { canAnswer }]) => canAnswer(question.kind))
      .map(([call]) => call)
      .filter((call) => !tried.has(call))
      .reverse();
    return calls.find((call) => call.canAskNow) ?? calls[0];
  }

  #callsAt(server: string): readonly (readonly [HeldCall, CallInFlight])[] {
    return [...this.#calls].filter(([, call]) => call.server === server);
  }
}
