/** Servers that are reached through proxies, or with certificates of one's own. */

import { mkdtempSync, writeFileSync } from 'node:fs';
import { createServer as createSecureServer, type ServerOptions } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { describe, expect, it } from 'vitest';

import { describeError } from '../../../../actors/transports/connection/failure.ts';
import { openEndpoint } from '../../../../actors/transports/http/proxy-and-tls.ts';
import { resolveSpec } from '../../../../actors/values/target.ts';
import type { HttpSpec, ReachRules } from '../../../../src/domain/server-spec.ts';
import type { Variables } from '../../../../src/policies/expand-variables.ts';
import { classifyFailure } from '../../../../src/policies/failures/classify.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import {
  type HttpProxy,
  type ProxyRules,
  startHttpProxy,
} from '../../../fixtures/remote/http-proxy.ts';
import { createAuthority, encrypted } from '../../../fixtures/remote/self-signed.ts';
import { turn } from '../../../support/turn.ts';
import {
  type Echo,
  echo,
  errorOf,
  type GuardedFetch,
  guarded,
  listen,
  type Peer,
  peer,
  untilTestEnds,
} from './bench.ts';

const authority = createAuthority('Company');
const ofServer = authority.issue('server.test');
const ofClient = authority.issue('client');

async function proxy(rules: ProxyRules = {}): Promise<HttpProxy> {
  return untilTestEnds(await startHttpProxy(rules));
}

async function securePeer(options: ServerOptions = {}): Promise<Peer> {
  const server = createSecureServer({ ...ofServer, ...options }, echo);
  server.on('tlsClientError', () => {});
  return untilTestEnds(await listen(server, 'https'));
}

/** The same server under a name, which only a proxy resolves. */
const named = (origin: string): string => origin.replace('127.0.0.1', 'server.test');

interface Opened {
  readonly fetch: GuardedFetch['fetch'];
  readonly secrets: readonly string[];
  readonly remarks: readonly string[];
}

/** A fetch for a server with these settings, as a session would create it. */
async function reaching(
  url: string,
  rules: ReachRules,
  variables: Variables = {},
  clock?: VirtualClock,
): Promise<Opened> {
  const spec = { type: 'http', url, headers: {}, era: 'auto', ...rules } as const;
  const resolved = resolveSpec(spec, variables);
  if (!('endpoint' in resolved)) throw new Error('not remote');
  const remarks: string[] = [];
  const { reach } = await openEndpoint(resolved.endpoint, (text) => remarks.push(text));
  const { fetch } = guarded(url, { reach, ...(clock && { clock }) });
  return { fetch, secrets: resolved.secrets, remarks };
}

/** What identifies the way in a login. */
async function digestOf(rules: ReachRules, variables: Variables = {}) {
  const spec = { type: 'http', url: 'https://server.test', headers: {}, era: 'auto', ...rules };
  const resolved = resolveSpec(spec as HttpSpec, variables);
  if (!('endpoint' in resolved)) throw new Error('not remote');
  const { reach } = await openEndpoint(resolved.endpoint, () => {});
  return reach?.ownDigest;
}

async function echoed({ fetch }: Opened, url: string): Promise<Echo> {
  const answer = await fetch(url, { method: 'POST', body: '{}' });
  const text = await answer.text();
  // The connection is free again in the next turn.
  await turn();
  return JSON.parse(text) as Echo;
}

/** What a user would read, and its kind. */
async function failureOf(url: string, rules: ReachRules, variables: Variables = {}) {
  const error = await errorOf(
    (async () => {
      const opened = await reaching(url, rules, variables);
      await (await opened.fetch(url)).text();
    })(),
  );
  const seen = describeError(error, []);
  return { ...classifyFailure({ ...seen, phase: 'connect' }), wasConnected: seen.wasConnected };
}

function fileOf(text: string, name = 'x.pem'): string {
  const file = path.join(mkdtempSync(path.join(tmpdir(), 'troupe-reach-')), name);
  writeFileSync(file, text);
  return file;
}

const ca = authority.cert;

describe('a server behind a proxy', () => {
  it('is sent requests through one tunnel, of which the proxy reads nothing', async () => {
    const [server, via] = [await securePeer(), await proxy({ login: 'me:p w' })];
    const url = named(server.origin);
    const address = via.url.replace('//', '//me:p%20w@');
    const opened = await reaching(url, { proxy: address, tls: { ca } });
    expect((await echoed(opened, url)).body).toBe('{}');
    expect((await echoed(opened, url)).headers).not.toHaveProperty('proxy-authorization');
    expect(via.asked).toEqual([`CONNECT ${new URL(url).host}`]);
    expect(via.heard()).not.toContain('POST ');
    expect(server.connections()).toBe(1);
    expect(opened.secrets).toContain('p%20w');
  });

  it('is sent requests through the proxy with absolute URLs when it has no TLS', async () => {
    const [server, via] = [await peer(echo), await proxy({ login: 'me:pw' })];
    const url = `${named(server.origin)}/mcp?a=1`;
    const opened = await reaching(url, { proxy: via.url.replace('//', '//me:pw@') });
    const { headers, url: at } = await echoed(opened, url);
    await echoed(opened, url);
    expect(headers['host']).toBe(new URL(url).host);
    expect(at).toBe('/mcp?a=1');
    expect(via.asked).toEqual([`POST ${url}`, `POST ${url}`]);
  });

  it.each(['http', 'https'] as const)('may have a proxy with TLS (%s)', async (scheme) => {
    const server = scheme === 'http' ? await peer(echo) : await securePeer();
    const via = await proxy({ certificate: authority.issue('proxy') });
    const url = named(server.origin);
    const opened = await reaching(url, { proxy: via.url, tls: { ca } });
    expect((await echoed(opened, url)).method).toBe('POST');
    expect(via.asked).toHaveLength(1);
  });

  it.each([
    ['HTTPS_PROXY', {}, true],
    ['https_proxy', {}, true],
    ['ALL_PROXY', {}, true],
    ['HTTPS_PROXY', { NO_PROXY: 'server.test' }, false],
  ] as const)('uses %s of the environment, with %j: %s', async (variable, more, isUsed) => {
    const via = await proxy({ refusesWith: 418 });
    const variables = { [variable]: via.url.replace('http://', ''), ...more };
    const { message } = await failureOf('https://server.test:9', {}, variables);
    expect(message.includes(`refused the connection with 418 I'm a Teapot`)).toBe(isUsed);
    expect(via.asked).toHaveLength(isUsed ? 1 : 0);
  });

  it.each([false, undefined] as const)(
    'uses no proxy when "proxy" is %s and it is local',
    async (own) => {
      const [server, via] = [await peer(echo), await proxy()];
      const rules: ReachRules = own === undefined ? {} : { proxy: own };
      const opened = await reaching(server.origin, rules, { ALL_PROXY: via.url });
      await echoed(opened, server.origin);
      expect(via.asked).toEqual([]);
    },
  );

  it('uses a proxy that its entry names although it is local', async () => {
    const [server, via] = [await peer(echo), await proxy()];
    await echoed(await reaching(server.origin, { proxy: via.url }), server.origin);
    expect(via.asked).toEqual([`POST ${server.origin}/`]);
  });

  it.each([
    ['http://169.254.169.254/', {}],
    ['https://[fd00:ec2::254]/', {}],
    ['http://metadata.google.internal/', {}],
    ['https://METADATA.google.internal./', {}],
    ['https://server.test/', { proxy: 'http://169.254.169.254' }],
    ['http://server.test/', { proxy: 'http://169.254.169.254' }],
  ])('is refused if its address is forbidden: %s, %j', async (url, rules) => {
    const via = await proxy();
    const { code, kind } = await failureOf(url, { proxy: via.url, ...rules });
    expect([code, kind, via.asked]).toEqual(['ADDRESS_BLOCKED', 'unavailable', []]);
  });

  it.each(['http://127.0.0.1:9/', 'http://localhost:9/', 'http://10.0.0.1/', 'http://[::1]/'])(
    'may not lead to %s from a public address',
    async (elsewhere) => {
      const via = await proxy();
      const opened = await reaching('http://server.test/', { proxy: via.url });
      const error = await errorOf(opened.fetch(elsewhere));
      expect(describeError(error, []).causes?.[0]?.code).toBe('ERR_ADDRESS_BLOCKED');
      expect(via.asked).toEqual([]);
    },
  );

  it('ends its tunnels with the session, also unfinished ones', async () => {
    const via = await proxy({ isSilent: true });
    const url = 'https://server.test/';
    const spec = { type: 'http', url, headers: {}, era: 'auto', proxy: via.url } as const;
    const resolved = resolveSpec(spec, {});
    const { reach } = await openEndpoint(
      'endpoint' in resolved ? resolved.endpoint : expect.unreachable(),
      () => {},
    );
    const clock = new VirtualClock();
    const session = guarded(url, { reach, clock });
    const outcome = errorOf(session.fetch(url));
    while (via.asked.length === 0) await turn();
    session.close();
    expect(await outcome).toBeInstanceOf(TypeError);
    expect(clock.pendingCount).toBe(0);
  });
});

describe('a broken way to a server is named with the next step:', () => {
  const https = 'https://server.test/';
  const failed = 'The request to https://server.test/ failed: ';

  it('a proxy that is not there', async () => {
    const via = await startHttpProxy();
    await via.close();
    const { host } = new URL(via.url);
    for (const url of [https, 'http://server.test/'])
      expect(await failureOf(url, { proxy: via.url })).toMatchObject({
        kind: 'unavailable',
        wasConnected: false,
        message: `The request to ${url} failed: the proxy ${via.url} cannot be reached (connect ECONNREFUSED ${host}); start it or fix "proxy".`,
      });
  });

  it('a proxy that does not answer', async () => {
    const via = await proxy({ isSilent: true });
    const clock = new VirtualClock();
    const opened = await reaching(https, { proxy: via.url }, {}, clock);
    const outcome = errorOf(opened.fetch(https));
    while (via.asked.length === 0) await turn();
    clock.advanceBy(10_000);
    expect((await outcome).message).toBe(
      `${failed}the proxy ${via.url} cannot be reached (no answer within 10000 ms); start it or fix "proxy".`,
    );
  });

  it.each([
    ['', 'write user:password@ before the host in "proxy"'],
    ['me:wrong@', 'fix the user or the password in "proxy"'],
  ])('a proxy that refuses the login %j', async (login, step) => {
    const via = await proxy({ login: 'me:pw' });
    const address = via.url.replace('//', `//${login}`);
    for (const url of [https, 'http://server.test/']) {
      const failure = await failureOf(url, { proxy: address });
      expect(failure).toMatchObject({
        kind: 'unavailable',
        wasConnected: false,
        message: `The request to ${url} failed: the proxy ${via.url} refused the connection with 407 Proxy Authentication Required; ${step}.`,
      });
      expect(JSON.stringify(failure)).not.toContain('wrong');
    }
  });

  it('a proxy that forbids the server', async () => {
    const via = await proxy({ refusesWith: 403 });
    expect((await failureOf(https, { proxy: via.url })).message).toBe(
      `${failed}the proxy ${via.url} refused the connection with 403 Forbidden; let it allow this address, or fix "proxy".`,
    );
  });

  it('a proxy whose certificate is not trusted', async () => {
    const via = await proxy({ certificate: ofServer });
    expect((await failureOf(https, { proxy: via.url })).message).toBe(
      `${failed}the proxy ${via.url} cannot be used: its certificate is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE); if it comes from an authority of your own, write "tls": { "ca": "FILE" } with the file of that authority.`,
    );
  });

  it.each([
    ['socks5://h:1', 'a SOCKS proxy, which is not supported'],
    ['http://', 'no address of a proxy'],
  ])('a variable that holds %s', async (value, what) => {
    expect((await failureOf(https, {}, { HTTPS_PROXY: value })).message).toBe(
      `The variable HTTPS_PROXY holds ${what}; write http://host:port into it, or "proxy": false for this server.`,
    );
  });

  it('a server certificate that is not trusted', async () => {
    const server = await securePeer();
    expect(await failureOf(server.origin, {})).toMatchObject({
      message: `The request to ${server.origin}/ failed: its certificate is not trusted (UNABLE_TO_VERIFY_LEAF_SIGNATURE); if it comes from an authority of your own, write "tls": { "ca": "FILE" } with the file of that authority.`,
    });
  });

  it('a server certificate for another host', async () => {
    const server = await securePeer();
    const url = server.origin.replace('127.0.0.1', 'other.localhost');
    const via = await proxy();
    expect((await failureOf(url, { proxy: via.url, tls: { ca } })).message).toContain(
      'its certificate is for another host (ERR_TLS_CERT_ALTNAME_INVALID); fix the host',
    );
  });

  it.each(['TLSv1.3', 'TLSv1.2'] as const)('a missing client certificate (%s)', async (version) => {
    const server = await securePeer({ ca, requestCert: true, maxVersion: version });
    expect((await failureOf(server.origin, { tls: { ca } })).message).toMatch(
      /requires? a client certificate \(TLS alert (?:40|116)\); write the files of "cert" and "key" into "tls"\.$/u,
    );
  });

  it.each([42, 46, 48])('a client certificate that is refused with alert %i', async (alert) => {
    const server = untilTestEnds(
      await listen(
        createTcpServer((socket) => {
          socket.once('data', () => socket.end(Buffer.of(21, 3, 3, 0, 2, 2, alert)));
        }),
        'https',
      ),
    );
    expect((await failureOf(server.origin, { tls: { ca, ...ofClient } })).message).toBe(
      `The request to ${server.origin}/ failed: it does not accept the client certificate (TLS alert ${alert}); fix "tls.cert".`,
    );
  });

  const locked = encrypted(ofClient.key, 'open sesame');
  const missing = path.join(tmpdir(), 'no-such-folder', 'ca.pem');
  const { cert, key } = ofClient;
  it.each([
    [
      { ca: missing },
      `The file "${missing}" of "tls.ca" does not exist; create it, or fix "tls.ca".`,
    ],
    [
      { cert, key: missing },
      `The file "${missing}" of "tls.key" does not exist; create it, or fix "tls.key".`,
    ],
    [
      { ca: '${CA}' },
      'The file "${CA}" of "tls.ca" is not a whole path once its references are resolved; fix it.',
    ],
    [{ ca: tmpdir() }, `The file "${tmpdir()}" of "tls.ca" is not a file.`],
    [
      { ca: fileOf('x') },
      'The "tls.ca" holds no certificate in PEM form; name a file that begins with -----BEGIN CERTIFICATE-----.',
    ],
    [
      { ca: '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----' },
      'The "tls.ca" holds no certificate in PEM form; name a file that begins with -----BEGIN CERTIFICATE-----.',
    ],
    [
      { cert: fileOf('x'), key },
      'The "tls.cert" holds no certificate in PEM form; name a file that begins with -----BEGIN CERTIFICATE-----.',
    ],
    [{ cert }, 'The "tls.cert" holds no private key; name the file of the key in "tls.key".'],
    [
      { cert, key: cert },
      'The "tls.key" holds no private key in PEM form; name a file that begins with -----BEGIN PRIVATE KEY-----.',
    ],
    [
      {
        cert,
        key: key.replace(/[A-Z]/gu, 'A').replaceAll('AAAAA AAAAAAA AAA', 'BEGIN PRIVATE KEY'),
      },
      /^The "tls.key" holds no private key|^The private key of "tls.key" is damaged/u,
    ],
    [
      { cert, key: locked },
      'The private key of "tls.key" is encrypted; write its passphrase into "tls.passphrase".',
    ],
    [
      { cert, key: locked, passphrase: 'wrong one' },
      'The "tls.passphrase" does not open the private key of "tls.key"; fix it.',
    ],
    [
      { cert: ofServer.cert, key },
      'The private key of "tls.key" does not belong to the certificate of "tls.cert"; fix one of them.',
    ],
  ])('the certificates of case %#', async (tls, message) => {
    const failure = await failureOf(https, { tls }, { CA: 'ca.pem' });
    expect(failure.message).toEqual(
      typeof message === 'string' ? message : expect.stringMatching(message),
    );
    expect(failure.kind).toBe('unavailable');
  }); // prettier-ignore
});

describe('certificates', () => {
  it.each([
    ['of the entry, as a file', () => [{ tls: { ca: fileOf(ca) } }, {}]],
    ['of the entry, as a text', () => [{ tls: { ca: '${CA}' } }, { CA: ca }]],
    ['of SSL_CERT_FILE', () => [{}, { SSL_CERT_FILE: fileOf(ca) }]],
    ['of NODE_EXTRA_CA_CERTS', () => [{}, { NODE_EXTRA_CA_CERTS: fileOf(ca) }]],
  ] satisfies [string, () => [ReachRules, Variables]][])(
    'are trusted if their authority is that %s',
    async (_where, settings) => {
      const server = await securePeer();
      const [rules, variables] = settings();
      const opened = await reaching(server.origin, rules, variables);
      expect((await echoed(opened, server.origin)).method).toBe('POST');
    },
  );

  it('of the environment that cannot be read are noted and add nothing', async () => {
    const { remarks } = await reaching('https://server.test/', {}, { SSL_CERT_FILE: '/none.pem' });
    expect(remarks).toEqual([
      'the file of SSL_CERT_FILE does not exist; create it, or fix "SSL_CERT_FILE"',
    ]);
  });

  it.each([
    ['two files', () => ({ cert: fileOf(ofClient.cert), key: fileOf(ofClient.key) })],
    ['one file', () => ({ cert: fileOf(`${ofClient.key}${ofClient.cert}`) })],
    [
      'a file with a passphrase',
      () => ({
        cert: fileOf(ofClient.cert),
        key: fileOf(encrypted(ofClient.key, 'open sesame')),
        passphrase: '${PASS}',
      }),
    ],
  ])('identify the client, in %s', async (_how, files) => {
    const server = await securePeer({ ca, requestCert: true });
    const rules = { tls: { ca, ...files() } };
    const opened = await reaching(server.origin, rules, { PASS: 'open sesame' });
    expect((await echoed(opened, server.origin)).method).toBe('POST');
    const via = await proxy();
    const url = named(server.origin);
    const behind = await reaching(url, { ...rules, proxy: via.url }, { PASS: 'open sesame' });
    expect((await echoed(behind, url)).method).toBe('POST');
  });

  it('of the client are presented neither to other origins nor to the proxy', async () => {
    const server = await securePeer();
    const other = await securePeer({ ca, requestCert: true });
    const rules = { tls: { ca, ...ofClient } };
    const opened = await reaching(server.origin, rules);
    await echoed(opened, server.origin);
    const error = await errorOf(echoed(opened, other.origin));
    expect(error.message).toContain('it requires a client certificate');
  });
});

describe("the digest of an entry's own way", () => {
  it('differs with the proxy, the authorities and the client certificate', async () => {
    const other = createAuthority('Other');
    const ways: readonly ReachRules[] = [
      { proxy: false },
      { proxy: 'http://proxy.test:3128' },
      { proxy: 'https://proxy.test:3128' },
      { proxy: 'http://proxy.test' },
      { tls: { ca } },
      { tls: { ca: other.cert } },
      { tls: { ca: `${ca}${other.cert}` } },
      { tls: ofClient },
      { tls: other.issue('client') },
      { tls: { ca, ...ofClient } },
      { tls: { ca }, proxy: 'http://proxy.test' },
    ];
    const digests = await Promise.all(ways.map((rules) => digestOf(rules)));
    expect(new Set(digests).size).toBe(ways.length);
    expect(digests).not.toContain(null);
  });

  it('does not depend on secrets, on files or on the order of authorities', async () => {
    const other = createAuthority('Other').cert;
    const open = { proxy: 'http://proxy.test', tls: { ca: `${ca}${other}`, ...ofClient } };
    const closed = {
      proxy: 'http://me:pw@proxy.test/',
      tls: {
        ca: fileOf(`${other}\n${ca}`),
        cert: fileOf(ofClient.cert),
        key: fileOf(encrypted(ofClient.key, 'pw')),
        passphrase: 'pw',
      },
    };
    expect(await digestOf(closed)).toBe(await digestOf(open));
  });

  it('is null for what the environment names', async () => {
    const variables = { HTTPS_PROXY: 'http://proxy.test', SSL_CERT_FILE: fileOf(ca) };
    expect(await digestOf({}, variables)).toBeNull();
  });
});
