/** Registration, authorization and revocation at the test issuer. */

import { authenticatedClient, clientOf } from './clients.ts';
import type { KnownClient } from './settings.ts';
import type { IssuerState, Reply, Seen } from './state.ts';
import { random } from './tokens.ts';

const isOwnMachine = (uri: string): boolean =>
  /^http:\/\/(?:127\.0\.0\.1|localhost|\[::1\]):\d+\//u.test(uri);

export function register({ settings, counts, clients }: IssuerState, { body }: Seen): Reply {
  const asked = JSON.parse(body) as Record<string, unknown>;
  const uris = asked['redirect_uris'] as string[];
  const method = (asked['token_endpoint_auth_method'] ??
    'client_secret_basic') as KnownClient['method'];
  const isNative = asked['application_type'] === 'native';
  const isValid =
    Array.isArray(uris) &&
    uris.every((uri) => (isNative ? isOwnMachine(uri) : uri.startsWith('https:')));
  if (!isValid)
    return {
      status: 400,
      json: { error: 'invalid_redirect_uri', error_description: 'not of this machine' },
    };
  if (!settings.authMethods.includes(method))
    return { status: 400, json: { error: 'invalid_client_metadata' } };
  counts.registrations += 1;
  const id = random('client');
  const secret = method === 'none' ? undefined : random('secret');
  clients.set(id, { id, method, redirectUris: uris, ...(secret !== undefined && { secret }) });
  const answer = { client_id: id, redirect_uris: uris, token_endpoint_auth_method: method };
  return {
    status: 201,
    json: { ...answer, ...(secret !== undefined && { client_secret: secret }) },
  };
}

/** Posts the decision to its own address, which has the request. */
const consentPage = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Consent</title>
<h1>mcp-troupe wants to use your account</h1>
<form method="post"><button name="decision" value="allow">Allow</button>
<button name="decision" value="deny">Deny</button></form></html>`;

/** The user decides at once, or with the buttons of a page. An invalid client or redirect URI is never redirected to. */
export function authorize(state: IssuerState, { query, form }: Seen): Reply {
  const client = clientOf(state, query.get('client_id') ?? '');
  const redirectUri = query.get('redirect_uri') ?? '';
  const isKnown = client?.redirectUris?.includes(redirectUri) ?? isOwnMachine(redirectUri);
  if (client === undefined || !isKnown) return { status: 400, json: { error: 'invalid_request' } };
  const { consent } = state.settings;
  const decision = consent === 'ask' ? form.get('decision') : consent;
  if (decision === null) return { status: 200, html: consentPage };
  state.counts.authorizations += 1;
  const iss = { correct: state.issuer(), wrong: 'https://evil.example', none: null };
  const fields = {
    ...decided(state, client.id, query, decision),
    state: query.get('state'),
    iss: iss[state.settings.iss],
  };
  const back = new URL(redirectUri);
  for (const [name, value] of Object.entries(fields))
    if (value !== null) back.searchParams.set(name, value);
  return { status: 302, headers: { location: back.href } };
}

/** The code, or why there is none. */
function decided(
  { settings, book, server }: IssuerState,
  clientId: string,
  query: URLSearchParams,
  decision: string,
): Readonly<Record<string, string>> {
  const scopes = (query.get('scope') ?? '').split(' ').filter((scope) => scope !== '');
  const challenge = query.get('code_challenge') ?? '';
  const isPkce = challenge !== '' && query.get('code_challenge_method') === 'S256';
  if (query.get('response_type') !== 'code' || (settings.checksPkce && !isPkce))
    return { error: 'invalid_request', error_description: 'PKCE is missing' };
  const resource = query.get('resource') ?? '';
  if (![server, ...settings.otherResources].includes(resource)) return { error: 'invalid_target' };
  const { issuer: offered } = settings.scopes;
  if (offered !== undefined && !scopes.every((scope) => offered.includes(scope)))
    return { error: 'invalid_scope' };
  if (decision !== 'allow')
    return { error: 'access_denied', error_description: 'The user said no' };
  const redirectUri = query.get('redirect_uri') ?? '';
  return { code: book.keepCode({ clientId, scopes, resource, redirectUri, challenge }) };
}

export function revocation(state: IssuerState, seen: Seen): Reply {
  const client = authenticatedClient(state, seen);
  if (client === undefined) return { status: 401, json: { error: 'invalid_client' } };
  const name = seen.form.get('token') ?? '';
  if (state.book.ownerOf(name)?.clientId === client.id) {
    state.book.revoke(name);
    state.counts.revocations += 1;
  }
  return { status: 200 };
}

const deviceSeconds = 600;

export function deviceAuthorization(state: IssuerState, seen: Seen): Reply {
  const client = authenticatedClient(state, seen);
  if (client === undefined) return { status: 401, json: { error: 'invalid_client' } };
  const { form } = seen;
  const userCode = random('USER')
    .slice(0, 9)
    .toUpperCase()
    .replaceAll(/[_-]/gu, 'X')
    .replace('X', '-');
  const deviceCode = random('device');
  state.devices.set(deviceCode, {
    clientId: client.id,
    scopes: (form.get('scope') ?? '').split(' ').filter((scope) => scope !== ''),
    resource: form.get('resource') ?? '',
    userCode,
    endsAtMs: state.now() + deviceSeconds * 1_000,
    decision: 'pending',
    answers: [],
  });
  const page = `${state.origin}${state.settings.issuerPath}/enter`;
  const answer = {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${userCode}`,
    expires_in: deviceSeconds,
    interval: 5,
  };
  return {
    status: 200,
    json: state.settings.tamper.device?.(answer) ?? state.settings.tamper.token?.(answer) ?? answer,
  };
}
