/** What `program.ts` needs to know about a command. */

import type { Command } from 'commander';
import type { CliSession } from './cli-session.ts';

/** Runs the command and resolves with the exit code; `runCli` prints what it throws. */
export type RunCommand = (
  session: CliSession,
  args: readonly string[],
  flags: Readonly<Record<string, unknown>>,
) => Promise<number>;

export interface CommandDefinition {
  /** Name and arguments, in commander's notation: `status [server]`. */
  readonly usage: string;
  /** One sentence for the list of commands. */
  readonly summary: string;
  /** Added to the summary in the command's own help. */
  readonly details?: string;
  /** A command line to copy. */
  readonly example: string;
  readonly options?: (command: Command) => void;
  readonly run: RunCommand;
}
