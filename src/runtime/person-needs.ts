import type { ServerStatus } from '../domain/status.ts';

export type Need = 'approval' | 'login';

/** Remembers what a person was already asked, so that nobody is asked twice for one thing. */
export class PersonNeeds {
  readonly #asked = new Map<string, string>();

  /** What is newly needed of a person for this server; undefined when nothing is. */
  newly({ name, state, reason, generation }: ServerStatus): Need | undefined {
    const need = needOf(state, reason);
    if (need === undefined) {
      this.#asked.delete(name);
      return undefined;
    }
    const question = `${need} ${generation}`;
    if (this.#asked.get(name) === question) return undefined;
    this.#asked.set(name, question);
    return need;
  }
}

function needOf(state: ServerStatus['state'], reason: ServerStatus['reason']): Need | undefined {
  if (state === 'authRequired') return 'login';
  return reason === 'pendingApproval' ? 'approval' : undefined;
}
