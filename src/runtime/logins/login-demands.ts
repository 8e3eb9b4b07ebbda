/**
 * Remembers which servers demanded a login in an earlier run, so that a start does not ask them again.
 * The authorization chart decides for how long.
 */

import { createHash } from 'node:crypto';
import type { SessionOwner } from '../../../actors/session/ports.ts';
import type { LoginDemandStore } from '../../../actors/stores/login-demands.ts';
import { remembersDemand } from '../../../machines/authorization/demands.ts';
import type { LoginActor } from './login-actor.ts';

/** A session, as far as demands for a login are concerned. */
export class DemandingSession {
  readonly #server: string;
  readonly #generation: string;
  /** The servers whose latest session ended without a request. */
  readonly #unasked: Set<string>;
  #hasBegun = false;

  constructor({ server, generation }: SessionOwner, unasked: Set<string>) {
    this.#server = server;
    this.#generation = generation;
    this.#unasked = unasked;
  }

  /**
   * Called before a request without a token. Throws if the server demanded a login a short time ago, and
   * no session of this run has been refused for that.
   */
  begin(actor: LoginActor, nowMs: number): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    const by = this.#by();
    const { context } = actor.getSnapshot();
    const isRemembered = remembersDemand(context, by, nowMs);
    // Most servers never demanded a login, so there is nothing to recall.
    if (context.demands?.[by] !== undefined) actor.send({ type: 'demand.recalled', by });
    if (!isRemembered) return void this.#unasked.delete(this.#server);
    this.#unasked.add(this.#server);
    const message = 'the server demanded a login a short time ago and was not asked again';
    // Classified like the SDK's error of this name.
    throw Object.assign(new Error(message), { name: 'UnauthorizedError' });
  }

  /** Called when the server refused a request for want of a token. */
  refused(actor: LoginActor, nowMs: number): void {
    actor.send({ type: 'login.demanded', by: this.#by(), nowMs });
  }

  /** The generation is a digest of the settings; with others, the server may need no login. */
  #by(): string {
    const text = `${this.#server}\n${this.#generation}`;
    return createHash('sha256').update(text).digest('base64url');
  }
}

/** Stores the chart's demands whenever they change. */
export function keepDemands(
  actor: LoginActor,
  key: string,
  store: LoginDemandStore | undefined,
): void {
  let known = actor.getSnapshot().context.demands;
  actor.subscribe({
    next: ({ context: { demands } }) => {
      const isRead = known !== null;
      if (demands === known) return;
      known = demands;
      if (!isRead || demands === null || store === undefined) return;
      const times = Object.entries(demands).map(([by, { atMs }]) => [by, atMs] as const);
      void store.write(key, Object.fromEntries(times));
    },
    // Reported elsewhere.
    error: () => {},
  });
}
