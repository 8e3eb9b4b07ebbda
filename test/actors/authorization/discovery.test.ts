/** Discovery: LOGIN.md rows 1 to 4, and metadata that a hostile server names. */

import { describe, expect, it } from 'vitest';

import { type DiscoveryHints, discover } from '../../../actors/authorization/discovery.ts';
import { otherResource } from '../../../actors/transports/http/addresses.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { challengedPlace } from '../../support/issuer/places.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';
import { accessTo, failureOf, issuerWith, valueOf } from './bench.ts';

async function discovered(settings: Partial<IssuerSettings> = {}, hints: DiscoveryHints = {}) {
  const issuer = await issuerWith(settings);
  const outcome = await discover(accessTo(issuer.server), new URL(issuer.server), hints);
  return { issuer, outcome, paths: issuer.seen.map(({ path }) => path) };
}

async function refusal(settings: Partial<IssuerSettings>, hints?: DiscoveryHints) {
  return failureOf((await discovered(settings, hints)).outcome);
}

describe("the server's metadata", () => {
  it('is read where the challenge says', async () => {
    const issuer = await issuerWith();
    const challenge = {
      scheme: 'Bearer',
      resourceMetadataUrl: `${issuer.origin}${challengedPlace}`,
    } as const;
    const outcome = await discover(accessTo(issuer.server), new URL(issuer.server), { challenge });
    expect(valueOf(outcome).resource).toBe(issuer.server);
    expect(issuer.seen[0]?.path).toBe(challengedPlace);
  });

  it('is read at the well-known place with the path, then at the one without', async () => {
    const first = await discovered({ resourceMetadata: 'path' });
    const second = await discovered({ resourceMetadata: 'root' });
    const inserted = '/.well-known/oauth-protected-resource/mcp';
    expect(first.paths[0]).toBe(inserted);
    expect(second.paths.slice(0, 2)).toEqual([inserted, '/.well-known/oauth-protected-resource']);
    expect(valueOf(first.outcome).issuer).toBe(first.issuer.issuer());
    expect(valueOf(second.outcome).issuer).toBe(second.issuer.issuer());
  });

  it('is looked for elsewhere if the place in the challenge has none', async () => {
    const issuer = await issuerWith({ resourceMetadata: 'path' });
    const challenge = { scheme: 'Bearer', resourceMetadataUrl: `${issuer.origin}/none` } as const;
    const outcome = await discover(accessTo(issuer.server), new URL(issuer.server), { challenge });
    expect(valueOf(outcome).issuer).toBe(issuer.issuer());
  });

  it('is optional: the origin of an old server is its issuer', async () => {
    const { outcome, issuer } = await discovered({ resourceMetadata: 'none' });
    expect(valueOf(outcome)).toMatchObject({ issuer: issuer.origin, resource: issuer.server });
  });

  it('is refused if it is about another server', async () => {
    const resource = (metadata: object) => ({ ...metadata, resource: 'https://evil.example/mcp' });
    expect(await refusal({ resourceMetadata: 'path', tamper: { resource } })).toMatchObject({
      kind: 'discovery',
      isFinal: true,
      message: expect.stringContaining('another resource, "https://evil.example/mcp"'),
    });
  });

  it.each(['', '/', '/mcp?other'])('may name the origin%s, which a login shows', async (path) => {
    const resource = ({ resource: own, ...metadata }: Record<string, unknown>) => ({
      ...metadata,
      resource: `${new URL(String(own)).origin}${path}`,
    });
    const { issuer, outcome } = await discovered({
      resourceMetadata: 'path',
      tamper: { resource },
    });
    const named = valueOf(outcome).resource;
    expect(named).toBe(`${issuer.origin}${path}`);
    expect(otherResource(new URL(issuer.server), named)).toBe(new URL(named).href);
  });

  it('names the server itself, with or without a slash at the end', async () => {
    const server = new URL('https://example.test/mcp?key=planted');
    for (const named of ['https://example.test/mcp', 'https://EXAMPLE.test:443/mcp/', server.href])
      expect(otherResource(server, named)).toBeUndefined();
    expect(otherResource(new URL('https://example.test'), 'https://example.test/')).toBeUndefined();
  });

  it('is refused if it names a resource with a password', async () => {
    const resource = ({ resource: own, ...metadata }: Record<string, unknown>) => ({
      ...metadata,
      resource: String(own).replace('://', '://u:hunter2@'),
    });
    const { message } = await refusal({ resourceMetadata: 'path', tamper: { resource } });
    expect(message).toMatch(/names a resource with a user name or password$/);
  });

  it('is refused if it names no issuer', async () => {
    const resource = (metadata: object) => ({ ...metadata, authorization_servers: [] });
    const { message } = await refusal({ resourceMetadata: 'path', tamper: { resource } });
    expect(message).toContain('names no issuer');
  });

  it('is refused if its fields have wrong types', async () => {
    const resource = (metadata: object) => ({ ...metadata, authorization_servers: 'x' });
    const { message } = await refusal({ resourceMetadata: 'path', tamper: { resource } });
    expect(message).toContain('/.well-known/oauth-protected-resource/mcp is invalid');
  });

  it('is asked for without the query of the URL, which may hold a key', async () => {
    const issuer = await issuerWith({ resourceMetadata: 'path' });
    const url = new URL(`${issuer.server}?key=planted`);
    const found = valueOf(await discover(accessTo(url.href), url));
    expect(found.resource).toBe(issuer.server);
    expect(issuer.seen.every(({ query }) => !query.has('key'))).toBe(true);
  });
});

describe("the issuer's metadata", () => {
  it.each([
    ['', 'oauth', ['/.well-known/oauth-authorization-server']],
    [
      '',
      'oidcInserted',
      ['/.well-known/oauth-authorization-server', '/.well-known/openid-configuration'],
    ],
    ['/tenant', 'oauth', ['/.well-known/oauth-authorization-server/tenant']],
    [
      '/tenant',
      'oidcAppended',
      [
        '/.well-known/oauth-authorization-server/tenant',
        '/.well-known/openid-configuration/tenant',
        '/tenant/.well-known/openid-configuration',
      ],
    ],
  ] as const)('of "%s" is found as %s', async (issuerPath, metadata, places) => {
    const { outcome, paths, issuer } = await discovered({
      issuerPath,
      metadata,
      resourceMetadata: 'path',
    });
    expect(valueOf(outcome).issuer).toBe(issuer.issuer());
    expect(paths.slice(1)).toEqual(places);
  });

  it('is asked for without MCP headers', async () => {
    const { issuer } = await discovered({ resourceMetadata: 'path' });
    const names = issuer.seen.flatMap(({ headers }) => Object.keys(headers));
    expect(names.filter((name) => name.startsWith('mcp-'))).toEqual([]);
  });

  it('is refused if it names another issuer', async () => {
    const issuer = (metadata: object) => ({ ...metadata, issuer: 'https://evil.example' });
    expect(await refusal({ resourceMetadata: 'path', tamper: { issuer } })).toMatchObject({
      kind: 'discovery',
      isFinal: true,
      message: expect.stringContaining('names another issuer, "https://evil.example"'),
    });
  });

  it('is refused if there is none', async () => {
    const { message } = await refusal({ resourceMetadata: 'path', metadata: 'none' });
    expect(message).toContain('has no metadata at the known places');
  });

  it('is refused if it has no token endpoint', async () => {
    const issuer = (metadata: object) => ({ ...metadata, token_endpoint: undefined });
    const { message } = await refusal({ resourceMetadata: 'path', tamper: { issuer } });
    expect(message).toMatch(/oauth-authorization-server is invalid: token_endpoint$/u);
  });

  it('is passed over where an application answers with a page', async () => {
    const fault = { status: 200, headers: { 'content-type': 'text/html' }, body: '<html>' };
    const faults = new Map([['/.well-known/oauth-authorization-server', { fault }]]);
    const settings = { faults, metadata: 'oidcInserted', resourceMetadata: 'path' } as const;
    expect(valueOf((await discovered(settings)).outcome).issuer).toBeDefined();
  });

  it('of the settings replaces what the server names', async () => {
    const other = await issuerWith();
    const metadataUrl = `${other.origin}/.well-known/oauth-authorization-server`;
    const { outcome } = await discovered({ resourceMetadata: 'none' }, { metadataUrl });
    expect(valueOf(outcome).issuer).toBe(other.issuer());
  });

  it('is refused if a terminal would not show the issuer as it is', async () => {
    const name = (metadata: Record<string, unknown>) => ({
      ...metadata,
      issuer: `${String(metadata['issuer'])}/\u001b[2J`,
    });
    const other = await issuerWith({ tamper: { issuer: name } });
    const metadataUrl = `${other.origin}/.well-known/oauth-authorization-server`;
    const { message } = await refusal({ resourceMetadata: 'none' }, { metadataUrl });
    expect(message).toMatch(/^the issuer "[\x20-\x7e]+" is not a URL as it is written$/u);
  });

  it('of another issuer than the settings allow is refused', async () => {
    const hints = { requiredIssuer: 'https://mine.example' };
    const { message } = await refusal({ resourceMetadata: 'path' }, hints);
    expect(message).toContain('the settings allow "https://mine.example" only');
  });

  it('of the stored issuer is preferred among several', async () => {
    const second = await issuerWith();
    const resource = (metadata: Record<string, unknown>) => ({
      ...metadata,
      authorization_servers: [...(metadata['authorization_servers'] as string[]), second.issuer()],
    });
    const settings = { resourceMetadata: 'path', tamper: { resource } } as const;
    const { outcome } = await discovered(settings, { issuer: second.issuer() });
    expect(valueOf(outcome).issuer).toBe(second.issuer());
  });
});

describe('hostile metadata', () => {
  it.each([
    'file:///etc/passwd',
    'javascript:alert(1)',
    'http://login.example/authorize',
    'https://user:planted@login.example/authorize',
    'not a URL',
  ])('with the authorization endpoint %s is refused', async (endpoint) => {
    const issuer = (metadata: object) => ({ ...metadata, authorization_endpoint: endpoint });
    const failure = await refusal({ resourceMetadata: 'path', tamper: { issuer } });
    expect(failure).toMatchObject({ kind: 'discovery', isFinal: true });
    expect(failure.message).toContain('the authorization_endpoint of');
    expect(failure.message).not.toContain('planted');
  });

  it.each(['token', 'registration', 'device_authorization', 'revocation'])(
    'with a plain http %s endpoint is refused',
    async (name) => {
      const issuer = (metadata: object) => ({
        ...metadata,
        [`${name}_endpoint`]: 'http://login.example/',
      });
      const { message } = await refusal({ resourceMetadata: 'path', tamper: { issuer } });
      expect(message).toContain(`the ${name}_endpoint of`);
      expect(message).toContain('is neither https nor http on this machine');
    },
  );

  it('that names an issuer in the cloud is refused before a connection', async () => {
    const resource = (metadata: object) => ({
      ...metadata,
      authorization_servers: ['https://169.254.169.254/latest'],
    });
    const { message } = await refusal({ resourceMetadata: 'path', tamper: { resource } });
    expect(message).toContain('connecting to 169.254.169.254 is not allowed');
  });

  it('of a public server may not name an issuer in the private network', async () => {
    const document = JSON.stringify({
      resource: 'https://server.example/mcp',
      authorization_servers: ['https://10.0.0.8/'],
    });
    const { message } = await refusalOfPublicServer(document);
    expect(message).toContain('connecting to 10.0.0.8 is not allowed');
  });

  it('of a public server may not name an issuer on this machine', async () => {
    const document = JSON.stringify({
      resource: 'https://server.example/mcp',
      authorization_servers: ['http://localhost:1234'],
    });
    const { message } = await refusalOfPublicServer(document);
    expect(message).toContain('connecting to localhost (127.0.0.1) is not allowed');
  });

  it('that redirects to another origin is not followed', async () => {
    const other = await issuerWith();
    const fault = { status: 302, headers: { location: `${other.origin}/somewhere` } };
    const faults = new Map([['/.well-known/oauth-protected-resource/mcp', { fault }]]);
    expect(await refusal({ faults })).toMatchObject({
      kind: 'discovery',
      message: expect.stringContaining('which is another origin'),
    });
    expect(other.seen).toEqual([]);
  });

  it('with a huge body is not read to its end', async () => {
    const faults = new Map([
      ['/.well-known/oauth-protected-resource/mcp', { fault: 'huge' as const }],
    ]);
    expect(await refusal({ faults })).toMatchObject({
      kind: 'discovery',
      message: expect.stringContaining('more than 1000000 bytes'),
    });
  });
});

/** Discovery at a public server, whose metadata is this document; no byte is sent. */
async function refusalOfPublicServer(document: string) {
  const server = new URL('https://server.example/mcp');
  const access = accessTo(server.href, {
    resolve: (host, _options, callback) =>
      callback(null, [
        { address: host === 'localhost' ? '127.0.0.1' : '93.184.215.14', family: 4 },
      ]),
  });
  const answering = {
    ...access,
    fetch: async (url: string | URL, init?: RequestInit) =>
      new URL(url).host === server.host ? new Response(document) : access.fetch(url, init),
  };
  return failureOf(await discover(answering, server));
}

describe('an issuer that fails', () => {
  const place = '/.well-known/oauth-authorization-server';

  it('is unavailable, with the time that it asks for', async () => {
    const fault = { status: 503, headers: { 'retry-after': '7' } };
    const faults = new Map([[place, { fault }]]);
    expect(await refusal({ faults, resourceMetadata: 'path' })).toMatchObject({
      kind: 'unavailable',
      isFinal: false,
      retryAfterMs: 7_000,
    });
  });

  it('is asked once more after a lost connection', async () => {
    const faults = new Map([[place, { fault: 'reset' as const, times: 1 }]]);
    const { outcome } = await discovered({ faults, resourceMetadata: 'path' });
    expect(valueOf(outcome).issuer).toBeDefined();
  });

  it('is unavailable if it is not reached', async () => {
    const faults = new Map([[place, { fault: 'reset' as const }]]);
    const failure = await refusal({ faults, resourceMetadata: 'path' });
    expect(failure).toMatchObject({ kind: 'unavailable', isFinal: false });
  });

  it('is given ten seconds', async () => {
    const silent = '/.well-known/oauth-protected-resource/mcp';
    const issuer = await issuerWith({ faults: new Map([[silent, { fault: 'hang' }]]) });
    const clock = new VirtualClock();
    const arrival = issuer.arrives(silent);
    const outcome = discover(accessTo(issuer.server, { clock }), new URL(issuer.server));
    await arrival;
    clock.advanceBy(10_000);
    expect(failureOf(await outcome)).toMatchObject({
      kind: 'unavailable',
      isFinal: false,
      message: `${issuer.origin}${silent} did not answer within 10000 ms`,
    });
  });

  it('is no longer waited for after a cancellation', async () => {
    const issuer = await issuerWith({
      faults: new Map([['/.well-known/oauth-protected-resource/mcp', { fault: 'hang' as const }]]),
    });
    const controller = new AbortController();
    const access = accessTo(issuer.server, { signal: controller.signal });
    const outcome = discover(access, new URL(issuer.server));
    controller.abort();
    expect(failureOf(await outcome).message).toBe('the login was cancelled');
  });
});
