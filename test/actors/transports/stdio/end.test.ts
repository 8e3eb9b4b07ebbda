/** How the end of a stdio server is reported, to the session and to its calls. */

import { afterEach, describe, expect, it } from 'vitest';

import {
  type Bench,
  type BenchOptions,
  callOptions,
  createBench,
  fixtureSpec,
  graces,
  isRunning,
} from '../../session/bench.ts';

let bench: Bench | undefined;

afterEach(() => bench?.stop());

function start(mode: string, options: BenchOptions = {}): Bench {
  bench = createBench(fixtureSpec(mode))(options);
  return bench;
}

async function opened(mode: string, options: BenchOptions = {}): Promise<Bench> {
  const session = start(mode, options);
  session.send('session.open');
  await session.next('session.opened');
  return session;
}

describe('a stdio session that is closed on request', () => {
  it("reports a silent server's stderr when it is closed", async () => {
    const session = start('noisy-hang');
    session.send('session.open');
    await session.logged('waiting for the database');
    await session.logged('is not MCP');
    session.send('session.close');
    const { failure, evidence } = await session.next('session.closed');
    expect(failure).toBeUndefined();
    // No exit code: it exited because we closed it.
    expect(evidence).toEqual({ stderrTail: ['waiting for the database'], noiseCount: 3 });
  });

  it("reports its server's stderr when it is closed during the first list", async () => {
    const session = await opened('noisy-list');
    session.send('session.list');
    session.send('session.close');
    const { evidence } = await session.next('session.closed');
    expect(evidence).toEqual({ stderrTail: ['waiting for the database'], noiseCount: 3 });
  });

  it('reports no stderr when there is none', async () => {
    const session = await opened('ok');
    session.send('session.close');
    expect(await session.next('session.closed')).not.toHaveProperty('evidence');
  });
});

describe('the closing steps', () => {
  // Longer than a test may take, so that waiting for it fails the test.
  const forEver = 60_000;

  it.each([
    ['with a signal alone', 'ok', [{ by: 'SIGINT', waitMs: forEver }]],
    ['by closing its input', 'ok', [{ by: 'stdinEnd', waitMs: forEver }]],
    [
      'with the next step when one has no effect',
      'ignore-term',
      [
        { by: 'SIGTERM', waitMs: 50 },
        { by: 'SIGKILL', waitMs: forEver },
      ],
    ],
    ['with SIGKILL when no step works', 'ignore-term', [{ by: 'SIGTERM', waitMs: 50 }]],
  ] as const)('end a server %s', async (_how, mode, steps) => {
    const session = await opened(mode, { policy: { close: { steps } } });
    session.send('session.close');
    expect((await session.next('session.closed')).failure).toBeUndefined();
  });
});

describe('a stdio session whose server closes its output but keeps running', () => {
  it('reports the loss immediately and the failure once the process has ended', async () => {
    const session = await opened('mute-on-call');
    const { pid } = session.facts.find(({ type }) => type === 'session.opened') as { pid: number };
    session.holdTimers();
    void session.handle().callTool('echo', {}, callOptions());
    // No timer fires, so only the closed pipe can be the cause.
    await session.next('session.lost');
    expect(session.facts.map(({ type }) => type)).not.toContain('session.closed');
    expect(isRunning(pid)).toBe(true);
    session.send('session.kill');
    await session.next('session.closed');
    expect(isRunning(pid)).toBe(false);
  });

  it('fails its calls as lost when it is killed before it has ended', async () => {
    const session = await opened('mute-on-call', { policy: graces(20, 20) });
    const called = session.handle().callTool('echo', {}, callOptions());
    expect(await called).toMatchObject({ failure: { reason: 'crashed', written: true } });
    expect((await session.next('session.closed')).failure).toMatchObject({ kind: 'transport' });
  });

  it('is killed while a graceful close is still waiting', async () => {
    const steps = [{ by: 'stdinEnd', waitMs: 60_000 }] as const;
    const session = await opened('ignore-term', { policy: { close: { steps } } });
    session.send('session.close');
    session.send('session.kill');
    expect(await session.next('session.closed')).not.toHaveProperty('failure');
  });
});

describe('a call during which a stdio session ends', () => {
  it.each(['session.close', 'io.dispose'] as const)(
    'is reported as cancelled after %s',
    async (end) => {
      const session = await opened('ok');
      const called = session.handle().callTool('slow', {}, callOptions());
      session.send(end);
      expect(await called).toEqual({
        failure: { reason: 'cancelled', written: true, message: 'db was stopped during the call.' },
      });
    },
  );

  it('names the exit code and what the server wrote', async () => {
    const session = await opened('last-words');
    expect(await session.handle().callTool('crash', {}, callOptions())).toEqual({
      failure: {
        reason: 'crashed',
        written: true,
        message: 'The server process exited with code 9 during the call. It wrote: out of memory',
      },
    });
  });

  it('fails without affecting others when its response exceeds 16 MB', async () => {
    const session = await opened('huge-result');
    const slow = session.handle().callTool('slow', {}, callOptions({ timeoutMs: 60_000 }));
    expect(await session.handle().callTool('echo', {}, callOptions())).toEqual({
      failure: {
        reason: 'resultTooLarge',
        written: true,
        message: 'The server sent an answer of more than 16 MB.',
      },
    });
    session.send('session.list');
    await session.next('session.listed');
    session.send('session.close');
    expect((await session.next('session.closed')).failure).toBeUndefined();
    expect(await slow).toMatchObject({ failure: { reason: 'cancelled' } });
  });

  it('names the endless line that caused its failure', async () => {
    const session = await opened('endless-result');
    const calls = ['slow', 'echo'].map((tool) =>
      session.handle().callTool(tool, {}, callOptions({ timeoutMs: 60_000 })),
    );
    const failure = {
      reason: 'badResponse',
      written: true,
      message: 'The server wrote a line of more than 16 MB.',
    };
    expect(await Promise.all(calls)).toEqual([{ failure }, { failure }]);
    const { failure: end } = await session.next('session.closed');
    expect(end).toMatchObject({ kind: 'protocol', message: failure.message });
  });

  it('names the signal', async () => {
    const session = await opened('kill-on-call');
    expect(await session.handle().callTool('echo', {}, callOptions())).toMatchObject({
      failure: {
        reason: 'crashed',
        message: 'The server process was ended by SIGKILL during the call.',
      },
    });
  });
});

describe('a clean exit', () => {
  it.each([
    [
      'auto',
      'The server ended by itself with exit code 0; it is not restarted after a clean exit unless "restart": "always".',
    ],
    ['always', 'The server ended by itself with exit code 0.'],
  ] as const)('is explained when "restart" is %s', async (restart, message) => {
    const session = await opened('clean-exit-after-ready', {
      policy: { restart: { on: restart } },
    });
    expect((await session.next('session.closed')).failure).toEqual({
      kind: 'cleanExit',
      exitCode: 0,
      message,
    });
  });
});
