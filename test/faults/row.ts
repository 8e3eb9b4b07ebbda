/** One row of the table: a fault, how it is made, and what must come of it. */

import type { Expectation, Seen } from './expectation.ts';
import type { Stage } from './stage.ts';

export interface Row {
  /** Of the catalogue of faults. */
  readonly id: string;
  /** Which of several ways to make the fault. */
  readonly variant?: string;
  /** How it is made: `s:` a mode of the stdio server, `h:` of the HTTP server, `p:` of the proxy. */
  readonly inject: string;
  /** Every fact named here is compared; others are only shown. */
  readonly expect: Expectation;
  /** Longest time for all of it, the stop included. */
  readonly limitMs?: number;
  /** How many times faster the clock of the troupe runs, to shorten waits that have no setting. */
  readonly speed?: number;
  /** Measures times or memory that neighbours would disturb. */
  readonly isAlone?: boolean;
  run(stage: Stage): Promise<Seen>;
}

/** A row that this version or this machine cannot run, and why. */
export interface AbsentRow {
  readonly id: string;
  readonly variant?: string;
  readonly inject: string;
  readonly absent: string;
}

export type AnyRow = Row | AbsentRow;

export function nameOf({ id, variant }: Pick<Row, 'id' | 'variant'>): string {
  return variant === undefined ? id : `${id}/${variant}`;
}
