import type { SessionHandle } from '../domain/session.ts';

/**
 * The open sessions, by the actor that owns them. It is updated before the charts are notified that a
 * session opened or closed, so an admitted call finds its session or fails immediately.
 */
export class SessionRegistry {
  readonly #handles = new Map<string, SessionHandle>();

  readonly opened = (actorId: string, handle: SessionHandle): void => {
    this.#handles.set(actorId, handle);
  };

  /** Removes a session. A late report about an earlier session does not affect the current one. */
  readonly closed = (actorId: string, session: number): void => {
    if (this.#handles.get(actorId)?.session === session) this.#handles.delete(actorId);
  };

  get(actorId: string): SessionHandle | undefined {
    return this.#handles.get(actorId);
  }
}
