import type { SessionHandle } from '../domain/session.ts';

/**
 * The open sessions, by the actor that owns them. Filled before the charts hear
 * that a session opened and emptied before they hear that it closed, so a call
 * that a chart lets through finds its session or learns at once that it is gone.
 */
export class SessionRegistry {
  readonly #handles = new Map<string, SessionHandle>();

  readonly opened = (actorId: string, handle: SessionHandle): void => {
    this.#handles.set(actorId, handle);
  };

  /** Late news of an earlier session does not touch the present one. */
  readonly closed = (actorId: string, session: number): void => {
    if (this.#handles.get(actorId)?.session === session) this.#handles.delete(actorId);
  };

  get(actorId: string): SessionHandle | undefined {
    return this.#handles.get(actorId);
  }
}
