/** Sessions of every remote transport through proxies and TLS. */

import { type AddressInfo, connect } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';

import { describe, expect, it, onTestFinished } from 'vitest';

import type { ReachRules, ServerSpec } from '../../../src/domain/server-spec.ts';
import { type ProxyRules, startHttpProxy } from '../../fixtures/remote/http-proxy.ts';
import { startHttpFixture } from '../../fixtures/remote/http-server.ts';
import { createAuthority } from '../../fixtures/remote/self-signed.ts';
import { startSseFixture } from '../../fixtures/remote/sse-server.ts';
import { startWsFixture } from '../../fixtures/remote/ws-server.ts';
import { type Bench, callOptions, createBench } from '../session/bench.ts';

const authority = createAuthority('Company');
const ofServer = authority.issue('localhost');
const ofClient = authority.issue('client');

const fixtures = { http: startHttpFixture, sse: startSseFixture, ws: startWsFixture } as const;
type Kind = keyof typeof fixtures;

async function serverOf(kind: Kind): Promise<URL> {
  const server = await fixtures[kind]();
  onTestFinished(() => server.close());
  return new URL(server.url);
}

/** The same server behind TLS, for clients with a certificate. */
async function secured(url: URL): Promise<URL> {
  const options = { ...ofServer, ca: authority.cert, requestCert: true };
  const server = createTlsServer(options, (near) => {
    const far = connect(Number(url.port), '127.0.0.1');
    near.on('error', () => far.destroy()).on('close', () => far.destroy());
    far.on('error', () => near.destroy()).on('close', () => near.destroy());
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  const secure = new URL(url.href.replace(/^(ws|http):/u, '$1s:'));
  secure.port = String((server.address() as AddressInfo).port);
  return secure;
}

async function proxy(rules: ProxyRules = {}) {
  const started = await startHttpProxy(rules);
  onTestFinished(() => started.close());
  return started;
}

function start(kind: Kind, url: URL, rules: ReachRules): Bench {
  const spec: ServerSpec = { type: kind, url: url.href, headers: {}, era: 'legacy', ...rules };
  const bench = createBench(spec)();
  onTestFinished(() => bench.stop());
  bench.send('session.open');
  return bench;
}

const tls = { ca: authority.cert, ...ofClient };

describe.each(['http', 'sse', 'ws'] as const)('a session over %s', (kind) => {
  it('is opened and used through a proxy', async () => {
    const [url, via] = [await serverOf(kind), await proxy({ login: 'me:pw' })];
    const bench = start(kind, url, { proxy: via.url.replace('//', '//me:pw@') });
    await bench.next('session.opened');
    await bench.handle().callTool('echo', { a: 1 }, callOptions());
    expect(new Set(via.asked.map((line) => line.split(' ')[1]))).toContain(
      kind === 'ws' ? url.host : url.href,
    );
  });

  it('is opened and used with TLS and a client certificate, directly and through a proxy', async () => {
    const url = await secured(await serverOf(kind));
    const via = await proxy({ certificate: authority.issue('localhost') });
    for (const rules of [{ tls }, { tls, proxy: via.url }]) {
      const bench = start(kind, url, rules);
      await bench.next('session.opened');
      await bench.handle().callTool('echo', { a: 1 }, callOptions());
    }
    expect(new Set(via.asked)).toEqual(new Set([`CONNECT ${url.host}`]));
  });

  it('reports a refused login of the proxy without the password', async () => {
    const [url, via] = [await serverOf(kind), await proxy({ login: 'me:pw' })];
    const rules = { proxy: via.url.replace('//', '//me:hunter2@') };
    const { failure } = await start(kind, url, rules).next('session.closed');
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining(
        '407 Proxy Authentication Required; fix the user or the password in "proxy"',
      ),
    });
    expect(JSON.stringify(failure)).not.toContain('hunter2');
  });

  it('reports certificates that are not trusted or not there', async () => {
    const url = await secured(await serverOf(kind));
    const untrusted = await start(kind, url, {}).next('session.closed');
    expect(untrusted.failure?.message).toContain('its certificate is not trusted');
    const missing = await start(kind, url, { tls: { ca: '/none.pem' } }).next('session.closed');
    expect(missing.failure?.message).toBe(
      'The file "/none.pem" of "tls.ca" does not exist; create it, or fix "tls.ca".',
    );
  });
});
