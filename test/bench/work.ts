/** A work that every contender does, and its measures. */

import { subject } from './contenders.ts';
import type { Target } from './statistics.ts';

export interface Measure {
  readonly id: string;
  readonly title: string;
  readonly unit: 'ms' | 'us' | 'calls/s' | 'KB' | 'MB' | '';
  /** Shown for a contender without a value. Default: it has no such feature. */
  readonly absent?: 'never';
  /** The target for this package. */
  readonly target?: Target;
}

export function measure(
  id: string,
  title: string,
  unit: Measure['unit'],
  target?: Target,
): Measure {
  return { id, title, unit, ...(target !== undefined && { target }) };
}

/** A measure that some contenders cannot reach. */
export const perhapsNever = (of: Measure): Measure => ({ ...of, absent: 'never' });

/** The time and this process's CPU time that a work takes, in milliseconds. */
export async function timed<T>(work: () => Promise<T> | T) {
  const from = performance.now();
  const cpu = process.cpuUsage();
  const result = await work();
  const ms = performance.now() - from;
  const { user, system } = process.cpuUsage(cpu);
  return { result, ms, cpuMs: (user + system) / 1_000 };
}

export const atMost = (bound: number): Target => ({ of: 'value', atMost: bound });
export const below = (bound: number): Target => ({ of: 'value', below: bound });
export const ratioAtMost = (bound: number): Target => ({ of: 'ratio', atMost: bound });
/** The worst round decides instead of the median. */
export const always = (target: Target): Target => ({ ...target, inEveryRound: true });

/** By measure. Null: the contender lacks the feature; absent: it failed. */
export type Values = Readonly<Record<string, number | null>>;

/** The values of one round, by contender. */
export type Round = Readonly<Record<string, Values>>;

export interface WorkContext {
  /** Names of the contenders, in their order. */
  readonly contenders: readonly string[];
  readonly rounds: number;
  /** Whether to shorten works of a minute to seconds. Default: false. */
  readonly isQuick?: boolean;
  /** Runs a work's `job` in its own process; null if that crashed or took too long. */
  readonly child: (work: string, task: unknown, limitMs: number) => Promise<unknown>;
}

export interface Work {
  readonly name: string;
  readonly measures: readonly Measure[];
  readonly rounds: { readonly full: number; readonly quick: number };
  /** Runs only when requested. */
  readonly isOptional?: boolean;
  /** The reason to skip the work on this machine, and the remedy. Default: none. */
  readonly lacks?: () => string | undefined;
  /** Runs in the benchmark's own process: prepares the work and starts its children. */
  run(context: WorkContext): Promise<readonly Round[]>;
  /** Runs in the child. The result must survive serialization. */
  readonly job?: (task: never) => Promise<unknown>;
}

/**
 * The order of one round. Being first or last makes a difference, so every second round reverses the
 * order, and the next one rotates it: A B C, C B A, B C A, A C B, …
 */
export function turnsOf(contenders: readonly string[], round: number): readonly string[] {
  const first = contenders.length === 0 ? 0 : Math.floor(round / 2) % contenders.length;
  const turns = [...contenders.slice(first), ...contenders.slice(0, first)];
  return round % 2 === 0 ? turns : turns.reverse();
}

/** Rounds in which every contender works in a fresh process. A contender without a task has no value. */
export async function isolatedRounds(
  { contenders, rounds, child }: WorkContext,
  { name, measures }: Pick<Work, 'name' | 'measures'>,
  taskOf: (contender: string) => unknown,
  limitMs = 60_000,
): Promise<readonly Round[]> {
  const nothing: Values = Object.fromEntries(measures.map(({ id }) => [id, null]));
  const done: Round[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const values: Record<string, Values> = {};
    for (const contender of turnsOf(contenders, round)) {
      const task = taskOf(contender);
      const answer = task === undefined ? nothing : await child(name, task, limitMs);
      values[contender] = (answer as Values | null) ?? {};
    }
    done.push(values);
  }
  return done;
}

/** Rounds of a work that only this package can do. */
export function ownRounds(
  context: WorkContext,
  work: Pick<Work, 'name' | 'measures'>,
  task: unknown,
  limitMs?: number,
): Promise<readonly Round[]> {
  return isolatedRounds(
    context,
    work,
    (contender) => (contender === subject ? task : undefined),
    limitMs,
  );
}
