/** Finds the running troupe of a launch and compares their flags. */

import { TroupeError } from '../../domain/troupe-error.ts';
import { quotedFor } from '../../policies/text/quoted.ts';
import { type Launch, realOrPlanned } from '../launch.ts';
import { type ControlClient, connectControl } from './client.ts';
import type { Identity } from './protocol.ts';
import { controlSocketPath } from './socket-path.ts';

type LaunchFlag = '--config' | '--allow' | '--bare';

export interface RunningTroupe {
  readonly client: ControlClient;
  readonly identity: Identity;
  /** The flags that differ from the running troupe's. */
  readonly differences: readonly LaunchFlag[];
}

/** How a troupe of this launch identifies itself. */
export function identityOf(launch: Launch, version: string): Identity {
  return {
    pid: process.pid,
    version,
    projectRoot: launch.projectRoot,
    stateFolder: launch.stateFolder,
    config: launch.configFiles,
    allow: launch.allow ?? null,
    bare: launch.bare,
  };
}

/** Connects to the running troupe, if there is one. The caller closes the client. */
export async function findRunning(launch: Launch): Promise<RunningTroupe | undefined> {
  const client = await connectControl(controlSocketPath(launch));
  if (client === undefined) return undefined;
  try {
    const identity = await client.request('identify', {});
    return { client, identity, differences: differencesOf(launch, identity) };
  } catch (error) {
    client.close();
    throw error;
  }
}

/**
 * Connects to the running troupe, runs `use` and disconnects.
 * @throws TroupeError `NOT_RUNNING`, or `USAGE` when it was launched with other flags
 */
export async function withRunning<Result>(
  launch: Launch,
  use: (client: ControlClient, identity: Identity) => Promise<Result>,
): Promise<Result> {
  const running = await findRunning(launch);
  if (running === undefined) {
    throw new TroupeError(
      'NOT_RUNNING',
      `no troupe is running for ${launch.projectRoot}; start one with: ${commandToStart(launch)}`,
    );
  }
  try {
    if (running.differences.length > 0) {
      throw new TroupeError(
        'USAGE',
        `the running troupe (pid ${running.identity.pid}) was started with a different ${running.differences.join(' and ')}; leave that out, or choose another --state-dir`,
      );
    }
    return await use(running.client, running.identity);
  } finally {
    running.client.close();
  }
}

/**
 * Adds to an error of a one-off troupe how to start a lasting one, because most next steps need one.
 */
export function withoutRunning(
  launch: Launch,
  running: RunningTroupe | undefined,
  error: TroupeError,
): TroupeError {
  const first =
    running === undefined
      ? `start a troupe with: ${commandToStart(launch)}`
      : `leave out ${running.differences.join(' and ')} to ask the running troupe`;
  const message = error.message.replace(
    /\btroupe (?:status|start|restart|approve)\b/,
    (step) => `${first}; then ${step}`,
  );
  if (message === error.message) return error;
  const { server, tool, retryable, outcome, retryAfterMs } = error;
  const details = { server, tool, retryable, outcome, retryAfterMs, cause: error };
  return new TroupeError(error.code, message, details);
}

/** Flags that are not given never differ. */
function differencesOf(launch: Launch, identity: Identity): LaunchFlag[] {
  const differences: LaunchFlag[] = [];
  const { configFiles, allow } = launch;
  // Order matters: later files win.
  if (configFiles.length > 0 && !equal(configFiles, identity.config, isSameFile))
    differences.push('--config');
  if (
    allow !== undefined &&
    (identity.allow === null || !equal(sorted(allow), sorted(identity.allow)))
  ) {
    differences.push('--allow');
  }
  if (launch.bare && identity.bare !== true) differences.push('--bare');
  return differences;
}

function equal(
  one: readonly string[],
  other: readonly string[],
  isEqual = (value: string, counterpart: string | undefined): boolean => value === counterpart,
): boolean {
  return one.length === other.length && one.every((value, index) => isEqual(value, other[index]));
}

/** Whether two paths are equal or lead to the same file. */
function isSameFile(one: string, other: string | undefined): boolean {
  return one === other || (other !== undefined && realOrPlanned(one) === realOrPlanned(other));
}

function sorted(names: readonly string[]): string[] {
  return [...names].sort();
}

function commandToStart(launch: Launch): string {
  const words = ['troupe', 'up'];
  if (launch.projectRoot !== process.cwd()) words.push('--project', launch.projectRoot);
  if (launch.stateFolderGiven) words.push('--state-dir', launch.stateFolder);
  if (launch.bare) words.push('--bare');
  for (const file of launch.configFiles) words.push('--config', file);
  return words.map((word) => quotedFor('shell', word)).join(' ');
}
