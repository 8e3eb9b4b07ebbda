import path from 'node:path';
import { Option } from 'commander';
import type { CliSession } from '../cli-session.ts';
import type { CommandDefinition } from '../command-definition.ts';
import { once, parsePort } from '../flag-values.ts';
import { showAddress, writeAddressFile } from '../run/address-file.ts';
import { untilStopped } from '../run/stop-request.ts';

interface ReplayFlags {
  readonly open?: boolean;
  readonly port?: number;
}

/** `replay`: shows a journal in the inspector. */
export const replayCommand: CommandDefinition = {
  usage: 'replay <file>',
  summary: 'show a recorded journal in a browser, moment by moment, without running anything',
  details:
    'Record a journal with troupe up --journal, or save one from the inspector page. ' +
    'The printed link works once, in one browser on this machine. Stop with Ctrl-C.',
  example: 'troupe replay troupe.ndjson --open',
  options: (command) => {
    command
      .option('--open', 'also open it in the browser')
      .addOption(
        new Option('--port <port>', 'where to listen (default: any free port)').argParser(
          once(parsePort),
        ),
      );
  },
  run: (session, [file = ''], flags) => replay(session, file, flags as ReplayFlags),
};

async function replay(session: CliSession, file: string, flags: ReplayFlags): Promise<number> {
  const { host } = session;
  const { open = false, port } = flags;
  // Loaded late: no other command needs it.
  const [{ openJournal }, { startInspector }] = await Promise.all([
    import('../../inspector/replay-source.ts'),
    import('../../inspector/inspector-server.ts'),
  ]);
  const source = await openJournal(path.resolve(host.cwd, file));
  const inspected = { source, mode: 'replay', title: path.basename(file) } as const;
  const inspector = await startInspector(inspected, port === undefined ? {} : { port });
  return untilStopped(host, async (ended) => {
    try {
      const url = inspector.newAddress();
      const linkFile = open
        ? await writeAddressFile(inspector, url, session.launch.stateFolder)
        : undefined;
      await showAddress(session, url, linkFile);
      return await ended;
    } finally {
      inspector.close();
    }
  });
}
