import type { CliSession } from '../cli-session.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { withRunning } from '../control/running-troupe.ts';
import { openBrowser } from '../run/open-browser.ts';

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

/**
 * Prints an address, and opens it in a browser when a file is given.
 * @param file - leads to the address; a browser gets this and never the address, because every user
 *   of the machine can see a program's arguments. Empty: a browser was requested, but there is no file
 */
export async function showAddress(
  { host, output }: CliSession,
  url: string,
  file: string | undefined,
): Promise<void> {
  output.document({ url });
  output.lines([url]);
  if (file === undefined) return;
  const open = host.openFile ?? openBrowser;
  if (file === '' || !(await open(file)))
    output.note('no browser could be opened; open the address in one yourself');
}
