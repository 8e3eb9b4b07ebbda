/** The MCP server that the test issuer protects. */

import { answerTo, type RpcMessage } from '../../fixtures/least-peer.ts';
import { checkProof } from './jwt.ts';
import { challengedPlace } from './places.ts';
import { type IssuerState, nonce, type Reply, type Seen } from './state.ts';
import type { Grant } from './tokens.ts';

export function mcp(state: IssuerState, seen: Seen): Reply {
  const grant = admitted(state, seen);
  if ('status' in grant) {
    state.counts.unauthorized += 1;
    return grant;
  }
  if (seen.method === 'GET') return { status: 405 };
  if (seen.method !== 'POST') return { status: 200 };
  const message = JSON.parse(seen.body) as RpcMessage;
  const tool = message.method === 'tools/call' ? String(message.params?.['name']) : undefined;
  const needed = (tool !== undefined && state.settings.toolScopes[tool]) || [];
  if (!needed.every((scope) => grant.scopes.includes(scope)))
    return challenge(state, 403, { error: 'insufficient_scope', scope: needed.join(' ') });
  if (tool !== undefined) state.counts.calls += 1;
  const json = message.method === 'tools/list' ? toolsOf(state, message) : answerTo(message);
  return json === undefined ? { status: 202 } : { status: 200, json };
}

function toolsOf({ settings }: IssuerState, { id }: RpcMessage): unknown {
  const names = new Set(['echo', ...Object.keys(settings.toolScopes)]);
  const tools = [...names].map((name) => ({ name, inputSchema: { type: 'object' } }));
  return { jsonrpc: '2.0', id, result: { tools } };
}

/** The grant behind a request's token, or why it is refused. */
function admitted(state: IssuerState, { headers, method }: Seen): Grant | Reply {
  const { settings, book, server, seenIds } = state;
  const [scheme = '', token = ''] = (headers.authorization ?? '').split(' ');
  const { challengeScope: scope } = settings;
  const wanted = scope === undefined ? {} : { scope };
  if (token === '') return challenge(state, 401, wanted);
  const grant = book.grantOf(token);
  if (grant === undefined || grant.resource !== server)
    return challenge(state, 401, { error: 'invalid_token', ...wanted });
  if (grant.jkt === undefined) {
    const mayBear =
      scheme === 'Bearer' && settings.dpop !== 'required' && settings.dpop !== 'nonce';
    return mayBear ? grant : challenge(state, 401, { error: 'invalid_token', ...wanted });
  }
  const proof = headers['dpop'];
  const bound = checkProof(typeof proof === 'string' ? proof : undefined, {
    method,
    url: server,
    nowMs: state.now(),
    nonce: settings.dpop === 'nonce' ? nonce : undefined,
    accessToken: token,
    seen: seenIds,
  });
  if ('error' in bound) return challenge(state, 401, { error: bound.error });
  const isOwn = scheme === 'DPoP' && bound.jkt === grant.jkt;
  return isOwn ? grant : challenge(state, 401, { error: 'invalid_token', ...wanted });
}

function challenge(
  { settings, origin }: IssuerState,
  status: number,
  parameters: Readonly<Record<string, string>>,
): Reply {
  const place =
    settings.resourceMetadata === 'challenge'
      ? { resource_metadata: `${origin}${challengedPlace}` }
      : {};
  const list = Object.entries({ ...parameters, ...place }).map(
    ([name, value]) => `${name}="${value}"`,
  );
  const scheme = settings.dpop === 'none' || settings.dpop === 'offered' ? 'Bearer' : 'DPoP';
  const isNonce = parameters['error'] === 'use_dpop_nonce';
  return {
    status,
    headers: {
      'www-authenticate': list.length === 0 ? scheme : `${scheme} ${list.join(', ')}`,
      ...(isNonce && { 'dpop-nonce': nonce }),
    },
    json: { error: parameters['error'] ?? 'unauthorized' },
  };
}
