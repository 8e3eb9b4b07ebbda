/**
 * How a command is declared. Each command is one file in `commands/` that exports a definition;
 * `program.ts` lists them all. Help, completion and the table in the README are made from the definition.
 */

import { Option } from 'commander';
import type { CliHost } from './cli-host.ts';
import { gatherText, once } from './flag-values.ts';
import type { Launch } from './launch.ts';
import type { Output } from './show/output.ts';

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
  /** Another name of the command. */
  readonly alias?: string;
  /** One sentence for the list of commands. */
  readonly summary: string;
  /** Added to the summary in the command's own help. */
  readonly details?: string;
  /** A command line to copy. */
  readonly example: string;
  /** The allowed values of the first argument. Default: any. */
  readonly choices?: readonly string[];
  readonly options?: readonly Option[];
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
): Option {
  const option = new Option(flags, description);
  return parse === undefined ? option : option.argParser(once(parse));
}

/** For commands that keep a troupe running. The SDK comes from the caller's `node --import`. */
export const telemetryFlag: Option = flag(
  '--telemetry',
  'record spans and metrics with the OpenTelemetry SDK loaded into this process',
);

/** For commands that keep a troupe running. */
export const rootFlag: Option = flag(
  '--root <dir>',
  'folder that servers see as a root; may be repeated; default: they see none',
).argParser(gatherText);
