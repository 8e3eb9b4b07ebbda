import { type PlanningFacts, passOf } from '../../../machines/troupe/pass.ts';
import { defined } from '../../domain/data/defined.ts';
import type { Step } from '../../domain/plan.ts';
import type { Verdict } from '../../domain/server-state.ts';
import type { DesiredServer, Settings } from '../../domain/settings.ts';
import { nextStepFor, type RefusingLists } from '../status/next-step.ts';

/** The steps of the next pass; each server that may not connect has its reason. */
export function explainedPlan(
  facts: PlanningFacts & { readonly settings: Settings },
): readonly Step[] {
  const { plan, wanted } = passOf(facts);
  const { hostAllowed, launchBound, settings } = facts;
  const lists = {
    hostAllowed,
    ...defined({
      launchBound: launchBound ?? undefined,
      limits: settings.limits,
      budget: settings.budget,
    }),
  };
  return plan.map((step) => {
    const server = wanted(step.server);
    if (server === undefined || server.verdict === 'admitted') return step;
    return { ...step, reason: reasonOf(server.desired, server.verdict, lists) };
  });
}

function reasonOf(
  desired: DesiredServer,
  verdict: Exclude<Verdict, 'admitted'>,
  lists: RefusingLists,
): string {
  const { invalid } = desired;
  if (verdict === 'invalidConfig' && invalid !== undefined) {
    const line = invalid.line === undefined ? '' : `:${invalid.line}`;
    const key = invalid.key === undefined ? '' : ` ${invalid.key}`;
    return `${invalid.file}${line}${key}: ${invalid.message}`;
  }
  const condition =
    verdict === 'disabled'
      ? ({ state: 'disabled' } as const)
      : ({ state: 'blocked', reason: verdict } as const);
  const next = nextStepFor(desired, condition, lists);
  return next === undefined ? causeOf[verdict] : `${causeOf[verdict]}; next: ${next}`;
}

const causeOf: Readonly<Record<Exclude<Verdict, 'admitted'>, string>> = {
  disabled: 'it is switched off',
  untrusted: 'the project folder is not trusted',
  excluded: 'a list or a rule excludes it',
  notAllowed: 'a list of allowed servers leaves it out',
  pendingApproval: 'it waits for your approval',
  rejected: 'you rejected it',
  invalidConfig: 'its settings are invalid',
  overBudget: 'as many servers as the budget allows are running',
};
