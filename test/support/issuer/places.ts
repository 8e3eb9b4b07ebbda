/** The metadata documents of the test issuer and of its server, at their places. */

import type { IssuerState } from './state.ts';

export function issuerMetadata(state: IssuerState, path: string): unknown {
  const { settings, origin } = state;
  const { signingKeys: keys } = settings;
  if (path === '/jwks' && keys.length > 0) return { keys: keys.map(({ jwk }) => jwk) };
  if (path === '/idp/.well-known/openid-configuration') return providerMetadata(origin);
  const base = settings.issuerPath;
  const places = {
    oauth: `/.well-known/oauth-authorization-server${base}`,
    oidcInserted: `/.well-known/openid-configuration${base}`,
    oidcAppended: `${base}/.well-known/openid-configuration`,
    none: undefined,
  };
  if (path !== places[settings.metadata]) return undefined;
  const at = `${origin}${base}`;
  const metadata = {
    issuer: state.issuer(),
    authorization_endpoint: `${at}/authorize`,
    token_endpoint: `${at}/token`,
    revocation_endpoint: `${at}/revoke`,
    response_types_supported: ['code'],
    token_endpoint_auth_methods_supported: settings.authMethods,
    ...(settings.checksPkce && { code_challenge_methods_supported: ['S256'] }),
    ...(settings.registersClients && { registration_endpoint: `${at}/register` }),
    ...(settings.acceptsClientIdMetadata && { client_id_metadata_document_supported: true }),
    ...(settings.offersDevice && { device_authorization_endpoint: `${at}/device` }),
    ...(settings.advertisesIss && { authorization_response_iss_parameter_supported: true }),
    ...(keys.length > 0 && { jwks_uri: `${origin}/jwks` }),
    ...(settings.scopes.issuer !== undefined && { scopes_supported: settings.scopes.issuer }),
    ...(settings.dpop !== 'none' && { dpop_signing_alg_values_supported: ['ES256'] }),
  };
  return settings.tamper.issuer?.(metadata) ?? metadata;
}

/** An identity provider's: it leaves out what only a sign-in needs. */
function providerMetadata(origin: string): unknown {
  return { issuer: `${origin}/idp`, token_endpoint: `${origin}/idp/token` };
}

export const challengedPlace = '/metadata-of-the-server';

export function resourceMetadata(state: IssuerState, path: string): unknown {
  const { settings, server } = state;
  const places = {
    challenge: challengedPlace,
    path: '/.well-known/oauth-protected-resource/mcp',
    root: '/.well-known/oauth-protected-resource',
    none: undefined,
  };
  if (path !== places[settings.resourceMetadata]) return undefined;
  const metadata = {
    resource: server,
    authorization_servers: [state.issuer()],
    ...(settings.scopes.resource !== undefined && { scopes_supported: settings.scopes.resource }),
    ...((settings.dpop === 'required' || settings.dpop === 'nonce') && {
      dpop_bound_access_tokens_required: true,
    }),
  };
  return settings.tamper.resource?.(metadata) ?? metadata;
}
