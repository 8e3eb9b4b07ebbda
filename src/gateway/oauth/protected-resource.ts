/**
 * The gateway as a protected resource (RFC 9728): which issuer's access tokens it accepts, and what it
 * answers to requests without one. Tokens are signed JWTs (RFC 9068), checked with the issuer's keys.
 */

import { errors, type JWTPayload, jwtVerify } from 'jose';
import type { IssuerKeys } from '../../../actors/authorization/issuer-keys.ts';
import type { Clock } from '../../domain/clock.ts';
import type { ClientClaims } from '../../policies/views/client-views.ts';

export interface ProtectedResourceOptions {
  readonly keys: Pick<IssuerKeys, 'issuer' | 'find'>;
  /** The audience of accepted tokens. A web address is also the gateway's public one. Default: its URL. */
  readonly audience?: string;
  /** The scopes that each token must have. */
  readonly scopes: readonly string[];
}

/** Why a request is refused. */
export interface TokenRefusal {
  readonly status: number;
  readonly message: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Whose a token is. */
export interface TokenHolder {
  /** The subject, or the client if the token names no subject: different strings are different users. */
  readonly user: string;
  readonly claims: ClientClaims;
}

export type Admission = TokenHolder | { readonly refusal: TokenRefusal };

/** The parameters of a challenge that say what is wrong; none if there is no token. */
interface Fault {
  readonly error?: string;
  readonly error_description?: string;
}

const wellKnown = '/.well-known/oauth-protected-resource';
// Clocks of machines with a time service differ by less.
const leewaySeconds = 30;
// Only signatures that the issuer alone can make: no HMAC, and never `none`.
const algorithms = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];
// Other signed documents of the issuer are not access tokens.
const types: readonly unknown[] = [undefined, 'JWT', 'at+jwt', 'application/at+jwt'];

export class ProtectedResource {
  readonly #options: ProtectedResourceOptions;
  readonly #clock: Clock;
  readonly #audience: string;
  readonly #resource: string;
  /** The values of `aud`, one of which a token must have. */
  readonly #audiences: readonly string[];
  readonly #metadataUrl: URL;

  /** @param url - the gateway's own URL */
  constructor(options: ProtectedResourceOptions, url: string, clock: Clock) {
    this.#options = options;
    this.#clock = clock;
    const { audience = url } = options;
    this.#audience = audience;
    this.#resource = isWebAddress(audience) ? audience : url;
    // A bare host is written with or without its slash.
    this.#audiences = isWebAddress(audience) ? [audience, new URL(audience).href] : [audience];
    const { pathname } = new URL(this.#resource);
    this.#metadataUrl = new URL(`${wellKnown}${pathname === '/' ? '' : pathname}`, this.#resource);
  }

  /** The metadata at a path of the gateway; undefined at any other path. */
  documentAt(path: string): Readonly<Record<string, unknown>> | undefined {
    const own = [wellKnown, `${wellKnown}/mcp`, this.#metadataUrl.pathname];
    // Whether there is such a view is not for everyone to know.
    const [, place = path, view = ''] = /^(.*)(\/[\w.-]{1,64})$/.exec(path) ?? [];
    const isOwn = own.includes(path);
    const mayEnd = place !== wellKnown || this.#metadataUrl.pathname === wellKnown;
    if (!isOwn && !(mayEnd && own.includes(place))) return undefined;
    const { keys, scopes } = this.#options;
    return {
      resource: isOwn ? this.#resource : ofView(this.#resource, view),
      authorization_servers: [keys.issuer],
      bearer_methods_supported: ['header'],
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      resource_name: 'mcp-troupe',
    };
  }

  /**
   * Checks the token of a request. Never rejects.
   * @param view - the end of the request's path if it is for a view: `/NAME`
   */
  async admit(authorization: string | undefined, view = ''): Promise<Admission> {
    const admission = await this.#check(authorization, view);
    return 'why' in admission ? this.#refused(admission.why, view) : admission;
  }

  async #check(
    authorization: string | undefined,
    view: string,
  ): Promise<Admission | { readonly why: Fault }> {
    const token = /^Bearer ([\w.~+/-]+=*)$/i.exec(authorization ?? '')?.[1];
    if (token === undefined) return { why: {} };
    try {
      const { payload, protectedHeader } = await jwtVerify(token, this.#options.keys.find, {
        issuer: this.#options.keys.issuer,
        audience: this.#audiences.flatMap((each) => [each, ofView(each, view)]),
        algorithms,
        clockTolerance: leewaySeconds,
        currentDate: new Date(this.#clock.wallNow()),
        requiredClaims: ['exp'],
      });
      const { typ } = protectedHeader;
      if (!types.includes(typ) || isIdToken(typ, payload))
        return this.#invalid('the token is not an access token');
      return this.#admitted(payload);
    } catch (error) {
      if (error instanceof errors.JOSEError) return this.#invalid(this.#reasonOf(error));
      return {
        refusal: {
          status: 503,
          message: `the keys of ${this.#options.keys.issuer} cannot be fetched; try again later`,
          headers: { 'retry-after': '30' },
        },
      };
    }
  }

  #admitted(payload: JWTPayload): TokenHolder | { readonly why: Fault } {
    // Its holder must prove a key, which is not checked here.
    if (payload['cnf'] !== undefined)
      return this.#invalid('the token is bound to a key, which is not supported');
    const client = [payload['client_id'], payload['azp']].find(isText);
    const user = isText(payload.sub) ? `user ${payload.sub}` : client && `client ${client}`;
    if (user === undefined) return this.#invalid('the token names no subject');
    const granted = scopesOf(payload);
    const missing = this.#options.scopes.filter((each) => !granted.includes(each));
    if (missing.length === 0) return { user, claims: claimsOf(payload, granted) };
    const description = `the token lacks the scope ${missing.join(' ')}`;
    return { why: { error: 'insufficient_scope', error_description: description } };
  }

  #invalid(reason: string): { readonly why: Fault } {
    return { why: { error: 'invalid_token', error_description: reason } };
  }

  #refused(about: Fault, view: string): Admission {
    const { scopes, keys } = this.#options;
    const parameters = {
      ...about,
      ...(scopes.length > 0 && { scope: scopes.join(' ') }),
      resource_metadata: `${this.#metadataUrl.href}${view}`,
    };
    const list = Object.entries(parameters).map(([name, value]) => `${name}="${value}"`);
    const { error, error_description: why = `send an access token of ${keys.issuer}` } = about;
    return {
      refusal: {
        status: error === 'insufficient_scope' ? 403 : 401,
        message: why,
        headers: { 'www-authenticate': `Bearer ${list.join(', ')}` },
      },
    };
  }

  /** Says what is wrong, without any text of the token. */
  #reasonOf(error: errors.JOSEError): string {
    if (error instanceof errors.JWTExpired) return 'the token has expired';
    if (error instanceof errors.JWTClaimValidationFailed) {
      if (error.claim === 'aud') return `the token is not for ${this.#audience}`;
      if (error.claim === 'iss') return `the token is not from ${this.#options.keys.issuer}`;
      if (error.claim === 'nbf') return 'the token is not valid yet';
      return 'the token does not say how long it is valid';
    }
    if (error instanceof errors.JWSInvalid || error instanceof errors.JWTInvalid)
      return 'the token is not a signed JWT';
    return 'the token is not signed with a key of the issuer';
  }
}

/** Whether the claims are those of an ID token (OpenID Connect Core 2 and 3.3.2.11), whose type is often just `JWT`. */
function isIdToken(typ: unknown, payload: JWTPayload): boolean {
  if (typ !== undefined && typ !== 'JWT') return false;
  const isHashed = ['at_hash', 'c_hash', 's_hash'].some((claim) => payload[claim] !== undefined);
  return payload['nonce'] !== undefined || isHashed || payload['token_use'] === 'id';
}

function ofView(address: string, view: string): string {
  return `${address.replace(/\/$/, '')}${view}`;
}

function isWebAddress(text: string): boolean {
  return /^https?:\/\//i.test(text) && URL.canParse(text);
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== '';
}

/** What the rules of views compare. The usual claim of groups is a list; some issuers write one as a string. */
function claimsOf({ sub, groups }: JWTPayload, scopes: readonly string[]): ClientClaims {
  const list: readonly unknown[] = Array.isArray(groups) ? groups : [groups];
  return { user: isText(sub) ? sub : undefined, groups: list.filter(isText), scopes };
}

/** Some issuers write `scp`, as a string or a list. */
function scopesOf(payload: JWTPayload): readonly string[] {
  const claim = payload['scope'] ?? payload['scp'];
  if (typeof claim === 'string') return claim.split(' ');
  return Array.isArray(claim) ? claim.filter(isText) : [];
}
