import type { AnyStateMachine } from 'xstate';
import { nameProblems } from './lint-chart-names.ts';
import { regionProblems } from './lint-chart-regions.ts';
import { exitProblems, failureProblems, wildcardProblems } from './lint-chart-states.ts';

/** What else to require of a chart, and what to let pass. */
export interface LintOptions {
  /** Requires the option that turns an endless loop of microsteps into an error. Default false. */
  readonly needsMaxIterations?: boolean;
  /** Problems that are meant, word for word; one that does not occur is itself a problem. */
  readonly accepted?: readonly string[];
}

/**
 * Lists what is wrong with how a chart is written, one sentence per problem.
 *
 * XState accepts all of this and misbehaves at run time: an undeclared delay fires
 * at once, a missing action is skipped, a missing guard or an unhandled child error
 * ends the actor, and of two regions that exit each other one is silently dropped.
 */
export function lintChart(machine: AnyStateMachine, options: LintOptions = {}): readonly string[] {
  const accepted = new Set(options.accepted);
  const problems = [
    ...nameProblems(machine),
    ...failureProblems(machine),
    ...exitProblems(machine),
    ...wildcardProblems(machine),
    ...regionProblems(machine),
    ...(options.needsMaxIterations === true ? iterationProblems(machine) : []),
  ];
  const unused = [...accepted].filter((text) => !problems.includes(text));
  return [
    ...new Set(problems.filter((text) => !accepted.has(text))),
    ...unused.map((text) => `accepted, but does not occur: ${text}`),
  ];
}

function iterationProblems(machine: AnyStateMachine): readonly string[] {
  const count = machine.options?.maxIterations ?? Number.POSITIVE_INFINITY;
  return Number.isFinite(count) ? [] : [`${machine.id}: options.maxIterations is not set`];
}
