/**
 * Keeps one login for each credential, and connects it with sessions, servers and users. The
 * authorization chart decides what happens next.
 */

import { createActor } from 'xstate';
import { Credential } from '../../../actors/authorization/credential.ts';
import { grantOf } from '../../../actors/authorization/credential-facts.ts';
import type { CredentialPorts } from '../../../actors/authorization/credential-ports.ts';
import type { SessionOwner } from '../../../actors/session/ports.ts';
import type { CredentialStore } from '../../../actors/stores/credentials.ts';
import { credentialKey } from '../../../actors/stores/credentials-record.ts';
import type { LoginDemandStore } from '../../../actors/stores/login-demands.ts';
import { asHttp, canonicalResource } from '../../../actors/transports/http/addresses.ts';
import type { RemoteEndpoint } from '../../../actors/transports/http/proxy-and-tls.ts';
import type {
  Account,
  Authenticator,
  CredentialId,
  Refusal,
  StoredLogin,
} from '../../domain/authorization.ts';
import { defined } from '../../domain/data/defined.ts';
import type { ServerPolicy } from '../../domain/policy.ts';
import type { ServerSpec } from '../../domain/server-spec.ts';
import { isUsable } from '../../domain/server-state.ts';
import type { Problem } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import type { SharedPorts } from '../shared-ports.ts';
import type { LoginOptions } from '../troupe.ts';
import { accountsOf, endpointOf, factsOf, loginsAt, plainKeyOf } from './accounts.ts';
import { digestOf } from './client-digest.ts';
import {
  type BegunLogin,
  type Login,
  loginError,
  missingToken,
  newLogin,
  noteSession,
  notWaiting,
  ownerOf,
  refuseOther,
  type Shown,
  settingsNow,
} from './login.ts';
import {
  chartOf,
  DemandingSession,
  hasUsableToken,
  isAtRest,
  isReady,
  isSettled,
  keepDemands,
  type LoginActor,
  settledToken,
  tokenUnavailable,
  until,
} from './login-actor.ts';
import type { LoginService, NoteLogin } from './login-service.ts';

export class Authorizations implements LoginService {
  readonly #ports: SharedPorts;
  readonly #store: CredentialStore | undefined;
  readonly #demands: LoginDemandStore | undefined;
  readonly #logins = new Map<string, Login>();
  /** The login that each server uses. */
  readonly #loginOf = new Map<string, Login>();
  readonly #chart = chartOf((key) => this.#logins.get(key)?.begun as BegunLogin);
  /** Numbers the charts, even after some are forgotten. */
  #begunCount = 0;
  readonly #note: NoteLogin;
  readonly #unlisten: (() => void) | undefined;

  constructor(ports: SharedPorts, note: NoteLogin = () => undefined) {
    this.#ports = ports;
    this.#note = note;
    const onProblems = (list: readonly Problem[]): void => ports.problems.set('credentials', list);
    this.#store = ports.parts.keepCredentials?.(onProblems);
    this.#demands = ports.parts.keepLoginDemands?.();
    this.#unlisten = this.#store?.listen((key) => {
      const login = this.#logins.get(key);
      if (login) (login.begun ?? this.#begun(login)).actor.send({ type: 'store.changed' });
    });
  }

  authenticatorFor(owner: SessionOwner, endpoint: RemoteEndpoint): Authenticator | undefined {
    const { server } = owner;
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
    const login = this.#loginFor(id, server, endpoint);
    const session = new DemandingSession(owner, login.unasked);
    return {
      headers: (method, at) => this.#headers(login, session, method, at),
      refused: async (refusal) => {
        if (this.#isForgotten(login)) return false;
        const begun = this.#begun(login);
        const mayRepeat = await this.#refused(login, begun, refusal);
        if (refusal.status === 401 && !hasUsableToken(begun.actor, this.#now))
          session.refused(begun.actor, this.#now);
        return mayRepeat;
      },
      failure: () => {
        const actor = login.begun?.actor;
        if (actor === undefined || hasUsableToken(actor, this.#now)) return undefined;
        return missingToken(actor.getSnapshot().context);
      },
    };
  }

  knows(server: string): boolean {
    return this.#loginOf.get(server)?.unasked.has(server) === false;
  }

  scopesFor(server: string): readonly string[] | undefined {
    return this.#loginOf.get(server)?.begun?.credential.challengedScopes;
  }

  async login(
    server: string,
    { signal, device = false, joins = false }: Omit<LoginOptions, 'timeoutMs'> = {},
  ): Promise<void> {
    const login = this.#of(server);
    const { waiting } = login;
    const { actor } = this.#begun(login);
    try {
      await until(actor, isReady, signal);
      waiting.push(server);
      try {
        const isJoined = joins && actor.getSnapshot().matches('signingIn');
        if (!isJoined) this.#request(login, actor, server, device);
        else if (login.shown !== undefined)
          this.#ports.listeners.emit('auth.started', { server, ...login.shown });
        const { context, value } = await until(actor, isAtRest, signal);
        if (value === 'authorized' && context.failure === null) return;
        throw loginError(server, context.failure, this.#ports);
      } finally {
        waiting.splice(waiting.indexOf(server), 1);
        // Others may wait for the same login, or for one that replaced it.
        if (signal?.aborted === true && waiting.length === 0)
          actor.send({ type: 'login.cancelled' });
      }
    } catch (error) {
      if (signal?.aborted !== true) throw error;
      throw new TroupeError('CANCELLED', `the login to ${server} was cancelled`, { server });
    }
  }

  #request(login: Login, actor: LoginActor, server: string, device: boolean): void {
    login.for = server;
    login.shown = undefined;
    login.endsAtMs = this.#now + actor.getSnapshot().context.loginTimeoutMs;
    actor.send({ type: 'login.requested', device });
  }

  finishLogin(server: string, url: URL): void {
    const { redirected, shown } = this.#loginOf.get(server) ?? {};
    if (redirected === undefined || shown === undefined) throw notWaiting(server);
    refuseOther(new URL(shown.url), url);
    redirected(url);
  }

  noteChallenge(server: string, challenge: string): void {
    const login = this.#loginOf.get(server);
    if (login === undefined || this.#isForgotten(login)) return;
    const { credential, actor } = this.#begun(login);
    const { lacks } = credential.noteRefusal({ status: 401, challenge, sentWith: {} });
    if (lacks !== undefined) actor.send({ type: 'scope.insufficient', scopes: lacks });
  }

  async logout(server: string): Promise<void> {
    return this.#end(this.#of(server), server);
  }

  async forget(which: StoredLogin): Promise<void> {
    const found = loginsAt((await this.#store?.list()) ?? [], which);
    for (const { key, id } of found) {
      const endpoint = await endpointOf(id, this.#ports.parts.env);
      const known = this.#logins.get(key);
      const login = known ?? this.#create(id, key, '', endpoint);
      await this.#end(login, id.resource);
      if (login.servers.size > 0) continue;
      login.begun?.actor.stop();
      this.#logins.delete(key);
      void login.begun?.credential.close();
    }
  }

  async accounts(specs: ReadonlyMap<string, ServerSpec | undefined>): Promise<readonly Account[]> {
    const list = (await this.#store?.list()) ?? [];
    const plain = [...specs].map(([name, spec]) => [name, plainKeyOf(spec)] as const);
    return accountsOf(list, this.#now, (key) => {
      const { servers = [], begun } = this.#logins.get(key) ?? {};
      const others = plain.filter(([, its]) => its === key).map(([name]) => name);
      const { token } = begun?.actor.getSnapshot().context ?? {};
      return { servers: [...servers, ...others], renewalRefusal: token?.renewalRefusal?.message };
    });
  }

  retain(isPresent: (server: string) => boolean): void {
    for (const [key, login] of this.#logins) {
      const gone = [...login.servers].filter((server) => !isPresent(server));
      for (const server of gone) this.#leave(server);
      // One that is under way ends by itself, and a forgotten one with its logout.
      const { begun, waiting } = login;
      const isIdle = begun === undefined || isReady(begun.actor.getSnapshot());
      if (gone.length === 0 || login.servers.size > 0 || !isIdle || waiting.length > 0) continue;
      begun?.actor.stop();
      this.#logins.delete(key);
      void begun?.credential.close();
    }
  }

  async close(): Promise<void> {
    this.#unlisten?.();
    const logins = [...this.#logins.values()].flatMap(({ begun = [] }) => begun);
    for (const { actor } of logins) actor.stop();
    this.#logins.clear();
    await Promise.all(logins.map(({ credential }) => credential.close()));
    await this.#demands?.close();
    await this.#store?.close();
  }

  #showing(login: Login): Pick<CredentialPorts, 'showUrl' | 'showCode'> {
    return {
      showUrl: ({ url, scopes, offersDevice, resource }, signal) =>
        new Promise((resolve) => {
          login.redirected = resolve;
          signal.addEventListener('abort', () => {
            login.redirected = undefined;
            login.shown = undefined;
          });
          this.#show(login, {
            url: url.href,
            scopes,
            ...(offersDevice && { offersDevice }),
            ...defined({ resource }),
          });
        }),
      showCode: ({ url, completeUrl = url, userCode, lifetimeMs, scopes, resource }) => {
        const device = { url: completeUrl, verificationUri: url, userCode };
        const shown = { ...device, scopes, ...defined({ resource }) };
        this.#show(login, shown, this.#now + lifetimeMs);
      },
    };
  }

  /** Shows the user what to open to log in, and by when. */
  #show(login: Login, shown: Omit<Shown, 'expiresAt'>, endsAtMs = Number.POSITIVE_INFINITY): void {
    const expiresAt = new Date(Math.min(login.endsAtMs, endsAtMs)).toISOString();
    login.shown = { ...shown, expiresAt };
    for (const server of new Set(login.waiting))
      this.#ports.listeners.emit('auth.started', { server, ...login.shown });
  }

  async #end(login: Login, server: string): Promise<void> {
    const { actor } = this.#begun(login);
    await until(actor, isSettled);
    actor.send({ type: 'logout.requested' });
    const { context } = await until(actor, isAtRest);
    if (context.failure === null) return;
    const message = `the logout from ${server} failed: ${context.failure.message}`;
    throw new TroupeError('UNAVAILABLE', message, { server });
  }

  #of(server: string): Login {
    const found = this.#loginOf.get(server);
    if (found !== undefined) return found;
    throw new TroupeError('USAGE', `${server} has not asked for a login`, { server });
  }

  /** Removes a server whose settings changed from its earlier login. */
  #leave(server: string): void {
    const login = this.#loginOf.get(server);
    if (login === undefined) return;
    this.#loginOf.delete(server);
    login.own.delete(server);
    login.servers.delete(server);
    this.#noteSharing(login);
  }

  #loginFor(id: CredentialId, server: string, endpoint: RemoteEndpoint): Login {
    const key = credentialKey(id);
    const known = this.#logins.get(key);
    if (known !== this.#loginOf.get(server)) this.#leave(server);
    const login = known ?? this.#create(id, key, server, endpoint);
    if (!login.servers.has(server)) {
      this.#loginOf.set(server, login);
      login.servers.add(server);
      this.#noteSharing(login);
    }
    noteSession(login, server, endpoint);
    // Its token is requested without a user, or its demands are remembered.
    const isWanted = endpoint.oauth !== undefined || this.#policyOf(server).rememberMs > 0;
    if (isWanted) this.#begun(login);
    return login;
  }

  #noteSharing(login: Login): void {
    if (login.begun !== undefined) this.#note(login.begun.actor, factsOf(login));
  }

  #policyOf(server: string): ServerPolicy['auth'] {
    return this.#ports.book.policyOf(server).auth;
  }

  #create(id: CredentialId, key: string, server: string, endpoint: RemoteEndpoint): Login {
    const login = newLogin(id, key, server, endpoint);
    this.#logins.set(key, login);
    return login;
  }

  /** Returns the login's chart and credential; created and started at the first call. */
  #begun(login: Login): BegunLogin {
    if (login.begun !== undefined) return login.begun;
    const { id, key, server } = login;
    const settings = settingsNow(login)?.settings;
    const auth = this.#policyOf(ownerOf(login));
    const { clock, seed } = this.#ports.parts;
    const credential = new Credential({
      key,
      id,
      server,
      reach: () => login.reach,
      settings: () => settingsNow(login)?.settings,
      freshSettings: async () => {
        const own = settingsNow(login);
        // If a value is missing, the issuer refuses the old one.
        const fresh = await own?.readOAuth?.().catch(() => undefined);
        if (own !== undefined) own.settings = fresh ?? own.settings;
        return own?.settings;
      },
      store: this.#store as CredentialStore,
      clock,
      ...this.#showing(login),
    });
    const demands = auth.rememberMs > 0 ? this.#demands : undefined;
    const actor = createActor(this.#chart, {
      id: `login.${this.#begunCount}`,
      clock,
      input: {
        id: key,
        seed,
        needsUser: settings === undefined || grantOf(settings) === undefined,
        refreshAheadMs: auth.refreshAheadMs,
        loginTimeoutMs: auth.loginTimeoutMs,
        maxStepUps: auth.stepUps,
        rememberMs: auth.rememberMs,
      },
    });
    keepDemands(actor, key, demands);
    this.#begunCount += 1;
    login.begun = { actor, credential, demands };
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
    this.#noteSharing(login);
    actor.start();
    return login.begun;
  }

  /** Starts the servers that waited for the token; after a logout, ends the sessions that used it. */
  #move({ servers }: Login, isOut: boolean): void {
    for (const server of servers) {
      const state = this.#ports.board().status(server)?.state;
      if (state === undefined) continue;
      if (!isOut && state === 'authRequired')
        this.#ports.root().send({ type: 'auth.completed', server });
      // A server may be backing off because the issuer did not respond.
      if (isOut ? isUsable(state) : state === 'backingOff')
        this.#ports.root().send({ type: 'server.reconnect', server });
    }
  }

  async #headers(
    login: Login,
    session: DemandingSession,
    method: string,
    url: URL,
  ): Promise<Readonly<Record<string, string>>> {
    if (login.begun === undefined && !(await this.#mayBeStored(login))) return {};
    if (this.#isForgotten(login)) return {};
    const { actor, credential } = this.#begun(login);
    if (hasUsableToken(actor, this.#now)) return credential.headers(method, url);
    const snapshot = await settledToken(actor, this.#now);
    if (hasUsableToken(actor, this.#now)) return credential.headers(method, url);
    if (snapshot.value === 'retrying')
      throw tokenUnavailable(url, snapshot.context.failure?.message);
    session.begin(actor, this.#now);
    return {};
  }

  /** Whether no server uses the login any more. A request that ends late must not begin it. */
  #isForgotten(login: Login): boolean {
    return login.begun === undefined && this.#logins.get(login.key) !== login;
  }

  /** Asks the store once; it reports what other processes store later. */
  #mayBeStored(login: Login): Promise<boolean> {
    login.isStored ??= (this.#store as CredentialStore).mayHold(login.key);
    return login.isStored;
  }

  async #refused(
    { id }: Login,
    { actor, credential }: BegunLogin,
    refusal: Refusal,
  ): Promise<boolean> {
    const { isNonce, lacks } = credential.noteRefusal(refusal);
    if (isNonce) return true;
    if (!credential.sent(refusal.sentWith)) {
      // Another request has renewed the token since, or there was none and it can be requested.
      if (hasUsableToken(actor, this.#now)) return true;
      actor.send({ type: 'token.wanted' });
    } else if (lacks !== undefined) actor.send({ type: 'scope.insufficient', scopes: lacks });
    else if (refusal.status === 401)
      actor.send({
        type: 'token.rejected',
        generation: credential.generation,
        nowMs: this.#now,
      });
    else return false;
    const { value, context } = await until(actor, isSettled);
    if (value === 'retrying' && !hasUsableToken(actor, this.#now))
      throw tokenUnavailable(new URL(id.resource), context.failure?.message);
    return hasUsableToken(actor, this.#now) && !credential.sent(refusal.sentWith);
  }

  get #now(): number {
    return this.#ports.parts.clock.wallNow();
  }
}
