/** The MCP server that the test issuer protects. */

import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';

import { WebSocketServer } from 'ws';

import { answerTo, type RpcMessage } from '../../fixtures/least-peer.ts';
import { checkProof } from './jwt.ts';
import { brokenStream, offered, resumedStream } from './offers.ts';
import { challengedPlace } from './places.ts';
import { type IssuerState, nonce, type Reply, type Seen } from './state.ts';
import type { Grant } from './tokens.ts';

export function mcp(state: IssuerState, seen: Seen): Reply {
  const grant = admitted(state, seen);
  if ('status' in grant) {
    state.counts.unauthorized += 1;
    return grant;
  }
  if (seen.method === 'GET') return resumedStream(seen.headers);
  if (seen.method !== 'POST') return { status: 200 };
  const message = JSON.parse(seen.body) as RpcMessage;
  const tool = message.method === 'tools/call' ? String(message.params?.['name']) : undefined;
  const needed = (tool !== undefined && state.settings.toolScopes[tool]) || [];
  if (!needed.every((scope) => grant.scopes.includes(scope))) {
    const refusal = challenge(state, 403, { error: 'insufficient_scope', scope: needed.join(' ') });
    return state.settings.challengesInResults ? inResult(message, refusal) : refusal;
  }
  if (tool !== undefined) state.counts.calls += 1;
  if (tool === 'breaking') return brokenStream(message);
  const json = answerOf(state, message);
  return json === undefined ? { status: 202 } : { status: 200, json };
}

function answerOf(state: IssuerState, message: RpcMessage): unknown {
  if (message.method === 'tools/list') return toolsOf(state, message);
  return (state.settings.offersAll ? offered(message) : undefined) ?? answerTo(message);
}

function inResult({ id }: RpcMessage, { headers = {} }: Reply): Reply {
  const meta = { 'mcp/www_authenticate': [headers['www-authenticate']] };
  const result = { content: [], isError: true, _meta: meta };
  return { status: 200, json: { jsonrpc: '2.0', id, result } };
}

const sockets = new WebSocketServer({ noServer: true });

/** Answers the handshake of a WebSocket, which needs a token, and then its messages. */
export function upgrade(
  state: IssuerState,
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
): void {
  const { headers } = request;
  const seen = { method: 'GET', path: '/mcp', query: new URLSearchParams(), headers };
  const whole = { ...seen, form: new URLSearchParams(), body: '' };
  const grant = admitted(state, whole);
  if ('status' in grant) {
    state.counts.unauthorized += 1;
    const lines = Object.entries(grant.headers ?? {}).map(([name, value]) => `${name}: ${value}`);
    const answer = [`HTTP/1.1 ${grant.status} Refused`, ...lines, 'content-length: 0', '', ''];
    socket.end(answer.join('\r\n'));
    return;
  }
  sockets.handleUpgrade(request, socket, head, (opened) => {
    opened.on('message', (data: Buffer) => {
      // As IANA registers it: "unauthorized".
      if ('status' in admitted(state, whole)) return opened.close(3000);
      const answer = answerTo(JSON.parse(data.toString('utf8')) as RpcMessage);
      if (answer !== undefined) opened.send(JSON.stringify(answer));
    });
  });
}

function toolsOf({ settings }: IssuerState, { id }: RpcMessage): unknown {
  const names = new Set(['echo', ...Object.keys(settings.toolScopes)]);
  const tools = [...names].map((name) => ({ name, inputSchema: { type: 'object' } }));
  return { jsonrpc: '2.0', id, result: { tools } };
}

/** The grant behind a request's token, or why it is refused. */
function admitted(state: IssuerState, seen: Seen): Grant | Reply {
  const { settings, book, server } = state;
  const [scheme = '', token = ''] = (seen.headers.authorization ?? '').split(' ');
  const { challengeScope: scope } = settings;
  const wanted = scope === undefined ? {} : { scope };
  if (token === '') return challenge(state, 401, wanted);
  const grant = book.grantOf(token);
  const isMeant = grant?.resource === server;
  const error = isMeant ? bindingError(state, seen, grant, { scheme, token }) : 'invalid_token';
  if (grant !== undefined && error === undefined) return grant;
  return challenge(state, 401, { error: error ?? 'invalid_token', ...wanted });
}

/** Why a token may not be used in this way; undefined if it may. */
function bindingError(
  { settings, now, server, seenIds }: IssuerState,
  { headers, method }: Seen,
  { jkt }: Grant,
  { scheme, token }: { readonly scheme: string; readonly token: string },
): string | undefined {
  if (jkt === undefined) {
    const mayBear = settings.dpop === 'none' || settings.dpop === 'offered';
    return mayBear && scheme === 'Bearer' ? undefined : 'invalid_token';
  }
  const proof = headers['dpop'];
  const bound = checkProof(typeof proof === 'string' ? proof : undefined, {
    method,
    url: server,
    nowMs: now(),
    nonce: settings.dpop === 'nonce' ? nonce : undefined,
    accessToken: token,
    seen: seenIds,
  });
  if ('error' in bound) return bound.error;
  return scheme === 'DPoP' && bound.jkt === jkt ? undefined : 'invalid_token';
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
