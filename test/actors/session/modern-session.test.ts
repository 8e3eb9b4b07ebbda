/** Sessions with servers of the present SDK, in both eras, over stdio and HTTP. */

import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { toNodeHandler } from '@modelcontextprotocol/node';
import { createMcpHandler, Server as LowServer } from '@modelcontextprotocol/server';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import { createSessionIo } from '../../../actors/session/io.ts';
import { createSessionActors, type SessionActors } from '../../../actors/session/leaf-actors.ts';
import type { SessionPorts } from '../../../actors/session/ports.ts';
import type { ServerSpec } from '../../../src/domain/server-spec.ts';
import type { CallFailure, SessionRequest } from '../../../src/domain/session.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { startCountingPeer } from '../../fixtures/counting-peer.ts';
import { createSampleServer } from '../../fixtures/sample-mcp-server.mjs';
import { type Bench, callOptions, createBench } from './bench.ts';

const script = new URL('../../fixtures/modern-server.mjs', import.meta.url).pathname;

interface Remote {
  readonly url: string;
  /** Methods of the requests, in order of arrival. */
  readonly asked: string[];
  readonly headers: readonly IncomingHttpHeaders[];
  readonly notify: ReturnType<typeof createMcpHandler>['notify'];
  /** Ends the streams that the server keeps open, as an outage would. */
  cut(): void;
}

let bench: Bench | undefined;
let http: Server | undefined;

afterEach(() => {
  bench?.stop();
  http?.closeAllConnections();
  http?.close();
});

function local(mode: 'both' | 'modern', era: ServerSpec['era']): ServerSpec {
  const command = process.execPath;
  return { type: 'stdio', command, args: [script, mode], env: {}, cwd: '/tmp', era };
}

async function startRemote(
  legacy: 'stateless' | 'reject',
  create: Parameters<typeof createMcpHandler>[0] = () => createSampleServer(),
): Promise<Remote> {
  const handler = createMcpHandler(create, { legacy });
  const serve = toNodeHandler(handler);
  const asked: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    const method = request.headers['mcp-method'];
    if (typeof method === 'string') asked.push(method);
    headers.push(request.headers);
    void serve(request as Parameters<typeof serve>[0], response);
  });
  http = server;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    asked,
    headers,
    notify: handler.notify,
    cut: () => server.closeAllConnections(),
  };
}

function remoteSpec({ url }: Remote, era: ServerSpec['era'] = 'auto'): ServerSpec {
  return { type: 'http', url, headers: {}, era };
}

async function ready(session: Bench): Promise<Bench> {
  bench = session;
  session.send('session.open');
  await session.next('session.opened');
  session.send('session.list');
  await session.next('session.listed');
  await session.told('catalogs.putSide resources');
  await session.told('catalogs.putSide resourceTemplates');
  await session.told('catalogs.putSide prompts');
  return session;
}

async function ask(session: Bench, request: SessionRequest): Promise<unknown> {
  const outcome = await session.handle().request(request, callOptions());
  if ('failure' in outcome) throw new Error(outcome.failure.message);
  return outcome.result;
}

async function expectSample(session: Bench): Promise<void> {
  expect(session.catalog.map(({ name }) => name)).toEqual(['echo']);
  expect(session.instructions).toBe('Ask for greetings.');
  expect(session.side).toMatchObject({
    resources: [{ uri: 'note://all', name: 'notes', title: 'Notes', mimeType: 'text/plain' }],
    resourceTemplates: [{ uriTemplate: 'note://{name}', name: 'note', title: 'One note' }],
    prompts: [{ name: 'greet', description: 'Greets.', arguments: [{ name: 'name' }] }],
  });
  const outcome = await session.handle().callTool('echo', { text: 'hello' }, callOptions());
  expect(outcome).toMatchObject({ result: { content: [{ text: 'hello' }] } });
  expect(
    await ask(session, { kind: 'readResource', params: { uri: 'note://milk' } }),
  ).toMatchObject({ contents: [{ uri: 'note://milk', text: 'About milk.' }] });
  const params = { name: 'greet', arguments: { name: 'Ada' } };
  expect(await ask(session, { kind: 'getPrompt', params })).toMatchObject({
    messages: [{ content: { text: 'Greet Ada.' } }],
  });
  const ref = { type: 'ref/prompt', name: 'greet' } as const;
  const completion = { ref, argument: { name: 'name', value: 'Al' } };
  expect(await ask(session, { kind: 'complete', params: completion })).toMatchObject({
    completion: { values: ['Alan'] },
  });
}

describe("a modern server's lists", () => {
  it('contain every well-formed resource and prompt', async () => {
    const complete = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
    const results = {
      'prompts/list': { ...complete, prompts: [null, { name: 'greet' }] },
      'resources/list': { ...complete, resources: [{ uri: 7 }, { uri: 'a:1', name: 'one' }] },
      'resources/templates/list': { ...complete, resourceTemplates: [null] },
    };
    const peer = await startCountingPeer('json', [], { era: 'modern', results });
    onTestFinished(() => peer.close());
    const session = await ready(createBench(peer.spec)());
    expect(session.side).toMatchObject({
      resources: [{ uri: 'a:1' }],
      resourceTemplates: [],
      prompts: [{ name: 'greet' }],
    });
    expect(session.lines.join()).toContain('prompt number 1: is not an object');
  });
});

describe('a call to a modern server', () => {
  const refusal = { error: { code: -32_020, message: 'Header mismatch' } };

  it.each(['act', 'unlisted'])(
    'is not resent when the server requires other headers: %s',
    async (tool) => {
      const peer = await startCountingPeer('json', [{ rpc: refusal }], { era: 'modern' });
      onTestFinished(() => peer.close());
      const session = createBench(peer.spec)();
      bench = session;
      session.send('session.open');
      await session.next('session.opened');
      session.send('session.list');
      await session.next('session.listed');
      const { failure } = (await session.handle().callTool(tool, {}, callOptions())) as {
        failure: CallFailure;
      };
      expect(failure).toMatchObject({ reason: 'serverError', written: true, rpcCode: -32_020 });
      expect(peer.runs()).toBe(1);
    },
  );
});

/** Session actors that record the reported requests. */
function reportingTo(sent: string[]) {
  return (ports: SessionPorts): SessionActors =>
    createSessionActors((id, report) =>
      createSessionIo(ports)(id, (fact) => {
        if (fact.type === 'wire.sent') sent.push(fact.method);
        report(fact);
      }),
    );
}

describe('an opening session', () => {
  it.each([
    ['auto', ['server/discover']],
    ['legacy', []],
  ] as const)('reports what its process may exit on: era %s', async (era, reported) => {
    const sent: string[] = [];
    // The probe has the time that the process needs to start.
    const clock = new VirtualClock();
    await ready(createBench(local('both', era), reportingTo(sent))({ clock }));
    expect(sent).toEqual(reported);
  });

  it('does not report the probe of an address, where no process can exit', async () => {
    const peer = await startCountingPeer('json', [], { era: 'modern' });
    onTestFinished(() => peer.close());
    const sent: string[] = [];
    const session = createBench({ ...peer.spec, era: 'auto' }, reportingTo(sent))();
    bench = session;
    session.send('session.open');
    await session.next('session.opened');
    expect(sent).toEqual([]);
  });
});

describe('an open session', () => {
  it.each(['modern', 'legacy'] as const)(
    'does not report messages that its calls send: %s',
    async (era) => {
      const sent: string[] = [];
      const session = await ready(createBench(local('both', era), reportingTo(sent))());
      sent.length = 0;
      await session.handle().callTool('echo', { text: 'hello' }, callOptions());
      expect(sent).toEqual([]);
    },
  );
});

describe('a session with a server that supports both eras', () => {
  it.each([
    ['auto', 'modern'],
    ['modern', 'modern'],
    ['legacy', 'legacy'],
  ] as const)('resolves era %s to %s over stdio', async (wanted, era) => {
    const session = await ready(createBench(local('both', wanted))());
    expect(session.facts[0]).toMatchObject({ type: 'session.opened', era });
    await expectSample(session);
  });

  it.each([
    ['auto', 'modern'],
    ['modern', 'modern'],
    ['legacy', 'legacy'],
  ] as const)('resolves era %s to %s over HTTP', async (wanted, era) => {
    const remote = await startRemote('stateless');
    const session = await ready(createBench(remoteSpec(remote, wanted))());
    expect(session.facts[0]).toMatchObject({ type: 'session.opened', era });
    await expectSample(session);
  });
});

describe('a modern server over HTTP', () => {
  it('is not probed when an earlier session found its era', async () => {
    const remote = await startRemote('reject');
    const startNext = createBench(remoteSpec(remote));
    (await ready(startNext())).stop();
    expect(remote.asked[0]).toBe('server/discover');
    remote.asked.length = 0;
    await ready(startNext({ session: 2 }));
    expect(remote.asked).not.toContain('server/discover');
    expect(remote.asked).toContain('tools/list');
  });

  it('rejects the old handshake permanently', async () => {
    const remote = await startRemote('reject');
    bench = createBench(remoteSpec(remote, 'legacy'))();
    bench.send('session.open');
    const { failure } = await bench.next('session.closed');
    expect(failure).toMatchObject({ kind: 'versionUnsupported' });
  });

  it('is probed again when the stored era was legacy', async () => {
    const remote = await startRemote('reject');
    const startNext = createBench(remoteSpec(remote));
    const first = startNext();
    first.verdicts.set('g1', { kind: 'legacy' });
    first.send('session.open');
    expect((await first.next('session.closed')).failure).toMatchObject({ kind: 'protocol' });
    first.stop();
    const session = await ready(startNext({ session: 2 }));
    expect(session.facts[0]).toMatchObject({ type: 'session.opened', era: 'modern' });
  });

  it('announces changes on a stream that is reopened after a disconnect', async () => {
    const remote = await startRemote('reject');
    const session = await ready(createBench(remoteSpec(remote))({ watched: ['note://all'] }));
    // The subscription is acknowledged: earlier changes are unknown.
    await session.told('changed note://all');
    remote.notify.toolsChanged();
    await session.told('session.notified');
    remote.notify.promptsChanged();
    await session.told('catalogs.putSide prompts', 2);
    remote.notify.resourceUpdated('note://all');
    await session.told('changed note://all', 2);
    remote.cut();
    // Changes in the meantime are fetched.
    await session.told('session.notified', 2);
    await session.told('catalogs.putSide resources', 2);
    await session.told('changed note://all', 3);
    remote.notify.resourceUpdated('note://all');
    await session.told('changed note://all', 4);
    expect(session.facts.filter(({ type }) => type === 'session.closed')).toEqual([]);
  });
});

/** A server whose tools require the argument `region` in a header. */
function createMarkingServer(headerNames: Readonly<Record<string, string>>): LowServer {
  const server = new LowServer(
    { name: 'marking', version: '1.0.0' },
    { capabilities: { tools: {} } },
  );
  const tools = Object.entries(headerNames).map(([name, header]) => {
    const region = { type: 'string', 'x-mcp-header': header };
    return { name, inputSchema: { type: 'object' as const, properties: { region } } };
  });
  server.setRequestHandler('tools/list', () => ({ tools }));
  server.setRequestHandler('tools/call', () => ({ content: [] }));
  return server;
}

describe('a modern server over HTTP that requires arguments in headers', () => {
  it('receives them, and its tools with invalid headers are omitted', async () => {
    const names = { sell: 'Region', break: 'My Region', split: 'A\r\nB' };
    const remote = await startRemote('reject', () => createMarkingServer(names));
    bench = createBench(remoteSpec(remote))();
    bench.send('session.open');
    await bench.next('session.opened');
    bench.send('session.list');
    const { failure } = await bench.next('session.impaired');
    expect(failure?.message).toBe(
      'Not all tools are listed: tool "break": has an x-mcp-header that is no name of a header; ' +
        'tool "split": has an x-mcp-header that is no name of a header.',
    );
    expect(bench.catalog.map(({ name }) => name)).toEqual(['sell']);
    await bench.handle().callTool('sell', { region: 'Zürich' }, callOptions());
    const sent = remote.headers.at(-1)?.['mcp-param-region'];
    expect(sent).toBe(`=?base64?${Buffer.from('Zürich').toString('base64')}?=`);
  });
});

describe('a modern server that omits resultType', () => {
  it('has its results accepted as complete', async () => {
    const answers: Readonly<Record<string, object>> = {
      'server/discover': {
        resultType: 'complete',
        ttlMs: 0,
        cacheScope: 'private',
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        serverInfo: { name: 'forgetful', version: '1.0.0' },
      },
      'tools/list': {
        ttlMs: 0,
        cacheScope: 'private',
        tools: [{ name: 'sell', inputSchema: { type: 'object' } }],
      },
      'tools/call': { content: [{ type: 'text', text: 'sold' }] },
    };
    const server = createServer((request, response) => {
      request.setEncoding('utf8').on('data', (body: string) => {
        const { id, method } = JSON.parse(body) as { id: number; method: string };
        const message = { jsonrpc: '2.0', id, result: answers[method] ?? {} };
        response.setHeader('content-type', 'application/json').end(JSON.stringify(message));
      });
    });
    http = server;
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/mcp`;
    bench = createBench({ type: 'http', url, headers: {}, era: 'modern' })();
    bench.send('session.open');
    await bench.next('session.opened');
    bench.send('session.list');
    await bench.next('session.listed');
    const outcome = await bench.handle().callTool('sell', {}, callOptions());
    expect(outcome).toMatchObject({ result: { content: [{ text: 'sold' }] } });
  });
});

describe('a modern server over stdio', () => {
  it('rejects the old handshake permanently', async () => {
    bench = createBench(local('modern', 'legacy'))();
    bench.send('session.open');
    const { failure } = await bench.next('session.closed');
    expect(failure).toMatchObject({ kind: 'versionUnsupported' });
  });
});
