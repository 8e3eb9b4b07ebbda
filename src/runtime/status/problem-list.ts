import type { Problem } from '../../domain/settings.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { equalTyped } from '../../policies/equal-typed.ts';

/** Every part of the runtime that finds problems, in the order in which they are shown. */
const sources = [
  'settings',
  'processes',
  'catalogs',
  'approvals',
  'permissions',
  'budget',
] as const;

export type ProblemSource = (typeof sources)[number];

/** Collects what the user should fix, from every source, and reports changes. */
export class ProblemList {
  readonly #onChange: (problems: readonly Problem[]) => void;
  readonly #bySource = new Map<ProblemSource, readonly Problem[]>();

  constructor(onChange: (problems: readonly Problem[]) => void) {
    this.#onChange = onChange;
  }

  all(): readonly Problem[] {
    return sources.flatMap((source) => this.#bySource.get(source) ?? []);
  }

  /** Replaces the problems of one source. */
  set(source: ProblemSource, problems: readonly Problem[]): void {
    this.#bySource.set(source, deepFreeze(problems));
    const all = this.all();
    if (all.length > 0) this.#onChange(all);
  }

  /** Replaces the problems of the settings. The same ones on other lines are not reported again. */
  setOfSettings(problems: readonly Problem[]): void {
    const before = this.#bySource.get('settings') ?? [];
    if (problems === before) return;
    if (!equalTyped(withoutLines(problems), withoutLines(before))) this.set('settings', problems);
    else this.#bySource.set('settings', deepFreeze(problems));
  }
}

function withoutLines(problems: readonly Problem[]): readonly Omit<Problem, 'line'>[] {
  return problems.map(({ line: _line, ...problem }) => problem);
}
