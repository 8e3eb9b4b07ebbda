/** Revokes tokens at a log-out (RFC 7009), where the issuer offers it. */

import type { Discovered } from './discovery.ts';
import type { IssuerAccess } from './login-fetch.ts';
import type { Client } from './oauth-client.ts';
import { attempt, type Outcome } from './outcome.ts';
import { postForm, type Tokens } from './tokens.ts';

/** Resolves with whether the issuer revoked them. The refresh token goes first: it outlives the other. */
export function revoke(
  access: IssuerAccess,
  found: Discovered,
  client: Client,
  { refreshToken, accessToken }: Pick<Tokens, 'refreshToken' | 'accessToken'>,
): Promise<Outcome<boolean>> {
  return attempt(access.signal, async () => {
    const url = found.metadata.revocation_endpoint;
    if (url === undefined) return false;
    const post = (token: string, hint: string): Promise<unknown> =>
      postForm(access, found, client, { url, parameters: { token, token_type_hint: hint } });
    if (refreshToken !== undefined) await post(refreshToken, 'refresh_token');
    await post(accessToken, 'access_token');
    return true;
  });
}
