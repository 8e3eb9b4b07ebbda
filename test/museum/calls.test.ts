/** Reports about what happens to the arguments and results of calls, and about lists of tools. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished } from 'vitest';

import { Gateway } from '../../src/gateway/gateway.ts';
import { startHttpGateway } from '../../src/gateway/http-gateway.ts';
import { promptClock } from '../../src/runtime/real-clock.ts';
import { runCliHere, temporaryFolder } from '../cli/run-cli.ts';
import { rpcResult, type ScriptedHttp } from '../fixtures/remote/scripted-http.ts';
import { gatewayStage, openSession, post, token } from '../gateway/gateway-stage.ts';
import { pong } from '../runtime/stage.ts';
import { exhibit, peerOf, troupeOf } from './exhibit.ts';

/** A server with this tool, whose calls are answered with this text as their result. */
function serverWith(inputSchema: object, result = '{"content":[]}'): Promise<ScriptedHttp> {
  return peerOf((message) => {
    const { id, method } = message;
    const tools = [{ name: 'get_ad', inputSchema: { type: 'object', ...inputSchema } }];
    if (method === 'tools/list') return rpcResult(message, { tools });
    if (method !== 'tools/call') return undefined;
    const text = `{"jsonrpc":"2.0","id":${id},"result":${result}}`;
    return { status: 200, headers: { 'content-type': 'application/json' }, text };
  });
}

/** The arguments of the last call, as they were sent. */
function sentTo({ bodies }: ScriptedHttp): string {
  const call = bodies.findLast((body) => body.includes('"tools/call"')) ?? '';
  return /"arguments":(\{.*?\})/u.exec(call)?.[1] ?? call;
}

/** Runs `troupe call db get_ad` with these words. */
async function callWith({ url }: { readonly url: string }, words: readonly string[]) {
  const troupe = troupeOf({ db: { url } });
  const argv = ['call', 'db', 'get_ad', ...words];
  const run = await runCliHere(argv, { folder: temporaryFolder(), troupe });
  expect(run).toMatchObject({ exitCode: 0 });
  return run.stdout;
}

/** A gateway over HTTP in front of one server, which is ready. */
async function gatewayTo({ url }: ScriptedHttp): Promise<URL> {
  const troupe = troupeOf({ db: { url } });
  await troupe.waitFor('db', 'ready');
  const gateway = new Gateway({ troupe, clock: promptClock, report: () => undefined });
  const where = { host: '127.0.0.1', port: 0, isLoopback: true, hosts: [], token };
  const http = await startHttpGateway(gateway, where);
  onTestFinished(async () => {
    await http.close(0);
    gateway.close();
  });
  return new URL(http.url);
}

const id = '1915883588174806058';

describe('numbers', () => {
  exhibit(
    [
      'https://github.com/anthropics/claude-code/issues/78762',
      'https://github.com/cline/cline/issues/9589',
    ],
    'Ids above 2^53 were rounded on the way, so a call reached another record.',
    'keep their digits as arguments and in results, from the command line and through the gateway',
    async () => {
      const result = `{"content":[],"structuredContent":{"id":${id}}}`;
      const peer = await serverWith({ properties: { id: { type: 'integer' } } }, result);
      expect(await callWith(peer, [`id=${id}`, '--json'])).toContain(`"id": ${id}`);
      expect(sentTo(peer)).toBe(`{"id":${id}}`);

      const url = await gatewayTo(peer);
      const session = await openSession(url);
      const call = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"db__get_ad","arguments":{"id":${id}}}}`;
      const answer = await (await post(url, call, { 'mcp-session-id': session })).text();
      expect(answer).toContain(`"structuredContent":{"id":${id}}`);
      expect(sentTo(peer)).toBe(`{"id":${id}}`);
    },
  );

  exhibit(
    [
      'https://github.com/warpdotdev/warp/issues/6945',
      'https://github.com/PortSwigger/mcp-server/issues/28',
      'https://github.com/osaurus-ai/osaurus/issues/2689',
    ],
    'Values changed their type on the way: the text "1.10" became 1.1, and 10 became 10.0.',
    'and texts that look like numbers are sent as they were typed',
    async () => {
      const properties = {
        s: { type: 'string' },
        n: { type: 'integer' },
        u: { type: ['string', 'number'] },
        b: { type: 'boolean' },
        a: { type: ['integer', 'null'] },
        big: { type: 'number' },
      };
      const peer = await serverWith({ properties });
      const words = ['s=1.10', 'n=10', 'u=007', 'b=true', 'a=null', 'big=9007199254740993'];
      await callWith(peer, words);
      expect(sentTo(peer)).toBe(
        '{"s":"1.10","n":10,"u":"007","b":true,"a":null,"big":9007199254740993}',
      );
    },
  );
});

describe('a long argument', () => {
  exhibit(
    'https://github.com/anthropics/claude-code/issues/53527',
    'Calls with arguments of 27 kilobytes were never sent.',
    'of 300 kilobytes arrives, from a file or stdin, over HTTP or stdio',
    async () => {
      const args = JSON.stringify({ text: 'x'.repeat(300_000) });
      const file = path.join(temporaryFolder(), 'arguments.json');
      writeFileSync(file, args);
      const peer = await serverWith({});
      await callWith(peer, ['--args', `@${file}`]);
      expect(sentTo(peer)).toBe(args);
      const fixture = fileURLToPath(new URL('../fixtures/stdio-server.mjs', import.meta.url));
      const troupe = troupeOf({ db: { command: process.execPath, args: [fixture] } });
      const words = ['call', 'db', 'echo', '--args', '-'];
      const run = await runCliHere(words, { folder: temporaryFolder(), troupe, stdin: args });
      expect(run.stdout).toBe(`${args}\n`);
    },
  );
});

describe('structured content', () => {
  exhibit(
    'https://github.com/naw103/foremerge/pull/28',
    'A list as structured content made the client refuse the whole result.',
    'may be a list: the result is delivered whole, by the command line and through the gateway',
    async () => {
      const result = '{"content":[{"type":"text","text":"two"}],"structuredContent":[1,2]}';
      const peer = await serverWith({}, result);
      expect(JSON.parse(await callWith(peer, ['--json']))).toMatchObject({
        result: JSON.parse(result) as object,
      });
      const url = await gatewayTo(peer);
      const params = { name: 'db__get_ad', arguments: {} };
      const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params };
      const session = await openSession(url);
      const answer = await (await post(url, message, { 'mcp-session-id': session })).text();
      expect(answer).toContain('"structuredContent":[1,2]');
    },
  );
});

describe('the metadata of a call', () => {
  exhibit(
    'https://github.com/langchain4j/langchain4j/issues/5791',
    'Metadata of the user replaced that of the client, and progress was lost.',
    'reaches the server through the gateway, and progress has the token of the client',
    async () => {
      const metas: Record<string, unknown>[] = [];
      const peer = await peerOf(({ id: call, method, params }) => {
        if (method !== 'tools/call') return undefined;
        const meta = params?.['_meta'] as Record<string, unknown>;
        metas.push(meta);
        const progress = { progressToken: meta['progressToken'], progress: 1 };
        const messages = [
          { jsonrpc: '2.0', method: 'notifications/progress', params: progress },
          { jsonrpc: '2.0', id: call, result: { content: [] } },
        ];
        const text = messages.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('');
        return { status: 200, headers: { 'content-type': 'text/event-stream' }, text };
      });
      const url = await gatewayTo(peer);
      const session = await openSession(url);
      const _meta = { 'example.com/tenant': 7, progressToken: 'mine' };
      const params = { name: 'db__echo', arguments: {}, _meta };
      const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params };
      const answer = await (await post(url, message, { 'mcp-session-id': session })).text();
      expect(metas).toMatchObject([{ 'example.com/tenant': 7 }]);
      expect(answer).toContain('"progressToken":"mine"');
    },
  );

  exhibit(
    'https://github.com/btsouth/toolport/pull/511',
    'Two clients of one gateway used the same progress token; one received the progress of the other.',
    'may have the token and id of another client: each receives its own progress',
    async () => {
      const stage = await gatewayStage();
      const sessions = [await openSession(stage.url), await openSession(stage.url)];
      const params = { name: 'db__query', arguments: {}, _meta: { progressToken: 1 } };
      const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
      const begun = [];
      for (const session of sessions) {
        const answer = post(stage.url, message, { 'mcp-session-id': session });
        begun.push({ answer, call: await stage.nextCall('db') });
      }
      for (const [at, { call }] of begun.entries()) call.progress({ progress: at + 1 });
      for (const { call } of begun) call.answer(pong);
      for (const [at, { answer }] of begun.entries()) {
        const text = await (await answer).text();
        expect(text.match(/"progress":\d/gu)).toEqual([`"progress":${at + 1}`]);
      }
    },
  );
});

describe('a list of tools', () => {
  exhibit(
    [
      'https://github.com/PrefectHQ/fastmcp/issues/5025',
      'https://github.com/mcp-use/mcp-use/issues/2470',
    ],
    'A cursor that is an empty text ended the list, and later pages were lost.',
    'continues after an empty cursor',
    async () => {
      const page = (name: string, more: object) => ({
        tools: [{ name, inputSchema: { type: 'object' } }],
        ...more,
      });
      const { url } = await peerOf((message) => {
        if (message.method !== 'tools/list') return undefined;
        const isFirst = message.params?.['cursor'] === undefined;
        return rpcResult(message, isFirst ? page('one', { nextCursor: '' }) : page('two', {}));
      });
      const troupe = troupeOf({ db: { url } });
      await troupe.waitFor('db', 'ready');
      expect(troupe.tools().map(({ tool }) => tool)).toEqual(['one', 'two']);
    },
  );
});
