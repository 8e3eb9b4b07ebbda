/**
 * Runs each of a model's calls once, even when a request is retried, a stream is read twice or a
 * loop starts over. A repeated call gets the first answer.
 */

export class RunOnce<Answer> {
  readonly #answers = new Map<string, Promise<Answer>>();
  readonly #ran = new Set<string>();
  readonly #forgotten: () => Answer;

  /** @param forgotten - returns the answer for a repeated call whose own answer was dropped */
  constructor(forgotten: () => Answer) {
    this.#forgotten = forgotten;
  }

  run(key: string, start: () => Promise<Answer>): Promise<Answer> {
    const known = this.#answers.get(key);
    if (known !== undefined) return known;
    if (this.#ran.has(key)) return Promise.resolve(this.#forgotten());
    const answer = start();
    this.#answers.set(key, answer);
    this.#ran.add(key);
    dropOldest(this.#answers, mostAnswers);
    dropOldest(this.#ran, mostKeys);
    return answer;
  }
}

// Enough for every call of a repeated turn; an answer may have megabytes.
const mostAnswers = 128;
// More calls than any conversation has.
const mostKeys = 10_000;

function dropOldest(kept: Map<string, unknown> | Set<string>, most: number): void {
  const [oldest] = kept.keys();
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}
