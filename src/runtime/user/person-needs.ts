import type { ServerStatus } from '../../domain/host/status.ts';

/** Remembers the servers for which a log-in was already requested, so that none is requested twice. */
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
