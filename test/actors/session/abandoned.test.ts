/** A connection that the session's chart gives up. */

import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { expect, it, onTestFinished } from 'vitest';
import { createSessionIo } from '../../../actors/session/io.ts';
import { createSessionActors, type SessionIo } from '../../../actors/session/leaf-actors.ts';
import { usualAnswer } from '../../fixtures/counting-peer.mjs';
import type { RpcMessage } from '../../fixtures/least-peer.ts';
import { callOptions, createBench } from './bench.ts';

/** An open session with a server that answers calls, and probes, when the test says so. */
async function openWith(held: ReadonlySet<string>, forgets: ReadonlySet<string> = new Set()) {
  const waiting: (() => void)[] = [];
  const take = (message: RpcMessage, response: ServerResponse): void => {
    const answer = (): void => {
      const body: object | undefined = usualAnswer(message, 'legacy', {});
      const id = { 'mcp-session-id': 'a', 'content-type': 'application/json' };
      response.writeHead(body === undefined ? 202 : 200, id);
      response.end(body === undefined ? '' : JSON.stringify(body));
    };
    if (forgets.has(message.method ?? '')) {
      const error = { code: -32_001, message: 'Session not found' };
      response.writeHead(404, { 'content-type': 'application/json' });
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error }));
    }
    if (!held.has(message.method ?? '')) return answer();
    waiting.push(answer);
    server.emit('held');
  };
  const server = createServer((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    void json(request).then((message) => take(message as RpcMessage, response));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
  const lost: string[] = [];
  let io: SessionIo | undefined;
  const bench = createBench({ type: 'http', url, headers: {}, era: 'legacy' }, (ports) =>
    createSessionActors((id, report) => {
      io = createSessionIo(ports)(id, (fact) => {
        if (fact.type === 'wire.lost') lost.push(fact.failure.message);
        report(fact);
      });
      return io;
    }),
  )();
  onTestFinished(() => {
    bench.stop();
    server.closeAllConnections();
    server.close();
  });
  bench.send('session.open');
  await bench.next('session.listed');
  return { server, bench, lost, io: io as unknown as SessionIo, answer: () => waiting.shift()?.() };
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
  const { bench, io } = await openWith(new Set(), new Set(['ping']));
  io.probe();
  expect((await bench.next('session.closed')).failure).toMatchObject({ kind: 'sessionMissing' });
});
