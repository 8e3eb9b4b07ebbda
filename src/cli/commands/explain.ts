import type { CommandDefinition } from '../command-definition.ts';
import { withRunning } from '../control/running-troupe.ts';
import { explanationLines } from '../show/explanation-lines.ts';

/** Defines `explain`: why a server is as it is, and what helps. */
export const explainCommand: CommandDefinition = {
  usage: 'explain <server>',
  summary: 'say why a server is as it is: what decided, what was tried, what helps',
  details:
    'States, guards, timers and events have the names of the chart that decides (docs/states.md). ' +
    'With --json, all of it is one document: the one of troupe.explain() of the library.',
  example: 'troupe explain db\n  troupe explain db --json | jq .lastFailure.stderrTail',
  run: ({ launch, output }, [server = '']) =>
    withRunning(launch, async (client) => {
      const explanation = await client.request('explain', { server });
      output.document(explanation);
      output.lines(explanationLines(explanation, Date.now(), output.width, output.paint));
      return 0;
    }),
};
