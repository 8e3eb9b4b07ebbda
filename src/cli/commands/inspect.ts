import type { CommandDefinition } from '../command-definition.ts';
import { withRunning } from '../control/running-troupe.ts';
import { showAddress } from '../run/address-file.ts';

/** Defines `inspect`: an address to look at the charts of the running troupe. */
export const inspectCommand: CommandDefinition = {
  usage: 'inspect',
  summary: 'print an address where a browser shows the charts of the running troupe, live',
  details:
    'The address lets one browser of this machine in, once; ask again for another. ' +
    'From the first time on the troupe records what its charts do, in memory; ' +
    'troupe up --inspect records from its start.',
  example: 'troupe inspect --open',
  options: (command) => command.option('--open', 'open it in the browser as well'),
  async run(session, _args, { open }) {
    const isOpened = open === true;
    const { url, file } = await withRunning(session.launch, (client) =>
      client.request('inspect', { open: isOpened }),
    );
    await showAddress(session, url, isOpened ? (file ?? '') : undefined);
    return 0;
  },
};
