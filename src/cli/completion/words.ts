/**
 * Completes a command line. Commands and flags come from the program; names of servers and tools from
 * {@link KnownNames}.
 */

import type { Command, Option } from 'commander';

/** Candidates for the last word. */
export type Suggestions =
  | { readonly kind: 'words'; readonly words: readonly Suggestion[] }
  /** Left to the shell. */
  | { readonly kind: 'files' | 'folders' };

export interface Suggestion {
  readonly word: string;
  /** Shown beside the word in some shells. */
  readonly note?: string;
}

/** All values typed for each flag, by the flag's long name. */
export type TypedFlags = ReadonlyMap<string, readonly string[]>;

export interface KnownNames {
  servers(flags: TypedFlags): Promise<readonly Suggestion[]>;
  tools(flags: TypedFlags, server: string): Promise<readonly Suggestion[]>;
}

const nothing: Suggestions = { kind: 'words', words: [] };

/** Completes the last word, which may be empty. `words` excludes the program's name. */
export async function completeWords(
  program: Command,
  words: readonly string[],
  names: KnownNames,
): Promise<Suggestions> {
  const current = words.at(-1) ?? '';
  const typed = readTyped(program, words.slice(0, -1));
  const suggestions = await suggest(program, typed, current, names);
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

interface Typed {
  readonly command: Command | undefined;
  /** The command's words that are not flags. */
  readonly operands: readonly string[];
  readonly flags: TypedFlags;
  /** The flag that expects a value next. */
  readonly awaiting: Option | undefined;
  /** After `--`, no word is a flag. */
  readonly flagsEnded: boolean;
}

function readTyped(program: Command, words: readonly string[]): Typed {
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
      command = program.commands.find((each) => each.name() === word);
      if (command === undefined) operands.push(word);
    } else {
      operands.push(word);
    }
  }
  return { command, operands, flags, awaiting, flagsEnded };
}

async function suggest(
  program: Command,
  typed: Typed,
  current: string,
  names: KnownNames,
): Promise<Suggestions> {
  const { command, operands, flags, awaiting, flagsEnded } = typed;
  if (awaiting !== undefined) return valuesOf(awaiting, current, '', () => names.servers(flags));
  if (!flagsEnded && current.startsWith('-')) {
    const at = current.indexOf('=');
    if (at === -1) return { kind: 'words', words: flagsOf(program, command) };
    const option = optionNamed(current.slice(0, at), program, command);
    if (option === undefined) return nothing;
    return valuesOf(option, current, current.slice(0, at + 1), () => names.servers(flags));
  }
  if (command === undefined) return operands.length === 0 ? commandsOf(program) : nothing;
  const argument = command.registeredArguments[operands.length];
  switch (argument?.name()) {
    case 'server':
      return { kind: 'words', words: await names.servers(flags) };
    case 'tool':
      return { kind: 'words', words: await names.tools(flags, operands[0] ?? '') };
    case 'command':
      return commandsOf(program);
    case 'file':
      return { kind: 'files' };
    default:
      return { kind: 'words', words: (argument?.argChoices ?? []).map((word) => ({ word })) };
  }
}

async function valuesOf(
  option: Option,
  current: string,
  before: string,
  servers: () => Promise<readonly Suggestion[]>,
): Promise<Suggestions> {
  switch (option.name()) {
    case 'config':
    case 'journal':
      return { kind: 'files' };
    case 'project':
    case 'state-dir':
      return { kind: 'folders' };
    case 'allow': {
      const comma = current.lastIndexOf(',');
      const head = comma === -1 ? before : current.slice(0, comma + 1);
      const words = (await servers()).map(({ word, ...more }) => ({ word: head + word, ...more }));
      return { kind: 'words', words };
    }
    default:
      return nothing;
  }
}

function commandsOf(program: Command): Suggestions {
  const words = program.commands.map((each) => ({ word: each.name(), note: each.summary() }));
  return { kind: 'words', words };
}

function flagsOf(program: Command, command: Command | undefined): readonly Suggestion[] {
  const options = [...program.options, ...(command?.options ?? [])];
  return [
    // --version works only without a command.
    ...options.filter(({ long }) => command === undefined || long !== '--version'),
    { long: '--help', description: 'show this help' },
  ].map(({ long, description }) => ({ word: long ?? '', note: description }));
}

function optionNamed(
  name: string,
  program: Command,
  command: Command | undefined,
): Option | undefined {
  const options = [...program.options, ...(command?.options ?? [])];
  return options.find((option) => option.long === name || option.short === name);
}
