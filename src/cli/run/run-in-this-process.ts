/** Runs the command line in this process and exits with its exit code. */

import path from 'node:path';

import { version } from '../../domain/version.ts';
import type { CliHost, StopSignal } from '../cli-host.ts';
import { runLine } from '../fast-start.ts';

// An active reader empties a full pipe within a second.
const flushMs = 1_000;
// Codes of a write that failed for lack of space.
const fullCodes: ReadonlySet<unknown> = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);
// As for other surroundings that the user has to put right.
const unwrittenCode = 2;
const stopSignals: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/**
 * The working folder; empty if it was deleted. The process then moves, because Node and the libraries ask
 * for the working folder at any time, and fail without one.
 */
function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    process.chdir(path.parse(process.execPath).root);
    return '';
  }
}

/** Runs `troupe` with these arguments, and ends the process. */
export async function runInThisProcess(
  argv: readonly string[],
  more: Pick<CliHost, 'onRemark' | 'program'> = {},
): Promise<never> {
  const closed = new Set<() => void>();
  let wasStopped = false;
  let giveUpOutput: () => void = () => undefined;
  const isGivenUp = new Promise<void>((resolve) => {
    giveUpOutput = resolve;
  });
  let unwritten: string | undefined;
  // A reader that closes early (`| head`) is not an error; without a listener it would crash the process.
  process.stdout.on('error', ({ code }: NodeJS.ErrnoException) => {
    if (fullCodes.has(code)) unwritten ??= code;
    for (const listener of closed) listener();
  });
  process.stderr.on('error', () => undefined);
  const host: CliHost = {
    ...more,
    argv,
    cwd: workingFolder(),
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    version,
    loadRuntime: async () =>
      (await import('../../runtime/assembly/create-troupe.ts')).createCommandTroupe,
    onStopSignal(given) {
      const listener = (signal: StopSignal): void => {
        wasStopped = true;
        given(signal);
      };
      for (const signal of stopSignals) process.on(signal, listener);
      return () => {
        for (const signal of stopSignals) process.off(signal, listener);
      };
    },
    onOutputClosed: (listener) => void closed.add(listener),
    giveUpOutput,
    onCrash(listener) {
      process.on('uncaughtException', listener);
      return () => process.off('uncaughtException', listener);
    },
  };
  const exitCode = await runLine(host);
  // A pipe may still hold the end of our output. A slow reader such as `less` may take its time, but only
  // a moment after a stop signal.
  const isWritten = new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  if (wasStopped) setTimeout(giveUpOutput, flushMs);
  await Promise.race([isWritten, isGivenUp]);
  if (unwritten === undefined) process.exit(exitCode);
  process.stderr.write(`troupe: the output cannot be written (${unwritten}); free some space\n`);
  process.exit(exitCode === 0 ? unwrittenCode : exitCode);
}
