/** How a credential reaches its issuer, and where the issuer's answers arrive. */

import type { JsonWebKey } from 'node:crypto';

import type { CredentialId } from '../../src/domain/authorization.ts';
import { defined } from '../../src/domain/data/defined.ts';
import type { Reach } from '../transports/http/proxy-and-tls.ts';
import type { ResolvedOAuth } from '../values/oauth.ts';
import { ownPlaceOf } from './credential-facts.ts';
import type { CredentialPorts } from './credential-ports.ts';
import type { Discovered, DiscoveryHints } from './discovery.ts';
import type { DpopKey } from './dpop.ts';
import { createIssuerConnection, type IssuerAccess, type IssuerConnection } from './login-fetch.ts';
import type { StoredClient } from './oauth-client.ts';
import { type Outcome, refused, type StepFailure } from './outcome.ts';
import { listenForRedirect, type RedirectListener } from './redirect-listener.ts';

/** Keeps one connection. Each step uses the route of the server's latest session, if there is one. */
export class IssuerRoute {
  readonly #ports: Pick<CredentialPorts, 'server' | 'clock' | 'reach'>;
  #connection: IssuerConnection | undefined;
  /** The connection to an issuer that the settings name. */
  #named: IssuerConnection | undefined;
  /** The route of the connection to the server's issuer. */
  #reach: Reach | undefined;

  constructor(ports: Pick<CredentialPorts, 'server' | 'clock' | 'reach'>) {
    this.#ports = ports;
  }

  access(signal: AbortSignal): IssuerAccess {
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

  /**
   * Returns access to an issuer that the user's settings name. Like a server in the settings, it
   * may be in a private network. It never gets the server's client certificate.
   */
  accessTo(issuer: string, signal: AbortSignal): IssuerAccess {
    const home = new URL(issuer);
    const { server, clock } = this.#ports;
    if (home.origin === server.origin) return this.access(signal);
    const reach = this.#ports.reach();
    this.#named?.close();
    this.#named = createIssuerConnection(home, clock, { reach: reach && withoutOwn(reach) });
    return this.#named.access(signal);
  }

  /**
   * Whether this is the login's route. A login whose server is gone has lost its own proxy and
   * certificates, and its tokens take no other route.
   */
  fits({ reach }: Pick<CredentialId, 'reach'>): boolean {
    return (this.#ports.reach()?.ownDigest ?? null) === reach;
  }

  close(): void {
    this.#connection?.close();
    this.#named?.close();
  }
}

function withoutOwn({ withoutCertificate: ways, ownDigest }: Reach): Reach {
  return {
    ownDigest,
    withoutCertificate: ways,
    proxyFor: (url) => ways.proxyFor(url),
    get secureContext() {
      return ways.secureContext;
    },
    get proxyContext() {
      return ways.proxyContext;
    },
  };
}

/** Listens where the client is registered, so that no new one is needed; otherwise on a free port. */
export async function listenFor(
  { callbackPort, redirectUri }: Pick<ResolvedOAuth, 'callbackPort' | 'redirectUri'>,
  known: StoredClient | undefined,
): Promise<Outcome<RedirectListener>> {
  const { registeredRedirects } = await import('./oauth-client.ts');
  const earlier = known === undefined ? [] : registeredRedirects(known.information);
  const ports = earlier.map((uri) => Number(new URL(uri).port)).filter((each) => each > 0);
  try {
    return {
      value:
        callbackPort === undefined
          ? await listenForRedirect(ports, false)
          : await listenForRedirect([callbackPort], true, ownPlaceOf(redirectUri)),
    };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'no port';
    const advice =
      callbackPort === undefined
        ? ''
        : `; end the program that uses ${callbackPort}, or register and set another "oauth.callbackPort"`;
    const message = `no port for the response could be opened on this machine (${code})${advice}`;
    return { failed: refused('registration', message).failure };
  }
}

/**
 * Waits for the user's response: the browser's, or a URL that the user pasted. Ends the listener.
 * Rejects when the signal is aborted.
 *
 * @param show - shows the URL until its signal is aborted, and resolves with a pasted one
 */
export async function responseTo(
  listener: RedirectListener,
  show: (signal: AbortSignal) => Promise<URL>,
  { state, signal }: { readonly state: string | null; readonly signal: AbortSignal },
): Promise<URLSearchParams> {
  const over = new AbortController();
  const either = AbortSignal.any([signal, over.signal]);
  try {
    return await Promise.race([
      listener.response((response) => response.get('state') === state, either),
      show(either).then(({ searchParams }) => searchParams),
    ]);
  } finally {
    over.abort();
    listener.close();
  }
}

/** Finds the issuer, with what the settings say about it. */
export async function discoverIssuer(
  access: IssuerAccess,
  { server, settings }: Pick<CredentialPorts, 'server' | 'settings'>,
  known: DiscoveryHints,
): Promise<Outcome<Discovered>> {
  const pinned = settings();
  const { discover } = await import('./discovery.ts');
  const named = defined({ requiredIssuer: pinned?.issuer, metadataUrl: pinned?.metadataUrl });
  return discover(access, server, { ...known, ...named });
}

/** Creates a DPoP key. Few logins need one, and it loads the SDK. */
export async function createKey(): Promise<DpopKey> {
  const { createDpopKey } = await import('./dpop.ts');
  return createDpopKey();
}

/** Restores a stored DPoP key. */
export async function restoreKey(jwk: JsonWebKey): Promise<DpopKey> {
  const { restoreDpopKey } = await import('./dpop.ts');
  return restoreDpopKey(jwk);
}

/** Returns the failure of a device login at an issuer that offers none. */
export async function noDevice(found: Discovered): Promise<StepFailure> {
  const { withoutDevice } = await import('./device.ts');
  return withoutDevice(found);
}
