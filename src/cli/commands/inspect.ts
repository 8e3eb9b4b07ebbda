import type { CommandDefinition } from '../command-definition.ts';
import { withRunning } from '../control/running-troupe.ts';
import { showAddress } from '../run/address-file.ts';

/** `inspect`: prints a link to the live charts of the running troupe. */
export const inspectCommand: CommandDefinition = {
  usage: 'inspect',
  summary: 'print a link that shows the live charts of the running troupe in a browser',
  details:
    'Each link works once, in one browser on this machine; run it again for another. ' +
    'The first run makes the troupe record its charts in memory; ' +
    'troupe up --inspect records from the start.',
  example: 'troupe inspect --open',
  options: (command) => command.option('--open', 'also open it in the browser'),
  async run(session, _args, { open }) {
    const isOpened = open === true;
    const { url, file } = await withRunning(session.launch, (client) =>
      client.request('inspect', { open: isOpened }),
    );
    await showAddress(session, url, isOpened ? (file ?? '') : undefined);
    return 0;
  },
};
