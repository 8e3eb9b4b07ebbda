/**
 * The part of a login that the user's browser carries: the URL to open, and the check of the
 * response. The verifier and the state stay in here.
 */

import { randomBytes } from 'node:crypto';

import {
  startAuthorization,
  validateAuthorizationResponseIssuer,
} from '@modelcontextprotocol/client';
import type { Discovered } from './discovery.ts';
import type { IssuerAccess } from './login-fetch.ts';
import { forSdk } from './metadata.ts';
import type { Client } from './oauth-client.ts';
import { attempt, type Outcome, quoted, refused, shownText } from './outcome.ts';

/** One login that waits for the user. It belongs to one issuer and accepts one response. */
export interface AuthorizationRequest {
  /** The URL to open. It contains the state, so only the user may see it. */
  readonly url: URL;
  readonly issuer: string;
  readonly redirectUri: string;
  readonly scope: string | undefined;
  /**
   * Checks a response and returns what redeems it. A response with another state is refused and
   * leaves the request open: any program on this machine can send one.
   */
  accept(response: URLSearchParams): { readonly code: string; readonly verifier: string };
}

const stateBytes = 32;

export function beginAuthorization(
  access: IssuerAccess,
  found: Discovered,
  client: Client,
  options: { readonly redirectUri: string; readonly scope?: string },
): Promise<Outcome<AuthorizationRequest>> {
  return attempt(access.signal, async () => {
    const { metadata, issuer, resource } = found;
    const { redirectUri, scope } = options;
    // The SDK goes on if the list is missing; the specification wants a refusal.
    if (metadata.code_challenge_methods_supported?.includes('S256') !== true)
      throw refused('discovery', `${quoted(issuer)} does not say that it checks PKCE with S256`);
    const { authorization_endpoint: page } = metadata;
    if (page === undefined || !metadata.response_types_supported.includes('code'))
      throw refused('discovery', `${quoted(issuer)} does not offer the authorization code flow`);
    // The browser would connect to an address that we would not.
    await access.check(page, 'the authorization endpoint');
    const state = randomBytes(stateBytes).toString('base64url');
    const { authorizationUrl: url, codeVerifier: verifier } = await startAuthorization(issuer, {
      metadata: forSdk(metadata),
      clientInformation: client.information,
      redirectUrl: redirectUri,
      state,
      resource,
      ...(scope !== undefined && { scope }),
    });
    let isUsed = false;
    return {
      url,
      issuer,
      redirectUri,
      scope,
      accept(response) {
        if (response.get('state') !== state)
          throw refused('response', 'the response belongs to no open login');
        if (isUsed) throw refused('response', 'the response was used already');
        isUsed = true;
        return { code: codeIn(response, found, [state, verifier]), verifier };
      },
    };
  });
}

function codeIn(
  response: URLSearchParams,
  { issuer, metadata }: Discovered,
  secrets: readonly string[],
): string {
  // First: nothing of a response from another issuer may be shown.
  validateAuthorizationResponseIssuer({
    iss: response.get('iss') ?? undefined,
    expectedIssuer: issuer,
    issParameterSupported: metadata.authorization_response_iss_parameter_supported === true,
  });
  const error = response.get('error');
  if (error !== null) {
    const text = response.get('error_description');
    const whole = text === null || text === '' ? error : `${error}: ${text}`;
    const shown = shownText(whole, secrets);
    const kind = error === 'temporarily_unavailable' ? 'unavailable' : 'denied';
    throw refused(
      kind,
      `${quoted(issuer)} refused the login (${shown})`,
      shownText(error, secrets),
    );
  }
  const code = response.get('code');
  if (code === null || code === '')
    throw refused('response', 'the response contains neither a code nor an error');
  return code;
}
