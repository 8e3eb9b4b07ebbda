import type { EraVerdict, SessionPorts } from '../../../actors/session/ports.ts';

type Eras = SessionPorts['eras'];

/** A verdict and when it was reached, wall time in milliseconds. */
export interface DatedVerdict {
  readonly verdict: EraVerdict;
  readonly at: number;
}

// One day: an updated server still answers the old handshake, so without an expiry it would never
// be probed again.
const longestUseMs = 86_400_000;
// More than the servers of a large host.
const rememberedVerdicts = 1_000;

/** Which era servers were found to speak, by generation; a known verdict saves the probe. */
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

  /** Adds an earlier run's verdict, unless this run has its own. */
  restore(generation: string, dated: DatedVerdict): void {
    if (!this.#verdicts.has(generation)) this.#keep(generation, dated);
  }

  /** Undefined when there is no verdict, or it is too old. */
  dated(generation: string): DatedVerdict | undefined {
    const known = this.#verdicts.get(generation);
    if (known === undefined) return undefined;
    const ageMs = this.#wallNow() - known.at;
    // A date in the future means that the clock was changed, so the age is unknown.
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
