/**
 * The contract of a session, held against the real actor over every transport
 * and against the scripted one that other tests use in its place.
 */

import { afterEach, describe, expect, it } from 'vitest';

import type { ServerSpec } from '../../../src/domain/server-spec.ts';
import { createScriptedSessions } from '../../../src/testing/scripted-session.ts';
import { createEmbeddedFixture } from '../../fixtures/embedded-server.ts';
import { startHttpFixture } from '../../fixtures/remote/http-server.ts';
import { startSseFixture } from '../../fixtures/remote/sse-server.ts';
import { startWsFixture } from '../../fixtures/remote/ws-server.ts';
import { type Bench, callOptions, createBench, fixtureSpec, type StartBench } from './bench.ts';

/** A session under test, and controls for its server. */
interface Subject {
  readonly start: StartBench;
  /** Lets a scripted server do what a real one does by itself. */
  readonly opens: () => void;
  readonly lists: () => void;
  readonly isProbed: () => void;
  readonly closes: () => void;
  readonly answers: () => void;
  /** Ends the server as `kill -9` would. */
  readonly dies: (bench: Bench) => void | Promise<void>;
  /** The reason with which a call in flight fails. */
  readonly lossReason: string;
  readonly cleanUp: () => Promise<void>;
}

const nothing = (): void => {};

/** A real server acts by itself. */
const byItself = {
  opens: nothing,
  lists: nothing,
  isProbed: nothing,
  closes: nothing,
  answers: nothing,
} as const;

interface RemoteFixture {
  arrived(name: string): Promise<void>;
  kill(): Promise<void>;
  close(): Promise<void>;
}

/** A server behind an address, killed when this has arrived. */
function remote(spec: ServerSpec, server: RemoteFixture, call: string): Subject {
  return {
    ...byItself,
    start: createBench(spec),
    async dies() {
      await server.arrived(call);
      await server.kill();
    },
    lossReason: 'streamLost',
    cleanUp: () => server.close(),
  };
}

const subjects: Readonly<Record<string, () => Promise<Subject>>> = {
  'over stdio': () =>
    Promise.resolve({
      ...byItself,
      start: createBench(fixtureSpec('ok')),
      dies(bench) {
        const opened = bench.facts.find((fact) => fact.type === 'session.opened');
        if (opened?.pid !== undefined) process.kill(opened.pid, 'SIGKILL');
      },
      lossReason: 'crashed',
      cleanUp: () => Promise.resolve(),
    }),
  'over HTTP': async () => {
    const server = await startHttpFixture();
    const spec = { type: 'http', url: server.url, headers: {}, era: 'legacy' } as const;
    return remote(spec, server, 'POST tools/call');
  },
  'over SSE': async () => {
    const server = await startSseFixture();
    const spec = { type: 'sse', url: server.url, headers: {}, era: 'auto' } as const;
    return remote(spec, server, 'POST tools/call');
  },
  'over WebSocket': async () => {
    const server = await startWsFixture();
    const spec = { type: 'ws', url: server.url, headers: {}, era: 'auto' } as const;
    return remote(spec, server, 'tools/call');
  },
  'in memory': () => {
    const host = createEmbeddedFixture();
    const startBench = createBench({ type: 'memory', server: 'db', era: 'auto' });
    return Promise.resolve({
      ...byItself,
      start: (options) => startBench({ ...options, embedded: new Map([['db', host.server]]) }),
      async dies() {
        await host.called();
        host.end();
      },
      lossReason: 'streamLost',
      cleanUp: () => Promise.resolve(),
    });
  },
  scripted: () => {
    const sessions = createScriptedSessions();
    const tools = [{ name: 'echo', inputSchema: { type: 'object' } }];
    let mayList = false;
    sessions.onCommand = (each, { type }) => {
      if (type === 'session.list' && mayList) queueMicrotask(() => each.list(tools));
    };
    const script = () => sessions.of('db');
    return Promise.resolve({
      start: createBench(undefined, (ports) => sessions.createActors(ports)),
      opens: () => script().open(),
      lists: () => {
        if (!mayList) script().list(tools);
        mayList = true;
      },
      isProbed: () => script().probed(),
      closes: () => script().closed(),
      answers: () =>
        script()
          .calls.at(-1)
          ?.answer({ content: [{ type: 'text', text: '{"a":1}' }] }),
      dies: () => script().fail({ kind: 'crashed', message: 'killed' }),
      lossReason: 'crashed',
      cleanUp: () => Promise.resolve(),
    });
  },
};

describe.each(Object.entries(subjects))('a session %s', (_name, create) => {
  let subject: Subject;
  let bench: Bench;

  const start = async (): Promise<void> => {
    subject = await create();
    bench = subject.start();
  };
  const open = async (): Promise<void> => {
    await start();
    bench.send('session.open');
    subject.opens();
    await bench.next('session.opened');
  };

  afterEach(async () => {
    bench.stop();
    await subject.cleanUp();
  });

  it('closes immediately if it was never opened', async () => {
    await start();
    bench.send('session.close');
    const closed = await bench.next('session.closed');
    expect(closed).toEqual({ type: 'session.closed', at: expect.any(Number) });
    expect(bench.story).toEqual(['session.closed']);
  });

  it('opens once and registers its handle before reporting that it is open', async () => {
    await open();
    bench.send('session.open');
    expect(bench.story).toEqual(['registry.opened', 'session.opened']);
    expect(bench.handle().session).toBe(1);
    expect(bench.facts[0]).toMatchObject({ era: 'legacy', at: expect.any(Number) });
  });

  it('stores the tools before it reports them', async () => {
    await open();
    bench.send('session.list');
    subject.lists();
    const listed = await bench.next('session.listed');
    expect(bench.story.slice(-2)).toEqual(['catalogs.put', 'session.listed']);
    expect(bench.catalog).toHaveLength(listed.toolCount);
    expect(bench.catalog[0]?.name).toBe('echo');
  });

  it('reports the result of a health check', async () => {
    await open();
    bench.send('session.probe');
    subject.isProbed();
    expect(await bench.next('session.probed')).toEqual({
      type: 'session.probed',
      answer: 'alive',
    });
  });

  it('lists its tools once more, however many requests arrive during a listing', async () => {
    await open();
    bench.send('session.list');
    subject.lists();
    await bench.next('session.listed');
    for (let count = 0; count < 5; count += 1) bench.send('session.list');
    subject.lists();
    await bench.next('session.listed');
    subject.lists();
    await bench.next('session.listed');
    bench.send('session.close');
    subject.closes();
    await bench.next('session.closed');
    expect(bench.story.filter((name) => name === 'session.listed')).toHaveLength(3);
  });

  it('calls a tool', async () => {
    await open();
    const called = bench.handle().callTool('echo', { a: 1 }, callOptions());
    subject.answers();
    expect(await called).toEqual({ result: { content: [{ type: 'text', text: '{"a":1}' }] } });
  });

  it('closes gracefully once and unregisters its handle first', async () => {
    await open();
    bench.send('session.close');
    bench.send('session.close');
    subject.closes();
    const closed = await bench.next('session.closed');
    bench.send('session.close');
    expect(closed.failure).toBeUndefined();
    expect(bench.story).toEqual([
      'registry.opened',
      'session.opened',
      'registry.closed',
      'session.closed',
    ]);
  });

  it('settles a call and reports the loss when its server dies', async () => {
    await open();
    const called = bench.handle().callTool('slow', {}, callOptions());
    await subject.dies(bench);
    const closed = await bench.next('session.closed');
    expect(closed.failure).toBeDefined();
    expect(await called).toMatchObject({ failure: { reason: subject.lossReason, written: true } });
    expect(bench.story.filter((name) => name === 'session.closed')).toHaveLength(1);
  });

  it('cancels a call that a graceful close interrupts', async () => {
    await open();
    const called = bench.handle().callTool('slow', {}, callOptions());
    bench.send('session.close');
    expect(await called).toMatchObject({
      failure: { reason: 'cancelled', written: true, message: expect.stringContaining('db was') },
    });
  });

  it('reports nothing once disposed of, but settles its calls', async () => {
    await open();
    const called = bench.handle().callTool('slow', {}, callOptions());
    bench.send('io.dispose');
    expect(await called).toMatchObject({ failure: { reason: 'cancelled', written: true } });
    bench.send('session.close');
    expect(bench.story).toEqual(['registry.opened', 'session.opened', 'registry.closed']);
  });

  it('rejects a call without sending it once it has ended', async () => {
    await open();
    const handle = bench.handle();
    bench.send('session.close');
    const outcome = await handle.callTool('echo', {}, callOptions());
    expect(outcome).toMatchObject({ failure: { reason: 'notSent', written: false } });
  });

  it('reports a cancelled call as cancelled', async () => {
    await open();
    const controller = new AbortController();
    const called = bench.handle().callTool('slow', {}, callOptions({ signal: controller.signal }));
    controller.abort();
    expect(await called).toMatchObject({ failure: { reason: 'cancelled', written: true } });
    const late = await bench
      .handle()
      .callTool('slow', {}, callOptions({ signal: controller.signal }));
    expect(late).toMatchObject({ failure: { reason: 'cancelled', written: false } });
  });

  it('reports a call that exceeds its deadline as timed out', async () => {
    await open();
    const outcome = await bench.handle().callTool('slow', {}, callOptions({ timeoutMs: 30 }));
    expect(outcome).toMatchObject({ failure: { reason: 'timeout', written: true } });
  });
});
