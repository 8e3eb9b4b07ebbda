/**
 * The steps of one credential's login, for the authorization chart. Codes, verifiers, client
 * secrets and tokens stay in this file, in the store, and in the requests that carry them.
 *
 * A token is renewed under the store's lock. A process that gets the lock second finds a newer
 * generation and uses it instead of a spent refresh token.
 *
 * The steps that talk to an issuer use the SDK's OAuth, which is slow to load. They import it when
 * they run, so a remote server that wants no login does not pay for it.
 */

import type { JsonWebKey } from 'node:crypto';

import type {
  CodeStepDone,
  PollStepDone,
  StepDone,
  TokenStepDone,
} from '../../machines/authorization/authorization-setup.ts';
import type { AuthorizationFailure, Refusal } from '../../src/domain/authorization.ts';
import { defined } from '../../src/domain/data/defined.ts';
import { CredentialStoreError, type StoredCredential } from '../stores/credentials-record.ts';
import type { ResolvedOAuth } from '../values/oauth.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import { type Challenge, latestChallenge, readChallenge } from './challenge.ts';
import {
  asksFor,
  clientSettingsOf,
  factsOf,
  grantOf,
  isPast,
  type NewRecord,
  recordOf,
  tokenHeaders,
} from './credential-facts.ts';
import { type Asked, type CredentialPorts, plain, type Scopes } from './credential-ports.ts';
import type { DeviceLogin } from './device.ts';
import type { Discovered } from './discovery.ts';
import type { DpopKey } from './dpop.ts';
import {
  createKey,
  discoverIssuer,
  IssuerRoute,
  listenFor,
  noDevice,
  responseTo,
  restoreKey,
} from './issuer-route.ts';
import { KnownClients } from './known-clients.ts';
import type { Client } from './oauth-client.ts';
import type { Outcome, StepFailure } from './outcome.ts';
import type { RedirectListener } from './redirect-listener.ts';
import { hasLess, scopeList, scopesFor } from './scopes.ts';
import type { Tokens } from './tokens.ts';

// A token that expires this soon would expire on its way.
const usableMs = 5_000;
// The lock is held for thirty seconds. Two answers, the second after a nonce, may take twenty of them,
// and no other process may use the refresh token meanwhile.
const preparingMs = 8_000;

export class Credential {
  readonly #ports: CredentialPorts;
  readonly #way: IssuerRoute;
  #stored: StoredCredential | undefined;
  #dpop: DpopKey | undefined;
  #challenge: Challenge | undefined;
  #found: Discovered | undefined;
  #client: Client | undefined;
  readonly #clients = new KnownClients();
  #listener: RedirectListener | undefined;
  #request: AuthorizationRequest | undefined;
  #response: URLSearchParams | undefined;
  #device: { readonly login: DeviceLogin; readonly key: DpopKey | undefined } | undefined;
  /** Renewals that have been sent: their responses may hold the only valid tokens. */
  readonly #redeeming = new Set<Promise<unknown>>();

  constructor(ports: CredentialPorts) {
    this.#ports = ports;
    this.#way = new IssuerRoute(ports);
  }

  /** The generation of the token that requests carry; 0 without one. */
  get generation(): number {
    return this.#stored?.generation ?? 0;
  }

  /** The scopes that the server's latest refusal named. */
  get challengedScopes(): readonly string[] {
    return scopeList(this.#challenge?.scope);
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

  /** Reads a refusal; `lacks` lists the missing scopes, if they are the reason. */
  noteRefusal({ challenge, dpopNonce }: Refusal): {
    readonly isNonce: boolean;
    readonly lacks?: readonly string[];
  } {
    if (dpopNonce !== undefined) this.#dpop?.session.rememberNonce(this.#ports.server, dpopNonce);
    const read = readChallenge(challenge);
    if (read?.error === 'use_dpop_nonce' && this.#dpop !== undefined) return { isNonce: true };
    this.#challenge = latestChallenge(this.#challenge, read);
    if (read?.error !== 'insufficient_scope') return { isNonce: false };
    return { isNonce: false, lacks: scopeList(read.scope) };
  }

  async load(signal: AbortSignal): Promise<TokenStepDone> {
    try {
      const stored = await this.#ports.store.read(this.#ports.key);
      // It is read again later, and may be newer then.
      if (!signal.aborted) await this.#take(stored);
    } catch (error) {
      return this.#storeFailed(error);
    }
    return this.#token();
  }

  async discover(signal: AbortSignal): Promise<StepDone> {
    return this.#done(await this.#discover(signal));
  }

  async register(asked: Asked, signal: AbortSignal): Promise<StepDone> {
    const found = this.#found;
    if (found === undefined) throw new Error('the issuer is not known yet');
    if (asked.isOnDevice && !found.offers.device) return this.#failed(await noDevice(found));
    this.#listener?.close();
    this.#listener = undefined;
    const settings: Partial<ResolvedOAuth> = this.#ports.settings() ?? {};
    let listener: RedirectListener | undefined;
    // On another device only a registration needs an address.
    if (!asked.isOnDevice || (settings.clientId ?? settings.redirectUri) === undefined) {
      const listening = await listenFor(settings, this.#clients.known(this.#stored));
      if (listening.failed !== undefined) return this.#failed(listening.failed);
      listener = listening.value;
    }
    this.#listener = listener;
    const client = await this.#findClient(found, asked, signal);
    // Another program may need the port, or another login.
    if (client.failed !== undefined || asked.isOnDevice || signal.aborted) listener?.close();
    return this.#done(client, asked);
  }

  async askUser(asked: Asked, signal: AbortSignal): Promise<StepDone> {
    const [found, client, listener] = [this.#found, this.#client, this.#listener];
    if (found === undefined || client === undefined || listener === undefined)
      throw new Error('there is no client yet');
    const redirectUri = this.#ports.settings()?.redirectUri ?? listener.redirectUri;
    const scope = this.#scope(found, asked);
    const { beginAuthorization } = await import('./authorization-request.ts');
    const begun = await beginAuthorization(this.#way.access(signal), found, client, {
      redirectUri,
      ...defined({ scope }),
    });
    if (begun.failed !== undefined || signal.aborted) listener.close();
    // Nobody waits for the response any more.
    signal.throwIfAborted();
    if (begun.failed !== undefined) return this.#failed(begun.failed);
    this.#request = begun.value;
    const { url } = begun.value;
    const shown = { url, offersDevice: found.offers.device, ...asksFor(this.#ports, found, scope) };
    this.#response = await responseTo(listener, (until) => this.#ports.showUrl(shown, until), {
      state: url.searchParams.get('state'),
      signal,
    });
    return { nowMs: this.#now };
  }

  async requestCode(asked: Asked, signal: AbortSignal): Promise<CodeStepDone> {
    const [found, client] = [this.#found, this.#client];
    if (found === undefined || client === undefined) throw new Error('there is no client yet');
    const scope = this.#scope(found, asked);
    const { beginDeviceLogin } = await import('./device.ts');
    const begun = await beginDeviceLogin(this.#way.access(signal), found, client, scope);
    if (begun.failed !== undefined) return this.#done(begun, asked);
    const login = begun.value;
    const key = this.#isDpopWanted(found) ? await createKey() : undefined;
    this.#device = { login, key };
    const { intervalMs, lifetimeMs } = login;
    if (!signal.aborted) this.#ports.showCode({ ...login, ...asksFor(this.#ports, found, scope) });
    return { nowMs: this.#now, device: { intervalMs, lifetimeMs } };
  }

  async poll(asked: Asked, signal: AbortSignal): Promise<PollStepDone> {
    const [found, client, device] = [this.#found, this.#client, this.#device];
    if (!found || !client || !device) throw new Error('there is no code yet');
    const { login, key } = device;
    const { pollDeviceLogin } = await import('./device.ts');
    const access = this.#way.access(signal);
    const outcome = await pollDeviceLogin(access, found, client, login, key?.session);
    if (outcome.failed !== undefined) return this.#failed(outcome.failed);
    const { value } = outcome;
    if (value.pending !== undefined) return { nowMs: this.#now, pending: value.pending };
    this.#device = undefined;
    const record = this.#recordOf(found, client, value.tokens, key);
    return this.#update(asked, () => Promise.resolve({ value: record }));
  }

  async exchange(asked: Asked, signal: AbortSignal): Promise<TokenStepDone> {
    const [found, client] = [this.#found, this.#client];
    const [request, response] = [this.#request, this.#response];
    if (!found || !client || !request || !response) throw new Error('there is no response yet');
    const key = this.#isDpopWanted(found) ? await createKey() : undefined;
    const { exchange } = await import('./tokens.ts');
    const outcome = await exchange(this.#way.access(signal), found, client, {
      request,
      response,
      ...(key !== undefined && { dpop: key.session }),
    });
    this.#request = undefined;
    this.#response = undefined;
    if (outcome.failed !== undefined) {
      this.#clients.note(outcome.failed, client);
      return this.#done(outcome, asked);
    }
    const record = this.#recordOf(found, client, outcome.value, key);
    return this.#update(asked, () => Promise.resolve({ value: record }));
  }

  /** Requests a token without a user, under the lock, so that processes do not all request one. */
  request(asked: Asked, signal: AbortSignal): Promise<TokenStepDone> {
    return this.#renew(asked, async (current) => {
      const settings = await this.#ports.freshSettings();
      const grant = settings && grantOf(settings);
      if (grant === undefined) throw new Error('a user has to log in');
      const found = await this.#discover(signal);
      if (found.failed !== undefined) return found;
      const client = await this.#findClient(found.value, asked, signal);
      if (client.failed !== undefined) return client;
      const key = await this.#dpopKey(current, found.value);
      const { requestToken } = await import('./machine-grants.ts');
      const outcome = await requestToken(
        this.#way.access(signal),
        found.value,
        client.value,
        grant,
        defined({
          scope: this.#scope(found.value, asked),
          dpop: key?.session,
          providerAccess:
            grant.type === 'enterprise'
              ? this.#way.accessTo(grant.provider.issuer, signal)
              : undefined,
        }),
      );
      if (outcome.failed !== undefined) return outcome;
      return { value: this.#recordOf(found.value, client.value, outcome.value, key) };
    });
  }

  /** Renews the token under the lock, or takes over one that another process obtained. */
  refresh(asked: Asked, signal: AbortSignal): Promise<TokenStepDone> {
    const renewal = this.#renew(asked, async (current) => {
      // Another process logged out meanwhile.
      if (current === undefined) return undefined;
      const begunAt = this.#ports.clock.now();
      const known = this.#found;
      const isKnown = known?.issuer === current.issuer;
      const found = isKnown ? { value: known } : await this.#discover(signal, current.issuer);
      // It says nothing about the refresh token, and another login would meet the same.
      if (found.failed !== undefined) return { failed: { ...found.failed, kind: 'unavailable' } };
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
      const whole = this.#way.access(new AbortController().signal);
      const { refresh } = await import('./tokens.ts');
      const outcome = await refresh(whole, found.value, client.value, {
        tokens: tokens as Tokens,
        isEarly: !asked.isRejected && !isPast(tokens.expiresAtMs, this.#now),
        ...(key !== undefined && { dpop: key.session }),
      });
      if (outcome.failed !== undefined) {
        this.#clients.note(outcome.failed, client.value);
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
    if (stored !== undefined && this.#way.fits(this.#ports.id)) await this.#revoke(stored, signal);
    return { nowMs: this.#now };
  }

  /** Resolves when a renewal that was sent has been stored. Never rejects. */
  async close(): Promise<void> {
    this.#listener?.close();
    await Promise.allSettled(this.#redeeming);
    this.#way.close();
  }

  /** A courtesy: the token is deleted from this machine whatever the issuer answers. */
  async #revoke(stored: StoredCredential, signal: AbortSignal): Promise<void> {
    const { issuer } = stored;
    const found = await this.#discover(signal, issuer);
    if (found.failed !== undefined || found.value.issuer !== issuer) return;
    const client = await this.#clientOf(found.value, stored, signal);
    if (client.failed !== undefined) return;
    const { revoke } = await import('./revocation.ts');
    await revoke(this.#way.access(signal), found.value, client.value, stored.tokens);
  }

  /** Obtains a token under the lock unless another process stored a usable one meanwhile. */
  #renew(asked: Asked, obtain: Obtain): Promise<TokenStepDone> {
    const known = this.generation;
    return this.#update(asked, async (current) => {
      const isOther = current !== undefined && current.generation !== known;
      if (isOther && !isPast(current.tokens.expiresAtMs, this.#now + usableMs)) return undefined;
      return obtain(current);
    });
  }

  /** Changes the stored credential, which is durable before any request carries the new token. */
  async #update(asked: Asked, obtain: Obtain): Promise<TokenStepDone> {
    let failure: StepFailure | undefined;
    try {
      const next = await this.#ports.store.update(this.#ports.key, async (current) => {
        const outcome = await obtain(current);
        failure = outcome?.failed;
        if (outcome === undefined || outcome.failed !== undefined) return undefined;
        return { ...outcome.value, generation: (current?.generation ?? 0) + 1 };
      });
      if (failure !== undefined) return this.#done({ failed: failure }, asked);
      await this.#take(next);
    } catch (error) {
      return this.#storeFailed(error);
    }
    return this.#token();
  }

  #recordOf(found: Discovered, client: Client, tokens: Tokens, key: DpopKey | undefined) {
    return recordOf(this.#ports.id, found.issuer, client, { tokens, key, nowMs: this.#now });
  }

  async #take(stored: StoredCredential | undefined): Promise<void> {
    const jwk = stored?.dpopKey;
    this.#dpop = jwk === undefined ? undefined : await this.#dpopOf(jwk);
    this.#stored = stored;
  }

  async #dpopOf(jwk: JsonWebKey): Promise<DpopKey> {
    // The session in use remembers nonces.
    return this.#dpop !== undefined && this.#dpop.jwk.x === jwk.x ? this.#dpop : restoreKey(jwk);
  }

  async #dpopKey(
    current: StoredCredential | undefined,
    found: Discovered,
  ): Promise<DpopKey | undefined> {
    if (current?.dpopKey !== undefined) return this.#dpopOf(current.dpopKey);
    return this.#isDpopWanted(found) ? createKey() : undefined;
  }

  #isDpopWanted(found: Discovered): boolean {
    return found.isDpopWanted || this.#ports.settings()?.dpop === true;
  }

  async #discover(
    signal: AbortSignal,
    issuer = this.#stored?.issuer,
  ): Promise<Outcome<Discovered>> {
    const hints = defined({ challenge: this.#challenge, issuer });
    const found = await discoverIssuer(this.#way.access(signal), this.#ports, hints);
    if (found.failed === undefined) this.#found = found.value;
    return found;
  }

  async #findClient(
    found: Discovered,
    asked: Asked,
    signal: AbortSignal,
  ): Promise<Outcome<Client>> {
    const settings = this.#ports.settings();
    const stored = this.#clients.known(this.#stored);
    const uri = settings?.redirectUri ?? this.#listener?.redirectUri;
    const { findClient } = await import('./oauth-client.ts');
    const client = await findClient(this.#way.access(signal), found, {
      redirectUris: uri === undefined ? [] : [uri],
      ...defined({
        settings: settings && clientSettingsOf(settings),
        stored,
        scope: this.#scope(found, asked),
      }),
    });
    if (client.failed !== undefined) return client;
    this.#client = client.value;
    const { how, information } = client.value;
    if (how === 'registered') this.#clients.registered({ issuer: found.issuer, information });
    return client;
  }

  /** Returns the client that obtained the token; a renewal never registers another. */
  #clientOf(
    found: Discovered,
    { client }: StoredCredential,
    signal: AbortSignal,
  ): Promise<Outcome<Client>> {
    if (this.#ports.settings()?.clientId !== undefined)
      return this.#findClient(found, plain, signal);
    return Promise.resolve({ value: { how: 'stored', information: client } });
  }

  #scope(found: Discovered, { wanted, asksForLess }: Scopes): string | undefined {
    const challenged = [...wanted, ...this.challengedScopes].join(' ');
    return scopesFor(found, {
      ...defined({ pinned: this.#ports.settings()?.scopes }),
      ...(challenged !== '' && { challenged }),
      asksForLess,
      granted: scopeList(this.#stored?.tokens.scope),
    });
  }

  get #now(): number {
    return this.#ports.clock.wallNow();
  }

  #token(): TokenStepDone {
    return { nowMs: this.#now, token: this.#stored === undefined ? null : factsOf(this.#stored) };
  }

  #done({ failed }: Outcome<unknown>, asked?: Scopes): StepDone {
    if (failed === undefined) return { nowMs: this.#now };
    const scopeOf = (each: Scopes) => this.#found && this.#scope(this.#found, each);
    const canAskForLess = failed.code === 'invalid_scope' && asked && hasLess(asked, scopeOf);
    return { ...this.#failed(failed), ...(canAskForLess === true && { canAskForLess }) };
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

/** Resolves with a new record, a failure, or undefined to keep the current record. */
type Obtain = (current: StoredCredential | undefined) => Promise<Outcome<NewRecord> | undefined>;
