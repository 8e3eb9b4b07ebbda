import { exitCodeFor } from '../../domain/caller-code.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { CommandDefinition } from '../command.ts';
import type { ControlResults } from '../control/protocol.ts';
import { askRunning, commandToStart, withFlags } from '../control/running-troupe.ts';
import { type Launch, noServers, troupeOptionsOf } from '../launch.ts';
import type { Output } from '../show/output.ts';
import { placedProblem, problemLines } from '../show/status-lines.ts';
import { fitTable, wrapText } from '../show/table.ts';

type Plan = Required<ControlResults['plan']>;

/** `plan`: shows what the next pass would do, and why, without doing it. */
export const planCommand: CommandDefinition = {
  usage: 'plan',
  summary: 'show what the running troupe would change next, and why; changes nothing',
  details:
    'Without a running troupe, it shows what a new one would start with. ' +
    'Exits with 2 when the settings have errors, after the plan of what can be used.',
  example: 'troupe plan --json',
  async run({ launch, output }) {
    const plan = await planFor(launch);
    output.document(plan);
    const { steps, problems } = plan;
    const hasErrors = problems.some(({ severity }) => severity === 'error');
    if (!hasErrors && steps.every((step) => step.step === 'keep')) {
      const settled = 'nothing to do: every server matches the settings or is on its way there';
      output.lines(wrapText(steps.length === 0 ? noServers(launch) : settled, output.width));
    }
    output.lines(stepLines(steps, output));
    // The reason of a step says the same as its server's problem.
    const reasons = new Set(steps.map(({ reason }) => reason));
    const others = problems.filter((problem) => !reasons.has(placedProblem(problem)));
    for (const line of problemLines(others))
      output.lines(wrapText(line, output.width).map((part) => output.paint('red', part)));
    return hasErrors ? exitCodeFor({ code: 'INVALID_CONFIG', outcome: 'not_executed' }) : 0;
  },
};

/** A table of the steps, with the reason below each server that may not connect. */
function stepLines(steps: Plan['steps'], output: Output): readonly string[] {
  if (steps.length === 0) return [];
  const columns = [{ title: 'STEP' }, { title: 'SERVER' }, { title: 'WHY' }];
  const rows = steps.map(({ server, step, why }) => [
    { text: step },
    { text: printableLine(server, 100) },
    { text: printableLine(why, 500) },
  ]);
  const bold = (title: string): string => output.paint('bold', title);
  const [titles = '', ...lines] = fitTable({ columns, rows }, output.width, bold);
  const reasonLines = (reason: string | undefined): readonly string[] =>
    reason === undefined
      ? []
      : wrapText(printableLine(reason, 1_000), output.width, '  ').map((line) =>
          output.paint('gray', line),
        );
  return [titles, ...lines.flatMap((line, index) => [line, ...reasonLines(steps[index]?.reason)])];
}

/** Names next steps that work without a running troupe, which an approval needs. */
function afterStart(step: Plan['steps'][number], launch: Launch): Plan['steps'][number] {
  const { reason } = step;
  if (reason === undefined) return step;
  const first = `next: ${commandToStart(launch)}, then troupe approve `;
  // A function, because a path may have a pattern of replace.
  const started = reason.replace('next: troupe approve ', () => first);
  return { ...step, reason: withFlags(launch, started) };
}

async function planFor(launch: Launch): Promise<Plan> {
  try {
    const { steps, problems = [] } = await askRunning(launch, 'plan', {});
    return { steps, problems };
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== 'NOT_RUNNING') throw error;
    // Loaded late: a running troupe makes it unnecessary.
    const { previewPlan } = await import('../../runtime/previews/preview-plan.ts');
    const { steps, problems } = await previewPlan(troupeOptionsOf(launch));
    return { steps: steps.map((step) => afterStart(step, launch)), problems };
  }
}
