/**
 * The steps of one credential's login, for the authorization chart. Codes, verifiers, client secrets
 * and tokens stay in here, in the store, and in the requests that carry them.
 *
 * A token is renewed under the store's lock. Whoever gets the lock second finds a newer generation
 * and takes it over instead of using a refresh token that was already used.
 */

import type { JsonWebKey } from 'node:crypto';

import type { StepDone, TokenStepDone } from '../../machines/authorization/setup.ts';
import type {
  AuthorizationFailure,
  CredentialId,
  Refusal,
} from '../../src/domain/authorization.ts';
import type { Clock } from '../../src/domain/clock.ts';
import { defined } from '../../src/policies/defined.ts';
import type { CredentialStore } from '../stores/credentials.ts';
import { CredentialStoreError, type StoredCredential } from '../stores/credentials-record.ts';
import type { Reach } from '../transports/http/reach.ts';
import type { ResolvedOAuth } from '../values/oauth.ts';
import { createIssuerConnection, type IssuerAccess, type IssuerConnection } from './access.ts';
import { type Challenge, readChallenge } from './challenge.ts';
import { type Client, findClient, registeredRedirects } from './client.ts';
import { clientSettingsOf, factsOf, grantOf, isPast, ownPathOf } from './credential-facts.ts';
import { type Discovered, discover } from './discovery.ts';
import { createDpopKey, type DpopKey, restoreDpopKey, tokenHeaders } from './dpop.ts';
import { requestToken } from './machine-grants.ts';
import type { Outcome, StepFailure } from './outcome.ts';
import { listenForRedirect, type RedirectListener } from './redirect-listener.ts';
import { type AuthorizationRequest, beginAuthorization } from './request.ts';
import { revoke } from './revocation.ts';
import { scopeList, scopesFor } from './scopes.ts';
import { exchange, refresh, type Tokens } from './tokens.ts';

export interface CredentialPorts {
  readonly key: string;
  readonly id: CredentialId;
  readonly server: URL;
  /** How the server is reached now, and thereby its issuer. */
  readonly reach: () => Reach | undefined;
  /** The server's login settings now; undefined if there are none. */
  readonly settings: () => ResolvedOAuth | undefined;
  /** Reads the values of the settings again, because assertions expire. Never rejects. */
  readonly freshSettings: () => Promise<ResolvedOAuth | undefined>;
  readonly store: CredentialStore;
  readonly clock: Clock;
  /**
   * Shows the URL to the user who asked for the login. Resolves with the URL that the user pasted;
   * never resolves if the user only uses the browser. Aborted when the login ends.
   */
  readonly showUrl: (url: URL, signal: AbortSignal) => Promise<URL>;
}

// A token that expires this soon would expire on its way.
const usableMs = 5_000;
// The lock is held for thirty seconds. Two answers, the second after a nonce, may take twenty of them,
// and no other process may use the refresh token meanwhile.
const preparingMs = 8_000;

export class Credential {
  readonly #ports: CredentialPorts;
  #connection: IssuerConnection | undefined;
  /** That of the connection. */
  #reach: Reach | undefined;
  #stored: StoredCredential | undefined;
  #dpop: DpopKey | undefined;
  #challenge: Challenge | undefined;
  #found: Discovered | undefined;
  #client: Client | undefined;
  /** The client id that the issuer no longer knows, so that another is registered. */
  #lostClientId: string | undefined;
  #listener: RedirectListener | undefined;
  #request: AuthorizationRequest | undefined;
  #response: URLSearchParams | undefined;
  /** Renewals that have been sent: their answers may be the only valid tokens. */
  readonly #redeeming = new Set<Promise<unknown>>();

  constructor(ports: CredentialPorts) {
    this.#ports = ports;
  }

  /** The generation of the token that requests carry; 0 without one. */
  get generation(): number {
    return this.#stored?.generation ?? 0;
  }

  /** The headers that carry the token; none without one. */
  async headers(method: string, url: URL): Promise<Readonly<Record<string, string>>> {
    if (this.#stored === undefined) return {};
    return tokenHeaders(this.#stored.tokens, method, url, this.#dpop?.session);
  }

  /** Whether a request was sent with the token that is now in force. */
  sent(sentWith: Readonly<Record<string, string>>): boolean {
    const { accessToken, tokenType } = this.#stored?.tokens ?? {};
    return sentWith['authorization'] === `${tokenType} ${accessToken}`;
  }

  /** Reads a refusal; `lacks` are the scopes that the token lacks, if that is the reason. */
  noteRefusal({ challenge, dpopNonce }: Refusal): {
    readonly isNonce: boolean;
    readonly lacks?: readonly string[];
  } {
    if (dpopNonce !== undefined) this.#dpop?.session.rememberNonce(this.#ports.server, dpopNonce);
    const read = readChallenge(challenge);
    if (read?.error === 'use_dpop_nonce' && this.#dpop !== undefined) return { isNonce: true };
    // A refusal without a challenge does not say where the metadata is, but an earlier one may have.
    this.#challenge = read ?? this.#challenge;
    if (read?.error !== 'insufficient_scope') return { isNonce: false };
    return { isNonce: false, lacks: scopeList(read.scope) };
  }

  async load(): Promise<TokenStepDone> {
    try {
      await this.#take(await this.#ports.store.read(this.#ports.key));
    } catch (error) {
      return this.#storeFailed(error);
    }
    return this.#token();
  }

  async discover(signal: AbortSignal): Promise<StepDone> {
    return this.#done(await this.#discover(signal));
  }

  async register(wanted: readonly string[], signal: AbortSignal): Promise<StepDone> {
    const found = this.#found;
    if (found === undefined) throw new Error('the issuer is not known yet');
    this.#listener?.close();
    let listener: RedirectListener;
    try {
      listener = await this.#listen();
    } catch (error) {
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'no port';
      const message = `No port for the response could be opened on this machine (${code}).`;
      return this.#failed({ kind: 'registration', message });
    }
    this.#listener = listener;
    const client = await this.#findClient(found, wanted, signal);
    // Another program may need the port, or another login.
    if (client.failed !== undefined || signal.aborted) listener.close();
    return this.#done(client);
  }

  async askUser(wanted: readonly string[], signal: AbortSignal): Promise<StepDone> {
    const [found, client, listener] = [this.#found, this.#client, this.#listener];
    if (found === undefined || client === undefined || listener === undefined)
      throw new Error('there is no client yet');
    const redirectUri = this.#ports.settings()?.redirectUri ?? listener.redirectUri;
    const begun = await beginAuthorization(this.#access(signal), found, client, {
      redirectUri,
      ...defined({ scope: this.#scope(found, wanted) }),
    });
    if (begun.failed !== undefined) {
      listener.close();
      return this.#failed(begun.failed);
    }
    const request = begun.value;
    this.#request = request;
    const state = request.url.searchParams.get('state');
    const isExpected = (response: URLSearchParams): boolean => response.get('state') === state;
    const over = new AbortController();
    const either = AbortSignal.any([signal, over.signal]);
    try {
      this.#response = await Promise.race([
        listener.response(isExpected, either),
        this.#ports.showUrl(request.url, either).then(({ searchParams }) => searchParams),
      ]);
    } finally {
      over.abort();
      listener.close();
    }
    return { nowMs: this.#now };
  }

  async exchange(signal: AbortSignal): Promise<TokenStepDone> {
    const [found, client] = [this.#found, this.#client];
    const [request, response] = [this.#request, this.#response];
    if (!found || !client || !request || !response) throw new Error('there is no response yet');
    const key = this.#isDpopWanted(found) ? await createDpopKey() : undefined;
    const outcome = await exchange(this.#access(signal), found, client, {
      request,
      response,
      ...(key !== undefined && { dpop: key.session }),
    });
    this.#request = undefined;
    this.#response = undefined;
    if (outcome.failed !== undefined) return this.#failed(this.#noted(outcome.failed, client));
    const record = this.#recordOf(found, client, outcome.value, key);
    return this.#update(() => Promise.resolve({ value: record }));
  }

  /** Requests a token without a user, under the lock, so that processes do not all request one. */
  request(wanted: readonly string[], signal: AbortSignal): Promise<TokenStepDone> {
    return this.#renew(async (current) => {
      const settings = await this.#ports.freshSettings();
      const grant = settings && grantOf(settings);
      if (grant === undefined) throw new Error('a user has to log in');
      const found = await this.#discover(signal);
      if (found.failed !== undefined) return found;
      const client = await this.#findClient(found.value, wanted, signal);
      if (client.failed !== undefined) return client;
      const key = await this.#dpopKey(current, found.value);
      const outcome = await requestToken(
        this.#access(signal),
        found.value,
        client.value,
        grant,
        defined({ scope: this.#scope(found.value, wanted), dpop: key?.session }),
      );
      if (outcome.failed !== undefined) return outcome;
      return { value: this.#recordOf(found.value, client.value, outcome.value, key) };
    });
  }

  /**
   * Renews the token under the lock, or takes over one that another process obtained.
   *
   * @param isRejected - whether a server refused the token before its time
   */
  refresh(isRejected: boolean, signal: AbortSignal): Promise<TokenStepDone> {
    const renewal = this.#renew(async (current) => {
      // Another process logged out meanwhile.
      if (current === undefined) return undefined;
      const begunAt = this.#ports.clock.now();
      const known = this.#found;
      const isKnown = known?.issuer === current.issuer;
      const found = isKnown ? { value: known } : await this.#discover(signal, current.issuer);
      if (found.failed !== undefined) return found;
      if (found.value.issuer !== current.issuer) {
        const message = 'The server now names another issuer; log in again.';
        return { failed: { kind: 'grant', message, isFinal: true } };
      }
      const client = await this.#clientOf(found.value, current, signal);
      if (client.failed !== undefined) return client;
      const key = await this.#dpopKey(current, found.value);
      if (signal.aborted) return undefined;
      if (this.#ports.clock.now() - begunAt > preparingMs) {
        const message = 'The issuer took too long to say where tokens are renewed.';
        return { failed: { kind: 'unavailable', message, isFinal: false } };
      }
      const { tokens } = current;
      // Once sent, it is not cancelled: the issuer may have replaced the refresh token already.
      const whole = this.#access(new AbortController().signal);
      const outcome = await refresh(whole, found.value, client.value, {
        tokens: tokens as Tokens,
        isEarly: !isRejected && !isPast(tokens.expiresAtMs, this.#now),
        ...(key !== undefined && { dpop: key.session }),
      });
      if (outcome.failed !== undefined) {
        this.#noted(outcome.failed, client.value);
        return outcome;
      }
      return { value: this.#recordOf(found.value, client.value, outcome.value, key) };
    });
    this.#redeeming.add(renewal);
    const forget = (): void => void this.#redeeming.delete(renewal);
    renewal.then(forget, forget);
    return renewal;
  }

  async forget(signal: AbortSignal): Promise<StepDone> {
    let stored = this.#stored;
    try {
      await this.#ports.store.update(this.#ports.key, (current) => {
        // Another process may have renewed it: its tokens are the ones to revoke.
        stored = current ?? stored;
        return Promise.resolve(null);
      });
      await this.#take(undefined);
    } catch (error) {
      return this.#storeFailed(error);
    }
    if (stored !== undefined) await this.#revoke(stored, signal);
    return { nowMs: this.#now };
  }

  /** Resolves when a renewal that was sent has been stored. Never rejects. */
  async close(): Promise<void> {
    this.#listener?.close();
    await Promise.allSettled(this.#redeeming);
    this.#connection?.close();
  }

  /** Courtesy: the token is gone from this machine whatever the issuer answers. */
  async #revoke(stored: StoredCredential, signal: AbortSignal): Promise<void> {
    const { issuer } = stored;
    const found = await this.#discover(signal, issuer);
    if (found.failed !== undefined || found.value.issuer !== issuer) return;
    const client = await this.#clientOf(found.value, stored, signal);
    if (client.failed !== undefined) return;
    await revoke(this.#access(signal), found.value, client.value, stored.tokens);
  }

  /** Obtains a token under the lock unless another process stored a usable one meanwhile. */
  #renew(obtain: Obtain): Promise<TokenStepDone> {
    const known = this.generation;
    return this.#update(async (current) => {
      const isOther = current !== undefined && current.generation !== known;
      if (isOther && !isPast(current.tokens.expiresAtMs, this.#now + usableMs)) return undefined;
      return obtain(current);
    });
  }

  /** Changes the stored credential, which is durable before any request carries the new token. */
  async #update(obtain: Obtain): Promise<TokenStepDone> {
    let failure: StepFailure | undefined;
    try {
      const next = await this.#ports.store.update(this.#ports.key, async (current) => {
        const outcome = await obtain(current);
        failure = outcome?.failed;
        if (outcome === undefined || outcome.failed !== undefined) return undefined;
        return { ...outcome.value, generation: (current?.generation ?? 0) + 1 };
      });
      if (failure !== undefined) return this.#failed(failure);
      await this.#take(next);
    } catch (error) {
      return this.#storeFailed(error);
    }
    return this.#token();
  }

  /** Notes that the issuer no longer knows the client, as when it deletes those that registered. */
  #noted(failed: StepFailure, { information }: Client): StepFailure {
    const isLost = failed.code === 'invalid_client' || failed.code === 'unauthorized_client';
    if (isLost) this.#lostClientId = information.client_id;
    return failed;
  }

  #recordOf(
    found: Discovered,
    { information }: Client,
    tokens: Tokens,
    key: DpopKey | undefined,
  ): NewRecord {
    return {
      id: this.#ports.id,
      issuer: found.issuer,
      client: information,
      tokens,
      ...(key !== undefined && { dpopKey: key.jwk }),
      obtainedAtMs: this.#now,
    };
  }

  async #take(stored: StoredCredential | undefined): Promise<void> {
    const jwk = stored?.dpopKey;
    this.#dpop = jwk === undefined ? undefined : await this.#dpopOf(jwk);
    this.#stored = stored;
  }

  async #dpopOf(jwk: JsonWebKey): Promise<DpopKey> {
    // The session in use remembers nonces.
    return this.#dpop !== undefined && this.#dpop.jwk.x === jwk.x
      ? this.#dpop
      : restoreDpopKey(jwk);
  }

  async #dpopKey(
    current: StoredCredential | undefined,
    found: Discovered,
  ): Promise<DpopKey | undefined> {
    if (current?.dpopKey !== undefined) return this.#dpopOf(current.dpopKey);
    return this.#isDpopWanted(found) ? createDpopKey() : undefined;
  }

  #isDpopWanted(found: Discovered): boolean {
    return found.isDpopWanted || this.#ports.settings()?.dpop === true;
  }

  async #discover(
    signal: AbortSignal,
    issuer = this.#stored?.issuer,
  ): Promise<Outcome<Discovered>> {
    const { server, settings } = this.#ports;
    const pinned = settings();
    const hints = defined({
      challenge: this.#challenge,
      issuer,
      requiredIssuer: pinned?.issuer,
      metadataUrl: pinned?.metadataUrl,
    });
    const found = await discover(this.#access(signal), server, hints);
    if (found.failed === undefined) this.#found = found.value;
    return found;
  }

  async #findClient(
    found: Discovered,
    wanted: readonly string[],
    signal: AbortSignal,
  ): Promise<Outcome<Client>> {
    const settings = this.#ports.settings();
    const isLost = this.#stored?.client.client_id === this.#lostClientId;
    const stored = isLost ? undefined : this.#stored;
    const uri = settings?.redirectUri ?? this.#listener?.redirectUri;
    const client = await findClient(this.#access(signal), found, {
      redirectUris: uri === undefined ? [] : [uri],
      ...defined({
        settings: settings && clientSettingsOf(settings),
        stored: stored && { issuer: stored.issuer, information: stored.client },
        scope: this.#scope(found, wanted),
      }),
    });
    if (client.failed === undefined) this.#client = client.value;
    return client;
  }

  /** Returns the client that obtained the token; a renewal never registers another. */
  #clientOf(
    found: Discovered,
    { client }: StoredCredential,
    signal: AbortSignal,
  ): Promise<Outcome<Client>> {
    if (this.#ports.settings()?.clientId !== undefined) return this.#findClient(found, [], signal);
    return Promise.resolve({ value: { how: 'stored', information: client } });
  }

  #listen(): Promise<RedirectListener> {
    const { callbackPort, redirectUri } = this.#ports.settings() ?? {};
    if (callbackPort !== undefined)
      return listenForRedirect([callbackPort], true, ownPathOf(redirectUri));
    const earlier = this.#stored === undefined ? [] : registeredRedirects(this.#stored.client);
    // The port of the registration, so that no new client is needed.
    const ports = earlier.map((uri) => Number(new URL(uri).port)).filter((each) => each > 0);
    return listenForRedirect(ports, false);
  }

  #scope(found: Discovered, wanted: readonly string[]): string | undefined {
    const challenged = [...wanted, ...scopeList(this.#challenge?.scope)].join(' ');
    return scopesFor(found, {
      ...defined({ pinned: this.#ports.settings()?.scopes }),
      ...(challenged !== '' && { challenged }),
      granted: scopeList(this.#stored?.tokens.scope),
    });
  }

  /** Each step goes the way of the server's latest session, as far as it has begun by then. */
  #access(signal: AbortSignal): IssuerAccess {
    const { server, clock } = this.#ports;
    const reach = this.#ports.reach();
    if (reach !== this.#reach) {
      this.#connection?.close();
      this.#connection = undefined;
      this.#reach = reach;
    }
    this.#connection ??= createIssuerConnection(server, clock, { reach });
    return this.#connection.access(signal);
  }

  get #now(): number {
    return this.#ports.clock.wallNow();
  }

  #token(): TokenStepDone {
    return { nowMs: this.#now, token: this.#stored === undefined ? null : factsOf(this.#stored) };
  }

  #done({ failed }: Outcome<unknown>): StepDone {
    return failed === undefined ? { nowMs: this.#now } : this.#failed(failed);
  }

  #failed({ kind, message, retryAfterMs }: AuthorizationFailure): TokenStepDone {
    return { nowMs: this.#now, failure: { kind, message, ...defined({ retryAfterMs }) } };
  }

  /** The store's messages contain no secrets. */
  #storeFailed(error: unknown): TokenStepDone {
    if (!(error instanceof CredentialStoreError)) throw error;
    return this.#failed({ kind: 'store', message: error.message });
  }
}

type NewRecord = Omit<StoredCredential, 'generation'>;
/** Resolves with a new record, a failure, or undefined to keep the current record. */
type Obtain = (current: StoredCredential | undefined) => Promise<Outcome<NewRecord> | undefined>;
