import type { Step } from '../../domain/plan.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { printableLine } from '../../policies/text/printable.ts';
import type { CliSession, CommandDefinition } from '../command.ts';
import { askRunning } from '../control/running-troupe.ts';
import { troupeOptionsOf } from '../launch.ts';
import { fitTable, wrapText } from '../show/table.ts';

/** `plan`: shows what the next pass would do, and why, without doing it. */
export const planCommand: CommandDefinition = {
  usage: 'plan',
  summary: 'show what the running troupe would change next, and why; changes nothing',
  details: 'Without a running troupe, it shows what a new one would start with.',
  example: 'troupe plan --json',
  async run({ launch, output }) {
    const steps = await stepsFor(launch);
    output.document({ steps });
    if (steps.every((step) => step.step === 'keep')) {
      output.lines(
        wrapText(
          'nothing to do: every server matches the settings or is on its way there',
          output.width,
        ),
      );
    }
    const rows = steps.map(({ server, step, why }) => [
      { text: step },
      { text: printableLine(server, 100) },
      { text: printableLine(why, 500) },
    ]);
    const columns = [{ title: 'STEP' }, { title: 'SERVER' }, { title: 'WHY' }];
    const bold = (title: string): string => output.paint('bold', title);
    if (rows.length > 0) output.lines(fitTable({ columns, rows }, output.width, bold));
  },
};

async function stepsFor(launch: CliSession['launch']): Promise<readonly Step[]> {
  try {
    return (await askRunning(launch, 'plan', {})).steps;
  } catch (error) {
    if (!(error instanceof TroupeError) || error.code !== 'NOT_RUNNING') throw error;
    // Loaded late: a running troupe makes it unnecessary.
    const { previewPlan } = await import('../../runtime/preview-plan.ts');
    return previewPlan(troupeOptionsOf(launch));
  }
}
