/**
 * Runs the commands whose output settings use as values. Only the user's own settings may name
 * commands, and no shell is involved. Concurrent requests for a command share one run; later requests
 * run it again, because tokens expire.
 */

import type { Clock } from '../../src/domain/clock.ts';
import { defined } from '../../src/domain/data/defined.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { Variables } from '../../src/policies/expand-variables.ts';
import { type BriefAnswer, runBriefly } from '../processes/run-briefly.ts';
import type { ProcessKeeper } from '../processes/started-processes.ts';

/** A program's output, or why there is none, phrased as the end of a sentence about the program. */
type CommandAnswer = { readonly value: string } | { readonly failure: string };

// Ten seconds: password managers respond within two, even when locked.
const commandMs = 10_000;

export function createValueCommands({
  clock,
  env,
  projectRoot,
  processes,
}: {
  readonly clock: Clock;
  readonly env: Variables;
  readonly projectRoot: string;
  readonly processes: Pick<ProcessKeeper, 'expect'> | undefined;
}) {
  const runs = new Map<string, Promise<CommandAnswer>>();
  const closing = new AbortController();

  async function run(
    [command = '', ...args]: readonly string[],
    cwd: string,
    added: Readonly<Record<string, string>>,
  ): Promise<CommandAnswer> {
    const { signal } = closing;
    const kept = signal.aborted ? undefined : processes?.expect('values');
    // The program gets the whole environment, as if the user ran it by hand.
    const own = defined(env) as Record<string, string>;
    const launch = { command, args, env: { ...own, ...added }, cwd };
    return judge(await runBriefly(launch, { clock, signal, limitMs: commandMs, kept }).answer);
  }

  return {
    /**
     * Resolves with the command's output. Never rejects.
     *
     * @param folder - absolute path of the folder in which it runs. Default: the project
     * @param added - variables that the program gets in addition
     */
    outputOf(
      words: readonly string[],
      folder = projectRoot,
      added: Readonly<Record<string, string>> = {},
    ): Promise<CommandAnswer> {
      const key = JSON.stringify([words, folder, added]);
      const running = runs.get(key) ?? run(words, folder, added).finally(() => runs.delete(key));
      runs.set(key, running);
      return running;
    },
    /** Ends all runs; resolves once no process is left. */
    async close(): Promise<void> {
      closing.abort();
      await Promise.all(runs.values());
    },
  };
}

/**
 * Turns a run into a value or a failure, without ever showing a failed program's output, which may
 * be secret.
 */
function judge(answer: BriefAnswer): CommandAnswer {
  if ('unstartable' in answer) return { failure: printableLine(answer.unstartable, 200) };
  if ('isLate' in answer) return { failure: `did not end within ${commandMs / 1_000} seconds` };
  if (answer.exitCode !== 0)
    return {
      failure: `failed with exit code ${answer.exitCode ?? 'none'}; run it by hand to see why`,
    };
  if (answer.isCut) return { failure: 'printed more than a value; let it print the value alone' };
  const value = answer.out.replace(/(?:\r?\n)+$/u, '');
  if (value === '') return { failure: 'printed nothing; run it by hand to see why' };
  return { value };
}
