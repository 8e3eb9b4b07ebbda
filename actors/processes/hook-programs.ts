/**
 * Runs programs that settings name as hooks: one JSON document on stdin, an answer in JSON on stdout.
 * No shell is involved. A program and everything that it started have ended once its run settles.
 */

import type { Clock } from '../../src/domain/clock.ts';
import { defined } from '../../src/domain/data/defined.ts';
import { parseJson, writeJson } from '../../src/domain/data/exact-json.ts';
import { printableLine } from '../../src/domain/data/printable.ts';
import type { Variables } from '../../src/policies/expand-variables.ts';
import { type BriefAnswer, runBriefly } from './run-briefly.ts';
import type { ProcessKeeper } from './started-processes.ts';

export interface HookRun {
  readonly command: readonly string[];
  /** Absolute path of the folder in which the program runs. */
  readonly folder: string;
  readonly limitMs: number;
  /** Ends the program. */
  readonly signal: AbortSignal;
}

// As much as a server may answer.
const maxOutputLength = 16 * 1024 * 1024;
// The reason that a program gives on stderr, not its whole trace.
const reasonLength = 500;

export function createHookPrograms({
  clock,
  env,
  processes,
}: {
  readonly clock: Clock;
  readonly env: Variables;
  readonly processes: Pick<ProcessKeeper, 'expect'> | undefined;
}) {
  const running = new Set<Promise<unknown>>();
  return {
    /**
     * Resolves with the answer; undefined if the program printed nothing.
     * @throws Error that says what went wrong
     */
    async run(
      { command: [command = '', ...args], folder, limitMs, signal }: HookRun,
      document: unknown,
    ): Promise<unknown> {
      // The program gets the whole environment, as if the user ran it by hand.
      const launch = { command, args, env: defined(env) as Record<string, string>, cwd: folder };
      const input = `${writeJson(document)}\n`;
      const kept = processes?.expect('hooks');
      const ports = { clock, signal, limitMs, kept, input, maxOutputLength };
      const { answer } = runBriefly(launch, ports);
      running.add(answer);
      try {
        return answerIn(await answer);
      } finally {
        running.delete(answer);
      }
    },
    /** Resolves once no program is left. Their signals end them. */
    async close(): Promise<void> {
      await Promise.all(running);
    },
  };
}

function answerIn(answer: BriefAnswer): unknown {
  if ('unstartable' in answer)
    throw new Error(`the program ${printableLine(answer.unstartable, reasonLength)}`);
  if ('isLate' in answer) throw new Error('the program did not answer in time');
  const { exitCode, out, err, isCut } = answer;
  if (exitCode !== 0) {
    const reason = printableLine(err, reasonLength);
    const how =
      exitCode === null ? 'the program was killed' : `the program ended with exit code ${exitCode}`;
    throw new Error(reason === '' ? how : `${how}: ${reason}`);
  }
  if (isCut) throw new Error(`the program printed more than ${maxOutputLength} characters`);
  if (out.trim() === '') return undefined;
  try {
    return parseJson(out);
  } catch {
    throw new Error('the program printed something other than one JSON document');
  }
}
