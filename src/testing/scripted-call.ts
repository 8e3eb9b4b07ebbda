/** One call of a scripted session, which waits for the test to answer it. */

import { CallDeadline, timeOf } from '../../actors/session/calls/deadline.ts';
import type { Clock } from '../domain/clock.ts';
import type { QuestionParty } from '../domain/question.ts';
import type { CallFailure, CallProgress, SessionCallOptions } from '../domain/session.ts';
import type { ToolResult } from '../domain/tool.ts';

/** A call that waits for the test to answer it. */
export interface ScriptedCall {
  /** The tool's name, or another request's method: `resources/read`. */
  readonly tool: string;
  /** The arguments, or the parameters of the method. */
  readonly args: Readonly<Record<string, unknown>>;
  readonly isSettled: boolean;
  /** Settles it with the tool's or the method's result. */
  answer(result: ToolResult | Readonly<Record<string, unknown>>): void;
  fail(failure: CallFailure): void;
  progress(progress: CallProgress): void;
}

/** How a call ended. */
export type Answer = { readonly result: object } | { readonly failure: CallFailure };

export class Call implements ScriptedCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly outcome: Promise<Answer>;
  isSettled = false;
  /** Questions that belong to this call. */
  readonly wanted = new Set<AbortController>();
  readonly deadline: CallDeadline;
  readonly #options: SessionCallOptions;
  #resolve: (outcome: Answer) => void = () => {};
  readonly #release: () => void;

  constructor(
    tool: string,
    args: Readonly<Record<string, unknown>>,
    options: SessionCallOptions,
    clock: Clock,
  ) {
    this.tool = tool;
    this.args = args;
    this.#options = options;
    this.outcome = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    const onAbort = (): void => this.fail(cancelled(true));
    options.signal?.addEventListener('abort', onAbort, { once: true });
    const late = (): void =>
      this.fail({ reason: 'timeout', written: true, message: 'Request timed out' });
    this.deadline = new CallDeadline(clock, timeOf(options), late);
    this.#release = () => {
      options.signal?.removeEventListener('abort', onAbort);
      this.deadline.stop();
    };
  }

  get party(): QuestionParty | undefined {
    return this.#options.party;
  }

  answer(result: ToolResult | Readonly<Record<string, unknown>>): void {
    this.#settle({ result });
  }

  fail(failure: CallFailure): void {
    this.#settle({ failure });
  }

  progress(progress: CallProgress): void {
    if (this.isSettled) return;
    this.deadline.renew();
    this.#options.onProgress?.(progress);
  }

  #settle(outcome: Answer): void {
    if (this.isSettled) return;
    this.isSettled = true;
    this.#release();
    for (const controller of this.wanted) controller.abort();
    this.#resolve(outcome);
  }
}

export function cancelled(written: boolean): CallFailure {
  return { reason: 'cancelled', written, message: 'The call was cancelled.' };
}
