/**
 * Lines without a command: `troupe SERVER` lists the server's tools, and `troupe SERVER.TOOL key=value`
 * calls one. Names of commands win.
 */

import type { Command } from 'commander';
import type { CliHost } from './cli-host.ts';
import { unknownCommand } from './commands/help.ts';
import { type CommonFlags, launchOf } from './launch.ts';
import { isAdHocWord } from './run/ad-hoc.ts';
import { serverNames } from './run/used-tool.ts';
import { mayBeJoined } from './tool-target.ts';

/** The words of a line whose first word is not a command. */
export interface ShortForm {
  readonly operands: readonly string[];
  /** Flags that are not common to all commands, with what follows them. */
  readonly options: readonly string[];
}

/**
 * Runs the command that the line is short for.
 * @throws TroupeError `USAGE` if the first word names neither a server nor a tool
 */
export async function runShortForm(
  program: Command,
  host: CliHost,
  { operands, options }: ShortForm,
): Promise<void> {
  const [first = '', ...more] = operands;
  const names = isAdHocWord(first) ? [] : await namesIn(program, host);
  const isServer = isAdHocWord(first) || names.includes(first);
  // The other commands' names have no dots, so this can only be meant as a tool.
  if (!isServer && !mayBeJoined(first)) throw unknownCommand(first, program, names);
  const name = isServer && more.length === 0 ? 'tools' : 'call';
  const command = program.commands.find((each) => each.name() === name);
  await command?.parseAsync([...operands, ...options], { from: 'user' });
}

/** The servers' names; none if the settings cannot be read, which the commands report. */
async function namesIn(program: Command, host: CliHost): Promise<readonly string[]> {
  const flags = program.opts<CommonFlags>();
  try {
    return await serverNames(launchOf(flags, host.cwd, host.env, host.managedSettings));
  } catch {
    return [];
  }
}
