/** How issuers are reached: as their server is. */

import { createServer } from 'node:https';
import type { TLSSocket } from 'node:tls';

import { describe, expect, it, onTestFinished } from 'vitest';

import {
  createIssuerConnection,
  type IssuerAccess,
} from '../../../actors/authorization/login-fetch.ts';
import { openEndpoint } from '../../../actors/transports/http/proxy-and-tls.ts';
import { resolveSpec } from '../../../actors/values/target.ts';
import type { ReachRules } from '../../../src/domain/server-spec.ts';
import type { Variables } from '../../../src/policies/expand-variables.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';
import { startHttpProxy } from '../../fixtures/remote/http-proxy.ts';
import { createAuthority } from '../../fixtures/remote/self-signed.ts';
import { listen, type Peer, untilTestEnds } from '../transports/http/bench.ts';

const authority = createAuthority('Company');
const ca = authority.cert;
const ofClient = authority.issue('client');

interface SecurePeer extends Peer {
  /** The name in the certificate of each client; none without one. */
  readonly clients: readonly string[];
}

async function securePeer(): Promise<SecurePeer> {
  const clients: string[] = [];
  const options = {
    ...authority.issue('server'),
    ca,
    requestCert: true,
    rejectUnauthorized: false,
  };
  const server = createServer(options, ({ socket }, response) => {
    const { subject } = (socket as TLSSocket).getPeerCertificate();
    clients.push(String(subject?.CN ?? 'none'));
    response.end('{}');
  });
  return Object.assign(untilTestEnds(await listen(server, 'https')), { clients });
}

/** The access to the issuer of a server with these settings, as its session would create it. */
async function accessOf(
  server: string,
  rules: ReachRules,
  variables: Variables = {},
): Promise<IssuerAccess> {
  const spec = { type: 'http', url: server, headers: {}, era: 'auto', ...rules } as const;
  const resolved = resolveSpec(spec, variables);
  if (!('endpoint' in resolved)) throw new Error('not remote');
  const { url, reach } = await openEndpoint(resolved.endpoint, () => {});
  const connection = createIssuerConnection(url, promptClock, { reach });
  onTestFinished(() => connection.close());
  return connection.access(new AbortController().signal);
}

describe('an issuer', () => {
  it('gets the client certificate only at the origin of the server', async () => {
    const [server, other] = [await securePeer(), await securePeer()];
    const access = await accessOf(server.origin, { tls: { ca, ...ofClient } });
    for (const { origin } of [server, other])
      await access.fetch(`${origin}/token`, { method: 'POST' });
    expect([server.clients, other.clients]).toEqual([['client'], ['none']]);
  });

  it('of any origin is reached through the proxy and checked with the authorities of the server', async () => {
    const [server, other] = [await securePeer(), await securePeer()];
    const via = untilTestEnds(await startHttpProxy({ login: 'me:pw' }));
    const proxy = via.url.replace('//', '//me:pw@');
    const access = await accessOf(server.origin, { proxy, tls: { ca } });
    for (const { origin } of [server, other])
      await access.fetch(`${origin}/token`, { method: 'POST' });
    expect(via.asked).toEqual(
      [server, other].map(({ origin }) => `CONNECT ${new URL(origin).host}`),
    );
  });

  it('is refused with the reason when its proxy in the environment cannot be used', async () => {
    const access = await accessOf('http://127.0.0.1:9/mcp', {}, { HTTPS_PROXY: 'socks5://proxy' });
    await expect(access.fetch('https://issuer.example/token')).rejects.toMatchObject({
      failure: {
        kind: 'discovery',
        message: expect.stringMatching(/^the variable HTTPS_PROXY holds a SOCKS proxy/u),
      },
    });
  });
});
