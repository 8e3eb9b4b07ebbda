import type { ServerStatus } from '../../domain/host/status.ts';

/** Remembers which servers a person was already asked to log in to, so that nobody is asked twice. */
export class PersonNeeds {
  readonly #asked = new Map<string, string>();

  /** Whether a log-in is newly needed for this server. */
  newly({ name, state, generation }: ServerStatus): boolean {
    if (state !== 'authRequired') {
      this.#asked.delete(name);
      return false;
    }
    if (this.#asked.get(name) === generation) return false;
    this.#asked.set(name, generation);
    return true;
  }
}
