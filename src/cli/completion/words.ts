/** Completes a command line with commands, flags, servers, tools, files and folders. */

import { homedir } from 'node:os';
import type { Command, Option } from 'commander';
import { withinTime } from '../../../actors/host/time-limit.ts';
import { defined } from '../../domain/data/defined.ts';
import { realClock } from '../../runtime/real-clock.ts';
import type { CliHost } from '../cli-host.ts';
import type { ControlClient } from '../control/control-client.ts';
import { withRunning } from '../control/running-troupe.ts';
import { type Launch, launchOf, troupeOptionsOf } from '../launch.ts';

/** Candidates for the last word. */
export type Suggestions =
  | { readonly kind: 'words'; readonly words: readonly Suggestion[] }
  /** Left to the shell. */
  | { readonly kind: 'files' | 'folders' };

const nothing: Suggestions = { kind: 'words', words: [] };

/** Completes the last word, which may be empty. `words` excludes the program's name. */
export async function completeWords(
  program: Command,
  words: readonly string[],
  host: CliHost,
): Promise<Suggestions> {
  const current = words.at(-1) ?? '';
  const typed = readTyped(program, words.slice(0, -1));
  const suggestions = await suggest(program, typed, current, knownNames(host, typed.flags));
  if (suggestions.kind !== 'words') return suggestions;
  return {
    kind: 'words',
    words: suggestions.words.filter(({ word }) => word.startsWith(current) && isPlain(word)),
  };
}

/** Rejects names with shell syntax: servers choose the names of their tools. */
function isPlain(word: string): boolean {
  return /^[\w@%+=:,./-]+$/.test(word);
}

/**
 * Reads the words before the last one. `operands` are the command's words that are not flags, `awaiting`
 * is the flag whose value comes next, and after `--` no word is a flag.
 */
function readTyped(program: Command, words: readonly string[]) {
  const flags = new Map<string, string[]>();
  const operands: string[] = [];
  let command: Command | undefined;
  let awaiting: Option | undefined;
  let flagsEnded = false;
  const keep = (option: Option, value: string): void => {
    flags.set(option.name(), [...(flags.get(option.name()) ?? []), value]);
  };
  for (const word of words) {
    if (awaiting !== undefined) {
      keep(awaiting, word);
      awaiting = undefined;
    } else if (!flagsEnded && word === '--') {
      flagsEnded = true;
    } else if (!flagsEnded && word.startsWith('-')) {
      const at = word.indexOf('=');
      const option = optionNamed(at === -1 ? word : word.slice(0, at), program, command);
      if (option?.required === true && at === -1) awaiting = option;
      else if (option !== undefined) keep(option, word.slice(at + 1));
    } else if (command === undefined) {
      command = program.commands.find(
        (each) => each.name() === word || each.aliases().includes(word),
      );
      if (command === undefined) operands.push(word);
    } else {
      operands.push(word);
    }
  }
  return { command, operands, flags, awaiting, flagsEnded };
}

async function suggest(
  program: Command,
  { command, operands, flags, awaiting, flagsEnded }: ReturnType<typeof readTyped>,
  current: string,
  names: KnownNames,
): Promise<Suggestions> {
  if (awaiting !== undefined) return valuesOf(awaiting, current, names);
  if (!flagsEnded && current.startsWith('-')) {
    if (!current.includes('=')) return { kind: 'words', words: flagsOf(program, command) };
    const option = optionNamed(current.slice(0, current.indexOf('=')), program, command);
    return option === undefined ? nothing : valuesOf(option, current, names);
  }
  if (command === undefined) return operands.length === 0 ? commandsOf(program) : nothing;
  // The words then name no server, and asking the one of the command line would start it.
  if (flags.has('stdio') || flags.has('url')) return nothing;
  return argumentsOf(command, operands, current, names);
}

async function argumentsOf(
  command: Command,
  operands: readonly string[],
  current: string,
  names: KnownNames,
): Promise<Suggestions> {
  const argument = command.registeredArguments[operands.length];
  switch (argument?.name()) {
    case 'server': {
      const servers = await names.servers();
      const takesTool = command.registeredArguments[1]?.name() === 'tool';
      const joined = takesTool ? await joinedTools(servers, current, names) : [];
      return { kind: 'words', words: [...servers, ...joined] };
    }
    case 'tool':
      return { kind: 'words', words: await names.tools(operands[0] ?? '') };
    case 'command':
      return commandsOf(command.parent ?? command);
    case 'file':
      return { kind: 'files' };
    default:
      return { kind: 'words', words: (argument?.argChoices ?? []).map((word) => ({ word })) };
  }
}

/** The tools of the servers that begin the word, as `SERVER.TOOL`. */
async function joinedTools(
  servers: readonly Suggestion[],
  current: string,
  names: KnownNames,
): Promise<readonly Suggestion[]> {
  const begun = servers.filter(({ word }) => current.startsWith(`${word}.`));
  const tools = begun.map(async ({ word: server }) =>
    (await names.tools(server)).map((tool) => ({
      ...tool,
      word: `${server}.${tool.word}`,
    })),
  );
  return (await Promise.all(tools)).flat();
}

async function valuesOf(option: Option, current: string, names: KnownNames): Promise<Suggestions> {
  switch (option.name()) {
    case 'config':
    case 'journal':
      return { kind: 'files' };
    case 'project':
    case 'state-dir':
    case 'cwd':
      return { kind: 'folders' };
    case 'allow': {
      // Completes the last name of the list, after `--allow=` or a comma.
      const head = current.replace(/[^=,]*$/, '');
      const servers = await names.servers();
      return { kind: 'words', words: servers.map((each) => ({ ...each, word: head + each.word })) };
    }
    default:
      return { kind: 'words', words: (option.argChoices ?? []).map((word) => ({ word })) };
  }
}

function commandsOf(program: Command): Suggestions {
  const words = program.commands.flatMap((each) =>
    [each.name(), ...each.aliases()].map((word) => ({ word, note: each.summary() })),
  );
  return { kind: 'words', words };
}

function flagsOf(program: Command, command: Command | undefined): readonly Suggestion[] {
  return [
    // --version works only without a command.
    ...optionsOf(program, command).filter(
      ({ long }) => command === undefined || long !== '--version',
    ),
    { long: '--help', description: 'show this help' },
  ].map(({ long, description }) => ({ word: long ?? '', note: description }));
}

function optionNamed(
  name: string,
  program: Command,
  command: Command | undefined,
): Option | undefined {
  return optionsOf(program, command).find(({ long, short }) => long === name || short === name);
}

function optionsOf(program: Command, command: Command | undefined): readonly Option[] {
  return [...program.options, ...(command?.options ?? [])];
}

/** A troupe answers within milliseconds; one that hangs must not block the user's typing. */
const patienceMs = 2_000;

interface Suggestion {
  readonly word: string;
  /** Shown beside the word in some shells. */
  readonly note?: string;
}

/** All values typed for each flag, by the flag's long name. */
type TypedFlags = ReadonlyMap<string, readonly string[]>;

/** Names for a command line with these flags. */
type KnownNames = ReturnType<typeof knownNames>;

const knownNames = (host: CliHost, flags: TypedFlags) => ({
  servers: () => knownServers(launchFor(host, flags)),
  tools: (server: string) => knownTools(launchFor(host, flags), server),
});

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
  const typed = (name: string): readonly string[] | undefined =>
    flags.get(name)?.map(asTheShellReadsIt);
  const common = {
    config: typed('config'),
    project: typed('project')?.at(-1),
    stateDir: typed('state-dir')?.at(-1),
  };
  return launchOf(defined(common), cwd, env, managedSettings);
}

/** Removes quotes and expands a tilde, as the shell will; variables are not expanded. */
function asTheShellReadsIt(word: string): string {
  const home = word.replace(/^~(?=\/|$)/, homedir);
  return home.replace(/'([^']*)'|"([^"]*)"|\\(.)/g, '$1$2$3');
}
