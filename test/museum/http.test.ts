/** Reports about servers over HTTP. */

import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { describe, expect } from 'vitest';

import { rpcResult, type ScriptedAnswer } from '../fixtures/remote/scripted-http.ts';
import { exhibit, peerOf, troupeOf } from './exhibit.ts';
import { SkippingClock } from './skipping-clock.ts';

type Others = NonNullable<Parameters<typeof peerOf>[1]>;

/** Counts the requests for a stream of news within half a minute. */
async function streamsIn30Seconds(others: Others): Promise<number> {
  let count = 0;
  let arrived = (): void => undefined;
  const first = new Promise<void>((resolve) => {
    arrived = resolve;
  });
  const peer = await peerOf(undefined, (request, response) => {
    if (request.method === 'GET' && request.url === '/mcp') count += 1;
    if (request.method === 'GET' && request.url === '/mcp') others(request, response);
    else response.writeHead(405).end();
    arrived();
  });
  const clock = new SkippingClock();
  const troupe = troupeOf({ db: { url: peer.url } }, { clock });
  await troupe.waitFor('db', 'ready');
  await first;
  // Whatever a timer sent has arrived when a later request is answered.
  await clock.skip(30_000, () => fetch(new URL('/', peer.url)));
  expect(troupe.status('db')?.state).toBe('ready');
  expect(peer.seen.filter((method) => method === 'initialize')).toHaveLength(1);
  return count;
}

/** Writes the answer of a call piece by piece, each a chunk of its own. */
function inPieces(type: string, pieces: Iterable<string | Uint8Array>): ScriptedAnswer {
  return (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': type });
    void (async () => {
      for (const piece of pieces)
        if (!response.write(piece)) await once(response, 'drain');
        else await new Promise((resolve) => setImmediate(resolve));
      response.end();
    })();
  };
}

/** The text of a call whose answer is written like this. */
async function textOf(answer: (id: unknown) => ScriptedAnswer): Promise<string> {
  const { url } = await peerOf((message) =>
    message.method === 'tools/call' ? answer(message.id) : undefined,
  );
  const troupe = troupeOf({ db: { url } });
  await troupe.waitFor('db', 'ready');
  const { result } = await troupe.callServerTool('db', 'echo', {});
  return String(result.content[0]?.['text']);
}

const resultOf = (id: unknown, text: string) => ({
  jsonrpc: '2.0',
  id,
  result: { content: [{ type: 'text', text }] },
});

/** A result over several lines. */
const prettyLines = (id: unknown, text: string): readonly string[] =>
  JSON.stringify(resultOf(id, text), null, 1).split('\n');

/** Whether a server that answers the question for its era like this is ready after one handshake. */
async function isReached(answer: (id: unknown) => ScriptedAnswer): Promise<void> {
  const peer = await peerOf(({ id, method }) =>
    method === 'server/discover' ? answer(id) : undefined,
  );
  const troupe = troupeOf({ db: { url: peer.url } });
  expect(await troupe.waitFor('db', 'ready')).toMatchObject({ era: 'legacy' });
  expect(peer.seen.filter((method) => method === 'initialize')).toHaveLength(1);
}

describe('a wrong address', () => {
  exhibit(
    'https://github.com/apify/mcpc/blob/main/CHANGELOG.md',
    'A 404 at the first connection was reported as an expired session.',
    'is named with its status, and after three such answers the next step is to check it',
    async () => {
      const page = { status: 200, headers: { 'content-type': 'text/html' }, text: '<p>Hi</p>' };
      const [missing, site] = [await peerOf(() => ({ status: 404 })), await peerOf(() => page)];
      const troupe = troupeOf({ missing: { url: missing.url }, site: { url: site.url } });
      const checked = new Set<string>();
      await new Promise<void>((resolve) => {
        troupe.on('status.changed', ({ status }) => {
          if (status.action === "check url in the host's settings") checked.add(status.name);
          if (checked.size === 2) resolve();
        });
      });
      const said = (name: string): string => troupe.status(name)?.lastError?.message ?? '';
      expect(said('missing')).toContain(`status 404 (Not Found) at ${missing.url}.`);
      expect(said('site')).toContain(`content type text/html at ${site.url}.`);
      expect(`${said('missing')} ${said('site')}`).not.toContain('session');
    },
  );
});

describe('a stream of news', () => {
  exhibit(
    'https://github.com/modelcontextprotocol/python-sdk/pull/3420',
    'A server without a stream answers GET with 405, and was asked again for ever.',
    'is requested once from a server that answers 405',
    async () => {
      expect(await streamsIn30Seconds((_, response) => response.writeHead(405).end())).toBe(1);
    },
  );

  exhibit(
    'https://github.com/f/prompts.chat/pull/1117',
    'An answer of JSON to GET counted as a broken stream; reconnects were most of the traffic of the site.',
    'is requested once from a server that answers JSON, and rarely if each stream ends at once',
    async () => {
      const json = { 'content-type': 'application/json' };
      expect(
        await streamsIn30Seconds((_, response) => response.writeHead(200, json).end('{}')),
      ).toBe(1);
      const stream = { 'content-type': 'text/event-stream' };
      expect(
        await streamsIn30Seconds((_, response) => response.writeHead(200, stream).end()),
      ).toBeLessThanOrEqual(6);
    },
  );

  exhibit(
    'https://github.com/openclaw/mcporter/blob/main/CHANGELOG.md',
    'A server accepted the GET and never sent headers; the first list waited for the outer time limit.',
    'delays neither lists nor calls when its request is never answered',
    async () => {
      const { url } = await peerOf(undefined, () => undefined);
      const troupe = troupeOf({ db: { url, era: 'legacy' } });
      await troupe.waitFor('db', 'ready');
      const { result } = await troupe.callServerTool('db', 'echo', {});
      expect(result.content).toEqual([{ type: 'text', text: 'done' }]);
    },
  );
});

describe('an answer as a stream of events', () => {
  exhibit(
    [
      'https://github.com/envoyproxy/ai-gateway/issues/1398',
      'https://github.com/clacky-ai/openclacky/pull/489',
    ],
    'Lines that end with CRLF, cut between the two characters, lost an event or made two of it.',
    'is read whether lines end with CRLF or CR, wherever a chunk ends',
    async () => {
      const event = (id: unknown, end: string): string =>
        [...prettyLines(id, 'whole').map((line) => `data: ${line}`), '', ''].join(end);
      const between = (id: unknown) => event(id, '\r\n').split(/(?<=\r)/u);
      for (const pieces of [
        between,
        (id: unknown) => event(id, '\r\n').split(''),
        (id: unknown) => [event(id, '\r')],
      ])
        expect(await textOf((id) => inPieces('text/event-stream', pieces(id)))).toBe('whole');
    },
  );

  exhibit(
    'https://github.com/FellouAI/eko/pull/287',
    'JSON over several data lines, or a character cut by a chunk, was lost.',
    'keeps JSON over many lines and characters that are cut into single bytes',
    async () => {
      const text = 'tools 工具🚀';
      const lines = (id: unknown): Buffer => {
        return Buffer.from(
          `${prettyLines(id, text)
            .map((line) => `data:${line}`)
            .join('\n')}\n\n`,
        );
      };
      const cut = (bytes: Buffer, size: number): readonly Uint8Array[] =>
        Array.from({ length: Math.ceil(bytes.length / size) }, (_, at) =>
          bytes.subarray(at * size, (at + 1) * size),
        );
      for (const size of [1, 7])
        expect(await textOf((id) => inPieces('text/event-stream', cut(lines(id), size)))).toBe(
          text,
        );
    },
  );
});

const json = { 'content-type': 'application/json' };
const refusal = (code: number, message: string, status: number, id: unknown) => ({
  status,
  headers: json,
  text: JSON.stringify({ jsonrpc: '2.0', id, error: { code, message } }),
});

describe('a server of an earlier revision', () => {
  exhibit(
    'https://github.com/modelcontextprotocol/rust-sdk/issues/1040',
    'Servers that refused server/discover with anything but "method not found" could not be used.',
    'is reached however it refuses server/discover',
    async () => {
      await isReached(() => ({ status: 404, text: 'Not Found' }));
      await isReached(() => ({ status: 500, text: 'oops' }));
      await isReached(() => refusal(-32_600, 'Invalid Request', 400, null));
      await isReached(() => refusal(-32_600, 'Invalid Request', 200, null));
      await isReached((id) => refusal(-32_602, 'Invalid params', 200, id));
      await isReached((id) => refusal(-32_603, 'Internal error', 200, id));
      await isReached(() => refusal(-32_000, 'Bad Request: Missing session ID', 400, null));
    },
  );

  exhibit(
    'https://github.com/modelcontextprotocol/typescript-sdk/issues/2619',
    'An empty answer, or one of text, to server/discover ended the connection.',
    'is reached after an empty answer, a text or a page',
    async () => {
      await isReached(() => ({ status: 200 }));
      await isReached(() => ({ status: 204 }));
      await isReached(() => ({
        status: 200,
        headers: { 'content-type': 'text/plain' },
        text: 'ok',
      }));
      await isReached(() => ({
        status: 200,
        headers: { 'content-type': 'text/html' },
        text: '<p>Hi',
      }));
    },
  );

  exhibit(
    'https://github.com/adcontextprotocol/adcp-client/pull/2434',
    'A server that denied server/discover, and allowed initialize, was reported as one that needs a login.',
    'is reached after a denial without a challenge',
    async () => {
      await isReached(() => ({ status: 401 }));
      await isReached(() => ({ status: 403 }));
    },
  );
});

describe('a session', () => {
  exhibit(
    [
      'https://github.com/MCPJam/inspector/issues/995',
      'https://github.com/lobehub/lobehub/pull/15875',
    ],
    'After a restart of the server its tools stayed missing, or calls failed until someone reconnected.',
    'is replaced when the restarted server does not know it: the call succeeds, new tools are listed',
    async () => {
      let session = 'first';
      let status = 404;
      const { url } = await peerOf((message, headers) => {
        const { method, params } = message;
        if (method === 'initialize')
          return rpcResult(
            message,
            {
              protocolVersion: params?.['protocolVersion'],
              capabilities: { tools: {} },
              serverInfo: { name: 'a', version: '1' },
            },
            { 'mcp-session-id': session },
          );
        if (method === 'server/discover') return undefined;
        if (headers['mcp-session-id'] !== session)
          return { ...refusal(-32_000, 'No valid session ID provided', status, null) };
        const names = session === 'first' ? ['echo'] : ['echo', session];
        if (method !== 'tools/list') return undefined;
        return rpcResult(message, {
          tools: names.map((name) => ({ name, inputSchema: { type: 'object' } })),
        });
      });
      const troupe = troupeOf({ db: { url } });
      await troupe.waitFor('db', 'ready');
      session = 'second';
      expect(await troupe.callServerTool('db', 'echo', {})).toMatchObject({
        meta: { attempts: 2 },
      });
      expect(troupe.tools().map(({ tool }) => tool)).toEqual(['echo', 'second']);
      // Nothing says that a call which was answered with 400 did not run.
      [session, status] = ['third', 400];
      await expect(troupe.callServerTool('db', 'echo', {})).rejects.toMatchObject({
        outcome: 'unknown',
      });
      await troupe.waitFor('db', 'ready');
      await troupe.callServerTool('db', 'third', {});
    },
  );

  exhibit(
    [
      'https://github.com/mcp-use/mcp-use/issues/153',
      'https://github.com/punkpeye/mcp-proxy/pull/62',
    ],
    'Stateless servers give no session id and refuse GET and DELETE; clients failed at their start or end.',
    'needs no id: calls work, and the end is clean',
    async () => {
      const peer = await peerOf(
        (message) =>
          message.method === 'initialize'
            ? rpcResult(message, {
                protocolVersion: message.params?.['protocolVersion'],
                capabilities: { tools: {} },
                serverInfo: { name: 'stateless', version: '1' },
              })
            : undefined,
        (request, response) => void response.writeHead(request.method === 'GET' ? 400 : 405).end(),
      );
      const troupe = troupeOf({ db: { url: peer.url } });
      await troupe.waitFor('db', 'ready');
      const { result } = await troupe.callServerTool('db', 'echo', {});
      expect(result.content).toEqual([{ type: 'text', text: 'done' }]);
      await troupe.stop();
      expect(troupe.status('db')?.lastError).toBeUndefined();
    },
  );

  exhibit(
    'https://github.com/anthropics/claude-code/issues/91785',
    'A variable in a header was resolved for the first request only.',
    'sends the same resolved header with every request, after a reconnect too',
    async () => {
      const keys: unknown[] = [];
      const peer = await peerOf((_, headers) => void keys.push(headers['x-key']));
      const headers = { 'X-Key': 'key-${KEY}' };
      const troupe = troupeOf({ db: { url: peer.url, headers } }, { env: { KEY: '7' } });
      await troupe.waitFor('db', 'ready');
      for (const round of ['one', 'two', 'three'])
        await troupe.callServerTool('db', 'echo', { round });
      await troupe.restartAndWait('db');
      await troupe.callServerTool('db', 'echo', {});
      expect(peer.seen.filter((method) => method === 'initialize')).toHaveLength(2);
      expect(new Set(keys)).toEqual(new Set(['key-7']));
    },
  );
});
