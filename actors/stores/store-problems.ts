/** What stores need, and their current problems, each known by what it is about. */

import type { Clock } from '../../src/domain/clock.ts';
import type { Problem } from '../../src/domain/settings.ts';

export interface StorePorts {
  /** The state folder; if absent, what is stored ends with the run. */
  readonly stateDir?: string | undefined;
  readonly clock: Clock;
  readonly onProblems: (problems: readonly Problem[]) => void;
}

export class StoreProblems {
  readonly #problems = new Map<string, Problem>();
  readonly #report: (problems: readonly Problem[]) => void;

  constructor(report: (problems: readonly Problem[]) => void) {
    this.#report = report;
  }

  /** Replaces what is wrong; without a message, nothing is. Reports all problems if one changes. */
  set(about: string, file: string, message?: string): void {
    const before = this.#problems.get(about);
    if (before?.message === message && (message === undefined || before?.file === file)) return;
    if (message === undefined) this.#problems.delete(about);
    else this.#problems.set(about, { file, message });
    this.#report([...this.#problems.values()]);
  }
}
