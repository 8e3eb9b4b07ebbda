/** Finds the running troupe of this user and project, or starts one in the background. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { withinTime } from '../../../actors/host/time-limit.ts';
import { readSettings } from '../../../actors/settings/last-good-settings.ts';
import { withFileLock } from '../../../actors/stores/file-lock.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { settingsPortsOf } from '../../runtime/options/settings-ports.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { CliSession } from '../command.ts';
import { type CommonFlags, type Launch, settingsOptionsOf } from '../launch.ts';
import { findRunning, type RunningTroupe } from './running-troupe.ts';
import { controlSocketPath, makePrivateFolder } from './socket-path.ts';

/** The word that runs the troupe of the background; not a command for users. */
export const backgroundCommand = '__background';

// Node and the runtime load within a second; on a busy machine of one core, twenty times as long.
const longestStartMs = 30_000;
// A troupe that ends has five seconds for its servers.
const longestEndMs = 6_000;
const mostStarts = 3;
const lockLimits = { patienceMs: longestStartMs + longestEndMs, longestHeldMs: 60_000 };

/**
 * Resolves with the running troupe, which is started if there is none. Of several commands that find none at
 * the same moment, one starts it. Resolves with undefined for a command that has to run alone: by its flag, or
 * because there is none, and the variable `MCP_TROUPE_NO_BACKGROUND`, the settings or the embedding program
 * rule out a start.
 */
export async function findOrStart(session: CliSession): Promise<RunningTroupe | undefined> {
  const { host, launch, output } = session;
  if (launch.alone) return undefined;
  const found = await findRunning(launch).catch(unlessEnding);
  const isOther = found?.identity.background === true && found.identity.version !== host.version;
  if (found !== undefined && !isOther) return found;
  if (host.program === undefined || !(await mayStart(session))) return found;
  if (found !== undefined && !(await retire(found))) {
    output.note(
      `using the troupe of version ${found.identity.version} in the background, because it has other clients`,
    );
    return found;
  }
  found?.client.close();
  if (isOther) output.note(`replaced the troupe of version ${found?.identity.version}`);
  const socket = controlSocketPath(launch);
  makePrivateFolder(path.dirname(socket));
  return withFileLock(
    `${socket}.start`,
    realClock,
    () => findOrStartAlone(session),
    lockLimits,
  ).catch(unusableFolder);
}

/** @throws TroupeError instead of the file system's error about the lock */
function unusableFolder(error: unknown): never {
  if (error instanceof TroupeError) throw error;
  const { message, code } = error as NodeJS.ErrnoException;
  throw new TroupeError('UNAVAILABLE', `no troupe can be started (${code ?? message})`, {
    // Another command may be starting one.
    retryable: code === 'ELOCKED',
    cause: error,
  });
}

/**
 * While no other command does. A troupe may end while it starts because it is killed, or because
 * another one runs, whose starter was killed.
 */
async function findOrStartAlone(session: CliSession): Promise<RunningTroupe> {
  for (let starts = 0; starts < mostStarts; starts += 1) {
    const running =
      (await findRunning(session.launch).catch(unlessEnding)) ?? (await start(session));
    if (running !== undefined) return running;
  }
  throw notStarted(session.launch);
}

/** Has a troupe in the background end that nothing else uses; resolves once it has, with whether it does. */
export async function retire({ client }: RunningTroupe): Promise<boolean> {
  const { ends } = await client.request('retire', {}).catch(() => ({ ends: false }));
  if (ends) await withinTime(realClock, longestEndMs, client.closed);
  return ends;
}

/** A troupe that is ending, or ended before it answered, counts as none. */
function unlessEnding(error: unknown): undefined {
  if (!(error instanceof TroupeError) || !endingCodes.has(error.code)) throw error;
}

const endingCodes: ReadonlySet<string> = new Set(['SHUTTING_DOWN', 'NOT_RUNNING']);

async function mayStart({ host, launch }: CliSession): Promise<boolean> {
  if ((host.env['MCP_TROUPE_NO_BACKGROUND'] ?? '') !== '') return false;
  const { settings } = await readSettings(settingsPortsOf(settingsOptionsOf(launch)));
  return settings.background !== false;
}

/**
 * Resolves with undefined if the new troupe ended.
 * @throws TroupeError `UNAVAILABLE` if it takes too long
 */
async function start({ host, launch, output }: CliSession): Promise<RunningTroupe | undefined> {
  const { stateFolder, stateFolderGiven, projectRoot } = launch;
  const flags: CommonFlags = {
    project: projectRoot,
    ...(stateFolderGiven && { stateDir: stateFolder }),
  };
  const words = [backgroundCommand, JSON.stringify(flags)];
  const descriptor = openSync(logOf(launch), 'w', 0o600);
  const child = spawn(process.execPath, [...process.execArgv, host.program ?? '', ...words], {
    // Where the loaders that were given to Node are found.
    cwd: host.cwd,
    detached: true,
    env: host.env as NodeJS.ProcessEnv,
    stdio: ['ignore', descriptor, descriptor, 'ipc'],
  });
  closeSync(descriptor);
  const listening = await withinTime(
    realClock,
    longestStartMs,
    Promise.race([
      once(child, 'message').then(() => true),
      once(child, 'exit').then(
        () => false,
        () => false,
      ),
    ]),
  );
  if (child.connected) child.disconnect();
  child.unref();
  if (listening === undefined) throw notStarted(launch);
  const running = listening ? await findRunning(launch) : undefined;
  if (running === undefined) return undefined;
  output.note(
    `started a troupe in the background (pid ${running.identity.pid}); it ends a minute after its last client`,
  );
  return running;
}

function logOf(launch: Launch): string {
  return `${controlSocketPath(launch).replace(/\.sock$/u, '')}.log`;
}

/** Names the file that says why. */
function notStarted(launch: Launch): TroupeError {
  return new TroupeError(
    'UNAVAILABLE',
    `the troupe in the background did not start; see ${logOf(launch)}, or use --alone`,
  );
}
