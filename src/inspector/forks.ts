/** The forks that pages have open, and the requests that change them. */

import type { ServerContext } from '../../machines/server/server.ts';
import type { ForkView, InspectionSource } from '../domain/host/inspection.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { isRecord } from '../policies/is-record.ts';
import { machineHashes } from '../recorder/chart-names.ts';
import { ServerFork } from './fork.ts';

/** A new fork beyond this number replaces the oldest. */
const mostForks = 8;

export class Forks {
  readonly #source: InspectionSource;
  readonly #forks = new Map<string, ServerFork>();
  #count = 0;

  constructor(source: InspectionSource) {
    this.#source = source;
  }

  /**
   * `POST /api/fork`: forks a server at the moment after a record.
   * @throws TroupeError `INVALID_ARGUMENTS` for a moment that is not kept, an actor that was not a server
   *   then, and records of another version's charts
   */
  create(body: unknown): ForkView {
    if (!isRecord(body) || typeof body['actor'] !== 'string' || !isCount(body['at'])) {
      throw new TroupeError('INVALID_ARGUMENTS', 'send {"at": 120, "actor": "x:4"}');
    }
    const { actor, at } = body as { readonly actor: string; readonly at: number };
    const { machines, clockStart } = this.#source;
    if (machines.server !== machineHashes().server) {
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `this was recorded with another server chart; open it with version ${this.#source.version}`,
      );
    }
    const picture = this.#source.picture(at);
    const pictured = picture?.actors.find((each) => each.actor === actor);
    const context = this.#source.context(actor, at);
    if (picture === undefined || pictured?.machine !== 'server' || context === undefined) {
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `after record ${at} there is no server ${actor.slice(0, 100)}; fork a server at a recorded moment`,
      );
    }
    this.#count += 1;
    const id = `f${this.#count}`;
    const fork = new ServerFork({
      fork: id,
      from: at,
      actor: pictured,
      // Everything a server's chart depends on is recorded.
      context: context as unknown as ServerContext,
      t: picture.t,
      clockStart,
    });
    this.#forks.set(id, fork);
    const [oldest] = this.#forks.keys();
    if (this.#forks.size > mostForks && oldest !== undefined) this.#forks.delete(oldest);
    return fork.view();
  }

  /** `POST /api/fork/ID`: sends an event or lets time pass. */
  change(id: string, body: unknown): ForkView {
    const { event, advanceMs } = isRecord(body) ? body : {};
    if (!isRecord(event) && typeof advanceMs !== 'number') {
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        'send {"event": {"type": "server.stop"}} or {"advanceMs": 1000}',
      );
    }
    const fork = this.#forks.get(id);
    if (fork === undefined) {
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `fork ${id.slice(0, 100)} does not exist, or a newer one replaced it; fork again`,
      );
    }
    if (isRecord(event)) fork.inject(event);
    else fork.advance(Number(advanceMs));
    return fork.view();
  }

  remove(id: string): void {
    this.#forks.delete(id);
  }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}
