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

/** Defines `replay`: the inspector over a journal, with nothing running. */
export const replayCommand: CommandDefinition = {
  usage: 'replay <file>',
  summary: 'show a recorded journal in a browser, moment by moment; nothing runs',
  details:
    'A journal is written by troupe up --journal, or saved from the page of the inspector. ' +
    'The address that is printed lets one browser of this machine in, once. Stop with Ctrl-C.',
  example: 'troupe replay troupe.ndjson --open',
  options: (command) => {
    command
      .option('--open', 'open it in the browser as well')
      .addOption(
        new Option('--port <port>', 'where to listen (default: any that is free)').argParser(
          once(parsePort),
        ),
      );
  },
  run: (session, [file = ''], flags) => replay(session, file, flags as ReplayFlags),
};

async function replay(session: CliSession, file: string, flags: ReplayFlags): Promise<number> {
  const { host } = session;
  const { open = false, port } = flags;
  // Late, so that no other command pays for it.
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
      const file = open
        ? await writeAddressFile(inspector, url, session.launch.stateFolder)
        : undefined;
      await showAddress(session, url, file);
      return await ended;
    } finally {
      inspector.close();
    }
  });
}
