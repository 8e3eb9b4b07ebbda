/** The clients that the test issuer knows, and how they prove who they are. */

import { verifiedJwt } from './jwt.ts';
import type { KnownClient } from './settings.ts';
import type { IssuerState, Seen } from './state.ts';

/** A client by its id, as the issuer knows it. */
export function clientOf({ settings, clients }: IssuerState, id: string): KnownClient | undefined {
  const known = clients.get(id) ?? settings.clients.find((each) => each.id === id);
  if (known !== undefined) return known;
  // The document of a client id that is a URL is not fetched here.
  return settings.acceptsClientIdMetadata && id.startsWith('https://')
    ? { id, method: 'none' }
    : undefined;
}

/** Whether the client proves who it is, in the way that it is registered for. */
export function authenticatedClient(
  state: IssuerState,
  { form, headers }: Seen,
): KnownClient | undefined {
  const [scheme, encoded = ''] = (headers.authorization ?? '').split(' ');
  const isBasic = scheme === 'Basic';
  const pair = isBasic ? Buffer.from(encoded, 'base64').toString().split(':') : [];
  const [basicId, basicSecret] = pair.map((part) => decodeURIComponent(part.replaceAll('+', ' ')));
  const client = clientOf(state, basicId ?? form.get('client_id') ?? '');
  if (client === undefined || (isBasic && form.has('client_secret'))) return undefined;
  const isProven = {
    none: () => !isBasic && !form.has('client_secret'),
    client_secret_basic: () => isBasic && basicSecret === client.secret,
    client_secret_post: () => !isBasic && form.get('client_secret') === client.secret,
    private_key_jwt: () => isAssertionOf(state, client, form),
  };
  return isProven[client.method]() ? client : undefined;
}

function isAssertionOf(
  state: IssuerState,
  { id, publicJwk }: KnownClient,
  form: URLSearchParams,
): boolean {
  const jwt = publicJwk && verifiedJwt(form.get('client_assertion') ?? '', publicJwk);
  if (jwt === undefined) return false;
  const { iss, sub, aud, exp, jti } = jwt.claims;
  if (iss !== id || sub !== id || aud !== state.issuer()) return false;
  if (Number(exp) * 1_000 < state.now() || state.seenIds.has(String(jti))) return false;
  state.seenIds.add(String(jti));
  return true;
}
