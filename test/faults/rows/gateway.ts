/** K: hostile and crowded clients of the gateway. */

import { readFileSync } from 'node:fs';
import { connect } from 'node:net';

import type { Seen } from '../expectation.ts';
import type { Rows } from '../row.ts';
import type { Stage } from '../stage.ts';

interface Endpoint {
  readonly url: URL;
  readonly token: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function serve(stage: Stage): Promise<Endpoint> {
  const up = stage.up({ bad: stage.stdio('ok') }, { words: ['serve', '--http', '0'] });
  await up.printed(/serving all servers at \S+[^]*clients send the token in \S+\s/u);
  await up.when(({ servers }) => servers.every(({ state }) => state === 'ready'), 'the server');
  const url = new URL(/serving all servers at (\S+)/u.exec(up.stdout)?.[1] ?? '');
  const file = /clients send the token in (\S+)/u.exec(up.stdout)?.[1] ?? '';
  const token = readFileSync(file, 'utf8').trim();
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  return { url, token, headers };
}

/** Sends these bytes; returns the status of the response, or reports a leaked token. */
function speak({ url, token }: Endpoint, bytes: string): Promise<string> {
  return new Promise((resolve) => {
    let heard = '';
    const socket = connect(Number(url.port), url.hostname, () => socket.write(bytes));
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      heard += chunk;
    });
    socket.on('error', () => undefined);
    socket.on('close', () =>
      resolve(heard.includes(token) ? 'the token' : heard.slice('HTTP/1.1 '.length, 12)),
    );
  });
}

function request(path: string, headers: Readonly<Record<string, string>>): string {
  const lines = Object.entries({ ...headers, connection: 'close' });
  return `GET ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`;
}

/** Returns the distinct responses. */
async function answersTo(endpoint: Endpoint, asked: readonly string[]): Promise<Seen> {
  const all = await Promise.all(asked.map((bytes) => speak(endpoint, bytes)));
  return { asked: all.length, status: [...new Set(all)].toSorted().join(' ') };
}

const paths = ['/', '/mcp', '/metrics', '/healthz', '/api/state', '/nothing'];

async function openSession({ url, headers }: Endpoint): Promise<string> {
  const clientInfo = { name: 'row', version: '1' };
  const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params });
  const response = await fetch(url, { method: 'POST', headers, body });
  await response.text();
  return response.headers.get('mcp-session-id') ?? '';
}

export const gatewayRows: Rows = {
  F164: {
    inject: 'two clients, the same ids, 1,000 calls between each other',
    expect: { calls: 1_000, astray: 0 },
    async run(stage) {
      const endpoint = await serve(stage);
      const sessions = [await openSession(endpoint), await openSession(endpoint)];
      let [calls, astray] = [0, 0];
      const ask = async (at: number, id: number): Promise<void> => {
        const text = `client ${at}, call ${id}.`;
        const params = { name: 'bad__echo', arguments: { text } };
        const response = await fetch(endpoint.url, {
          method: 'POST',
          headers: { ...endpoint.headers, 'mcp-session-id': sessions[at] ?? '' },
          body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }),
        });
        calls += 1;
        const answer = await response.text();
        if (!answer.includes(text) || !answer.includes(`"id":${id}`)) astray += 1;
      };
      for (let first = 0; first < 500; first += 10) {
        const ids = [...Array(10).keys()].map((each) => first + each);
        await Promise.all(ids.flatMap((id) => [ask(0, id), ask(1, id)]));
      }
      return { calls, astray };
    },
  },
  F165: {
    inject: 'foreign Host headers, an address for a proxy, on every path',
    expect: { asked: 30, status: '403' },
    async run(stage) {
      const endpoint = await serve(stage);
      const { port, host } = endpoint.url;
      const { authorization = '' } = endpoint.headers;
      const wrong = [
        'evil.example',
        `127.0.0.1.nip.io:${port}`,
        `localhost.evil:${port}`,
        '0.0.0.0',
      ];
      return answersTo(endpoint, [
        ...wrong.flatMap((each) =>
          paths.map((path) => request(path, { host: each, authorization })),
        ),
        ...paths.map((path) => request(`http://${host}${path}`, { host, authorization })),
      ]);
    },
  },
  F166: {
    inject: 'Origin null, of another port, of a file, of a name like ours',
    expect: { asked: 24, status: '403' },
    async run(stage) {
      const endpoint = await serve(stage);
      const { host } = endpoint.url;
      const { authorization = '' } = endpoint.headers;
      const origins = ['null', 'http://localhost.evil', 'http://127.0.0.1:1', 'file://'];
      return answersTo(
        endpoint,
        origins.flatMap((origin) =>
          paths.map((path) => request(path, { host, authorization, origin })),
        ),
      );
    },
  },
  F167: {
    inject: 'no token, a wrong one, half of it, 10 KB of it, in the address',
    expect: { asked: 20, status: '401' },
    async run(stage) {
      const endpoint = await serve(stage);
      const { url, token } = endpoint;
      const { host } = url;
      const bearers = [
        '',
        'Bearer wrong',
        `Bearer ${token.slice(1)}`,
        `Bearer ${'a'.repeat(10_000)}`,
      ];
      const closed = ['/mcp', '/metrics', '/nothing', '/'];
      return answersTo(endpoint, [
        ...bearers.flatMap((authorization) =>
          closed.map((path) => request(path, { host, authorization })),
        ),
        ...closed.map((path) => request(`${path}?token=${token}`, { host })),
      ]);
    },
  },
  F180: {
    inject: 'the port of troupe serve is taken',
    expect: { exitCode: 2, says: /is in use; choose another port/u },
    async run(stage) {
      const { port } = await stage.http('ok');
      const up = stage.up({ bad: stage.stdio('ok') }, { words: ['serve', '--http', String(port)] });
      const { exitCode } = await up.ended;
      return { exitCode: exitCode ?? undefined, says: up.stderr };
    },
  },
};
