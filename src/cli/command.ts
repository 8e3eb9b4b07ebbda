/**
 * How a command is declared. Each command is one file in `commands/` that exports a definition;
 * `program.ts` lists them all. Help, completion and the table in the README are made from the definition.
 */

import type { CliHost } from './cli-host.ts';
import { gatherText, once } from './flag-values.ts';
import type { Launch } from './launch.ts';
import type { Output } from './show/output.ts';

/** A flag as data: a plain command line is read without a parser that knows every command. */
export interface FlagDefinition {
  /** In commander's notation: `--lines <count>`. */
  readonly flags: string;
  readonly description: string;
  /** The allowed values. Default: any. */
  readonly choices?: readonly string[];
  /** The value of a flag that is given without one. */
  readonly preset?: string;
  /**
   * Parses a value, given the result for the previous one.
   * @throws TroupeError `USAGE`; the program adds which flag it is
   */
  readonly parse?: (text: string, previous: never) => unknown;
}

/** Passed to each command after the common flags were parsed. */
export interface CliSession {
  readonly host: CliHost;
  readonly launch: Launch;
  readonly output: Output;
}

/** A command; `Flags` are the values of its own options. */
export interface CommandDefinition<Flags = never> {
  /** Name and arguments, in commander's notation: `status [server]`. */
  readonly usage: string;
  /** Other names of the command. */
  readonly aliases?: readonly string[];
  /** One sentence for the list of commands. */
  readonly summary: string;
  /** Added to the summary in the command's own help. */
  readonly details?: string;
  /** A command line to copy. */
  readonly example: string;
  /** The allowed values of the first argument. Default: any. */
  readonly choices?: readonly string[];
  readonly options?: readonly FlagDefinition[];
  /** Resolves with the exit code, or with nothing for 0; `runCli` prints the errors. */
  readonly run: (
    session: CliSession,
    args: readonly string[],
    flags: Flags,
  ) => Promise<number | void>;
}

/** Declares a flag, in commander's notation. With a parser, it may be given only once. */
export function flag(
  flags: string,
  description: string,
  parse?: (text: string) => unknown,
): FlagDefinition {
  return parse === undefined ? { flags, description } : { flags, description, parse: once(parse) };
}

/** Declares a flag that may be repeated. */
export function textsFlag(flags: string, description: string): FlagDefinition {
  return { flags, description, parse: gatherText };
}

/** For commands that keep a troupe running. The SDK comes from the caller's `node --import`. */
export const telemetryFlag: FlagDefinition = flag(
  '--telemetry',
  'record spans and metrics with the OpenTelemetry SDK loaded into this process',
);

/** For commands that keep a troupe running. */
export const rootFlag: FlagDefinition = textsFlag(
  '--root <dir>',
  'folder that servers see as a root; may be repeated; default: they see none',
);

export interface ArgumentDefinition {
  readonly name: string;
  readonly isRequired: boolean;
  /** Whether it takes all words that are left. */
  readonly isVariadic: boolean;
}

/** The name of a command, from its usage. */
export function nameOf({ usage }: Pick<CommandDefinition, 'usage'>): string {
  return usage.split(' ', 1)[0] ?? '';
}

/** The arguments of a command, from its usage. */
export function argumentsOf({
  usage,
}: Pick<CommandDefinition, 'usage'>): readonly ArgumentDefinition[] {
  const [, ...words] = usage.split(' ');
  return words.map((word) => ({
    name: word.replace(/^[<[]|(?:\.\.\.)?[>\]]$/gu, ''),
    isRequired: word.startsWith('<'),
    isVariadic: word.includes('...'),
  }));
}
