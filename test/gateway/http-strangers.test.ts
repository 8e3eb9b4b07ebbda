import { request } from 'node:http';
import { connect as connectSocket, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';

import { crowd } from '../fixtures/crowd.ts';
import { type GatewayStage, gatewayStage, openSession, post, token } from './gateway-stage.ts';

interface Raw {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly body?: string;
  readonly withoutHost?: true;
}

interface Told {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A request with exactly these headers; the token is among them unless they say otherwise. */
function knock({ url }: Pick<GatewayStage, 'url'>, raw: Raw): Promise<Told> {
  const { method = 'GET', path = '/mcp', headers = {}, body, withoutHost } = raw;
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: url.hostname,
        port: url.port,
        method,
        path,
        setHost: withoutHost === undefined && headers['host'] === undefined,
        headers: { authorization: `Bearer ${token}`, ...headers } as Record<string, string>,
        agent: false,
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk;
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text }),
        );
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/** What comes back for these bytes until the other side closes. */
function speak({ url }: Pick<GatewayStage, 'url'>, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let heard = '';
    const socket = connectSocket(Number(url.port), url.hostname, () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      heard += chunk;
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(heard));
  });
}

const json = {
  'content-type': 'application/json',
  accept: 'application/json, text/event-stream',
};
const call = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'db__query' },
});

describe('the gateway over HTTP', () => {
  it('refuses requests with a foreign host name on any path', async () => {
    const stage = await gatewayStage();
    const { port } = stage.url;
    for (const host of [
      'evil.example',
      `evil.example:${port}`,
      `127.0.0.1.nip.io:${port}`,
      `localhost.evil:${port}`,
      'localhost:80:80',
      `127.0.0.1:${port}/`,
      '',
    ]) {
      for (const path of ['/', '/mcp', '/metrics', '/healthz', '/nothing']) {
        const told = await knock(stage, { path, headers: { host } });
        expect([host, path, told.status]).toEqual([host, path, host === '' ? told.status : 403]);
        expect(told.status).toBeGreaterThanOrEqual(400);
        expect(told.text).not.toContain(token);
      }
    }
    expect(stage.sessions.of('db').calls).toEqual([]);
  });

  it('refuses proxy requests and requests without a host name', async () => {
    const stage = await gatewayStage();
    const auth = `authorization: Bearer ${token}\r\n`;
    const post10 = `POST /mcp HTTP/1.0\r\n${auth}content-type: application/json\r\ncontent-length: ${call.length}\r\n\r\n${call}`;
    expect(await speak(stage, post10)).toMatch(/^HTTP\/1\.1 403 /);
    expect(await speak(stage, `GET /mcp HTTP/1.1\r\n${auth}\r\n`)).toMatch(/^HTTP\/1\.1 400 /);
    const absolute = `GET http://${stage.url.host}/mcp HTTP/1.1\r\nhost: ${stage.url.host}\r\nconnection: close\r\n${auth}\r\n`;
    expect(await speak(stage, absolute)).toMatch(/^HTTP\/1\.1 403 /);
    const twice = `GET /healthz HTTP/1.1\r\nhost: ${stage.url.host}\r\nhost: evil.example\r\nconnection: close\r\n\r\n`;
    expect(await speak(stage, twice)).toMatch(/^HTTP\/1\.1 40[03] /);
    expect(stage.sessions.of('db').calls).toEqual([]);
  });

  it('refuses pages from another origin', async () => {
    const stage = await gatewayStage();
    const { port } = stage.url;
    for (const origin of [
      'null',
      'https://evil.example',
      'http://localhost.evil',
      `http://127.0.0.1:${Number(port) - 1}`,
      `https://127.0.0.1:${port}`,
      'file://',
      '',
    ]) {
      const told = await knock(stage, { method: 'POST', headers: { ...json, origin }, body: call });
      expect([origin, told.status]).toEqual([origin, 403]);
      expect(told.headers['access-control-allow-origin']).toBeUndefined();
    }
    const preflight = await knock(stage, {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example', 'access-control-request-method': 'POST' },
    });
    expect(preflight.status).toBe(403);
    const own = await knock(stage, {
      path: '/healthz',
      headers: { origin: `http://${stage.url.host}` },
    });
    expect(own.status).toBe(200);
  });

  it('requires the token for everything except health checks', async () => {
    const stage = await gatewayStage();
    for (const authorization of [
      '',
      'Bearer',
      `Bearer ${token.slice(1)}`,
      `Bearer ${token}a`,
      `Basic ${token}`,
      token,
      `Bearer ${'a'.repeat(10_000)}`,
    ]) {
      for (const [method, path] of [
        ['POST', '/mcp'],
        ['GET', '/mcp'],
        ['GET', '/metrics'],
        ['GET', `/mcp?token=${token}`],
        ['GET', '/nothing'],
      ] as const) {
        const told = await knock(stage, { method, path, headers: { ...json, authorization } });
        expect([authorization, path, told.status]).toEqual([authorization, path, 401]);
        expect(told.headers['www-authenticate']).toMatch(/^Bearer/);
      }
    }
    const health = await knock(stage, { path: '/healthz', headers: { authorization: '' } });
    expect([health.status, health.text]).toEqual([200, '{"status":"ok"}']);
  });

  it('accepts every program on this machine with --no-auth', async () => {
    const stage = await gatewayStage({ http: { token: undefined as never } });
    const told = await knock(stage, { path: '/metrics', headers: { authorization: '' } });
    expect(told.status).toBe(200);
  });

  it('accepts only JSON', async () => {
    const stage = await gatewayStage();
    for (const [type, status] of [
      ['text/plain', 415],
      ['application/x-www-form-urlencoded', 415],
      ['multipart/form-data; boundary=x', 415],
      ['application/jsonp', 415],
      ['application/json; charset=utf-8', 400],
      ['Application/JSON', 400],
    ] as const) {
      const headers = { ...json, 'content-type': type };
      const told = await knock(stage, { method: 'POST', headers, body: call });
      expect([type, told.status]).toEqual([type, status]);
    }
    const zipped = { ...json, 'content-encoding': 'gzip' };
    expect((await knock(stage, { method: 'POST', headers: zipped, body: call })).status).toBe(415);
    expect(stage.sessions.of('db').calls).toEqual([]);
  });

  it('reports an invalid body in a response with a null id', async () => {
    const stage = await gatewayStage();
    const deep = `${'['.repeat(300)}${']'.repeat(300)}${' '.repeat(600)}`;
    for (const [body, status, code] of [
      ['', 400, -32_700],
      ['{', 400, -32_700],
      ['\u0000', 400, -32_700],
      [deep, 400, -32_600],
      ['123', 400, undefined],
      ['{}', 400, undefined],
      ['[]', 400, undefined],
      ['null', 400, undefined],
      ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, undefined],
    ] as const) {
      const response = await post(stage.url, body);
      const document = JSON.parse(await response.text()) as {
        id: unknown;
        error: { code: number };
      };
      expect([body.slice(0, 40), response.status]).toEqual([body.slice(0, 40), status]);
      if (code === undefined) continue;
      expect([document.id, document.error.code]).toEqual([null, code]);
    }
  });

  it('stops reading a body at its limit', async () => {
    const stage = await gatewayStage();
    const declared = await knock(stage, {
      method: 'POST',
      headers: { ...json, 'content-length': String(16 * 1_048_576 + 1) },
    }).catch(() => undefined);
    expect(declared?.status ?? 413).toBe(413);
    const huge = `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"${'x'.repeat(16 * 1_048_576)}"}}`;
    const streamed = await speak(
      stage,
      `POST /mcp HTTP/1.1\r\nhost: ${stage.url.host}\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n${huge.length.toString(16)}\r\n${huge}\r\n`,
    );
    expect(streamed).toMatch(/^HTTP\/1\.1 413 /);
  });

  it('serves a single path and lists its methods', async () => {
    const stage = await gatewayStage();
    for (const [method, path, status] of [
      ['PUT', '/mcp', 405],
      ['PATCH', '/mcp', 405],
      ['TRACE', '/mcp', 405],
      ['OPTIONS', '/mcp', 405],
      ['POST', '/metrics', 405],
      ['DELETE', '/healthz', 405],
      ['GET', '/', 404],
      ['GET', '//mcp', 404],
      ['GET', '/mcp/', 404],
      ['GET', '/MCP', 404],
      ['GET', '/mcp%2f', 404],
      ['GET', '/mcp/../metrics', 404],
      ['GET', '/constructor', 404],
      ['GET', '/mcp', 400],
      ['DELETE', '/mcp', 400],
    ] as const) {
      const told = await knock(stage, { method, path, headers: json });
      expect([method, path, told.status]).toEqual([method, path, status]);
    }
  });

  it('refuses sessions that it did not create', async () => {
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    for (const id of ['unknown', `${session}x`, session.toUpperCase(), 'x'.repeat(4_096)]) {
      const response = await post(stage.url, call, { 'mcp-session-id': id });
      expect([id.slice(0, 40), response.status]).toEqual([id.slice(0, 40), 404]);
      expect(await response.json()).toMatchObject({ error: { code: -32_001 } });
    }
    expect((await post(stage.url, call)).status).toBe(400);
    const left = await knock(stage, { method: 'DELETE', headers: { 'mcp-session-id': session } });
    expect(left.status).toBe(200);
    expect((await post(stage.url, call, { 'mcp-session-id': session })).status).toBe(404);
  });

  it('expires an idle session', async () => {
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    await stage.advance(29 * 60_000);
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
    expect((await post(stage.url, list, { 'mcp-session-id': session })).status).toBe(200);
    await stage.advance(32 * 60_000);
    expect((await post(stage.url, list, { 'mcp-session-id': session })).status).toBe(404);
  });

  it('limits its sessions and closes the one idle longest', async () => {
    const stage = await gatewayStage();
    const first = await openSession(stage.url);
    const second = await openSession(stage.url);
    for (let count = 2; count < 256; count += 1) await openSession(stage.url);
    await openSession(stage.url);
    const list = { jsonrpc: '2.0', id: 2, method: 'tools/list' };
    expect((await post(stage.url, list, { 'mcp-session-id': first })).status).toBe(404);
    expect((await post(stage.url, list, { 'mcp-session-id': second })).status).toBe(200);
  });

  it('forwards only the request itself to servers', async () => {
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    const secret = 'a-secret-of-the-client';
    const params = {
      name: 'db__query',
      arguments: { sql: 'select 1' },
      _meta: { progressToken: 1, 'x-token': secret },
    };
    const headers = { 'mcp-session-id': session, cookie: secret, 'x-api-key': secret };
    const answer = post(
      stage.url,
      { jsonrpc: '2.0', id: 3, method: 'tools/call', params },
      headers,
    );
    const asked = await stage.nextCall('db');
    expect(asked.args).toEqual({ sql: 'select 1' });
    asked.answer({ content: [] });
    await (await answer).text();
  });
});

describe('many connections without a token', () => {
  it.each([
    ['send nothing', ''],
    ['begin a request but do not finish it', 'POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nX-'],
    ['repeat a permitted request', 'GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'],
    ['request a protected path', 'GET /x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n'],
  ])('do not block clients when they %s', async (_, text) => {
    const stage = await gatewayStage();
    const session = await openSession(stage.url);
    const where = { host: stage.url.hostname, port: Number(stage.url.port) };
    const sockets = await crowd(where, 600, text);
    for (let count = 0; count < 3; count += 1) {
      const said = await knock(stage, {
        method: 'POST',
        headers: { ...json, 'mcp-session-id': session, connection: 'close' },
        body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      });
      expect(said.status).toBe(200);
    }
    // Strangers have a few places of their own, and a refused one has none.
    await closedOf(sockets, 600 - 64);
  });

  it('are refused immediately and closed with the response', async () => {
    const stage = await gatewayStage();
    const heard = await speak(
      stage,
      `GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${stage.url.port}\r\n\r\n`,
    );
    expect(heard).toMatch(/^HTTP\/1\.1 401 [^]*\r\nconnection: close\r\n/iu);
  });

  it("leave an authenticated client's connection open after a request for an unknown path", async () => {
    const stage = await gatewayStage();
    const head = `Host: 127.0.0.1:${stage.url.port}\r\nAuthorization: Bearer ${token}\r\n`;
    const heard = await speak(
      stage,
      `GET /metrics HTTP/1.1\r\n${head}\r\nGET /nothing HTTP/1.1\r\n${head}\r\nGET /metrics HTTP/1.1\r\n${head}Connection: close\r\n\r\n`,
    );
    expect(heard.match(/HTTP\/1\.1 \d+/gu)).toEqual([
      'HTTP/1.1 200',
      'HTTP/1.1 404',
      'HTTP/1.1 200',
    ]);
  });
});

/** Settles once so many of them are closed. */
async function closedOf(sockets: readonly Socket[], count: number): Promise<void> {
  while (sockets.filter(({ closed }) => closed).length < count) await new Promise(setImmediate);
}
