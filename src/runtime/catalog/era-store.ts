import type { EraVerdict, SessionPorts } from '../../../actors/session/ports.ts';

type Eras = SessionPorts['eras'];

/** A verdict and when it was reached, wall time in milliseconds. */
export interface DatedVerdict {
  readonly verdict: EraVerdict;
  readonly at: number;
}

// One day: an old server that was brought up to date answers the old handshake as
// well as ever, so without a date it would never be asked again.
const longestUseMs = 86_400_000;
// More than the servers of a large host.
const rememberedVerdicts = 1_000;

/** Which era servers were found to speak, by generation; given back, a verdict saves the question. */
export class EraStore implements Eras {
  readonly #verdicts = new Map<string, DatedVerdict>();
  readonly #wallNow: () => number;

  constructor(wallNow: () => number) {
    this.#wallNow = wallNow;
  }

  readonly get = (generation: string): EraVerdict | undefined => this.dated(generation)?.verdict;

  readonly set = (generation: string, verdict: EraVerdict): void => {
    this.#keep(generation, { verdict, at: this.#wallNow() });
  };

  readonly forget = (generation: string): void => {
    this.#verdicts.delete(generation);
  };

  /** Puts what an earlier run found out, unless this one knows better. */
  restore(generation: string, dated: DatedVerdict): void {
    if (!this.#verdicts.has(generation)) this.#keep(generation, dated);
  }

  /** Undefined when there is none that still counts. */
  dated(generation: string): DatedVerdict | undefined {
    const known = this.#verdicts.get(generation);
    if (known === undefined) return undefined;
    const ageMs = this.#wallNow() - known.at;
    // A date in the future says that a clock was set: nobody knows how old it is.
    return ageMs >= 0 && ageMs < longestUseMs ? known : undefined;
  }

  #keep(generation: string, dated: DatedVerdict): void {
    this.#verdicts.delete(generation);
    this.#verdicts.set(generation, dated);
    const [oldest] = this.#verdicts.keys();
    if (this.#verdicts.size > rememberedVerdicts && oldest !== undefined)
      this.#verdicts.delete(oldest);
  }
}
