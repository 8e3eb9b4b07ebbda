/**
 * Runs each of a model's calls once, even after a retried request, a stream that was read twice or
 * a loop that starts over. A repeated call gets the first answer.
 */

export class RunOnce<Answer> {
  readonly #answers = new Map<string, Promise<Answer>>();
  readonly #ran = new Set<string>();
  readonly #forgotten: () => Answer;

  /** @param forgotten - answer for a call that ran so long ago that its own answer was dropped */
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

// An answer may have megabytes: enough for every call of a turn, and for the turn to be repeated.
const mostAnswers = 128;
// A call is known for longer than any conversation lasts.
const mostKeys = 10_000;

function dropOldest(kept: Map<string, unknown> | Set<string>, most: number): void {
  const [oldest] = kept.keys();
  if (kept.size > most && oldest !== undefined) kept.delete(oldest);
}
