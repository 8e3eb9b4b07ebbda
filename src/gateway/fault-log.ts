/**
 * Tells people of faults that clients make in the protocol, without letting a client fill their
 * terminal: a kind of fault is told once for each client, a few in a minute, and the rest counted.
 */

import type { Clock } from '../domain/clock.ts';
import { redactWords } from '../policies/text/redact-words.ts';
import { createThrottle, type Throttle } from './throttle.ts';

const countEveryMs = 60_000;
// Of clients that come under a new name each time; an honest troupe has hardly one a day.
const maxLinesInTurn = 10;
// As many as there are sessions; who was told of longer ago may be told of again.
const maxKnown = 256;

export class FaultLog {
  readonly #write: (line: string) => void;
  readonly #known = new Set<string>();
  readonly #count: Throttle;
  #linesInTurn = 0;
  #untold = 0;

  constructor(clock: Clock, write: (line: string) => void) {
    this.#write = write;
    this.#count = createThrottle(clock, countEveryMs, () => this.#tellCount());
  }

  /** A client made a fault. What is alike in its errors is their code, or else their name. */
  add(client: string, error: Error): void {
    const kind = 'code' in error ? String(error.code) : error.name;
    const key = `${client} ${kind}`;
    this.#count.trigger();
    if (this.#known.has(key) || this.#linesInTurn >= maxLinesInTurn) {
      this.#untold += 1;
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
    this.#tellCount();
  }

  #tellCount(): void {
    const untold = this.#untold;
    this.#untold = 0;
    this.#linesInTurn = 0;
    if (untold === 0) return;
    this.#write(`${untold} more fault${untold === 1 ? '' : 's'} of clients in the protocol`);
  }
}
