/** The questions of one session: what it may be asked, who is asked, and their end with its own. */

import type {
  QuestionAnswer,
  QuestionBody,
  QuestionKind,
  QuestionParty,
  RootFolder,
} from '../../../src/domain/question.ts';
import type { QuestionPorts } from '../ports.ts';

export interface SessionQuestionsSetup {
  readonly server: string;
  readonly ports: QuestionPorts;
  /** What was announced when the session opened. */
  readonly kinds: readonly QuestionKind[];
  readonly hasRoots: boolean;
  readonly secrets: readonly string[];
}

export class SessionQuestions {
  readonly #setup: SessionQuestionsSetup;
  readonly #open = new Set<AbortController>();
  /** By what the server calls the visit, which several calls may wait for. */
  readonly #completions = new Map<string, Set<() => void>>();
  #stopWatch: (() => void) | undefined;
  readonly #over = new AbortController();

  constructor(setup: SessionQuestionsSetup) {
    this.#setup = setup;
  }

  get kinds(): readonly QuestionKind[] {
    return this.#setup.kinds;
  }

  /** Something was announced that the server may ask at any time. */
  get isAskable(): boolean {
    return this.#setup.kinds.length > 0 || this.#setup.hasRoots;
  }

  get secrets(): readonly string[] {
    return this.#setup.secrets;
  }

  get isOver(): boolean {
    return this.#over.signal.aborted;
  }

  /** Undefined: the server was not told that there are any. */
  get roots(): readonly RootFolder[] | undefined {
    return this.#setup.hasRoots ? (this.#setup.ports.roots() ?? []) : undefined;
  }

  /** Whether requests of this method were announced as welcome. */
  answers(method: string): boolean {
    const { kinds } = this.#setup;
    if (method === 'sampling/createMessage') return kinds.includes('sampling');
    return method === 'elicitation/create' && kinds.some((kind) => kind !== 'sampling');
  }

  /** Undefined = nobody can answer, or nobody waits any more. Never rejects. */
  async ask(
    body: QuestionBody,
    party: QuestionParty | undefined,
    signal: AbortSignal,
  ): Promise<QuestionAnswer | undefined> {
    const wanted = new AbortController();
    const withdraw = (): void => wanted.abort();
    // A list of our own: so many listeners of one signal would be taken for a leak.
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

  /** Calls back when the server says that what it asked for elsewhere is done. */
  onCompleted(elicitationId: string, callback: () => void): () => void {
    const waiting = this.#completions.get(elicitationId) ?? new Set();
    this.#completions.set(elicitationId, waiting.add(callback));
    return () => {
      waiting.delete(callback);
      if (waiting.size === 0) this.#completions.delete(elicitationId);
    };
  }

  completed(elicitationId: unknown): void {
    if (typeof elicitationId !== 'string') return;
    for (const callback of this.#completions.get(elicitationId) ?? []) callback();
  }

  onRootsChanged(callback: () => void): void {
    if (this.#setup.hasRoots) this.#stopWatch = this.#setup.ports.onRootsChanged(callback);
  }

  /** The session ends: what is open is withdrawn. */
  stop(): void {
    this.#stopWatch?.();
    this.#over.abort();
    for (const wanted of this.#open) wanted.abort();
  }
}
