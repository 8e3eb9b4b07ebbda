/** Formats changes of a troupe as log lines. */

import type { ServerStatus } from '../../domain/host/status.ts';
import type { Step } from '../../domain/plan.ts';
import type { Problem } from '../../domain/settings.ts';
import { printableLine } from '../../policies/text/printable.ts';
import { untilText } from './durations.ts';
import { actionOf, failureAtRest } from './status-facts.ts';

const longestText = 500;

/** The line of a status: name, state, reason and the facts that matter in that state. */
export function statusLine(status: ServerStatus, nowMs: number): string {
  const next = untilText(status.nextAttemptAt, nowMs);
  const facts = [
    status.tools > 0 ? `${status.tools} tools` : '',
    status.catalog === 'deferred' || status.catalog === 'stale' ? status.catalog : '',
    status.pid === undefined ? '' : `pid ${status.pid}`,
    status.attempt === undefined || status.attempt < 2 ? '' : `attempt ${status.attempt}`,
    next === '' ? '' : `next try ${next}`,
    status.circuit === 'closed' ? '' : `circuit ${status.circuit}`,
  ].filter((fact) => fact !== '');
  const state = status.reason === undefined ? status.state : `${status.state} (${status.reason})`;
  const details = facts.length === 0 ? '' : `: ${facts.join(', ')}`;
  const failure = failureAtRest(status);
  const why = failure === undefined ? '' : ` - ${failure}`;
  const action = actionOf(status);
  const help = action === undefined ? '' : ` -> ${action}`;
  return printableLine(`${status.name} ${state}${details}${why}${help}`, longestText);
}

/** The steps of a plan that change something, one line each. */
export function planLines(plan: readonly Step[]): string[] {
  return plan
    .filter((step) => step.step !== 'keep')
    .map((step) => printableLine(`plan: ${step.step} ${step.server} (${step.why})`, longestText));
}

/** The problems in the settings, one line each. */
export function problemLines(problems: readonly Problem[]): string[] {
  return problems.map((problem) => {
    const line = problem.line === undefined ? '' : `:${problem.line}`;
    const key = problem.key === undefined ? '' : ` ${problem.key}`;
    return printableLine(`settings: ${problem.file}${line}${key}: ${problem.message}`, 1_000);
  });
}
