/** Gives the command line this process to work in, and ends the process with its exit code. */

import { setTimeout as delay } from 'node:timers/promises';
import { version } from '../../domain/version.ts';
import type { CliHost, StopSignal } from '../cli-host.ts';
import { runCli } from '../program.ts';

// A reader that still reads empties a full pipe within a second.
const lastWordsMs = 1_000;
const stopSignals: readonly StopSignal[] = ['SIGINT', 'SIGTERM', 'SIGHUP'];

/** Runs `troupe` with these arguments, and ends the process. */
export async function runInThisProcess(
  argv: readonly string[],
  more: Pick<CliHost, 'onRemark'> = {},
): Promise<never> {
  const closed = new Set<() => void>();
  let wasStopped = false;
  let giveUpOutput: () => void = () => undefined;
  const isGivenUp = new Promise<void>((resolve) => {
    giveUpOutput = resolve;
  });
  // A reader that had enough (`| head`) is no error; without a listener it would end us in mid-air.
  process.stdout.on('error', () => {
    for (const listener of closed) listener();
  });
  process.stderr.on('error', () => undefined);
  const host: CliHost = {
    ...more,
    argv,
    cwd: process.cwd(),
    env: process.env,
    stdin: process.stdin,
    stdout: process.stdout,
    stderr: process.stderr,
    version,
    loadRuntime: async () => (await import('../../runtime/create-troupe.ts')).createTroupe,
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
  const exitCode = await runCli(host);
  // A pipe may still hold the end of our output. A reader such as `less` may take its time, but after a
  // stop signal it gets only a moment.
  const isWritten = new Promise<void>((resolve) => process.stdout.write('', () => resolve()));
  if (wasStopped) void delay(lastWordsMs).then(giveUpOutput);
  await Promise.race([isWritten, isGivenUp]);
  process.exit(exitCode);
}
