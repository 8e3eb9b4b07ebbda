/**
 * Runs the programs that settings name for a value. Only the user's own settings may name one; no
 * shell is involved. Requests for the same command share a run that is in progress; later ones run
 * it again, because tokens expire.
 */

import type { Clock } from '../../src/domain/clock.ts';
import type { Variables } from '../../src/policies/expand-variables.ts';
import { printableLine } from '../../src/policies/text/printable.ts';
import type { ProcessKeeper } from '../processes/keeper.ts';
import { type BriefAnswer, runBriefly } from '../processes/run-briefly.ts';

export interface CommandPorts {
  readonly clock: Clock;
  /** The program gets all of it, as if the user ran it by hand. */
  readonly env: Variables;
  /** Where it starts, absolute. */
  readonly folder: string;
  readonly processes: Pick<ProcessKeeper, 'expect'> | undefined;
}

/** The program's output, or why there is none: the end of a sentence about the program. */
export type CommandAnswer = { readonly value: string } | { readonly failure: string };

export interface ValueCommands {
  /** Never rejects. */
  outputOf(words: readonly string[]): Promise<CommandAnswer>;
  /** Settles when nothing runs any more. */
  close(): Promise<void>;
}

// Ten seconds: password managers answer within two, and a locked one says so.
const commandMs = 10_000;

export function createValueCommands({
  clock,
  env,
  folder,
  processes,
}: CommandPorts): ValueCommands {
  const runs = new Map<string, Promise<CommandAnswer>>();
  const closing = new AbortController();

  async function run([command = '', ...args]: readonly string[]): Promise<CommandAnswer> {
    const { signal } = closing;
    const kept = signal.aborted ? undefined : processes?.expect('values');
    const launch = { command, args, env: textsOf(env), cwd: folder };
    return judge(await runBriefly(launch, { clock, signal, limitMs: commandMs, kept }).answer);
  }

  return {
    outputOf(words) {
      const key = JSON.stringify(words);
      const running = runs.get(key) ?? run(words).finally(() => runs.delete(key));
      runs.set(key, running);
      return running;
    },
    async close() {
      closing.abort();
      await Promise.all(runs.values());
    },
  };
}

/** Output of a failed program is not shown: it may be secret. */
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

function textsOf(env: Variables): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter((one): one is [string, string] => one[1] !== undefined),
  );
}
