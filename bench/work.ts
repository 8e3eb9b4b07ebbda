/** A kind of work that every contender does, and what is measured of it. */

import type { Target } from './statistics.ts';

export interface Measure {
  readonly id: string;
  readonly title: string;
  readonly unit: 'ms' | 'us' | 'calls/s' | 'KB' | 'MB' | '';
  /** What a contender without a value did. Default: it has no such thing. */
  readonly absent?: 'never';
  /** What this package wants to reach. */
  readonly target?: Target;
}

/** By measure; null = the contender never got there. */
export type Values = Readonly<Record<string, number | null>>;

/** By contender: what each reached in one round, one after the other. */
export type Round = Readonly<Record<string, Values>>;

export interface WorkContext {
  /** Names of the contenders, in their order. */
  readonly contenders: readonly string[];
  readonly rounds: number;
  /** Does the child's part of a work in a process of its own; null when it took too long. */
  readonly child: (work: string, task: unknown, limitMs: number) => Promise<unknown>;
}

export interface Work {
  readonly name: string;
  readonly measures: readonly Measure[];
  readonly rounds: { readonly full: number; readonly quick: number };
  /** Runs only when asked for. */
  readonly isOptional?: boolean;
  /** In the process of the benchmark: prepares, and lets children do the work. */
  run(context: WorkContext): Promise<readonly Round[]>;
  /** In the child. What it returns must survive being sent. */
  readonly job?: (task: never) => Promise<unknown>;
}

/** Rounds in which every contender works in a fresh process: A B C, A B C, … */
export async function isolatedRounds(
  { contenders, rounds, child }: WorkContext,
  work: string,
  taskOf: (contender: string) => unknown,
  limitMs = 60_000,
): Promise<readonly Round[]> {
  const done: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const values: Record<string, Values> = {};
    for (const contender of contenders) {
      const answer = (await child(work, taskOf(contender), limitMs)) as Values | null;
      values[contender] = answer ?? {};
    }
    done.push(values);
  }
  return done;
}
