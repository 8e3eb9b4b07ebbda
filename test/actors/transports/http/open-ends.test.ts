/** Remote servers that leave responses open or send invalid answers. */

import type { ServerResponse } from 'node:http';

import { describe, expect, it, vi } from 'vitest';

import { Posts } from '../../../../actors/transports/http/posts.ts';
import type { Clock } from '../../../../src/domain/clock.ts';
import type { ServerSpec } from '../../../../src/domain/server-spec.ts';
import type { CallFailure } from '../../../../src/domain/session.ts';
import { promptClock } from '../../../../src/runtime/real-clock.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { answerTo, type RpcMessage } from '../../../fixtures/least-peer.ts';
import { type Bench, type BenchOptions, callOptions, createBench } from '../../session/bench.ts';
import { type Peer, peer } from './bench.ts';

/** Answers a message specially, or leaves it to the minimal server. */
type Habit = (message: RpcMessage, response: ServerResponse) => boolean;

interface Arrivals {
  readonly names: string[];
  /** Resolves when so many of this name have arrived. */
  seen(name: string, count?: number): Promise<void>;
}

function arrivals(): Arrivals & { note(name: string): void } {
  const names: string[] = [];
  let waiting: { readonly isMet: () => boolean; readonly resolve: () => void }[] = [];
  return {
    names,
    note(name) {
      names.push(name);
      for (const { isMet, resolve } of waiting) if (isMet()) resolve();
      waiting = waiting.filter(({ isMet }) => !isMet());
    },
    seen(name, count = 1) {
      const isMet = () => names.filter((one) => one === name).length >= count;
      if (isMet()) return Promise.resolve();
      return new Promise((resolve) => waiting.push({ isMet, resolve }));
    },
  };
}

const events = { 'content-type': 'text/event-stream' };
const eventOf = (message: unknown): string => `data: ${JSON.stringify(message)}\n\n`;

/** Streamable HTTP. A POST that is broken off is noted, too. */
async function startHttp(habit: Habit, onNews: (response: ServerResponse) => void = () => {}) {
  const come = arrivals();
  const server = await peer((request, response) => {
    if (request.method === 'GET') {
      response.writeHead(200, events).flushHeaders();
      return onNews(response);
    }
    if (request.method !== 'POST') return void response.writeHead(200).end();
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const message = JSON.parse(Buffer.concat(chunks).toString()) as RpcMessage;
      const name = message.method ?? 'answer';
      response.once('close', () => {
        if (!response.writableFinished) come.note(`${name} broken off`);
      });
      if (!habit(message, response)) {
        const answer = answerTo(message);
        const headers = { 'content-type': 'application/json' };
        if (answer === undefined) response.writeHead(202).end();
        else response.writeHead(200, headers).end(JSON.stringify(answer));
      }
      come.note(name);
    })();
  });
  return { server, come, open: (more?: BenchOptions) => openAt('http', server, more) };
}

/** HTTP with SSE: answers come on the stream. */
async function startSse(habit: Habit) {
  const come = arrivals();
  let stream: ServerResponse | undefined;
  const server = await peer((request, response) => {
    if (request.method === 'GET') {
      stream = response;
      response.writeHead(200, events).write('event: endpoint\ndata: /message\n\n');
      return;
    }
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const message = JSON.parse(Buffer.concat(chunks).toString()) as RpcMessage;
      response.once('close', () => {
        if (!response.writableFinished) come.note(`${message.method} broken off`);
      });
      if (!habit(message, response)) response.writeHead(202).end();
      const answer = answerTo(message);
      if (answer !== undefined) stream?.write(eventOf(answer));
      come.note(String(message.method));
    })();
  });
  return { server, come, open: (more?: BenchOptions) => openAt('sse', server, more) };
}

async function openAt(
  type: 'http' | 'sse',
  { origin }: Peer,
  options: BenchOptions = {},
): Promise<Bench> {
  const spec: ServerSpec = { type, url: `${origin}/mcp`, headers: {}, era: 'legacy' };
  const bench = createBench(spec)(options);
  bench.send('session.open');
  await bench.next('session.opened');
  return bench;
}

const call = (bench: Bench, tool = 'echo', timeoutMs = 20_000) =>
  bench.handle().callTool(tool, {}, callOptions({ timeoutMs }));

const isCall = ({ method }: RpcMessage): boolean => method === 'tools/call';

/** A clock on which timers of this delay fire when the test says so. */
function holding(waitMs: number) {
  const held = new Map<unknown, () => void>();
  const clock: Clock = {
    ...promptClock,
    setTimeout(callback, delayMs) {
      if (delayMs !== waitMs) return promptClock.setTimeout(callback, delayMs);
      const timer = Symbol('timer');
      held.set(timer, callback);
      return timer;
    },
    clearTimeout(timer) {
      if (!held.delete(timer)) promptClock.clearTimeout(timer);
    },
  };
  const fire = (): void => {
    for (const callback of held.values()) callback();
    held.clear();
  };
  return { clock, fire };
}

describe('a call over HTTP', () => {
  it.each([
    ['a null result', (id: unknown) => ({ jsonrpc: '2.0', id, result: null })],
    ['neither a result nor an error', (id: unknown) => ({ jsonrpc: '2.0', id })],
    ['another JSON-RPC version', (id: unknown) => ({ jsonrpc: '1.0', id, result: {} })],
  ])('fails immediately when the stream contains %s and stays open', async (_what, answer) => {
    const { open } = await startHttp((message, response) => {
      if (isCall(message)) response.writeHead(200, events).write(eventOf(answer(message.id)));
      return isCall(message);
    });
    expect(await call(await open())).toMatchObject({
      failure: { reason: 'badResponse', written: true, wasAnswered: true },
    });
  });

  it.each([
    ['a response to another request', '{"jsonrpc":"2.0","id":"other","result":{}}'],
    ['an empty list', '[]'],
    ['empty', ''],
  ])('fails immediately when the body is %s', async (_what, body) => {
    const { open } = await startHttp((message, response) => {
      if (isCall(message))
        response.writeHead(200, { 'content-type': 'application/json' }).end(body);
      return isCall(message);
    });
    const { failure } = (await call(await open())) as { failure: CallFailure };
    expect(failure).toMatchObject({ reason: 'badResponse', written: true });
    expect(failure.wasAnswered).toBe(undefined);
  });

  it('resolves although non-MCP events precede the response', async () => {
    const { open } = await startHttp((message, response) => {
      if (isCall(message)) {
        response.writeHead(200, events);
        response.write('data: <p>\n\n');
        response.write(eventOf({ jsonrpc: '2.0', method: 'notifications/message', params: null }));
        response.end(eventOf(answerTo(message)));
      }
      return isCall(message);
    });
    expect(await call(await open())).toHaveProperty('result');
  });

  it('closes a stream that the server keeps open after the response', async () => {
    const { open, come, server } = await startHttp((message, response) => {
      if (isCall(message)) response.writeHead(200, events).write(eventOf(answerTo(message)));
      return isCall(message);
    });
    const { clock, fire } = holding(5_000);
    const session = await open({ clock });
    for (let count = 0; count < 3; count += 1) expect(await call(session)).toHaveProperty('result');
    fire();
    await come.seen('tools/call broken off', 3);
    expect(session.story).not.toContain('session.closed');
    expect(come.names).not.toContain('ping');
    session.stop();
    await server.quiet();
  });

  it('adds no listener to a signal that lives as long as the session', async () => {
    const { open } = await startHttp(() => false);
    const session = await open();
    const joined = vi.spyOn(AbortSignal, 'any');
    expect(await call(session)).toHaveProperty('result');
    expect(joined).not.toHaveBeenCalled();
    joined.mockRestore();
  });

  it('fails when its stream breaks after an event whose id cannot be sent back', async () => {
    const { open } = await startHttp((message, response) => {
      if (isCall(message)) response.writeHead(200, events).end('id: \u2603\ndata:\n\n');
      return isCall(message);
    });
    expect(await call(await open())).toMatchObject({
      failure: { reason: 'streamLost', written: true },
    });
  });
});

describe('a session over HTTP', () => {
  it('opens although the server answers a notification with an endless stream', async () => {
    const { open, come } = await startHttp((message, response) => {
      const isNews = message.method === 'notifications/initialized';
      if (isNews) response.writeHead(200, events).flushHeaders();
      return isNews;
    });
    expect(await call(await open())).toHaveProperty('result');
    await come.seen('notifications/initialized broken off');
  });

  it('aborts a notification that is never accepted', async () => {
    const { open, come } = await startHttp(
      ({ method }) => method === 'notifications/cancelled' || method === 'tools/call',
    );
    const { clock, fire } = holding(30_000);
    const session = await open({ clock });
    expect(await call(session, 'echo', 50)).toMatchObject({ failure: { reason: 'timeout' } });
    await come.seen('notifications/cancelled');
    fire();
    await come.seen('notifications/cancelled broken off');
  });

  it('uses few connections to answer a server that sends endless requests', async () => {
    const pings = Array.from({ length: 500 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' }));
    const { open, come, server } = await startHttp(
      ({ method }) => method === undefined,
      (news) => void news.write(pings.map((ping) => eventOf(ping)).join('')),
    );
    const session = await open();
    await come.seen('answer', 32);
    expect(await call(session)).toHaveProperty('result');
    expect(server.connections()).toBeLessThan(40);
  });
});

describe('a session over SSE', () => {
  it('aborts the POST of a call that timed out', async () => {
    const { open, come } = await startSse(isCall);
    const session = await open();
    const late = call(session, 'slow', 50);
    expect(await late).toMatchObject({ failure: { reason: 'timeout', written: true } });
    await come.seen('tools/call broken off');
    expect(session.story).not.toContain('session.closed');
  });

  it('aborts a pending POST when it is closed', async () => {
    const { open, come, server } = await startSse(isCall);
    const session = await open();
    const slow = call(session, 'slow');
    await come.seen('tools/call');
    session.send('session.close');
    expect(await slow).toMatchObject({ failure: { reason: 'cancelled' } });
    await server.quiet();
  });

  it('aborts a POST that stays open after its response', async () => {
    const { open, come } = await startSse(isCall);
    const { clock, fire } = holding(5_000);
    const session = await open({ clock });
    expect(await call(session)).toHaveProperty('result');
    fire();
    await come.seen('tools/call broken off');
    expect(await call(session)).toHaveProperty('result');
  });
});

describe('POST requests', () => {
  const request = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call' }) as const;
  const answer = (id: number) => ({ jsonrpc: '2.0', id, result: {} }) as const;

  it('abort any message except an unanswered request after half a minute', () => {
    const clock = new VirtualClock();
    const posts = new Posts(clock);
    const patient = posts.begin(request(1));
    const news = posts.begin({ jsonrpc: '2.0', method: 'notifications/cancelled' });
    clock.advanceBy(29_999);
    expect(news.signal.aborted).toBe(false);
    clock.advanceBy(1);
    expect(news.signal.aborted).toBe(true);
    clock.advanceBy(3_600_000);
    expect(patient.signal.aborted).toBe(false);
  });

  it('do not abort an answered request that has completed', () => {
    const clock = new VirtualClock();
    const posts = new Posts(clock);
    const [ended, open] = [posts.begin(request(1)), posts.begin(request(2))];
    posts.end(ended);
    expect([posts.settle(1), posts.settle(1), posts.settle(2)]).toEqual([true, false, true]);
    clock.advanceBy(5_000);
    expect([ended.signal.aborted, open.signal.aborted]).toEqual([false, true]);
  });

  it('accept another response as soon as one is sent', () => {
    const posts = new Posts(new VirtualClock());
    const answers = Array.from({ length: 32 }, (_, id) => posts.begin(answer(id)));
    expect(() => posts.begin(answer(32))).toThrow('does not take');
    for (const one of answers.slice(0, 1)) posts.end(one);
    expect(posts.begin(answer(33)).isAnswer).toBe(true);
  });
});
