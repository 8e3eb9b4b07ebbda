/** Sessions with servers inside the host. */

import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';

import type { EmbeddedServer, EmbeddedTransport } from '../../../src/domain/host/embedded.ts';
import type { ServerSpec } from '../../../src/domain/server-spec.ts';
import { answerTo, nested, type RpcMessage } from '../../fixtures/least-peer.ts';
import { type Bench, callOptions, createBench, unwritable } from '../session/bench.ts';

let bench: Bench | undefined;

afterEach(() => {
  bench?.stop();
});

const spec: ServerSpec = { type: 'memory', server: 'db', era: 'auto' };

function start(server?: EmbeddedServer): Bench {
  const embedded = new Map(server === undefined ? [] : [['db', server] as const]);
  bench = createBench(spec)({ embedded });
  bench.send('session.open');
  return bench;
}

async function opened(server: EmbeddedServer): Promise<Bench> {
  const session = start(server);
  await session.next('session.opened');
  return session;
}

const call = (of: Bench, tool = 'echo') => of.handle().callTool(tool, { a: 1 }, callOptions());

/** A real server of the SDK; a new one for each session. */
function realServer(): EmbeddedServer & { readonly made: McpServer[] } {
  const made: McpServer[] = [];
  return {
    made,
    async connect() {
      const server = new McpServer({ name: 'inside', version: '1.0.0' });
      server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
        content: [{ type: 'text', text: String(a + b) }],
      }));
      made.push(server);
      const [ours, theirs] = InMemoryTransport.createLinkedPair();
      await server.connect(theirs);
      return ours;
    },
  };
}

/** A minimal transport that records its messages. */
class Scripted implements EmbeddedTransport {
  onmessage?: EmbeddedTransport['onmessage'];
  onclose?: EmbeddedTransport['onclose'];
  readonly received: RpcMessage[] = [];
  closedCount = 0;
  answer: (message: RpcMessage) => unknown = answerTo;
  readonly #close: () => Promise<void>;

  constructor(close: () => Promise<void> = () => Promise.resolve()) {
    this.#close = close;
  }

  start(): Promise<void> {
    return Promise.resolve();
  }

  send(message: unknown): Promise<void> {
    this.received.push(message as RpcMessage);
    const answer = this.answer(message as RpcMessage);
    if (answer !== undefined) queueMicrotask(() => this.onmessage?.(answer as never));
    return Promise.resolve();
  }

  close(): Promise<void> {
    this.closedCount += 1;
    return this.#close();
  }
}

describe('a session with an SDK server inside the host', () => {
  it('is opened, listed, called and closed', async () => {
    const server = realServer();
    const session = await opened(server);
    session.send('session.list');
    expect(await session.next('session.listed')).toMatchObject({ toolCount: 1 });
    const outcome = await session.handle().callTool('add', { a: 1, b: 2 }, callOptions());
    expect(outcome).toMatchObject({ result: { content: [{ type: 'text', text: '3' }] } });
    session.send('session.close');
    expect((await session.next('session.closed')).failure).toBeUndefined();
    expect(server.made[0]?.isConnected()).toBe(false);
  });

  it('is lost when the server closes it', async () => {
    const server = realServer();
    const session = await opened(server);
    await server.made[0]?.close();
    expect((await session.next('session.closed')).failure).toMatchObject({ kind: 'transport' });
  });

  it('connects to a new server instance each time', async () => {
    const server = realServer();
    const session = await opened(server);
    session.send('session.close');
    await session.next('session.closed');
    await opened(server);
    expect(server.made).toHaveLength(2);
  });
});

describe('a session with a server inside the host', () => {
  it.each([
    ['rejects', () => Promise.reject(new Error('no room'))],
    [
      'throws synchronously',
      () => {
        throw new Error('no room');
      },
    ],
    ['returns nothing', () => Promise.resolve(undefined as unknown as EmbeddedTransport)],
  ])('does not open when the host %s', async (_what, connect) => {
    const { failure } = await start({ connect }).next('session.closed');
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('The host could not connect its server'),
    });
  });

  it('does not open when the host has no such server', async () => {
    const { failure } = await start().next('session.closed');
    expect(failure).toMatchObject({
      kind: 'unavailable',
      message: expect.stringContaining('no server named "db"'),
    });
  });

  it('shares only JSON with the server', async () => {
    const peer = new Scripted();
    const held = { content: Object.freeze([{ type: 'text', text: 'mine' }]) };
    const session = await opened({ connect: () => peer });
    peer.answer = ({ id }) => ({ jsonrpc: '2.0', id, result: held });
    const args = { list: [1] };
    const outcome = await session.handle().callTool('echo', args, callOptions());
    if (!('result' in outcome)) throw new Error('no result');
    expect(outcome.result).toEqual(held);
    expect(outcome.result.content).not.toBe(held.content);
    const sent = peer.received.at(-1)?.params?.['arguments'];
    expect(sent).toEqual(args);
    expect(sent).not.toBe(args);
  });

  it.each([
    ['is nested too deeply', 'resultTooLarge', { result: { a: nested(400) } }],
    ['is an error nested too deeply', 'badResponse', { error: { a: nested(400) } }],
    ['is not JSON', 'badResponse', { result: { a: 1n } }],
    ['holds what JSON would turn into null', 'badResponse', { result: { a: [Infinity] } }],
    ['has neither a result nor an error', 'badResponse', {}],
    ['is too long', 'resultTooLarge', { result: { a: 'x'.repeat(17 << 20) } }],
    ['is an overlong error', 'badResponse', { error: { a: 'x'.repeat(17 << 20) } }],
  ])('fails a call whose response %s and stays open', async (_what, reason, rest) => {
    const peer = new Scripted();
    const session = await opened({ connect: () => peer });
    peer.answer = ({ id }) => ({ jsonrpc: '2.0', id, ...rest });
    const wasAnswered = reason === 'badResponse' && { wasAnswered: true };
    expect(await call(session)).toMatchObject({ failure: { reason, ...wasAnswered } });
    peer.answer = answerTo;
    expect(await call(session)).toHaveProperty('result');
  });

  it.each(unwritable)('does not send arguments that are %s', async (_what, args) => {
    const session = await opened({ connect: () => new Scripted() });
    const given = args as Readonly<Record<string, unknown>>;
    const outcome = await session.handle().callTool('echo', given, callOptions());
    expect(outcome).toMatchObject({ failure: { reason: 'invalidArguments', written: false } });
  });

  it('does not wait for a host that never finishes closing', async () => {
    const session = await opened({ connect: () => new Scripted(() => new Promise(() => {})) });
    const askedAt = performance.now();
    session.send('session.close');
    await session.next('session.closed');
    expect(performance.now() - askedAt).toBeLessThan(3_000);
  });

  it('closes even if the host throws', async () => {
    const session = await opened({
      connect: () =>
        new Scripted(() => {
          throw new Error('not now');
        }),
    });
    session.send('session.close');
    expect((await session.next('session.closed')).failure).toBeUndefined();
  });

  it('ignores an empty message', async () => {
    const peer = new Scripted();
    const session = await opened({ connect: () => peer });
    expect(() => peer.onmessage?.(undefined as never)).not.toThrow();
    expect(await call(session)).toHaveProperty('result');
  });

  it('closes a server that the host connects after the session has closed', async () => {
    const peer = new Scripted();
    let give = (): void => {};
    const made = new Promise<EmbeddedTransport>((resolve) => {
      give = () => resolve(peer);
    });
    let asked = (): void => {};
    const wasAsked = new Promise<void>((resolve) => {
      asked = resolve;
    });
    const session = start({
      connect: () => {
        asked();
        return made;
      },
    });
    await wasAsked;
    session.send('session.close');
    await session.next('session.closed');
    give();
    await made;
    await Promise.resolve();
    expect(peer.closedCount).toBe(1);
    expect(peer.received).toEqual([]);
  });
});
