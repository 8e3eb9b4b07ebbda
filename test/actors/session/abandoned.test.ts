/** A connection that the session's chart gives up. */

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { createSessionIo } from '../../../actors/session/io.ts';
import { createSessionActors, type SessionIo } from '../../../actors/session/leaf-actors.ts';
import type { ServerSpec } from '../../../src/domain/server-spec.ts';
import { usualAnswer } from '../../fixtures/counting-peer.mjs';
import type { RpcMessage } from '../../fixtures/least-peer.ts';
import { startSseFixture } from '../../fixtures/remote/sse-server.ts';
import { callOptions, createBench } from './bench.ts';

const ownResults = {
  'server/discover': {
    supportedVersions: ['2026-07-28'],
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'peer', version: '1.0.0' },
    resultType: 'complete',
    ttlMs: 0,
    cacheScope: 'private',
  },
};

/** An open session with a server that answers calls, and probes, when the test says so. */
async function openWith(
  held: ReadonlySet<string>,
  forgets: ReadonlySet<string> = new Set(),
  era: 'legacy' | 'modern' = 'legacy',
) {
  const waiting: (() => void)[] = [];
  const take = (message: RpcMessage, response: ServerResponse): void => {
    const answer = (): void => {
      const body: object | undefined = usualAnswer(message, era, ownResults);
      const id = { 'mcp-session-id': 'a', 'content-type': 'application/json' };
      response.writeHead(body === undefined ? 202 : 200, id);
      response.end(body === undefined ? '' : JSON.stringify(body));
    };
    if (forgets.has(message.method ?? '')) {
      const error = { code: -32_001, message: 'Session not found' };
      response.writeHead(404, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
    }
    if (message.method === 'subscriptions/listen') return subscribe(message, response);
    if (!held.has(message.method ?? '')) return answer();
    waiting.push(answer);
    server.emit('held');
  };
  const subscribe = ({ id, params }: RpcMessage, response: ServerResponse): void => {
    const _meta = { 'io.modelcontextprotocol/subscriptionId': id };
    const method = 'notifications/subscriptions/acknowledged';
    const wanted = { notifications: params?.['notifications'], _meta };
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', method, params: wanted })}\n\n`);
    server.emit('subscribed');
  };
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    void json(request).then((message) => take(message as RpcMessage, response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const subscribed = once(server, 'subscribed');
  const opened = await open({ type: 'http', url, headers: {}, era });
  if (era === 'modern') await subscribed;
  return { server, ...opened, answer: () => waiting.shift()?.() };
}

async function open(spec: ServerSpec) {
  const lost: string[] = [];
  const facts: string[] = [];
  let io: SessionIo | undefined;
  const bench = createBench(spec, (ports) =>
    createSessionActors((id, report) => {
      io = createSessionIo(ports)(id, (fact) => {
        facts.push(fact.type);
        if (fact.type === 'wire.lost') lost.push(fact.failure.message);
        report(fact);
      });
      return io;
    }),
  )();
  onTestFinished(() => bench.stop());
  bench.send('session.open');
  await bench.next('session.listed');
  return { bench, lost, facts, io: io as unknown as SessionIo };
}

it('is not lost by its silence while a call is pending', async () => {
  const { server, bench, lost, io, answer } = await openWith(new Set(['tools/call', 'ping']));
  const call = bench.handle().callTool('act', {}, callOptions());
  await once(server, 'held');
  io.probe();
  io.abandon();
  expect(lost).toEqual([]);
  answer();
  await call;
  io.probe();
  io.abandon();
  expect(lost).toEqual([expect.stringContaining('did not answer any more')]);
});

it('is not lost by its silence over SSE while a call is pending', async () => {
  const server = await startSseFixture();
  onTestFinished(() => server.close());
  const { bench, lost, io } = await open({
    type: 'sse',
    url: server.url,
    headers: {},
    era: 'auto',
  });
  void bench.handle().callTool('slow', {}, callOptions());
  await server.arrived('POST tools/call');
  io.abandon();
  expect(lost).toEqual([]);
});

it('is not kept by its subscription, which stays unanswered', async () => {
  const held = new Set<string>();
  const { server, lost, io } = await openWith(held, new Set(), 'modern');
  held.add('server/discover');
  const probed = once(server, 'held');
  io.probe();
  await probed;
  io.abandon();
  expect(lost).toEqual([expect.stringContaining('did not answer any more')]);
});

it('is lost with a call pending once its probe has failed', async () => {
  const { server, bench, lost, io } = await openWith(new Set(['tools/call']));
  const call = bench.handle().callTool('act', {}, callOptions());
  await once(server, 'held');
  server.close();
  server.closeIdleConnections();
  io.probe();
  await bench.next('session.closed');
  expect(lost).toHaveLength(1);
  expect(await call).toHaveProperty('failure');
});

it('is lost when the answer to its probe is that the session is gone', async () => {
  const { bench, facts, io } = await openWith(new Set(), new Set(['ping']));
  io.probe();
  expect((await bench.next('session.closed')).failure).toMatchObject({ kind: 'sessionMissing' });
  expect(facts).not.toContain('wire.probed');
});
