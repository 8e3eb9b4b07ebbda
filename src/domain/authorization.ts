/**
 * A login to remote servers by OAuth: the identity of a credential, and what charts, status and hosts
 * may know of one. Nothing here contains a token, a code, a verifier or a client secret.
 */

/**
 * Identifies a credential. Servers with the same identity share a login. Everything that could send a
 * token elsewhere is part of it, so a changed URL, account, client, proxy or certificate starts over.
 */
export interface CredentialId {
  /** The server's canonical URL without query and fragment (RFC 8707, RFC 9728). */
  readonly resource: string;
  /** The account in the settings; null for the only one. */
  readonly account: string | null;
  /** Digest of the client in the settings (`oauth`); null for a client that is found or registered. */
  readonly client: string | null;
  /** Digest of the settings' own proxy, CA and client certificate; null without them. */
  readonly reach: string | null;
}

/** How a token is obtained. The first needs a user, the others a secret, a key or an identity. */
export const grants = [
  'authorization_code',
  'client_credentials',
  'enterprise',
  'workload',
] as const;
/** How a token is obtained. */
export type Grant = (typeof grants)[number];

/** A token as charts and users see it. */
export interface TokenFacts {
  /** Counts the writes of this credential, by any process. */
  readonly generation: number;
  readonly issuer: string;
  /** The granted scopes, sorted. */
  readonly scopes: readonly string[];
  /** Wall clock in milliseconds; null if the issuer named no expiry. */
  readonly expiresAtMs: number | null;
  readonly isRefreshable: boolean;
  /** Why the issuer no longer renews it; absent unless it refused. */
  readonly renewalRefusal?: AuthorizationFailure;
}

export type AuthorizationFailureKind =
  /** The metadata is missing, invalid, or belongs to another issuer or resource. */
  | 'discovery'
  /** The issuer has no way to register this client, and the settings name none. */
  | 'clientNeeded'
  /** The issuer rejected the registration. */
  | 'registration'
  /** The user, or the issuer in the user's name, refused. */
  | 'denied'
  /** The response does not fit the request: state, issuer or code. */
  | 'response'
  /** The issuer no longer accepts the grant (`invalid_grant`). */
  | 'grant'
  /** The issuer could not be reached, or failed; another attempt may succeed. */
  | 'unavailable'
  /** No one completed the login in time. */
  | 'timeout'
  /** The credential could not be read or written. */
  | 'store';

export interface AuthorizationFailure {
  readonly kind: AuthorizationFailureKind;
  /** One sentence without secrets. */
  readonly message: string;
  /** When the issuer asked to wait, in milliseconds. */
  readonly retryAfterMs?: number;
}

/** A stored credential as users see it. */
export interface Account {
  /**
   * The servers of this troupe that use it. A server whose entry has a `proxy` or `tls`, or values
   * that decide which login it has, is known only once it has started.
   */
  readonly servers: readonly string[];
  /** The server's canonical URL. */
  readonly resource: string;
  /** The account in the settings; absent for the only one. */
  readonly account?: string;
  /** The issuer's URL. */
  readonly issuer: string;
  /** The scopes that the token was granted; empty if the issuer named none. */
  readonly scopes: readonly string[];
  /** When the current token expires, in ISO 8601; absent if the issuer named no expiry. */
  readonly expiresAt?: string;
  /** Whether the current token has expired. */
  readonly expired: boolean;
  /** Whether it can be renewed without the user, as far as is known: the issuer may refuse. */
  readonly renewable: boolean;
  /** Why the issuer refused to renew it, since this troupe started; absent if it did not. */
  readonly renewalRefusal?: string;
}

/** Names a stored login by its address, as `accounts()` shows it. */
export interface StoredLogin {
  /** The server's canonical URL. */
  readonly resource: string;
  /** Default: the login without an account, or the only one. */
  readonly account?: string;
}

/** A server's refusal of a request for want of a token, or of a better one. */
export interface Refusal {
  readonly status: number;
  /** The `WWW-Authenticate` header. */
  readonly challenge?: string;
  /** The `DPoP-Nonce` header. */
  readonly dpopNonce?: string;
  /** The headers that {@link Authenticator.headers} gave for the refused request. */
  readonly sentWith: Readonly<Record<string, string>>;
}

/** Authorizes the requests of a session. */
export interface Authenticator {
  /**
   * Resolves with the headers of a request; none without a token. Waits while a token is renewed that
   * servers no longer accept.
   */
  headers(method: string, url: URL): Promise<Readonly<Record<string, string>>>;
  /**
   * Called when the server refused a request, which therefore did not run. Resolves with whether the
   * same request may be sent once more, with new headers.
   */
  refused(refusal: Refusal): Promise<boolean>;
  /**
   * Returns why there is no token that the server may accept, in one sentence without secrets;
   * undefined if nothing failed or there is one.
   */
  failure?(): string | undefined;
}
