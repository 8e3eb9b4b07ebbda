/**
 * Logs clients' protocol faults without flooding the log: each kind of fault is logged once per client, and
 * only a few per minute in total; the others are counted.
 */

import type { Clock } from '../domain/clock.ts';
import { redactWords } from '../policies/text/redact-words.ts';
import { createThrottle, type Throttle } from '../runtime/throttle.ts';

const countEveryMs = 60_000;
// Bounds clients that reconnect under a new name each time; well-behaved clients cause hardly one a day.
const maxLinesInTurn = 10;
// One for each possible session; older faults may be logged again.
const maxKnown = 256;

export class FaultLog {
  readonly #write: (line: string) => void;
  readonly #known = new Set<string>();
  readonly #count: Throttle;
  #linesInTurn = 0;
  #unlogged = 0;

  constructor(clock: Clock, write: (line: string) => void) {
    this.#write = write;
    this.#count = createThrottle(clock, countEveryMs, () => this.#writeCount());
  }

  /** Logs a fault; errors of one kind share their code, or else their name. */
  add(client: string, error: Error): void {
    const kind = 'code' in error ? String(error.code) : error.name;
    const key = `${client} ${kind}`;
    this.#count.trigger();
    if (this.#known.has(key) || this.#linesInTurn >= maxLinesInTurn) {
      this.#unlogged += 1;
      return;
    }
    this.#known.add(key);
    const [oldest] = this.#known;
    if (this.#known.size > maxKnown && oldest !== undefined) this.#known.delete(oldest);
    this.#linesInTurn += 1;
    this.#write(`${client}: ${redactWords(error.message)}`);
  }

  close(): void {
    this.#count.stop();
    this.#writeCount();
  }

  #writeCount(): void {
    const unlogged = this.#unlogged;
    this.#unlogged = 0;
    this.#linesInTurn = 0;
    if (unlogged === 0) return;
    this.#write(`${unlogged} more protocol fault${unlogged === 1 ? '' : 's'} of clients`);
  }
}
