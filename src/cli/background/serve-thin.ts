/** `serve` over stdio with the troupe that other processes share. */

import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { CliSession } from '../command.ts';
import type { RunningTroupe } from '../control/running-troupe.ts';
import { controlSocketPath } from '../control/socket-path.ts';
import { findOrStart } from '../control/start.ts';
import { rootFolders } from '../launch.ts';
import { longestNote, servedWhat } from '../run/gateway-notes.ts';
import { untilStopped } from '../run/stop.ts';
import { ThinGateway } from './thin-gateway.ts';

interface ThinFlags {
  readonly only?: string;
  readonly view?: string;
  readonly root?: readonly string[];
}

/** Resolves with the exit code; undefined if the command has to run alone. */
export async function serveThin(
  session: CliSession,
  flags: ThinFlags,
): Promise<number | undefined> {
  const { host, launch, output } = session;
  const note = (line: string): void => output.note(printableLine(line, longestNote));
  const found = await findOrStart(session).catch((error: unknown) => {
    if (!(error instanceof TroupeError)) throw error;
    note(`running alone: ${error.message}`);
  });
  if (found === undefined) return undefined;
  found.client.close();
  note(
    `serving ${servedWhat(flags)} over stdin and stdout, from the troupe of pid ${found.identity.pid}`,
  );
  const { configFiles: config, bare, allow = null, trusted, userSettings } = launch;
  const thin = new ThinGateway({
    stdin: host.stdin,
    stdout: host.stdout,
    note,
    find: async () => {
      const running: RunningTroupe | undefined = await findOrStart(session);
      if (running === undefined) throw new TroupeError('NOT_RUNNING', 'the troupe has ended');
      running.client.close();
      return controlSocketPath(launch);
    },
    attach: {
      name: `serve, pid ${process.pid}`,
      env: defined(host.env) as Record<string, string>,
      config: [...config],
      bare,
      userSettings,
      allow: allow === null ? null : [...allow],
      ...defined({
        trusted,
        only: flags.only,
        view: flags.view,
        roots: rootFolders(flags.root, host.cwd) as string[],
      }),
    },
  });
  return untilStopped(host, async (stopped) => {
    const end = await Promise.race([stopped, thin.ended.then(() => undefined)]);
    thin.close();
    if (end !== undefined) return end;
    // After a signal, the requests in flight still get their answers.
    const failure = await thin.ended;
    if (failure !== undefined) throw failure;
    return undefined;
  });
}
