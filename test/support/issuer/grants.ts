/** The token endpoints of the test issuer and of the identity provider that it trusts. */

import { authenticatedClient } from './clients.ts';
import { checkProof, hashOf } from './jwt.ts';
import type { KnownClient } from './settings.ts';
import { type IssuerState, nonce, type Reply, type Seen } from './state.ts';
import { type Grant, random } from './tokens.ts';

const failure = (error: string, status = 400, description?: string): Reply => ({
  status,
  json: { error, ...(description !== undefined && { error_description: description }) },
});

export function token(state: IssuerState, seen: Seen): Reply {
  const client = authenticatedClient(state, seen);
  if (client === undefined) return failure('invalid_client', 401);
  const bound = boundKey(state, seen);
  if ('error' in bound) return { ...failure(bound.error), headers: { 'dpop-nonce': nonce } };
  const grantType = seen.form.get('grant_type') ?? '';
  const answer = grants[grantType]?.(state, client, seen.form, bound.jkt);
  if (answer === undefined) return failure('unsupported_grant_type');
  if (typeof answer === 'string') return failure(answer);
  return { status: 200, json: state.settings.tamper.token?.(answer) ?? answer };
}

function boundKey(
  { settings, now, seenIds, origin }: IssuerState,
  { headers, path }: Seen,
): { readonly jkt?: string } | { readonly error: string } {
  const { dpop } = settings;
  const proof = headers['dpop'];
  if (dpop === 'none' || (proof === undefined && dpop === 'offered')) return {};
  return checkProof(typeof proof === 'string' ? proof : undefined, {
    method: 'POST',
    url: `${origin}${path}`,
    nowMs: now(),
    nonce: dpop === 'nonce' ? nonce : undefined,
    seen: seenIds,
  });
}

type Answer = Record<string, unknown> | string;
type GrantHandler = (
  state: IssuerState,
  client: KnownClient,
  form: URLSearchParams,
  jkt: string | undefined,
) => Answer;

const listOf = (scope: string | null): string[] =>
  (scope ?? '').split(' ').filter((each) => each !== '');

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';
const jwtBearer = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

const grants: Readonly<Record<string, GrantHandler>> = {
  authorization_code(state, { id }, form, jkt) {
    const { settings, book, counts } = state;
    const code = book.takeCode(form.get('code') ?? '');
    if (code === undefined || code.clientId !== id) return 'invalid_grant';
    if (code.redirectUri !== form.get('redirect_uri')) return 'invalid_grant';
    if (settings.checksPkce && hashOf(form.get('code_verifier') ?? '') !== code.challenge)
      return 'invalid_grant';
    if (form.get('resource') !== code.resource) return 'invalid_target';
    counts.codes += 1;
    const { scopes, resource } = code;
    const grant: Grant = { clientId: id, scopes, resource, jkt, family: random('family') };
    return book.issue(grant, settings.issuesRefreshTokens);
  },
  refresh_token({ book, server, settings }, { id }, form, jkt) {
    const name = form.get('refresh_token') ?? '';
    const isRefused = settings.resourceOfRenewals === 'refused';
    if (isRefused && form.has('resource')) return 'invalid_request';
    const known = [server, ...settings.otherResources];
    if (!isRefused && !known.includes(form.get('resource') ?? '')) return 'invalid_target';
    // Refresh tokens of public clients are bound to the key as well.
    if (book.ownerOf(name)?.jkt !== jkt) return 'invalid_grant';
    return book.redeem(name, id) ?? 'invalid_grant';
  },
  client_credentials(state, client, form, jkt) {
    if (client.method === 'none') return 'unauthorized_client';
    return issued(state, client, form, jkt);
  },
  [jwtBearer](state, client, form, jkt) {
    const assertion = form.get('assertion') ?? '';
    if (state.settings.workloads.includes(assertion)) return issued(state, client, form, jkt);
    const grant = state.grants.get(assertion);
    const isOwn = grant?.audience === state.issuer() && grant.resource === form.get('resource');
    return isOwn ? issued(state, client, form, jkt) : 'invalid_grant';
  },
  [deviceGrant](state, { id }, form, jkt) {
    const device = state.devices.get(form.get('device_code') ?? '');
    if (device === undefined || device.clientId !== id) return 'invalid_grant';
    if (device.endsAtMs <= state.now()) return 'expired_token';
    const answer = device.answers.shift();
    if (answer !== undefined) return answer;
    if (device.decision === 'pending') return 'authorization_pending';
    state.devices.delete(form.get('device_code') ?? '');
    if (device.decision === 'denied') return 'access_denied';
    state.counts.otherGrants += 1;
    const { scopes, resource } = device;
    const grant: Grant = { clientId: id, scopes, resource, jkt, family: random('family') };
    return state.book.issue(grant, state.settings.issuesRefreshTokens);
  },
};

function issued(
  state: IssuerState,
  { id }: KnownClient,
  form: URLSearchParams,
  jkt?: string,
): Answer {
  const resource = form.get('resource') ?? '';
  if (![state.server, ...state.settings.otherResources].includes(resource)) return 'invalid_target';
  const scopes = listOf(form.get('scope'));
  const { issuer: offered } = state.settings.scopes;
  if (offered !== undefined && !scopes.every((scope) => offered.includes(scope)))
    return 'invalid_scope';
  state.counts.otherGrants += 1;
  return state.book.issue({ clientId: id, scopes, resource, jkt, family: random('family') }, false);
}

const idToken = 'urn:ietf:params:oauth:token-type:id_token';
const idJag = 'urn:ietf:params:oauth:token-type:id-jag';

/** Exchanges an identity for a grant at the issuer (RFC 8693). */
export function providerToken(state: IssuerState, { form }: Seen): Reply {
  const { settings, grants: given } = state;
  const isExchange =
    form.get('grant_type') === 'urn:ietf:params:oauth:grant-type:token-exchange' &&
    form.get('requested_token_type') === idJag &&
    form.get('subject_token_type') === idToken;
  if (!isExchange) return failure('invalid_request');
  if (!settings.idTokens.includes(form.get('subject_token') ?? '')) return failure('invalid_grant');
  const grant = random('grant');
  const [audience, resource] = [form.get('audience') ?? '', form.get('resource') ?? ''];
  given.set(grant, { audience, resource, scopes: listOf(form.get('scope')) });
  return {
    status: 200,
    json: { access_token: grant, issued_token_type: idJag, token_type: 'N_A' },
  };
}
