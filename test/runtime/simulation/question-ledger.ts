/**
 * Keeps the books of all questions that servers ask: each is reported at most once, settled
 * once, and the troupe lists exactly those that are reported and not settled yet.
 */

import type { QuestionBody, QuestionHandler } from '../../../src/domain/question.ts';
import type { Troupe } from '../../../src/runtime/troupe.ts';
import type { ScriptedCall, SessionScript } from '../../../src/testing/session-script.ts';
import type { Random } from './random.ts';

const form: QuestionBody = {
  kind: 'form',
  message: 'How many?',
  fields: [{ name: 'count', isRequired: true, field: { type: 'integer' } }],
  schema: { type: 'object', properties: { count: { type: 'integer' } }, required: ['count'] },
};

export class QuestionLedger {
  readonly #random: Random;
  readonly #open = new Set<string>();
  readonly #reported = new Set<string>();
  readonly findings: string[] = [];
  /** Questions whose server still waits. */
  waitingCount = 0;
  askedCount = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  /** Simulates the user: answers, ignores, sends nonsense, throws, or never settles. */
  readonly handler: QuestionHandler = () =>
    this.#random.pick<() => ReturnType<QuestionHandler>>([
      () => ({ action: 'accept', content: { count: 3 } }),
      () => ({ action: 'accept', content: { count: 'many' } }),
      () => ({ action: 'decline' }),
      () => undefined,
      () => undefined,
      () => Promise.reject(new Error('no user is present')),
      () => new Promise(() => {}),
    ])();

  /** A server asks, perhaps for a call; `onEnd` is called when it knows what became of it. */
  ask(script: SessionScript, call: ScriptedCall | undefined, onEnd: () => void): void {
    this.waitingCount += 1;
    this.askedCount += 1;
    void script.ask(form, call).then((answer) => {
      this.waitingCount -= 1;
      const count = answer?.action === 'accept' ? answer.content?.['count'] : 3;
      if (count !== 3) this.findings.push('21: an answer left that does not fit its question');
      onEnd();
    });
  }

  follow(troupe: Troupe, answerLater: (act: () => void) => void): void {
    troupe.on('question.asked', ({ question: { id } }) => {
      if (this.#reported.has(id)) this.findings.push(`21: question ${id} was reported twice`);
      this.#reported.add(id);
      this.#open.add(id);
      if (!this.#random.isTrue(0.5)) return;
      answerLater(() => {
        if (this.#open.has(id)) troupe.answer(id, { action: 'decline' });
      });
    });
    troupe.on('question.settled', ({ id }) => {
      if (!this.#open.delete(id)) this.findings.push(`21: question ${id} was settled twice`);
    });
  }

  /** What is wrong now. */
  problems(troupe: Troupe): readonly string[] {
    const listed = troupe.questions().map(({ id }) => id);
    const isListed = listed.length === this.#open.size && listed.every((id) => this.#open.has(id));
    if (isListed) return this.findings;
    return [...this.findings, `21: listed are ${listed.join()}, open ${[...this.#open].join()}`];
  }
}
