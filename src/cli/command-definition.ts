/** How a command of ours becomes one of commander's: an example in its help, one way to run. */

import type { Command } from 'commander';
import type { CliSession } from './cli-session.ts';

/** Does the command; settles with the exit code. Errors are printed by whoever runs it. */
export type RunCommand = (
  session: CliSession,
  args: readonly string[],
  flags: Readonly<Record<string, unknown>>,
) => Promise<number>;

/** Adds a command to the program, under a runner that prepares the session. */
export type DefineCommand = (definition: CommandDefinition) => void;

export interface CommandDefinition {
  /** Name and arguments, in commander's notation: `status [server]`. */
  readonly usage: string;
  /** One sentence for the list of commands. */
  readonly summary: string;
  /** More for the command's own help. */
  readonly details?: string;
  /** One command line a person can copy. */
  readonly example: string;
  readonly options?: (command: Command) => void;
  readonly run: RunCommand;
}
