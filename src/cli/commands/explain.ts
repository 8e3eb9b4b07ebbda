import type { CommandDefinition } from '../command-definition.ts';
import { withRunning } from '../control/running-troupe.ts';
import { explanationLines } from '../show/explanation-lines.ts';

/** `explain`: why a server is in its state, and what to do about it. */
export const explainCommand: CommandDefinition = {
  usage: 'explain <server>',
  summary: 'explain why a server is in its state: what decided it, what was tried, what helps',
  details:
    "States, guards, timers and events have the names of the server's chart (docs/states.md). " +
    'With --json, the document is the one that troupe.explain() of the library returns.',
  example: 'troupe explain db\n  troupe explain db --json | jq .lastFailure.stderrTail',
  run: ({ launch, output }, [server = '']) =>
    withRunning(launch, async (client) => {
      const explanation = await client.request('explain', { server });
      output.document(explanation);
      output.lines(explanationLines(explanation, Date.now(), output.width, output.paint));
      return 0;
    }),
};
