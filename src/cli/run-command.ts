/** Runs one command of a command line that was read, and reports its error. */

import { exitCodeFor } from '../domain/caller-code.ts';
import type { CliHost } from './cli-host.ts';
import { argumentsOf, type CommandDefinition, nameOf } from './command.ts';
import { errorDocumentOf } from './control/error-document.ts';
import { checkName } from './flag-values.ts';
import { type CommonFlags, launchOf } from './launch.ts';
import { Output } from './show/output.ts';

/** Resolves with the exit code; rejects with the command's error. */
export async function runCommand(
  host: CliHost,
  definition: CommandDefinition,
  words: readonly string[],
  flags: CommonFlags,
): Promise<number> {
  const launch = launchOf(flags, host.cwd, host.env, host.managedSettings);
  // Without a working folder, relative paths start at the project.
  const here = host.cwd === '' ? { ...host, cwd: launch.projectRoot } : host;
  const output = new Output(here, launch.json);
  rejectInvalidNames(definition, words);
  return (await definition.run({ host: here, launch, output }, words, flags as never)) ?? 0;
}

/** Rejects names that the socket would reject, with a clearer message. */
function rejectInvalidNames(definition: CommandDefinition, words: readonly string[]): void {
  argumentsOf(definition).forEach(({ name, isVariadic }, index) => {
    const word = words[index];
    // In place of a name, `call` takes a tool's arguments, which may be long; `add` has a rule of its own.
    if (word !== undefined && !isVariadic && name !== 'name' && !word.includes('='))
      checkName(name, word, nameOf(definition));
  });
}

/** Prints an error and returns its exit code. */
export function reportError(host: CliHost, error: unknown): number {
  const document = errorDocumentOf(error);
  new Output(host, asksForJson(host.argv)).error(document);
  if (document.code === 'INTERNAL' && host.env['TROUPE_DEBUG'] !== undefined) {
    host.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  }
  return exitCodeFor(document);
}

/** Looks for `--json` in the words, because reading them may have failed. */
function asksForJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end === -1 ? argv.length : end).includes('--json');
}
