/** Finds the names of servers and tools for whoever is typing: fast, or not at all. Starts nothing. */

import { homedir } from 'node:os';
import type { CliHost } from '../cli-host.ts';
import type { ControlClient } from '../control/client.ts';
import { findRunning } from '../control/running-troupe.ts';
import { type CommonFlags, type Launch, launchOf, troupeOptionsOf } from '../launch.ts';
import type { KnownNames, Suggestion, TypedFlags } from './words.ts';

/** A troupe answers within milliseconds. One that hangs must not keep a person from typing on. */
const patienceMs = 2_000;

/** Asks the running troupe; without one, the settings files know the servers, and nobody the tools. */
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
  // Of all servers: to ask for those of one would start it.
  const { tools } = await client.request('tools', { timeoutMs: 1 });
  return tools
    .filter((tool) => tool.server === server)
    .map(({ tool, description, title }) => ({ word: tool, note: description ?? title ?? '' }));
}

async function serversInSettings(launch: Launch): Promise<readonly Suggestion[]> {
  // Loaded late: nearly always a troupe runs, and then this is not needed.
  const { previewPlan } = await import('../../runtime/preview-plan.ts');
  return (await previewPlan(troupeOptionsOf(launch))).map(({ server }) => ({ word: server }));
}

/** Nothing when none runs, it was launched otherwise, or it does not answer in time. */
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

/** What decides which troupe and which files are meant; the rest does not matter for names. */
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

/** Words that are being typed still have their quotes; variables are left alone. */
function asTheShellReadsIt(word: string): string {
  const home = word.replace(/^~(?=\/|$)/, homedir);
  return home.replace(/'([^']*)'|"([^"]*)"|\\(.)/g, '$1$2$3');
}
