/** Finds the running troupe of a launch and compares their flags. */

import { TroupeError } from '../../domain/troupe-error.ts';
import { reworded, usageError } from '../../domain/user-errors.ts';
import { quotedFor } from '../../policies/text/quoted.ts';
import { flagsOf, hasSettings, type Launch, noServers, realOrPlanned } from '../launch.ts';
import { type ControlClient, connectControl } from './control-client.ts';
import type { ControlResults, Identity } from './protocol.ts';
import type { ControlArgs, ControlCommand } from './schemas.ts';
import { controlSocketPath } from './socket-path.ts';

const launchFlags = ['--config', '--allow', '--bare'] as const;
type LaunchFlag = (typeof launchFlags)[number];

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
    // It has just ended.
    if (error instanceof TroupeError && error.code === 'NOT_RUNNING') return undefined;
    throw error;
  }
}

/** Returns the launch whose files decide: that of the running troupe, unless the command names its own. */
export function decidingLaunch(launch: Launch, running: RunningTroupe | undefined): Launch {
  if (running === undefined || running.differences.includes('--config')) return launch;
  const { config, bare = false } = running.identity;
  return { ...launch, configFiles: config, bare };
}

/** Returns the deciding launch of a command that only reads the files; an unresponsive troupe is ignored. */
export async function launchToRead(launch: Launch): Promise<Launch> {
  const running = await findRunning(launch).catch(() => undefined);
  running?.client.close();
  return decidingLaunch(launch, running);
}

/**
 * Connects to the running troupe, runs `use` and disconnects.
 * @param find - may start one
 * @throws TroupeError `NOT_RUNNING`, or `USAGE` when it was launched with other flags
 */
export async function withRunning<Result>(
  launch: Launch,
  use: (client: ControlClient) => Promise<Result>,
  find: (launch: Launch) => Promise<RunningTroupe | undefined> = findRunning,
): Promise<Result> {
  const running = await find(launch);
  if (running === undefined) {
    throw new TroupeError(
      'NOT_RUNNING',
      `no troupe is running for ${launch.projectRoot}; start one with: ${commandToStart(launch)}`,
    );
  }
  try {
    if (running.differences.length > 0) {
      throw usageError(
        `the running troupe (pid ${running.identity.pid}) was started with a different ${running.differences.join(' and ')}; leave that out, or choose another --state-dir`,
      );
    }
    return await use(running.client);
  } finally {
    running.client.close();
  }
}

/** Sends one command to the running troupe; throws as {@link withRunning} does. */
export function askRunning<Command extends ControlCommand>(
  launch: Launch,
  command: Command,
  args: ControlArgs[Command],
): Promise<ControlResults[Command]> {
  return withRunning(launch, (client) => client.request(command, args));
}

/** Next steps for a lasting troupe, and what remains of them after the only run of a server. */
const stepsAfterOneRun: readonly (readonly [RegExp, string])[] = [
  [
    /(?:(?:wait for the next attempt, or|retry later or) run: )?\btroupe restart .+$/u,
    'run it again',
  ],
  [/\bstart troupe again$/u, 'run it again'],
  [/, or see (?:its status: )?troupe status .+$/u, ''],
];

/** Rewrites the next step of a message for a server that has ended with its troupe. */
export function afterOneRun(message: string): string {
  return stepsAfterOneRun.reduce((text, [step, left]) => text.replace(step, left), message);
}

/** Adds to a one-off troupe's error how to start a lasting troupe, which most next steps need. */
export function withoutRunning(
  launch: Launch,
  running: RunningTroupe | undefined,
  error: TroupeError,
): TroupeError {
  const isUnset = running === undefined && !hasSettings(launch);
  // With a guess, the error has its next step.
  const [sentence = '', advice] = error.message.split(/\. (?=List what is there)/u);
  if (isUnset && advice !== undefined) return reworded(error, `${sentence}: ${noServers(launch)}`);
  const first =
    running === undefined
      ? `start a troupe with: ${commandToStart(launch)}`
      : `leave out ${running.differences.join(' and ')} to ask the running troupe`;
  // The running troupe has other settings, so it cannot plan these.
  const list = commandOf(launch, running === undefined ? 'plan' : 'tools');
  const message = withFlags(launch, afterOneRun(error.message))
    .replace(/\b(list what is there: )troupe status$/iu, (_, words: string) => `${words}${list}`)
    .replace(/\btroupe (?:status|start|approve)\b/u, (step) => `${first}; then ${step}`);
  return reworded(error, message);
}

/** Flags that are not given never differ. */
function differencesOf(
  { configFiles, allow, bare }: Launch,
  identity: Identity,
): readonly LaunchFlag[] {
  // The order of the files matters: later ones win. Links may lead to the same file.
  const files = (paths: readonly string[]): string => JSON.stringify(paths.map(realOrPlanned));
  const names = (allowed: readonly string[] | null): string =>
    JSON.stringify(allowed?.toSorted() ?? null);
  const differs: Readonly<Record<LaunchFlag, boolean>> = {
    '--config': configFiles.length > 0 && files(configFiles) !== files(identity.config),
    '--allow': allow !== undefined && names(allow) !== names(identity.allow),
    '--bare': bare && identity.bare !== true,
  };
  return launchFlags.filter((flag) => differs[flag]);
}

/** The command that starts a troupe of this launch. */
export function commandToStart(launch: Launch): string {
  return commandOf(launch, 'up');
}

/** Adds this launch's flags to a next step that needs no running troupe, so that it finds the server. */
export function withFlags(launch: Launch, message: string): string {
  return message.replace(
    /(?<=: )troupe (enable|tools|resources|prompts)\b/gu,
    (_, command: string) => commandOf(launch, command),
  );
}

/** A command line with the flags of this launch. */
function commandOf(launch: Launch, command: string): string {
  const words = ['troupe', command];
  if (launch.projectRoot !== process.cwd()) words.push('--project', launch.projectRoot);
  words.push(...flagsOf(launch));
  return words.map((word) => quotedFor('shell', word)).join(' ');
}
