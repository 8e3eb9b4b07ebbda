import path from 'node:path';
import { defined } from '../../policies/defined.ts';
import { type CommandDefinition, flag } from '../command.ts';
import { parsePort } from '../flag-values.ts';
import { showAddress, writeAddressFile } from '../run/address-file.ts';
import { untilStopped } from '../run/stop.ts';

/** `replay`: shows a journal in the inspector. */
export const replayCommand: CommandDefinition<{ readonly open?: true; readonly port?: number }> = {
  usage: 'replay <file>',
  summary: 'show a recorded journal in a browser, moment by moment, without running anything',
  details:
    'Record a journal with troupe up --journal, or save one from the inspector page. ' +
    'The printed link works once, in one browser on this machine. Stop with Ctrl-C.',
  example: 'troupe replay troupe.ndjson --open',
  options: [
    flag('--open', 'also open it in the browser'),
    flag('--port <port>', 'where to listen (default: any free port)', parsePort),
  ],
  async run(session, [file = ''], { open = false, port }) {
    const { host, launch } = session;
    // Loaded late: no other command needs it.
    const [{ openJournal }, { startInspector }] = await Promise.all([
      import('../../inspector/replay-source.ts'),
      import('../../inspector/inspector-server.ts'),
    ]);
    const source = await openJournal(path.resolve(host.cwd, file));
    const inspected = { source, mode: 'replay', title: path.basename(file) } as const;
    const inspector = await startInspector(inspected, defined({ port }));
    return untilStopped(host, async (ended) => {
      try {
        const url = inspector.newAddress();
        const linkFile = open
          ? await writeAddressFile(inspector, url, launch.stateFolder)
          : undefined;
        await showAddress(session, url, linkFile);
        return await ended;
      } finally {
        inspector.close();
      }
    });
  },
};
