import { exitCodeFor } from '../../domain/caller-code.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { errorDocumentOf } from '../control/error-document.ts';
import { withRunning } from '../control/running-troupe.ts';
import { followEvents } from '../run/follow-events.ts';

/** Defines `events`: what happens in the running troupe, for programs. */
export const eventsCommand: CommandDefinition = {
  usage: 'events',
  summary: 'print what happens in the running troupe, one JSON document per line, until Ctrl-C',
  details:
    'Every document has a type, such as status.changed, tools.changed or reconciled. ' +
    'A reader that is too slow misses some: events.dropped then says how many.',
  example: 'troupe events | jq \'select(.type == "status.changed").status.state\'',
  async run({ host, launch, output }) {
    try {
      return await withRunning(launch, (client) =>
        followEvents(host, client, undefined, (event) => output.documentLine(event)),
      );
    } catch (error) {
      if (!launch.json) throw error;
      // In one line as well: whoever reads the stream reads it line by line.
      const document = errorDocumentOf(error);
      output.documentLine({ error: document });
      return exitCodeFor(document);
    }
  },
};
