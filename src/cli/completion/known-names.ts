/** Finds names of servers and tools for completion: fast or not at all, and without starting anything. */

import { homedir } from 'node:os';
import type { CliHost } from '../cli-host.ts';
import type { ControlClient } from '../control/client.ts';
import { findRunning } from '../control/running-troupe.ts';
import { type CommonFlags, type Launch, launchOf, troupeOptionsOf } from '../launch.ts';
import type { KnownNames, Suggestion, TypedFlags } from './words.ts';

/** A troupe answers within milliseconds; one that hangs must not block the user's typing. */
const patienceMs = 2_000;

/** Asks the running troupe. Without one, server names come from the settings, and there are no tools. */
export function knownNames(host: Pick<CliHost, 'cwd' | 'env' | 'managedSettings'>): KnownNames {
  const launchFor = (flags: TypedFlags): Launch =>
    launchOf(commonFlagsOf(flags), host.cwd, host.env, host.managedSettings);
  return {
    async servers(flags) {
      const launch = launchFor(flags);
      return (await askRunning(launch, serversOf)) ?? serversInSettings(launch);
    },
    async tools(flags, server) {
      const tools = (client: ControlClient): Promise<readonly Suggestion[]> =>
        toolsOf(client, server);
      return (await askRunning(launchFor(flags), tools)) ?? [];
    },
  };
}

async function serversOf(client: ControlClient): Promise<readonly Suggestion[]> {
  const { servers } = await client.request('status', {});
  return servers.map(({ name, state }) => ({ word: name, note: state }));
}

async function toolsOf(client: ControlClient, server: string): Promise<readonly Suggestion[]> {
  // Asks for all servers: asking for one would start it.
  const { tools } = await client.request('tools', { timeoutMs: 1 });
  return tools
    .filter((tool) => tool.server === server)
    .map(({ tool, description, title }) => ({ word: tool, note: description ?? title ?? '' }));
}

async function serversInSettings(launch: Launch): Promise<readonly Suggestion[]> {
  // Loaded late: a running troupe makes it unnecessary.
  const { previewPlan } = await import('../../runtime/preview-plan.ts');
  return (await previewPlan(troupeOptionsOf(launch))).map(({ server }) => ({ word: server }));
}

/** Undefined when no troupe runs, it runs with other flags, or it does not answer in time. */
async function askRunning<Answer>(
  launch: Launch,
  ask: (client: ControlClient) => Promise<Answer>,
): Promise<Answer | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), patienceMs);
  });
  const asking = async (): Promise<Answer | undefined> => {
    const running = await findRunning(launch);
    if (running === undefined) return undefined;
    try {
      return running.differences.length > 0 ? undefined : await ask(running.client);
    } finally {
      running.client.close();
    }
  };
  const answer = await Promise.race([asking().catch(() => undefined), late]);
  clearTimeout(timer);
  return answer;
}

/** Only the flags that select the troupe and its files. */
function commonFlagsOf(flags: TypedFlags): CommonFlags {
  const config = flags.get('config')?.map(asTheShellReadsIt);
  const project = flags.get('project')?.map(asTheShellReadsIt).at(-1);
  const stateDir = flags.get('state-dir')?.map(asTheShellReadsIt).at(-1);
  return {
    ...(config === undefined ? {} : { config }),
    ...(project === undefined ? {} : { project }),
    ...(stateDir === undefined ? {} : { stateDir }),
  };
}

/** Removes quotes and expands a tilde, as the shell will; variables are not expanded. */
function asTheShellReadsIt(word: string): string {
  const home = word.replace(/^~(?=\/|$)/, homedir);
  return home.replace(/'([^']*)'|"([^"]*)"|\\(.)/g, '$1$2$3');
}
