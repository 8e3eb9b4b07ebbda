/** A session while the SDK is still loading, for as long as the test wants. */

import { EventEmitter, once } from 'node:events';

import { afterEach, describe, expect, it } from 'vitest';

import type { LoadSpeech } from '../../../actors/session/io.ts';
import { StdioTransport } from '../../../actors/transports/stdio/transport.ts';
import type { ServerSpec } from '../../../src/domain/server-spec.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { silentEvents } from '../../fixtures/silent-input.ts';
import { type Bench, createBench, ended, fixtureSpec, isRunning, realActors } from './bench.ts';

/** Resolves after the callbacks of promises that are settled now. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

type Speech = Awaited<ReturnType<LoadSpeech>>;

/** A load that ends when the test says so, however many sessions wait for it. */
class HeldLoad {
  askedCount = 0;
  readonly #ends = new EventEmitter();
  readonly #speech = once(this.#ends, 'end').then(([speech]) => speech as Speech);

  readonly load: LoadSpeech = () => {
    this.askedCount += 1;
    this.#ends.emit('asked');
    return this.#speech;
  };

  /** Resolves when a session requests the load; call it before. */
  asked(): Promise<unknown> {
    return once(this.#ends, 'asked');
  }

  /** Resolves after all waiting sessions have continued. */
  async end(): Promise<void> {
    this.#ends.emit('end', await import('../../../actors/session/client.ts'));
    await turn();
  }

  async fail(): Promise<void> {
    this.#ends.emit('error', new Error('a file is missing'));
    await turn();
  }
}

const benches: Bench[] = [];

afterEach(() => {
  for (const bench of benches.splice(0)) bench.stop();
});

function open(spec: ServerSpec, load: LoadSpeech): Bench {
  const bench = createBench(spec, realActors(load))();
  benches.push(bench);
  bench.send('session.open');
  return bench;
}

/** Writes its process id to stderr, and exits at the end of its input. */
const telling = { command: 'sh', args: ['-c', 'echo "pid $$" >&2; exec cat'] };

async function openTelling(load: LoadSpeech): Promise<{ bench: Bench; pid: number }> {
  const bench = open(fixtureSpec('', telling), load);
  const line = await bench.logged('pid ');
  return { bench, pid: Number(line.slice('pid '.length)) };
}

describe('a session that waits for the SDK', () => {
  it('starts its process meanwhile and then opens', async () => {
    const held = new HeldLoad();
    const bench = open(fixtureSpec('noisy-list'), held.load);
    await bench.logged('waiting for the database');
    await bench.logged('is not MCP');
    expect(bench.story).toEqual([]);
    await held.end();
    expect((await bench.next('session.opened')).pid).toBeGreaterThan(0);
  });

  it('starts its process later when four others have started', async () => {
    const held = new HeldLoad();
    const start = createBench(fixtureSpec('', telling), realActors(held.load));
    const opened = (): Bench => {
      const bench = start();
      benches.push(bench);
      bench.send('session.open');
      return bench;
    };
    for (let count = 0; count < 4; count += 1) await opened().logged('pid ');
    const asked = held.asked();
    const fifth = opened();
    await asked;
    await turn();
    expect(fifth.lines).toEqual([]);
    await held.end();
    expect(await fifth.logged('pid ')).toMatch(/^pid \d+$/);
  });

  it('ends its process and reports as usual when it is closed', async () => {
    const held = new HeldLoad();
    const { bench, pid } = await openTelling(held.load);
    bench.send('session.close');
    const { failure, evidence } = await bench.next('session.closed');
    expect(failure).toBeUndefined();
    expect(evidence).toEqual({ stderrTail: [`pid ${pid}`] });
    expect(isRunning(pid)).toBe(false);
    await held.end();
    expect(bench.story).toEqual(['session.closed']);
  });

  it('kills its process and reports nothing when it is disposed of', async () => {
    const held = new HeldLoad();
    const { bench, pid } = await openTelling(held.load);
    bench.send('io.dispose');
    await ended(pid);
    await held.end();
    expect(bench.story).toEqual([]);
  });

  it('reports immediately that its process died', async () => {
    const held = new HeldLoad();
    const bench = open(fixtureSpec('exit-1'), held.load);
    const { failure } = await bench.next('session.closed');
    expect(failure).toMatchObject({ kind: 'crashed', exitCode: 1 });
    expect(failure?.stderrTail).toContain('cannot open the database');
    await held.end();
    expect(bench.story).toEqual(['session.closed']);
  });

  it('does not restart a server that exits before its era is probed', async () => {
    const held = new HeldLoad();
    const exiting = {
      command: 'sh',
      args: ['-c', 'echo started >&2; exit 1'],
      era: 'auto',
    } as const;
    const bench = open(fixtureSpec('', exiting), held.load);
    const { failure } = await bench.next('session.closed');
    expect(failure).toMatchObject({ kind: 'crashed', stderrTail: ['started'] });
    await held.end();
    expect(bench.lines).toEqual(['started']);
  });

  it('fails once and ends its process when loading fails', async () => {
    const held = new HeldLoad();
    const { bench, pid } = await openTelling(held.load);
    await held.fail();
    const { failure } = await bench.next('session.closed');
    expect(failure?.message).toContain('could not be loaded');
    expect(isRunning(pid)).toBe(false);
    expect(bench.story).toEqual(['session.closed']);
  });

  it('reports nothing more when loading fails after it is closed', async () => {
    const held = new HeldLoad();
    const asked = held.asked();
    const bench = open(fixtureSpec('ok'), held.load);
    await asked;
    bench.send('session.close');
    await bench.next('session.closed');
    await held.fail();
    expect(bench.story).toEqual(['session.closed']);
  });

  it('shares the loaded SDK with other sessions, which open even if it is closed', async () => {
    const held = new HeldLoad();
    const [first, second, third] = ['ok', 'noisy-list', 'ok'].map((mode) =>
      open(fixtureSpec(mode), held.load),
    ) as [Bench, Bench, Bench];
    await second.logged('waiting for the database');
    second.send('session.close');
    await second.next('session.closed');
    await held.end();
    await first.next('session.opened');
    await third.next('session.opened');
    expect(second.story).toEqual(['session.closed']);
  });

  it('sends nothing to a remote server once it is closed', async () => {
    const held = new HeldLoad();
    const asked = held.asked();
    const spec = { type: 'http', url: 'http://127.0.0.1:9/', headers: {}, era: 'auto' } as const;
    const bench = open(spec, held.load);
    await asked;
    bench.send('session.close');
    expect(await bench.next('session.closed')).not.toHaveProperty('failure');
    await held.end();
    expect(bench.story).toEqual(['session.closed']);
  });

  it('does not load the SDK when its process cannot be started', async () => {
    const held = new HeldLoad();
    const bench = open(fixtureSpec('', { command: 'no-such-command' }), held.load);
    const { failure } = await bench.next('session.closed');
    expect(failure?.message).toBe('The command "no-such-command" was not found on PATH.');
    expect(held.askedCount).toBe(0);
  });
});

describe('a process that writes before the transport starts', () => {
  it('has all its messages delivered, in order', async () => {
    const message = (method: string): string => `{"jsonrpc":"2.0","method":"${method}"}\\n`;
    let hearNoise: () => void = () => {};
    const noise = new Promise<void>((resolve) => {
      hearNoise = resolve;
    });
    const events = { ...silentEvents, remark: () => hearNoise() };
    const launch = {
      command: 'sh',
      // Message and noise in one piece, so that the noise proves that the message was read.
      args: [
        '-c',
        `printf '${message('first')}noise\\n'; read go; printf '${message('second')}'; cat`,
      ],
      env: { PATH: process.env['PATH'] ?? '' },
      cwd: '/tmp',
    };
    const transport = new StdioTransport(launch, {
      clock: realClock,
      events,
      secrets: [],
      policy: () => {
        throw new Error('asked for when it closes in good order only');
      },
    });
    try {
      await transport.launch();
      await noise;
      const heard: unknown[] = [];
      const both = new Promise<void>((resolve) => {
        transport.onmessage = (heardNow) => {
          heard.push('method' in heardNow ? heardNow.method : heardNow);
          if (heard.length === 2) resolve();
        };
      });
      await transport.start();
      expect(heard).toEqual(['first']);
      await transport.send({ jsonrpc: '2.0', method: 'go' });
      await both;
      expect(heard).toEqual(['first', 'second']);
    } finally {
      transport.dispose();
    }
  });
});
