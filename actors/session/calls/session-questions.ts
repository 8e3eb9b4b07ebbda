/** Announces, asks and withdraws a session's questions. */

import type {
  QuestionAnswer,
  QuestionBody,
  QuestionKind,
  QuestionParty,
  RootFolder,
} from '../../../src/domain/question.ts';
import { methods } from '../../../src/protocol/methods.ts';
import type { QuestionPorts } from '../ports.ts';

export interface SessionQuestionsSetup {
  readonly server: string;
  readonly ports: QuestionPorts;
  /** The questions announced when the session opened. */
  readonly kinds: readonly QuestionKind[];
  readonly hasRoots: boolean;
  readonly secrets: readonly string[];
  /** Called when a question was declined without being passed to a caller, with the reason. */
  readonly onDeclined: (reason: string) => void;
}

export class SessionQuestions {
  readonly #setup: SessionQuestionsSetup;
  /** Created for the first question, like what follows. */
  #open: Set<AbortController> | undefined;
  /** Listeners by elicitation id; several calls may wait for the same one. */
  #completions: Map<string, Set<() => void>> | undefined;
  #stopWatch: (() => void) | undefined;
  #isOver = false;

  constructor(setup: SessionQuestionsSetup) {
    this.#setup = setup;
  }

  get kinds(): readonly QuestionKind[] {
    return this.#setup.kinds;
  }

  /** Whether the server may ask anything. */
  get isAskable(): boolean {
    return this.#setup.kinds.length > 0 || this.#setup.hasRoots;
  }

  get secrets(): readonly string[] {
    return this.#setup.secrets;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** The announced roots; undefined if none were announced. */
  get roots(): readonly RootFolder[] | undefined {
    return this.#setup.hasRoots ? (this.#setup.ports.roots() ?? []) : undefined;
  }

  get onDeclined(): (reason: string) => void {
    return this.#setup.onDeclined;
  }

  /** Returns whether requests of this method were announced. */
  answers(method: string): boolean {
    const { kinds } = this.#setup;
    if (method === methods.sample.name) return kinds.includes('sampling');
    return method === methods.elicit.name && kinds.some((kind) => kind !== 'sampling');
  }

  /**
   * Resolves with the answer; undefined if no one can answer or the question was withdrawn. Never
   * rejects.
   */
  async ask(
    body: QuestionBody,
    party: QuestionParty | undefined,
    signal: AbortSignal,
  ): Promise<QuestionAnswer | undefined> {
    const wanted = new AbortController();
    const withdraw = (): void => wanted.abort();
    // A set instead of event listeners, because Node warns of a leak when one signal has many.
    this.#open ??= new Set();
    this.#open.add(wanted);
    signal.addEventListener('abort', withdraw, { once: true });
    if (signal.aborted || this.isOver) withdraw();
    try {
      return await this.#setup.ports.ask(this.#setup.server, body, party, wanted.signal);
    } finally {
      signal.removeEventListener('abort', withdraw);
      this.#open.delete(wanted);
    }
  }

  /** Calls back when the server reports that an elicitation is complete. */
  onCompleted(elicitationId: string, callback: () => void): () => void {
    const completions = (this.#completions ??= new Map<string, Set<() => void>>());
    const waiting = completions.get(elicitationId) ?? new Set();
    completions.set(elicitationId, waiting.add(callback));
    return () => {
      waiting.delete(callback);
      if (waiting.size === 0) completions.delete(elicitationId);
    };
  }

  completed(elicitationId: unknown): void {
    if (typeof elicitationId !== 'string') return;
    for (const callback of this.#completions?.get(elicitationId) ?? []) callback();
  }

  onRootsChanged(callback: () => void): void {
    if (this.#setup.hasRoots) this.#stopWatch = this.#setup.ports.onRootsChanged(callback);
  }

  /** Called when the session ends: withdraws all open questions. */
  stop(): void {
    this.#stopWatch?.();
    this.#isOver = true;
    for (const wanted of this.#open ?? []) wanted.abort();
  }
}
