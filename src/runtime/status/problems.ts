import type { TroupeContext } from '../../../machines/troupe/context.ts';
import type { BudgetUse, ServerStatus } from '../../domain/host/status.ts';
import { isAtRest } from '../../domain/server-state.ts';
import type { Problem } from '../../domain/settings.ts';
import { isNearBudget } from '../../policies/admission/server-budget.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { equalTyped } from '../../policies/equal-typed.ts';
import { GroupedMap } from '../../policies/grouped-map.ts';

/** Every part of the runtime that finds problems, in the order in which they are shown. */
const sources = [
  'settings',
  'processes',
  'catalogs',
  'approvals',
  'permissions',
  'budget',
  'credentials',
  'ledger',
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

  /**
   * Replaces the problems of the settings. The same problems on other lines are not reported again.
   */
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

/** Tracks the use of the server budget, and warns before it is used up. */
export class BudgetWatch {
  /** Current use of the budget; undefined if there is none. */
  use: BudgetUse | undefined;
  readonly #onProblems: (problems: readonly Problem[]) => void;
  #message: string | undefined;
  #file = 'settings';
  /** Names of the servers that are not at rest, which take the slots. */
  readonly #atWork = new Set<string>();
  /** Names of the servers that have no slot. */
  readonly #refused = new Set<string>();
  #wasNear = false;
  #seen: Pick<TroupeContext, 'settings' | 'live'> | undefined;

  constructor(onProblems: (problems: readonly Problem[]) => void) {
    this.#onProblems = onProblems;
  }

  /** Records a status; must be called for every one. */
  note({ name, state }: Pick<ServerStatus, 'name' | 'state'>): void {
    if (this.#atWork.has(name) !== isAtRest(state)) return;
    if (isAtRest(state)) this.#atWork.delete(name);
    else this.#atWork.add(name);
    if (this.use !== undefined) this.#setUse({ ...this.use, taken: this.#atWork.size });
  }

  /** Records a snapshot; must be called for every snapshot of the root. */
  update({ settings, live }: Pick<TroupeContext, 'settings' | 'live'>): void {
    if (this.#seen?.settings === settings && this.#seen.live === live) return;
    const before = this.#seen;
    this.#seen = { settings, live };
    const isNew = this.#followLive(live, before?.live) || before?.settings !== settings;
    if (settings?.budget === undefined) {
      this.use = undefined;
      this.#wasNear = false;
      this.#setMessage(undefined);
      return;
    }
    const refused =
      isNew || this.use === undefined
        ? settings.servers.map(({ name }) => name).filter((name) => this.#refused.has(name))
        : this.use.refused;
    const { max, mode, source } = settings.budget;
    this.#file = source?.file ?? 'settings';
    this.#setUse({ max, mode, taken: this.#atWork.size, refused });
  }

  /** Returns whether other servers are refused than before. */
  #followLive(
    live: TroupeContext['live'],
    before: TroupeContext['live'] = GroupedMap.of(),
  ): boolean {
    let isNew = false;
    for (const name of live.changesSince(before)) {
      const server = live.get(name);
      if (server === undefined) this.#atWork.delete(name);
      if (this.#refused.has(name) === (server?.verdict === 'overBudget')) continue;
      isNew = true;
      if (!this.#refused.delete(name)) this.#refused.add(name);
    }
    return isNew;
  }

  #setUse(use: BudgetUse): void {
    this.use = use;
    this.#wasNear = isNearBudget(this.#wasNear, use.taken, use.max);
    this.#setMessage(this.#wasNear ? sentenceFor(use) : undefined);
  }

  #setMessage(message: string | undefined): void {
    if (message === this.#message) return;
    this.#message = message;
    const key = 'mcp.policy.admission.maxServers';
    this.#onProblems(message === undefined ? [] : [{ file: this.#file, key, message }]);
  }
}

// Omits the number of running servers, which would change the message with each of them.
function sentenceFor({ max, mode, taken, refused }: BudgetUse): string {
  const next = 'disable servers that you do not need, or raise the limit';
  if (refused.length > 0) {
    return `the budget of ${max} servers is exhausted, so these are blocked: ${refused.join(', ')}; ${next}`;
  }
  if (mode === 'warn' && taken > max)
    return `more servers run than the budget of ${max} allows; ${next}`;
  return `the budget of ${max} servers is nearly exhausted; ${next}`;
}
