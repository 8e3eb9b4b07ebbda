import type { CommandDefinition } from '../command.ts';
import { withRunning } from '../control/running-troupe.ts';
import { followEvents, printingLines } from '../run/follow-events.ts';

/** `events`: what happens in the running troupe, for programs. */
export const eventsCommand: CommandDefinition = {
  usage: 'events',
  summary: 'print events of the running troupe, one JSON document per line, until Ctrl-C',
  details:
    'Every document has a type, such as status.changed, tools.changed or reconciled. ' +
    'A slow reader misses events; events.dropped then says how many.',
  example: 'troupe events | jq \'select(.type == "status.changed").status.state\'',
  run: (session) =>
    printingLines(session, () =>
      withRunning(session.launch, (client) =>
        followEvents(session.host, client, undefined, (event) =>
          session.output.documentLine(event),
        ),
      ),
    ),
};
