import type { CommandDefinition } from '../command.ts';
import { askRunning } from '../control/running-troupe.ts';
import { explanationLines } from '../show/explanation-lines.ts';

/** `explain`: why a server is in its state, and what to do about it. */
export const explainCommand: CommandDefinition = {
  usage: 'explain <server>',
  summary: 'explain why a server is in its state: what decided it, what was tried, what helps',
  details:
    "States, guards, timers and events have the names of the server's chart (docs/states.md). " +
    'With --json, the document is the one that troupe.explain() of the library returns.',
  example: 'troupe explain db\n  troupe explain db --json | jq .lastFailure.stderrTail',
  async run({ launch, output }, [server = '']) {
    const explanation = await askRunning(launch, 'explain', { server });
    output.document(explanation);
    output.lines(explanationLines(explanation, Date.now(), output.width, output.paint));
  },
};
