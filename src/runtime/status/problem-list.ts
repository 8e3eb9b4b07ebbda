import type { Problem } from '../../domain/settings.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { equalTyped } from '../../policies/equal-typed.ts';

/** What a person should mend, from every source that knows of something; tells when it changes. */
export class ProblemList {
  readonly #onChange: (problems: readonly Problem[]) => void;
  #ofSettings: readonly Problem[] = [];
  #ofProcesses: readonly Problem[] = [];
  #ofCatalogs: readonly Problem[] = [];
  #ofApprovals: readonly Problem[] = [];
  #ofPermissions: readonly Problem[] = [];
  #ofBudget: readonly Problem[] = [];

  constructor(onChange: (problems: readonly Problem[]) => void) {
    this.#onChange = onChange;
  }

  all(): readonly Problem[] {
    return [
      ...this.#ofSettings,
      ...this.#ofProcesses,
      ...this.#ofCatalogs,
      ...this.#ofApprovals,
      ...this.#ofPermissions,
      ...this.#ofBudget,
    ];
  }

  /** The same problems again are no news, wherever their lines have moved to. */
  setOfSettings(problems: readonly Problem[]): void {
    if (problems === this.#ofSettings) return;
    const isNews = !equalTyped(withoutLines(problems), withoutLines(this.#ofSettings));
    this.#ofSettings = deepFreeze(problems);
    if (isNews) this.#tell();
  }

  setOfProcesses(problems: readonly Problem[]): void {
    this.#ofProcesses = deepFreeze(problems);
    this.#tell();
  }

  setOfCatalogs(problems: readonly Problem[]): void {
    this.#ofCatalogs = deepFreeze(problems);
    this.#tell();
  }

  setOfApprovals(problems: readonly Problem[]): void {
    this.#ofApprovals = deepFreeze(problems);
    this.#tell();
  }

  readonly setOfPermissions = (problems: readonly Problem[]): void => {
    this.#ofPermissions = deepFreeze(problems);
    this.#tell();
  };

  setOfBudget(problems: readonly Problem[]): void {
    this.#ofBudget = deepFreeze(problems);
    this.#tell();
  }

  #tell(): void {
    const problems = this.all();
    if (problems.length > 0) this.#onChange(problems);
  }
}

function withoutLines(problems: readonly Problem[]): readonly Omit<Problem, 'line'>[] {
  return problems.map(({ line: _line, ...problem }) => problem);
}
