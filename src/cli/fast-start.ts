/**
 * Runs the lines that scripts repeat, without loading the other commands: `call`, `status`, `tools`, `logs`
 * and `--version`. Loading the whole program takes three times as long as all the work of such a line.
 *
 * It reads only lines that can mean one thing. Whatever else there is, help and mistakes included, is for the
 * whole program, which reads every line that is read here in the same way.
 */

import type { CliHost } from './cli-host.ts';
import { argumentsOf, type CommandDefinition, type FlagDefinition, nameOf } from './command.ts';
import { callCommand } from './commands/call.ts';
import { logsCommand } from './commands/logs.ts';
import { statusCommand } from './commands/status.ts';
import { toolsCommand } from './commands/tools.ts';
import { commonFlags } from './common-flags.ts';
import type { CommonFlags } from './launch.ts';
import { reportError, runCommand } from './run-command.ts';

const plainCommands: readonly CommandDefinition[] = [
  callCommand,
  statusCommand,
  toolsCommand,
  logsCommand,
];

export interface PlainLine {
  readonly command: CommandDefinition;
  readonly words: readonly string[];
  readonly flags: CommonFlags;
}

/** Runs a command line and resolves with the exit code. Never rejects. */
export async function runLine(host: CliHost): Promise<number> {
  const { argv } = host;
  if (argv.length === 1 && argv[0] === '--version') {
    host.stdout.write(`${host.version}\n`);
    return 0;
  }
  const line = readPlainLine(argv);
  if (line === undefined) return (await import('./program.ts')).runCli(host);
  try {
    return await runCommand(host, line.command, line.words, line.flags);
  } catch (error) {
    return reportError(host, error);
  }
}

/** Returns undefined for a line that the whole program has to read. */
export function readPlainLine([name, ...rest]: readonly string[]): PlainLine | undefined {
  if (name === undefined) return undefined;
  const command = plainCommands.find(
    (each) => nameOf(each) === name || each.aliases?.includes(name),
  );
  if (command === undefined) return undefined;
  const known = new Map([...commonFlags, ...(command.options ?? [])].map((it) => [longOf(it), it]));
  const words: string[] = [];
  const flags: Record<string, unknown> = {};
  const left = [...rest];
  for (let word = left.shift(); word !== undefined; word = left.shift()) {
    if (!word.startsWith('-')) {
      words.push(word);
      continue;
    }
    const [, long = '', value] = /^(--[^=]+)(?:=(.*))?$/su.exec(word) ?? [];
    const flag = known.get(long);
    if (flag === undefined || !readFlag(flags, flag, value, left)) return undefined;
  }
  return fits(command, words) ? { command, words, flags } : undefined;
}

function longOf({ flags }: FlagDefinition): string {
  return flags.split(' ', 1)[0] ?? '';
}

/** Adds a flag's value; returns false if anything about it is unusual. */
function readFlag(
  flags: Record<string, unknown>,
  flag: FlagDefinition,
  given: string | undefined,
  left: string[],
): boolean {
  const long = longOf(flag);
  const name = long.slice(2).replace(/-./gu, (mark) => mark.charAt(1).toUpperCase());
  if (long === flag.flags) {
    flags[name] = true;
    return given === undefined;
  }
  const value = given ?? left.shift();
  if (value === undefined || (given === undefined && value.startsWith('-'))) return false;
  try {
    flags[name] = flag.parse === undefined ? value : flag.parse(value, flags[name] as never);
    return true;
  } catch {
    return false;
  }
}

function fits(command: CommandDefinition, words: readonly string[]): boolean {
  const all = argumentsOf(command);
  const isOpen = all.some(({ isVariadic }) => isVariadic);
  return (
    words.length >= all.filter(({ isRequired }) => isRequired).length &&
    (isOpen || words.length <= all.length)
  );
}
