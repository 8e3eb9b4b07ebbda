/** The forks that a page has open: a few, made from what was recorded. */

import type { ServerContext } from '../../machines/server/server.ts';
import type { ActorKey, ForkView, InspectionSource } from '../domain/host/inspection.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { machineHashes } from '../recorder/chart-names.ts';
import { ServerFork } from './fork.ts';

/** The oldest goes when one more is made. */
const mostForks = 8;

export class Forks {
  readonly #source: InspectionSource;
  readonly #forks = new Map<string, ServerFork>();
  #count = 0;

  constructor(source: InspectionSource) {
    this.#source = source;
  }

  /**
   * Begins where a server was after a record.
   * @throws TroupeError `INVALID_ARGUMENTS` for a moment that is not kept, an actor that was no server
   *   then, and records of other charts than those of this version.
   */
  create(actor: ActorKey, at: number): ForkView {
    const { machines, clockStart } = this.#source;
    if (machines.server !== machineHashes().server) {
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `the chart of servers is another one than that of ${this.#source.version}, which recorded; use that version`,
      );
    }
    const picture = this.#source.picture(at);
    const pictured = picture?.actors.find((each) => each.actor === actor);
    const context = this.#source.context(actor, at);
    if (picture === undefined || pictured?.machine !== 'server' || context === undefined) {
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `after record ${at} there is no server ${actor.slice(0, 100)}; only servers can be forked, at a moment that is kept`,
      );
    }
    this.#count += 1;
    const id = `f${this.#count}`;
    const fork = new ServerFork({
      fork: id,
      from: at,
      actor: pictured,
      // Of a server all is recorded that its chart decides by.
      context: context as unknown as ServerContext,
      t: picture.t,
      clockStart,
    });
    this.#forks.set(id, fork);
    const [oldest] = this.#forks.keys();
    if (this.#forks.size > mostForks && oldest !== undefined) this.#forks.delete(oldest);
    return fork.view();
  }

  /** Puts an event in, or lets time pass. */
  change(
    id: string,
    change: { readonly event: Readonly<Record<string, unknown>> } | { readonly advanceMs: number },
  ): ForkView {
    const fork = this.#forks.get(id);
    if (fork === undefined) {
      throw new TroupeError(
        'INVALID_ARGUMENTS',
        `there is no fork ${id.slice(0, 100)}, or it made room for a newer one; begin it again`,
      );
    }
    if ('event' in change) fork.inject(change.event);
    else fork.advance(change.advanceMs);
    return fork.view();
  }

  remove(id: string): void {
    this.#forks.delete(id);
  }
}
