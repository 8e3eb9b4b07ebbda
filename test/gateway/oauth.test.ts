/** The gateway as a protected resource of a real issuer on this machine. */

import { describe, expect, it, onTestFinished } from 'vitest';

import { openIssuerKeys } from '../../actors/authorization/issuer-keys.ts';
import { initialize } from '../fixtures/initialize.ts';
import { pong } from '../runtime/stage.ts';
import { startTestIssuer, type TestIssuer } from '../support/issuer/issuer.ts';
import { createSigningKey, type SigningKey, signedJwt } from '../support/issuer/signing.ts';
import { type GatewayStage, gatewayStage, post } from './gateway-stage.ts';

interface Place extends GatewayStage {
  readonly issuer: TestIssuer;
  /** A valid token with these claims instead. */
  readonly token: (
    claims?: Readonly<Record<string, unknown>>,
    header?: object,
    key?: SigningKey,
  ) => string;
}

async function placeWith(
  oauth: { readonly audience?: string; readonly scopes?: readonly string[] } = {},
): Promise<Place> {
  const key = createSigningKey('key-1');
  const issuer = await startTestIssuer({ signingKeys: [key] });
  onTestFinished(() => issuer.close());
  const made: { keys?: { close(): void } } = {};
  const stage = await gatewayStage({
    openHttp: async ({ clock }) => {
      const opened = await openIssuerKeys(issuer.issuer(), { clock, options: {}, onFailure() {} });
      if (opened.failed !== undefined) throw new Error(opened.failed.message);
      made.keys = opened.value;
      return { oauth: { keys: opened.value, scopes: [], ...oauth } };
    },
  });
  onTestFinished(() => made.keys?.close());
  const token: Place['token'] = (claims = {}, header = {}, signer = key) => {
    const { clock } = stage;
    const exp = Math.floor(clock.wallNow() / 1_000) + 60;
    const usual = { iss: issuer.issuer(), aud: stage.http.url, sub: 'ada', client_id: 'host', exp };
    return signedJwt(signer, { ...usual, ...claims }, { ...header });
  };
  return { ...stage, issuer, token };
}

const send = (
  { url }: Place,
  token: string | undefined,
  message: unknown = initialize(),
  headers: Readonly<Record<string, string>> = {},
): Promise<Response> =>
  post(url, message, {
    ...headers,
    authorization: token === undefined ? '' : `Bearer ${token}`,
  });

const metadataAt = ({ url }: Place, path: string): string => new URL(path, url).href;
const wellKnown = '/.well-known/oauth-protected-resource';

describe('the metadata of a gateway', () => {
  it('names its URL, issuer and scopes, without a token', async () => {
    const place = await placeWith({ scopes: ['tools'] });
    for (const path of [wellKnown, `${wellKnown}/mcp`]) {
      const response = await fetch(metadataAt(place, path));
      expect(response.status).toBe(200);
      expect(await response.json()).toEqual({
        resource: place.http.url,
        authorization_servers: [place.issuer.issuer()],
        bearer_methods_supported: ['header'],
        scopes_supported: ['tools'],
        resource_name: 'mcp-troupe',
      });
      expect((await fetch(metadataAt(place, path), { method: 'POST' })).status).toBe(401);
    }
    expect((await fetch(metadataAt(place, `${wellKnown}/other`))).status).toBe(401);
  });

  it('names its public address if it has one', async () => {
    const place = await placeWith({ audience: 'https://tools.example.com/team/mcp' });
    const response = await fetch(metadataAt(place, `${wellKnown}/team/mcp`));
    expect(await response.json()).toMatchObject({ resource: 'https://tools.example.com/team/mcp' });
    const refused = await send(place, undefined);
    expect(refused.headers.get('www-authenticate')).toBe(
      `Bearer resource_metadata="https://tools.example.com${wellKnown}/team/mcp"`,
    );
    expect((await send(place, place.token())).status).toBe(401);
    const aud = 'https://tools.example.com/team/mcp';
    expect((await send(place, place.token({ aud }))).status).toBe(200);
  });
});

describe('a request to a gateway with an issuer', () => {
  it('is challenged without a token, and without a word about an error', async () => {
    const place = await placeWith({ scopes: ['tools', 'more'] });
    const response = await send(place, undefined);
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe(
      `Bearer scope="tools more", resource_metadata="${metadataAt(place, `${wellKnown}/mcp`)}"`,
    );
    expect(await response.text()).toContain(place.issuer.issuer());
    expect((await fetch(new URL('/metrics', place.url))).status).toBe(401);
    expect((await fetch(new URL('/healthz', place.url))).status).toBe(200);
  });

  it('is answered with a token for the gateway', async () => {
    const place = await placeWith({ scopes: ['tools'] });
    for (const claims of [
      { scope: 'tools more' },
      { scp: ['tools'] },
      { scp: 'more tools', aud: ['https://other.example', place.http.url] },
      { scope: 'tools', sub: undefined },
    ])
      expect((await send(place, place.token(claims))).status).toBe(200);
  });

  it.each([
    ['is no JWT', () => 'access-123', 'not a signed JWT'],
    ['has expired', ({ token }: Place) => token({ exp: 1_000 }), 'has expired'],
    ['never expires', ({ token }: Place) => token({ exp: undefined }), 'how long it is valid'],
    ['is not valid yet', ({ token }: Place) => token({ nbf: 99_999_999_999 }), 'not valid yet'],
    ['is for another', ({ token }: Place) => token({ aud: 'https://other.example' }), 'not for'],
    ['names no audience', ({ token }: Place) => token({ aud: undefined }), 'not for'],
    [
      'is from another issuer',
      ({ token }: Place) => token({ iss: 'https://x.example' }),
      'not from',
    ],
    ['names no subject', ({ token }: Place) => token({ sub: '', client_id: 1 }), 'no subject'],
    ['is an ID token', ({ token }: Place) => token({}, { typ: 'id+jwt' }), 'not an access token'],
    [
      'has a nonce, as ID tokens do',
      ({ token }: Place) => token({ nonce: 'n' }, { typ: 'JWT' }),
      'not an access',
    ],
    [
      'has a hash of an access token, as ID tokens do',
      ({ token }: Place) => token({ at_hash: 'h' }, { typ: 'JWT' }),
      'not an access',
    ],
    [
      'says that it is an ID token',
      ({ token }: Place) => token({ token_use: 'id' }, { typ: 'JWT' }),
      'not an access',
    ],
    ['is bound to a key', ({ token }: Place) => token({ cnf: { jkt: 'x' } }), 'bound to a key'],
    ['claims no signature', ({ token }: Place) => token({}, { alg: 'none' }), 'not signed'],
    [
      'claims a signature with the public key as a password',
      ({ token }: Place) => token({}, { alg: 'HS256' }),
      'not signed',
    ],
    ['names an unknown key', ({ token }: Place) => token({}, { kid: 'key-2' }), 'not signed'],
    [
      'brings its own key',
      ({ token }: Place) => {
        const own = createSigningKey('key-1');
        return token({}, { jwk: own.jwk }, own);
      },
      'not signed',
    ],
  ])('is refused if its token %s', async (_name, make, reason) => {
    const place = await placeWith();
    const token = make(place);
    const response = await send(place, token);
    expect(response.status).toBe(401);
    const challenge = response.headers.get('www-authenticate') ?? '';
    expect(challenge).toMatch(/^Bearer error="invalid_token", error_description="/);
    expect(challenge).toContain(reason);
    expect(challenge + (await response.text())).not.toContain(token);
  });

  it('is refused with what is missing if its token lacks a scope', async () => {
    const place = await placeWith({ scopes: ['tools', 'more'] });
    const response = await send(place, place.token({ scope: 'tools' }));
    expect(response.status).toBe(403);
    expect(response.headers.get('www-authenticate')).toContain(
      'Bearer error="insufficient_scope", error_description="the token lacks the scope more", scope="tools more", resource_metadata="',
    );
    expect(await response.text()).toContain('the token lacks the scope more');
  });

  it('is answered with a token just after its end, for clocks that differ', async () => {
    const place = await placeWith();
    const now = Math.floor(place.clock.wallNow() / 1_000);
    expect((await send(place, place.token({ exp: now - 10 }))).status).toBe(200);
    expect((await send(place, place.token({ exp: now - 40 }))).status).toBe(401);
  });
});

describe('a connection that closes while its token is checked', () => {
  it('is dropped without a report, and others are answered', async () => {
    const place = await placeWith();
    const next = createSigningKey('key-2');
    await place.advance(31_000);
    // The key is unknown, so it is fetched, which takes until the end of the test.
    place.issuer.settings.faults.set('/jwks', { fault: 'hang' });
    const asked = place.issuer.arrives('/jwks');
    const leave = new AbortController();
    const leaving = fetch(place.url, {
      method: 'POST',
      headers: { authorization: `Bearer ${place.token({}, { kid: 'key-2' }, next)}` },
      signal: leave.signal,
    });
    await asked;
    leave.abort();
    await expect(leaving).rejects.toThrow('aborted');
    // The issuer's time limit.
    await place.advance(11_000);
    expect((await send(place, place.token())).status).toBe(200);
    expect(place.reports).toEqual([]);
  });
});

describe('the keys of an issuer', () => {
  it('are fetched again for a new key, at most every 30 s', async () => {
    const place = await placeWith();
    const next = createSigningKey('key-2');
    const { iss, aud, sub, exp } = {
      iss: place.issuer.issuer(),
      aud: place.http.url,
      sub: 'ada',
      exp: Math.floor(place.clock.wallNow() / 1_000) + 300,
    };
    const token = signedJwt(next, { iss, aud, sub, exp });
    for (let count = 0; count < 20; count += 1) expect((await send(place, token)).status).toBe(401);
    expect(place.issuer.seenAt('/jwks')).toHaveLength(1);
    place.issuer.settings.signingKeys.push(next);
    await place.advance(31_000);
    const statuses = await Promise.all(
      Array.from({ length: 5 }, async () => (await send(place, token)).status),
    );
    expect(statuses).toEqual([200, 200, 200, 200, 200]);
    expect(place.issuer.seenAt('/jwks')).toHaveLength(2);
  });

  it('are no longer accepted once the issuer has withdrawn them', async () => {
    const place = await placeWith();
    place.issuer.settings.signingKeys = [createSigningKey('key-2')];
    expect((await send(place, place.token())).status).toBe(200);
    await place.advance(601_000);
    expect((await send(place, place.token())).status).toBe(401);
  });

  it('stay in use for an hour while the issuer is down, and no longer', async () => {
    const place = await placeWith();
    place.issuer.settings.faults.set('/jwks', { fault: { status: 500 } });
    await place.advance(1_200_000);
    expect((await send(place, place.token())).status).toBe(200);
    await place.advance(2_401_000);
    const response = await send(place, place.token());
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('30');
    expect(response.headers.get('www-authenticate')).toBeNull();
  });
});

describe('a session', () => {
  it('belongs to the subject of its token', async () => {
    const place = await placeWith();
    const opened = await send(place, place.token());
    await opened.text();
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    const call = {
      jsonrpc: '2.0',
      id: 2,
      method: 'tools/call',
      params: { name: 'db__query', arguments: {} },
    };
    for (const message of [call, { jsonrpc: '2.0', id: 3, method: 'tools/list' }]) {
      const response = await send(place, place.token({ sub: 'eve' }), message, session);
      expect(response.status).toBe(404);
    }
    const answer = send(place, place.token({ jti: 'renewed' }), call, session);
    (await place.nextCall('db')).answer(pong);
    expect((await answer).status).toBe(200);
  });
});

describe('a user whose subject looks like a client', () => {
  it('does not reach the session of that client', async () => {
    const place = await placeWith();
    const opened = await send(place, place.token({ sub: undefined, client_id: 'ci' }));
    await opened.text();
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    for (const sub of ['client ci', 'ci', 'user ci'])
      expect(
        (
          await send(
            place,
            place.token({ sub }),
            { jsonrpc: '2.0', id: 1, method: 'ping' },
            session,
          )
        ).status,
      ).toBe(404);
  });
});

describe('a call that waits for its client', () => {
  it('is continued only by the subject that began it', async () => {
    const place = await placeWith();
    const headers = {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'db__query',
    };
    const ask = async (sub: string, more: object = {}): Promise<Record<string, unknown>> => {
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
      };
      const params = { name: 'db__query', arguments: {}, _meta, ...more };
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      const response = await send(place, place.token({ sub }), message, headers);
      return (await response.json()) as Record<string, unknown>;
    };
    const first = ask('ada');
    const call = await place.nextCall('db');
    void place.sessions.of('db').ask(
      {
        kind: 'form',
        message: 'Which table?',
        fields: [],
        schema: { type: 'object', properties: {} },
      },
      call,
    );
    const { result } = (await first) as {
      result: { requestState: string; inputRequests: Record<string, unknown> };
    };
    const { requestState, inputRequests } = result;
    const [id = ''] = Object.keys(inputRequests);
    const more = { requestState, inputResponses: { [id]: { action: 'accept', content: {} } } };
    expect(await ask('eve', more)).toMatchObject({ error: { code: -32_602 } });
    const continued = ask('ada', more);
    call.answer(pong);
    expect(await continued).toMatchObject({ result: pong });
  });
});
