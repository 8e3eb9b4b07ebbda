/** A row of the table: a fault, how it is injected and the expected behaviour. */

import type { Expectation, Seen } from './expectation.ts';
import type { Stage } from './stage.ts';

export interface Row {
  /** `s:` a mode of the stdio server, `h:` of the HTTP server, `p:` of the proxy. */
  readonly inject: string;
  /** Only these facts are compared; others are shown. */
  readonly expect: Expectation;
  /** Time limit for the whole row, the stop included. */
  readonly limitMs?: number;
  /**
   * How many times faster the troupe's clock runs, to shorten waits that no setting controls or, below
   * 1, to extend a limit that a busy machine would otherwise exceed.
   */
  readonly speed?: number;
  /** Measures times or memory, which other rows would disturb. */
  readonly isAlone?: boolean;
  run(stage: Stage): Promise<Seen>;
}

/** By name: the id from the catalogue of faults and, where there are several, the variant. */
export type Rows = Readonly<Record<string, Row>>;

/** Rows that differ in one value only. */
export function eachOf<Value>(
  values: readonly Value[],
  rowOf: (value: Value) => readonly [name: string, row: Row],
): Rows {
  return Object.fromEntries(values.map(rowOf));
}
