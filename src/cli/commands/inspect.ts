import { type CommandDefinition, flag } from '../command.ts';
import { askRunning } from '../control/running-troupe.ts';
import { showAddress } from '../run/address-file.ts';

/** `inspect`: prints a link to the live charts of the running troupe. */
export const inspectCommand: CommandDefinition<{ readonly open?: true }> = {
  usage: 'inspect',
  summary: 'print a link that shows the live charts of the running troupe in a browser',
  details:
    'Each link works once, in one browser on this machine; run it again for another. ' +
    'The page also shows what happened before: the latest 2 MB of records are kept in memory, ' +
    'and more with troupe up --inspect.',
  example: 'troupe inspect --open',
  options: [flag('--open', 'also open it in the browser')],
  async run(session, _args, { open = false }) {
    const { url, file = '' } = await askRunning(session.launch, 'inspect', { open });
    await showAddress(session, url, open ? file : undefined);
  },
};
