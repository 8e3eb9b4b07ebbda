/**
 * The actor of a login, functions that wait for it, and the demands that it remembers: which servers
 * demanded a login in an earlier run, so that a start does not ask them again. The authorization chart
 * decides for how long.
 */

import { createHash } from 'node:crypto';
import { type ActorRefFrom, fromPromise, waitFor } from 'xstate';
import type { Credential } from '../../../actors/authorization/credential.ts';
import type { SessionOwner } from '../../../actors/session/ports.ts';
import type { LoginDemandStore } from '../../../actors/stores/login-demands.ts';
import { RequestFailedError } from '../../../actors/transports/connection/failure.ts';
import { authorizationMachine } from '../../../machines/authorization/authorization.ts';
import type {
  LoadStepDone,
  StepDone,
  StepInput,
  TokenStepDone,
} from '../../../machines/authorization/authorization-setup.ts';
import { remembersDemand } from '../../../machines/authorization/demands.ts';
import { defined } from '../../domain/data/defined.ts';
import { TroupeError } from '../../domain/troupe-error.ts';

export type LoginActor = ActorRefFrom<typeof authorizationMachine>;

/** What the steps of a login need. */
export interface LoginSteps {
  readonly credential: Credential;
  /** Stores demands for the login; undefined if they are not stored. */
  readonly demands: LoginDemandStore | undefined;
}

/**
 * Returns the chart of all logins; `stepsOf` finds a login by the key in its input. A chart of its
 * own for each login would take a millisecond and a hundred kilobytes.
 */
export function chartOf(stepsOf: (key: string) => LoginSteps) {
  const step = <Done extends StepDone = TokenStepDone>(
    run: (login: LoginSteps, asked: StepInput, signal: AbortSignal) => Promise<Done>,
  ) => fromPromise<Done, StepInput>(({ input, signal }) => run(stepsOf(input.id), input, signal));
  return authorizationMachine.provide({
    actors: {
      load: step<LoadStepDone>(async ({ credential, demands }, { id }, signal) => ({
        ...(await credential.load(signal)),
        demands: (await demands?.read(id)) ?? {},
      })),
      discover: step(({ credential }, _, signal) => credential.discover(signal)),
      register: step(({ credential }, asked, signal) => credential.register(asked, signal)),
      askUser: step(({ credential }, asked, signal) => credential.askUser(asked, signal)),
      exchange: step(({ credential }, asked, signal) => credential.exchange(asked, signal)),
      requestCode: step(({ credential }, asked, signal) => credential.requestCode(asked, signal)),
      poll: step(({ credential }, asked, signal) => credential.poll(asked, signal)),
      request: step(({ credential }, asked, signal) => credential.request(asked, signal)),
      refresh: step(({ credential }, asked, signal) => credential.refresh(asked, signal)),
      forget: step(({ credential }, _, signal) => credential.forget(signal)),
    },
  });
}

/** Like `waitFor`, but rejects instead of hanging if the actor has already stopped. */
export async function until(
  actor: LoginActor,
  matches: (snapshot: Snapshot) => boolean,
  signal?: AbortSignal,
): Promise<Snapshot> {
  const stopped = (): TroupeError => new TroupeError('STOPPED', 'the troupe has stopped');
  if (actor.getSnapshot().status === 'stopped') throw stopped();
  signal?.throwIfAborted();
  return waitFor(actor, matches, defined({ signal })).catch(() => {
    throw stopped();
  });
}

/**
 * Requests a token, and resolves once none is pending. The chart gets no event if only a user can
 * obtain one, as for each request to the many servers that require no login.
 */
export async function settledToken(actor: LoginActor, nowMs: number): Promise<Snapshot> {
  const present = actor.getSnapshot();
  const isLeftToUser = present.context.needsUser && present.matches('unauthorized');
  if (isLeftToUser && present.status === 'active') return present;
  // After sleep or a clock change, its timer has not noticed yet.
  actor.send({ type: 'clock.jumped', nowMs });
  actor.send({ type: 'token.wanted' });
  return until(actor, isSettled);
}

type Snapshot = ReturnType<LoginActor['getSnapshot']>;

/** Whether no step that a request waits for is running. */
export function isSettled(snapshot: Snapshot): boolean {
  return !snapshot.hasTag('waits');
}

/** Whether a login can begin. */
export function isReady(snapshot: Snapshot): boolean {
  return isSettled(snapshot) && snapshot.value !== 'loggingOut';
}

/** Whether a login or a logout has ended; further attempts may follow. */
export function isAtRest(snapshot: Snapshot): boolean {
  const { value } = snapshot;
  return value === 'authorized' || value === 'retrying' || snapshot.matches('unauthorized');
}

/** Why a request without a token is not sent; another attempt may succeed. */
export function tokenUnavailable(
  url: URL,
  reason = 'the issuer did not answer',
): RequestFailedError {
  const cause = new Error(`its token could not be renewed (${reason})`);
  return new RequestFailedError(url, Object.assign(cause, { code: 'TOKEN_UNAVAILABLE' }), false);
}

/** Returns whether the token may be sent now. */
export function hasUsableToken(actor: LoginActor, nowMs: number): boolean {
  const { token, isRejected } = actor.getSnapshot().context;
  if (token === null || isRejected) return false;
  return token.expiresAtMs === null || nowMs < token.expiresAtMs;
}

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
