import { type CommandDefinition, flag } from '../command.ts';
import { askRunning } from '../control/running-troupe.ts';
import { explanationLines } from '../show/explanation-lines.ts';

/** `explain`: why a server is in its state, and what to do about it. */
export const explainCommand: CommandDefinition<{ readonly details?: true }> = {
  usage: 'explain <server>',
  summary: 'explain why a server is in its state: what was tried, what helps, what decided it',
  details:
    "--details adds what the server's chart did: its guards, timers, events and budgets have the chart's names (docs/states.md). " +
    'With --json, the document is the one that troupe.explain() of the library returns.',
  example: 'troupe explain db\n  troupe explain db --json | jq .lastFailure.stderrTail',
  options: [flag('--details', "also show what decided, in the words of the server's chart")],
  async run({ launch, output }, [server = ''], { details = false }) {
    const explanation = await askRunning(launch, 'explain', { server });
    output.document(explanation);
    output.lines(explanationLines(explanation, Date.now(), output.width, output.paint, details));
  },
};
