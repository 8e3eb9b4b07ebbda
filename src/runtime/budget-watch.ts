/** Keeps account of the budget for servers, and tells a person before it is used up. */

import type { TroupeContext } from '../../machines/troupe.context.ts';
import type { Problem } from '../domain/settings.ts';
import type { BudgetUse } from '../domain/status.ts';
import { isNearBudget } from '../policies/server-budget.ts';

const nothing: readonly Problem[] = [];

export class BudgetWatch {
  /** Undefined while there is no budget. */
  use: BudgetUse | undefined;
  #wasNear = false;
  #problems = nothing;
  #seen: Pick<TroupeContext, 'settings' | 'live'> | undefined;

  /** Looks at the root anew; gives the same list again while it says the same. */
  look({ settings, live }: Pick<TroupeContext, 'settings' | 'live'>): readonly Problem[] {
    if (this.#seen?.settings === settings && this.#seen.live === live) return this.#problems;
    this.#seen = { settings, live };
    const budget = settings?.budget;
    if (budget === undefined) {
      this.use = undefined;
      this.#wasNear = false;
      this.#problems = nothing;
      return this.#problems;
    }
    const verdicts = [...live].map(([name, { verdict }]) => ({ name, verdict }));
    const taken = verdicts.filter(({ verdict }) => verdict === 'admitted').length;
    const over = new Set(
      verdicts.filter(({ verdict }) => verdict === 'overBudget').map(({ name }) => name),
    );
    const refused =
      settings?.servers.map(({ name }) => name).filter((name) => over.has(name)) ?? [];
    this.use = { ...budget, taken, refused };
    this.#wasNear = isNearBudget(this.#wasNear, taken, budget.max);
    const message = this.#wasNear ? sentenceFor(this.use) : undefined;
    if (message !== this.#problems[0]?.message) {
      this.#problems =
        message === undefined
          ? nothing
          : [{ file: 'settings', key: 'mcp.policy.admission.maxServers', message }];
    }
    return this.#problems;
  }
}

// Without the number of those that run: each that comes or goes would be news.
function sentenceFor({ max, mode, taken, refused }: BudgetUse): string {
  const next = 'disable servers that are not needed, or raise the number';
  if (refused.length > 0) {
    return `the budget of ${max} servers is used up, and ${refused.join(', ')} may not run; ${next}`;
  }
  if (mode === 'warn' && taken > max)
    return `there are more servers than the budget of ${max}; ${next}`;
  return `the budget of ${max} servers is nearly used up; ${next}`;
}
