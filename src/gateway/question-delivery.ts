/**
 * Asks a client the questions that certainly belong to one of its calls, but perhaps to any of them. A
 * client can be asked only during a request, so each question goes out with one of the calls at its
 * server, and with the next one when that call ends first.
 */

import { isRecord } from '../domain/data/is-record.ts';
import type {
  Question,
  QuestionAnswer,
  QuestionClient,
  QuestionHandler,
} from '../domain/question.ts';
import { digestOf } from '../policies/fingerprint.ts';
import type { HeldCall } from './held-calls.ts';

interface CallInFlight {
  readonly server: string;
  readonly canAnswer: (kind: Question['kind']) => boolean;
  /** Called for a question that belongs to this call, and that its client cannot answer. */
  readonly refuse: (question: Question) => void;
}

export class ClientQuestions implements QuestionClient {
  readonly user: string;
  /** Oldest first. */
  readonly #calls = new Map<HeldCall, CallInFlight>();

  /** @param user - the subject of the client's access token; clients without one are one user's */
  constructor(user = '') {
    this.user = user;
  }

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
        const calls = this.#callsAt(question.server);
        // A call that waits for its client's return has asked its question already.
        const askable = calls.length > 1 ? calls.filter(([each]) => each.canAskNow) : calls;
        const [only, ...others] = askable;
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

// A forgotten one counts as another client of its user.
const maxClients = 256;
// More programs than one user runs; a user's requests first make their own clients forgotten.
const maxClientsOfUser = 32;

/** The clients without a session, by their user's token and what their requests say of them. */
export class SessionlessClients {
  /** The longest unused first. */
  readonly #known = new Map<string, ClientQuestions>();

  /** The client with this name and version, of this user. */
  of(user: string, info: unknown): ClientQuestions {
    const { name, version } = isRecord(info) ? info : {};
    const key = digestOf([user, name ?? null, version ?? null]);
    const known = this.#known.get(key);
    if (known === undefined) this.#makeRoom(user);
    const client = known ?? new ClientQuestions(user);
    this.#known.delete(key);
    this.#known.set(key, client);
    return client;
  }

  /** Forgets the longest unused one, of the same user if there is one. */
  #makeRoom(user: string): void {
    const own = [...this.#known].filter(([, client]) => client.user === user);
    const isFull = this.#known.size >= maxClients || own.length >= maxClientsOfUser;
    const [oldest] = own.length > 0 ? own : this.#known;
    if (isFull && oldest !== undefined) this.#known.delete(oldest[0]);
  }
}
