/** Runs a command with the running troupe, or with one that lives only as long as the command. */

import { defined } from '../../domain/data/defined.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { CliSession } from '../command.ts';
import type { ControlClient } from '../control/control-client.ts';
import { findRunning, type RunningTroupe, withoutRunning } from '../control/running-troupe.ts';
import { settingsInUse, troupeOptionsOf } from '../launch.ts';
import { type AdHocServer, adHocError } from './ad-hoc.ts';
import type { OneOff, UsedTroupe, UseTroupe } from './used-troupe.ts';

/**
 * Uses the running troupe. Without one of the same flags, starts a troupe in this process, and stops it
 * afterwards; a note says so, because its state may differ from what `troupe status` shows.
 *
 * @param server - the only server to start, by its name or as the command line names it; undefined =
 *   all; null = none
 * @returns the command's exit code, or 128 plus the number of the signal that ended it
 */
export async function withTroupe(
  session: CliSession,
  server: string | AdHocServer | undefined | null,
  use: UseTroupe,
): Promise<number> {
  if (typeof server === 'object' && server !== null) {
    const { name, options } = server;
    return runOnce(session, { server: name, options }, (error) => adHocError(server, error), use);
  }
  const running = await runningOrStarted(session);
  const explained = (error: TroupeError): TroupeError =>
    withoutRunning(session.launch, running, error);
  try {
    if (running === undefined || running.differences.length > 0) {
      const { launch, output } = session;
      if (!output.json)
        output.note(`no matching troupe is running; using ${settingsInUse(launch)}`);
      const options = troupeOptionsOf(launch, boundTo(server));
      return await runOnce(session, { server: server ?? undefined, options }, explained, use);
    }
    const { client } = running;
    await join(session, running);
    const request: ControlClient['request'] = (...asked) => client.request(...asked);
    const follow: UsedTroupe['follow'] = (types, onEvent) => {
      // The request itself reports that the troupe ended.
      client.follow(types, onEvent).catch(() => undefined);
    };
    return await use({ client, request, follow, explained });
  } finally {
    running?.client.close();
  }
}

/** Finds the running troupe, or starts one, unless the command's flags ask for other servers than its. */
export async function runningOrStarted(session: CliSession): Promise<RunningTroupe | undefined> {
  const { alone, configFiles, allow, bare } = session.launch;
  if (alone) return undefined;
  const running = await findRunning(session.launch);
  const isPlain = configFiles.length === 0 && allow === undefined && !bare;
  const mayBeReplaced =
    running?.identity.background === true && running.identity.version !== session.host.version;
  if (!isPlain || (running !== undefined && !mayBeReplaced)) return running;
  running?.client.close();
  // Loaded late: most commands find a running troupe.
  const { findOrStart } = await import('../control/start.ts');
  return findOrStart(session).catch((error: unknown) => {
    if (!(error instanceof TroupeError)) throw error;
    session.output.note(`running alone: ${error.message}`);
    return undefined;
  });
}

/** Has the troupe in the background use this command's environment; one of another version may not know how. */
async function join(
  { host, launch }: CliSession,
  { client, identity }: RunningTroupe,
): Promise<void> {
  if (identity.background !== true || identity.version !== host.version) return;
  const env = defined(host.env) as Record<string, string>;
  await client.request('join', { userSettings: launch.userSettings, env });
}

/** The only servers that may start; undefined = all. */
function boundTo(server: string | undefined | null): readonly string[] | undefined {
  if (server === null) return [];
  return server === undefined ? undefined : [server];
}

/** Loaded late: most commands find a running troupe. */
async function runOnce(session: CliSession, ...given: OneOff): Promise<number> {
  const { inProcess } = await import('./in-process.ts');
  return inProcess(session, ...given);
}
