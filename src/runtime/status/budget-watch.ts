/** Keeps account of the budget for servers, and tells a person before it is used up. */

import type { TroupeContext } from '../../../machines/troupe/context.ts';
import type { BudgetUse, ServerStatus } from '../../domain/host/status.ts';
import { isAtRest } from '../../domain/server-state.ts';
import type { Problem } from '../../domain/settings.ts';
import { isNearBudget } from '../../policies/admission/server-budget.ts';

export class BudgetWatch {
  /** Undefined while there is no budget. */
  use: BudgetUse | undefined;
  readonly #onProblems: (problems: readonly Problem[]) => void;
  #message: string | undefined;
  #file = 'settings';
  #asked = '';
  /** Names of the servers that are not at rest; of those that live, they have the places. */
  readonly #atWork = new Set<string>();
  #wasNear = false;
  #seen: Pick<TroupeContext, 'settings' | 'live'> | undefined;

  constructor(onProblems: (problems: readonly Problem[]) => void) {
    this.#onProblems = onProblems;
  }

  /** Hears of every change; true when another pass would share the places out otherwise. */
  note({ name, state }: Pick<ServerStatus, 'name' | 'state'>): boolean {
    if (this.#atWork.has(name) !== isAtRest(state)) return false;
    if (isAtRest(state)) this.#atWork.delete(name);
    else this.#atWork.add(name);
    if (this.use === undefined) return false;
    this.#setUse({ ...this.use, taken: this.#atWork.size });
    return this.#isUnsettled(this.use);
  }

  /** Asks once about the same account: who leaves may take its time, and a pass does not hurry it. */
  #isUnsettled({ mode, taken, max, refused }: BudgetUse): boolean {
    const isSo = mode === 'enforce' && (taken > max || (taken < max && refused.length > 0));
    const account = isSo ? JSON.stringify([taken, max, refused]) : '';
    const isNews = account !== '' && account !== this.#asked;
    this.#asked = account;
    return isNews;
  }

  /** Looks at the root anew, and says the same. */
  look({ settings, live }: Pick<TroupeContext, 'settings' | 'live'>): boolean {
    if (this.#seen?.settings === settings && this.#seen.live === live) return false;
    this.#seen = { settings, live };
    for (const name of this.#atWork) if (!live.has(name)) this.#atWork.delete(name);
    if (settings?.budget === undefined) {
      this.use = undefined;
      this.#wasNear = false;
      this.#say(undefined);
      return false;
    }
    const refused = settings.servers
      .map(({ name }) => name)
      .filter((name) => live.get(name)?.verdict === 'overBudget');
    const { max, mode, source } = settings.budget;
    this.#file = source?.file ?? 'settings';
    const use = { max, mode, taken: this.#atWork.size, refused };
    this.#setUse(use);
    return this.#isUnsettled(use);
  }

  #setUse(use: BudgetUse): void {
    this.use = use;
    this.#wasNear = isNearBudget(this.#wasNear, use.taken, use.max);
    this.#say(this.#wasNear ? sentenceFor(use) : undefined);
  }

  #say(message: string | undefined): void {
    if (message === this.#message) return;
    this.#message = message;
    const key = 'mcp.policy.admission.maxServers';
    this.#onProblems(message === undefined ? [] : [{ file: this.#file, key, message }]);
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
