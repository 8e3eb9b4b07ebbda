/**
 * Runs the programs that settings name for a value. The user's own settings have
 * consented to it; no shell is involved. A program that is running already for the
 * same words is waited for, one that has answered is run anew: tokens expire.
 */

import type { Clock } from '../../src/domain/clock.ts';
import type { Variables } from '../../src/policies/expand-variables.ts';
import { printableLine } from '../../src/policies/text/printable.ts';
import type { ProcessKeeper } from '../processes/keeper.ts';
import { type BriefAnswer, runBriefly } from '../processes/run-briefly.ts';

export interface CommandPorts {
  readonly clock: Clock;
  /** The program gets all of it: it is the user's own, as if run by hand. */
  readonly env: Variables;
  /** Where it starts, absolute. */
  readonly folder: string;
  readonly processes: Pick<ProcessKeeper, 'expect'> | undefined;
}

/** What it printed, or why that is no value: the end of a sentence about the program. */
export type CommandAnswer = { readonly value: string } | { readonly failure: string };

export interface ValueCommands {
  /** Never rejects. */
  outputOf(words: readonly string[]): Promise<CommandAnswer>;
  /** Settles when nothing runs any more. */
  close(): Promise<void>;
}

// Ten seconds: managers of passwords answer within two, and who must be unlocked first says so.
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

/** What it prints when it fails is not shown: nobody knows whether it is secret. */
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
