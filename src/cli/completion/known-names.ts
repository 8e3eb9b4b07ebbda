/** Finds names of servers and tools for completion: fast or not at all, and without starting anything. */

import { homedir } from 'node:os';
import { withinTime } from '../../../actors/host/time-limit.ts';
import { defined } from '../../domain/data/defined.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { CliHost } from '../cli-host.ts';
import type { ControlClient } from '../control/control-client.ts';
import { withRunning } from '../control/running-troupe.ts';
import { type Launch, launchOf, troupeOptionsOf } from '../launch.ts';

/** A troupe answers within milliseconds; one that hangs must not block the user's typing. */
const patienceMs = 2_000;

export interface Suggestion {
  readonly word: string;
  /** Shown beside the word in some shells. */
  readonly note?: string;
}

/** All values typed for each flag, by the flag's long name. */
export type TypedFlags = ReadonlyMap<string, readonly string[]>;

/** Names for a command line with these flags. */
export interface KnownNames {
  servers(): Promise<readonly Suggestion[]>;
  tools(server: string): Promise<readonly Suggestion[]>;
}

export function knownNames(host: CliHost, flags: TypedFlags): KnownNames {
  return {
    servers: () => knownServers(launchFor(host, flags)),
    tools: (server) => knownTools(launchFor(host, flags), server),
  };
}

/** The servers of the running troupe; without one, those in the settings. */
async function knownServers(launch: Launch): Promise<readonly Suggestion[]> {
  const running = await askRunning(launch, async (client) => {
    const { servers } = await client.request('status', {});
    return servers.map(({ name, state }) => ({ word: name, note: state }));
  });
  if (running !== undefined) return running;
  // Loaded late: a running troupe makes it unnecessary.
  const { previewPlan } = await import('../../runtime/previews/preview-plan.ts');
  const { steps } = await previewPlan(troupeOptionsOf(launch));
  return steps.map(({ server }) => ({ word: server }));
}

/** The tools of a server of the running troupe; none without one. */
async function knownTools(launch: Launch, server: string): Promise<readonly Suggestion[]> {
  const running = await askRunning(launch, async (client) => {
    // Asks for all servers: asking for one would start it.
    const { tools } = await client.request('tools', { timeoutMs: 1 });
    return tools
      .filter((tool) => tool.server === server)
      .map(({ tool, description, title }) => ({ word: tool, note: description ?? title ?? '' }));
  });
  return running ?? [];
}

/** Undefined when no troupe runs, it runs with other flags, or it does not answer in time. */
function askRunning<Answer>(
  launch: Launch,
  ask: (client: ControlClient) => Promise<Answer>,
): Promise<Answer | undefined> {
  const answer = withRunning(launch, ask).catch(() => undefined);
  return withinTime(realClock, patienceMs, answer);
}

/** Reads only the flags that select the troupe and its files. */
function launchFor({ cwd, env, managedSettings }: CliHost, flags: TypedFlags): Launch {
  const valuesOf = (name: string): readonly string[] | undefined =>
    flags.get(name)?.map(asTheShellReadsIt);
  const common = {
    config: valuesOf('config'),
    project: valuesOf('project')?.at(-1),
    stateDir: valuesOf('state-dir')?.at(-1),
  };
  return launchOf(defined(common), cwd, env, managedSettings);
}

/** Removes quotes and expands a tilde, as the shell will; variables are not expanded. */
function asTheShellReadsIt(word: string): string {
  const home = word.replace(/^~(?=\/|$)/, homedir);
  return home.replace(/'([^']*)'|"([^"]*)"|\\(.)/g, '$1$2$3');
}
