/** The tokens of the test issuer: who holds which, what came from what, and what is revoked. */

import { randomBytes } from 'node:crypto';

import type { IssuerCounts, IssuerSettings } from './settings.ts';
import { signedJwt } from './signing.ts';

export interface Grant {
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly resource: string;
  /** Thumbprint of the key that a token is bound to. */
  readonly jkt?: string | undefined;
  /** All tokens that came from one login. */
  readonly family: string;
}

export interface Code extends Omit<Grant, 'family'> {
  readonly redirectUri: string;
  readonly challenge: string;
}

export const random = (kind: string): string => `${kind}-${randomBytes(18).toString('base64url')}`;

export class TokenBook {
  readonly #settings: IssuerSettings;
  readonly #counts: IssuerCounts;
  readonly #now: () => number;
  readonly #issuer: () => string;
  readonly #access = new Map<string, Grant & { readonly endsAtMs: number }>();
  readonly #refresh = new Map<string, Grant & { isUsed: boolean }>();
  readonly #codes = new Map<string, Code>();

  /** @param issuer - the issuer's identifier, for signed tokens */
  constructor(
    settings: IssuerSettings,
    counts: IssuerCounts,
    now: () => number,
    issuer: () => string,
  ) {
    this.#issuer = issuer;
    this.#settings = settings;
    this.#counts = counts;
    this.#now = now;
  }

  keepCode(code: Code): string {
    const name = random('code');
    this.#codes.set(name, code);
    return name;
  }

  /** A code is redeemed once. */
  takeCode(name: string): Code | undefined {
    const code = this.#codes.get(name);
    this.#codes.delete(name);
    return code;
  }

  issue(grant: Grant, withRefresh: boolean): Record<string, unknown> {
    const { expiresInSeconds, audience, dpop } = this.#settings;
    const resource = audience ?? grant.resource;
    const endsAtMs = this.#now() + expiresInSeconds * 1_000;
    const token = this.#signed({ ...grant, resource }, endsAtMs) ?? random('access');
    this.#access.set(token, { ...grant, resource, endsAtMs });
    const refreshToken = withRefresh ? random('refresh') : undefined;
    if (refreshToken !== undefined) this.#refresh.set(refreshToken, { ...grant, isUsed: false });
    return {
      access_token: token,
      token_type: dpop !== 'none' && grant.jkt !== undefined ? 'DPoP' : 'Bearer',
      expires_in: expiresInSeconds,
      ...(grant.scopes.length > 0 && { scope: grant.scopes.join(' ') }),
      ...(refreshToken !== undefined && { refresh_token: refreshToken }),
    };
  }

  #signed({ clientId, scopes, resource }: Grant, endsAtMs: number): string | undefined {
    const key = this.#settings.signingKeys.at(-1);
    return (
      key &&
      signedJwt(key, {
        iss: this.#issuer(),
        aud: resource,
        sub: 'user-1',
        client_id: clientId,
        scope: scopes.join(' '),
        exp: Math.floor(endsAtMs / 1_000),
        jti: random('id'),
      })
    );
  }

  /** Redeems a refresh token; undefined if it is invalid. */
  redeem(name: string, clientId: string): Record<string, unknown> | undefined {
    const grant = this.#refresh.get(name);
    if (grant === undefined || grant.clientId !== clientId) return undefined;
    const { rotation } = this.#settings;
    if (grant.isUsed && rotation !== 'none') {
      this.#counts.reuses += 1;
      if (rotation === 'family') this.revokeFamily(grant.family);
      return undefined;
    }
    grant.isUsed = true;
    this.#counts.redemptions += 1;
    return this.issue(grant, rotation !== 'none');
  }

  grantOf(token: string): Grant | undefined {
    const grant = this.#access.get(token);
    return grant === undefined || grant.endsAtMs <= this.#now() ? undefined : grant;
  }

  /** The grant of a token of either kind. */
  ownerOf(token: string): Grant | undefined {
    return this.#access.get(token) ?? this.#refresh.get(token);
  }

  revoke(token: string): void {
    const grant = this.#refresh.get(token);
    if (grant !== undefined) this.revokeFamily(grant.family);
    this.#access.delete(token);
  }

  revokeFamily(family: string): void {
    for (const tokens of [this.#access, this.#refresh])
      for (const [name, grant] of tokens) if (grant.family === family) tokens.delete(name);
  }

  /** Ends all access tokens; refresh tokens stay. */
  expireAccess(): void {
    this.#access.clear();
  }

  revokeAll(): void {
    this.#access.clear();
    this.#refresh.clear();
  }
}
