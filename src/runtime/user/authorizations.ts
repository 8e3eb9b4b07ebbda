/**
 * Keeps one login for each credential, and connects it with sessions, servers and users. The
 * authorization chart decides what happens next.
 */

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { type ActorRefFrom, createActor, fromPromise, waitFor } from 'xstate';
import { Credential } from '../../../actors/authorization/credential.ts';
import { grantOf } from '../../../actors/authorization/credential-facts.ts';
import { canonicalResource } from '../../../actors/authorization/discovery.ts';
import type { SessionOwner } from '../../../actors/session/ports.ts';
import type { CredentialStore } from '../../../actors/stores/credentials.ts';
import { credentialKey } from '../../../actors/stores/credentials-record.ts';
import { RequestFailedError } from '../../../actors/transports/connection/failure.ts';
import { asHttp } from '../../../actors/transports/http/addresses.ts';
import type { Reach, RemoteEndpoint } from '../../../actors/transports/http/reach.ts';
import type { ResolvedOAuth } from '../../../actors/values/oauth.ts';
import { authorizationMachine } from '../../../machines/authorization/authorization.ts';
import type { StepInput, TokenStepDone } from '../../../machines/authorization/setup.ts';
import type {
  Account,
  Authenticator,
  AuthorizationFailure,
  CredentialId,
  Refusal,
} from '../../domain/authorization.ts';
import { isUsable } from '../../domain/server-state.ts';
import type { Problem } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { defined } from '../../policies/defined.ts';
import { defaultPolicy } from '../../policies/presets/default-policy.ts';
import type { SharedPorts } from '../shared-ports.ts';

interface Login {
  readonly id: CredentialId;
  readonly actor: ActorRefFrom<typeof authorizationMachine>;
  readonly credential: Credential;
  /** The names of the servers that share it. */
  readonly servers: Set<string>;
  /** The login settings of each server: those that do not identify the credential may differ. */
  readonly own: Map<string, OwnSettings>;
  /** From the latest session. */
  reach: Reach | undefined;
  /** Ends the wait for the browser with the URL that it was redirected to. */
  redirected: ((url: URL) => void) | undefined;
  /** When servers last refused the token, so that it was renewed; monotonic. */
  readonly renewals: number[];
  /** The server whose user logs in. */
  for: string;
  /** The latest request for a login. */
  turn: object | undefined;
}

interface OwnSettings {
  settings: ResolvedOAuth | undefined;
  /** Reads them again. */
  readonly readOAuth: RemoteEndpoint['readOAuth'];
}

// More refusals of new tokens than these are not about a token.
const maxRenewals = 5;
const renewalsMs = 60_000;

export class Authorizations {
  readonly #ports: SharedPorts;
  readonly #store: CredentialStore | undefined;
  readonly #logins = new Map<string, Login>();
  readonly #unlisten: (() => void) | undefined;

  constructor(ports: SharedPorts) {
    this.#ports = ports;
    const onProblems = (list: readonly Problem[]): void => ports.problems.set('credentials', list);
    this.#store = ports.parts.keepCredentials?.(onProblems);
    this.#unlisten = this.#store?.listen((key) => {
      this.#logins.get(key)?.actor.send({ type: 'store.changed' });
    });
  }

  /** Returns what authorizes a session; undefined if its settings authorize it or rule it out. */
  authenticatorFor({ server }: SessionOwner, endpoint: RemoteEndpoint): Authenticator | undefined {
    const { headers, oauth, account } = endpoint;
    const isExplicit = Object.keys(headers).some((name) => name.toLowerCase() === 'authorization');
    if (this.#store === undefined || oauth === false || isExplicit) {
      this.#leave(server);
      return undefined;
    }
    const id = {
      resource: canonicalResource(asHttp(endpoint.url)),
      account: account ?? null,
      client: oauth === undefined ? null : digestOf(oauth),
      reach: endpoint.reach?.ownDigest ?? null,
    };
    const login = this.#loginFor(id, server, endpoint, this.#store);
    return {
      headers: (method, at) => this.#headers(login, method, at),
      refused: (refusal) => this.#refused(login, refusal),
    };
  }

  /** Whether a session of the server has asked for a token, so that its issuer can be found. */
  knows(server: string): boolean {
    return this.#find(server) !== undefined;
  }

  /**
   * Logs in to a server. The event `auth.started` has the URL that the user must open.
   *
   * @throws TroupeError `AUTH_REQUIRED` with the reason if the login fails; `CANCELLED` if the signal
   *   is aborted
   */
  async login(server: string, signal?: AbortSignal): Promise<void> {
    const login = this.#of(server);
    const { actor } = login;
    const turn = {};
    const cancel = (): void => {
      // A login that replaced this one goes on.
      if (login.turn === turn) actor.send({ type: 'login.cancelled' });
    };
    try {
      await until(actor, isSettled, signal);
      login.for = server;
      login.turn = turn;
      login.renewals.length = 0;
      signal?.addEventListener('abort', cancel, { once: true });
      actor.send({ type: 'login.requested' });
      const { context, value } = await until(actor, isAtRest, signal);
      if (value === 'authorized' && context.failure === null) return;
      throw this.#loginError(server, context.failure);
    } catch (error) {
      if (signal?.aborted !== true) throw error;
      throw new TroupeError('CANCELLED', `the login to ${server} was cancelled`, { server });
    } finally {
      signal?.removeEventListener('abort', cancel);
    }
  }

  /**
   * Passes on the URL to which the browser was redirected, where the browser cannot reach this machine.
   *
   * @throws TroupeError `USAGE` if no login to the server is waiting for the browser
   */
  finishLogin(server: string, url: URL): void {
    const { redirected } = this.#find(server) ?? {};
    if (redirected !== undefined) return redirected(url);
    throw new TroupeError('USAGE', `no login to ${server} is waiting for the browser`, { server });
  }

  /** Keeps what a tool's result wants of the next login. The call ran, so nothing is repeated. */
  noteChallenge(server: string, challenge: string): void {
    const login = this.#find(server);
    const { lacks } = login?.credential.noteRefusal({ status: 401, challenge, sentWith: {} }) ?? {};
    if (lacks !== undefined) login?.actor.send({ type: 'scope.insufficient', scopes: lacks });
  }

  /** Revokes and deletes the credential of a server. */
  async logout(server: string): Promise<void> {
    const { actor } = this.#of(server);
    await until(actor, isSettled);
    actor.send({ type: 'logout.requested' });
    const { context } = await until(actor, isAtRest);
    if (context.failure === null) return;
    const message = `the logout from ${server} failed: ${context.failure.message}`;
    throw new TroupeError('UNAVAILABLE', message, { server });
  }

  /** Returns the stored credentials, without secrets. */
  async accounts(): Promise<readonly Account[]> {
    const list = (await this.#store?.list()) ?? [];
    return list.map(({ key, id, issuer, scope, expiresAtMs }) => ({
      servers: [...(this.#logins.get(key)?.servers ?? [])].toSorted(),
      resource: id.resource,
      issuer,
      scopes: scope?.split(' ') ?? [],
      ...defined({
        account: id.account ?? undefined,
        expiresAt: expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString(),
      }),
    }));
  }

  /** Resolves after the last save. */
  async close(): Promise<void> {
    this.#unlisten?.();
    const logins = [...this.#logins.values()];
    for (const { actor } of logins) actor.stop();
    await Promise.all(logins.map(({ credential }) => credential.close()));
    await this.#store?.close();
  }

  #loginError(server: string, failure: AuthorizationFailure | null): TroupeError {
    const { kind, message: why = 'another login replaced it' } = failure ?? {};
    const view = this.#ports.board().view(server);
    const { file, line, key } = view?.desired.source ?? {};
    if (kind === 'discovery' && this.#ports.board().status(server)?.state === 'ready') {
      const message = `${server} works without a login, and has nothing to log in to: ${why}`;
      return new TroupeError('USAGE', message, { server });
    }
    const isInSettings = kind === 'clientNeeded' || kind === 'registration';
    const place =
      file === undefined || !isInSettings
        ? ''
        : ` in ${key} (${line === undefined ? file : `${file}:${line}`})`;
    const message = `the login to ${server} failed: ${why}${place}`;
    return new TroupeError('AUTH_REQUIRED', message, { server });
  }

  #find(server: string): Login | undefined {
    return [...this.#logins.values()].find(({ servers }) => servers.has(server));
  }

  #of(server: string): Login {
    const found = this.#find(server);
    if (found !== undefined) return found;
    throw new TroupeError('USAGE', `${server} has not asked for a login`, { server });
  }

  /** A server whose settings changed leaves its earlier login. */
  #leave(server: string): void {
    for (const { servers, own } of this.#logins.values()) {
      servers.delete(server);
      own.delete(server);
    }
  }

  #loginFor(
    id: CredentialId,
    server: string,
    endpoint: RemoteEndpoint,
    store: CredentialStore,
  ): Login {
    const key = credentialKey(id);
    this.#leave(server);
    const known = this.#logins.get(key);
    const login = known ?? this.#create(id, server, endpoint, store);
    login.servers.add(server);
    login.own.set(server, { settings: settingsOf(endpoint), readOAuth: endpoint.readOAuth });
    login.reach = endpoint.reach;
    if (known === undefined) login.actor.start();
    return login;
  }

  #create(
    id: CredentialId,
    server: string,
    endpoint: RemoteEndpoint,
    store: CredentialStore,
  ): Login {
    const key = credentialKey(id);
    const settings = settingsOf(endpoint);
    const { auth } = this.#ports.board().view(server)?.desired.policy ?? defaultPolicy;
    const { clock, seed } = this.#ports.parts;
    const credential: Credential = new Credential({
      key,
      id,
      // A WebSocket's metadata and tokens are those of its HTTP address.
      server: asHttp(endpoint.url),
      reach: () => login.reach,
      settings: () => settingsNow(login)?.settings,
      freshSettings: async () => {
        const own = settingsNow(login);
        // If a value is missing, the issuer refuses the old one.
        const fresh = await own?.readOAuth?.().catch(() => undefined);
        if (own !== undefined) own.settings = fresh ?? own.settings;
        return own?.settings;
      },
      store,
      clock,
      showUrl: (shown, signal) =>
        new Promise((resolve) => {
          login.redirected = resolve;
          signal.addEventListener('abort', () => {
            login.redirected = undefined;
          });
          this.#ports.listeners.emit('auth.started', { server: login.for, url: shown.href });
        }),
    });
    const needsUser = settings === undefined || grantOf(settings) === undefined;
    const actor = createActor(chartOf(credential), {
      clock,
      input: {
        id: key,
        seed,
        needsUser,
        refreshAheadMs: auth.refreshAheadMs,
        loginTimeoutMs: auth.loginTimeoutMs,
        maxStepUps: auth.stepUps,
      },
    });
    const login: Login = {
      id,
      actor,
      credential,
      servers: new Set(),
      own: new Map(),
      reach: endpoint.reach,
      redirected: undefined,
      renewals: [],
      for: server,
      turn: undefined,
    };
    this.#logins.set(key, login);
    let generation = 0;
    actor.subscribe({
      next: ({ value, context: { token } }) => {
        const now = token?.generation ?? 0;
        // Between a logout and the end of its step, the issuer may still accept the token.
        const isSettledNow = token === null ? value !== 'loggingOut' : value === 'authorized';
        if (!isSettledNow || now === generation) return;
        generation = now;
        this.#move(login, token === null);
      },
      error: (error) => this.#ports.parts.report('The chart of a login broke.', error),
    });
    return login;
  }

  /** Starts the servers that waited for the login; after a logout, ends the sessions that used it. */
  #move({ servers }: Login, isOut: boolean): void {
    for (const server of servers) {
      const state = this.#ports.board().status(server)?.state;
      if (state === undefined) continue;
      if (isOut && isUsable(state)) this.#ports.root().send({ type: 'server.reconnect', server });
      if (!isOut && state === 'authRequired')
        this.#ports.root().send({ type: 'auth.completed', server });
    }
  }

  async #headers(
    { actor, credential }: Login,
    method: string,
    url: URL,
  ): Promise<Readonly<Record<string, string>>> {
    if (this.#isUsable(actor)) return credential.headers(method, url);
    // Sleep or a changed wall clock: its timer has not noticed yet.
    actor.send({ type: 'clock.jumped', nowMs: this.#ports.parts.clock.wallNow() });
    actor.send({ type: 'token.wanted' });
    const snapshot = await until(actor, isSettled);
    if (this.#isUsable(actor)) return credential.headers(method, url);
    if (snapshot.value === 'retrying') throw unavailable(url, snapshot.context.failure?.message);
    return {};
  }

  async #refused(login: Login, refusal: Refusal): Promise<boolean> {
    const { id, actor, credential } = login;
    const { isNonce, lacks } = credential.noteRefusal(refusal);
    if (isNonce) return true;
    if (!credential.sent(refusal.sentWith)) {
      // Another request has renewed the token since, or there was none and it can be requested.
      if (this.#isUsable(actor)) return true;
      actor.send({ type: 'token.wanted' });
    } else if (lacks !== undefined) actor.send({ type: 'scope.insufficient', scopes: lacks });
    else if (refusal.status === 401 && this.#mayRenew(login))
      actor.send({ type: 'token.rejected', generation: credential.generation });
    else return false;
    const { value, context } = await until(actor, isSettled);
    if (value === 'retrying' && !this.#isUsable(actor))
      throw unavailable(new URL(id.resource), context.failure?.message);
    return this.#isUsable(actor) && !credential.sent(refusal.sentWith);
  }

  /**
   * Whether a refused token is renewed. A server that refuses every token would otherwise cause
   * renewals without end: each starts the servers that share the login, here and in other processes.
   */
  #mayRenew({ actor, renewals }: Login): boolean {
    // Only the first refusal of a token renews it.
    if (actor.getSnapshot().value !== 'authorized') return true;
    const now = this.#ports.parts.clock.now();
    while (renewals[0] !== undefined && now - renewals[0] > renewalsMs) renewals.shift();
    if (renewals.length >= maxRenewals) return false;
    renewals.push(now);
    return true;
  }

  #isUsable(actor: Login['actor']): boolean {
    const { token, isRejected } = actor.getSnapshot().context;
    if (token === null || isRejected) return false;
    return token.expiresAtMs === null || this.#ports.parts.clock.wallNow() < token.expiresAtMs;
  }
}

/** The chart with the steps of a credential. */
function chartOf(credential: Credential) {
  const step = (run: (wanted: readonly string[], signal: AbortSignal) => Promise<TokenStepDone>) =>
    fromPromise<TokenStepDone, StepInput>(({ input, signal }) => run(input.wanted, signal));
  return authorizationMachine.provide({
    actors: {
      load: step(() => credential.load()),
      discover: step((_, signal) => credential.discover(signal)),
      register: step((wanted, signal) => credential.register(wanted, signal)),
      askUser: step((wanted, signal) => credential.askUser(wanted, signal)),
      exchange: step((_, signal) => credential.exchange(signal)),
      request: step((wanted, signal) => credential.request(wanted, signal)),
      refresh: fromPromise<TokenStepDone, StepInput>(({ input, signal }) =>
        credential.refresh(input.isRejected, signal),
      ),
      forget: step((_, signal) => credential.forget(signal)),
    },
  });
}

/** Like `waitFor`, which never ends for an actor that was stopped before. */
async function until(
  actor: Login['actor'],
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

type Snapshot = ReturnType<Login['actor']['getSnapshot']>;

/** Whether no step is under way that a request waits for. */
function isSettled(snapshot: Snapshot): boolean {
  return !snapshot.hasTag('waits');
}

/** Whether a login or a logout has ended; further attempts may follow. */
function isAtRest(snapshot: Snapshot): boolean {
  const { value } = snapshot;
  return value === 'authorized' || value === 'retrying' || snapshot.matches('unauthorized');
}

/** Those of the server whose user logs in. */
function settingsNow(login: Login): OwnSettings | undefined {
  return login.own.get(login.for) ?? [...login.own.values()].at(-1);
}

function settingsOf({ oauth }: RemoteEndpoint): ResolvedOAuth | undefined {
  return oauth === false ? undefined : oauth;
}

function unavailable(url: URL, reason = 'the issuer did not answer'): RequestFailedError {
  const cause = new Error(`its token could not be renewed (${reason})`);
  return new RequestFailedError(url, Object.assign(cause, { code: 'TOKEN_UNAVAILABLE' }), false);
}

/** Identifies the client that the settings name. Nothing can be learnt from the digest of a secret key. */
function digestOf({
  grant,
  clientId,
  clientMetadataUrl,
  metadataUrl,
  issuer,
  identity,
}: ResolvedOAuth): string {
  const text = canonicalize({
    grant,
    clientId: clientId ?? null,
    clientMetadataUrl: clientMetadataUrl ?? null,
    metadataUrl: metadataUrl ?? null,
    issuer: issuer ?? null,
    ...(identity && { identity: { issuer: identity.issuer, clientId: identity.clientId } }),
  });
  return createHash('sha256')
    .update(text ?? '')
    .digest('base64url');
}
