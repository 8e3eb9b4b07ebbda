import { describe, expect, it } from 'vitest';
import { explanationLines } from '../../../src/cli/show/explanation-lines.ts';
import { logLine } from '../../../src/cli/show/log-line.ts';
import { columnsOf, wrapText } from '../../../src/cli/show/table.ts';
import type { Explanation } from '../../../src/domain/host/explanation.ts';
import type { ServerLogLine } from '../../../src/domain/server-log.ts';
import { runCliHere, startCliHere, temporaryFolder } from '../run-cli.ts';
import { createStandIn, statusOf } from '../stand-in-troupe.ts';
import { upHere } from '../up-here.ts';

const plain = (_style: unknown, text: string): string => text;
const nowMs = Date.parse('2026-01-02T03:04:15.000Z');

function explanationOf(more: Partial<Explanation> = {}): Explanation {
  return {
    status: statusOf('db', {
      state: 'backingOff',
      reason: 'retrying',
      lastError: { code: 'CRASHED', kind: 'crashed', message: 'It ended with exit code 3.' },
    }),
    decision: {
      table: 'connection.parked.backingOff.choosing',
      guard: 'hasAttemptsLeft',
      target: 'connection.parked.backingOff.retrying',
      row: 2,
      passed: ['isBusyStart'],
      isForecast: false,
    },
    movedBy: [
      { event: 'server.stop', sentBy: 'host', to: { state: 'stopped' } },
      { event: 'server.start', sentBy: 'host', to: { state: 'queued' } },
      { event: 'server.restart', sentBy: 'host', to: { state: 'queued' } },
    ],
    timers: [
      {
        name: 'reconnectBackoff',
        totalMs: 20_000,
        enteredAt: '2026-01-02T03:04:05.000Z',
        dueAt: '2026-01-02T03:04:25.000Z',
        to: { state: 'queued' },
      },
    ],
    circuit: { state: 'closed', failedCalls: 2, threshold: 5 },
    budgets: {
      attempts: { used: 2, max: 5 },
      crashes: { times: ['2026-01-02T03:04:05.000Z'], limit: 5, windowMs: 60_000 },
      losses: { times: [], limit: 5, windowMs: 30_000 },
    },
    admission: {
      verdict: 'admitted',
      rule: 'ungated',
      source: { file: '/settings/troupe.json', key: 'mcpServers.db', line: 3, scope: 'config' },
    },
    lastFailure: {
      code: 'CRASHED',
      kind: 'crashed',
      message: 'It ended with exit code 3.',
      exitCode: 3,
      stderrTail: ['first words', 'last words'],
      at: '2026-01-02T03:04:05.000Z',
    },
    attempts: [
      {
        session: 1,
        generation: 'ab',
        attempt: 1,
        startedAt: '2026-01-02T03:04:00.000Z',
        queuedMs: 1,
        connectingMs: 40,
        loadingToolsMs: 9,
        readyMs: 4_950,
        endedAt: '2026-01-02T03:04:05.000Z',
        failure: { kind: 'crashed', message: 'It ended with exit code 3.', exitCode: 3 },
        rested: { state: 'backingOff', reason: 'retrying' },
        waitMs: 20_000,
      },
    ],
    ...more,
  };
}

describe('the printed explanation', () => {
  it('says why a server is degraded or takes long to connect', () => {
    const message = 'The server refused prompts/list: no database';
    const lastError = { code: 'BAD_RESPONSE', kind: 'protocol', message } as const;
    const sentenceOf = (status: Parameters<typeof statusOf>[1]) =>
      explanationLines(
        explanationOf({ status: statusOf('db', status) }),
        Date.parse(statusOf('db').since) + 4_000,
        200,
        plain,
      )[0];
    expect(sentenceOf({ state: 'degraded', reason: 'partialCatalog', lastError })).toBe(
      `db is degraded (partialCatalog) for 4s: ${message}`,
    );
    expect(sentenceOf({ state: 'connecting', mayDownload: true })).toBe(
      'db is connecting for 4s: first start: the package runner may be downloading the server.',
    );
  });

  it('shows the state and its reason, then the next step, without the words of the chart', () => {
    const text = explanationLines(explanationOf(), nowMs, 80, plain).join('\n');
    expect(text.split('\n\nstderr')[0]).toBe(
      `db is backingOff (retrying) for 10s. It ended with exit code 3.
Next: nothing to do; it is tried again in 10s

last failure  10s ago: It ended with exit code 3. (CRASHED)
exit          code 3
attempts      2 of 5
settings      mcpServers.db in /settings/troupe.json:3`,
    );
    const { budgets } = explanationOf();
    if (budgets === undefined) throw new Error('There are budgets.');
    const alike = (used: number) =>
      explanationLines(
        explanationOf({ budgets: { ...budgets, sameExits: { used, max: 3 } } }),
        nowMs,
        200,
        plain,
        true,
      ).join('\n');
    expect(alike(1)).not.toContain('same way');
    expect(alike(2)).toContain('failed the same way 2 of 3 times');
    expect(alike(40)).toContain('failed the same way 40 times');
    const later = explanationOf({ budgets: { ...budgets, attempts: { used: 8, max: 5 } } });
    expect(explanationLines(later, nowMs, 80, plain)).toContain(
      'attempts      8, after the first 5 more slowly',
    );
    const ready = explanationLines(explanationOf({ status: statusOf('db') }), nowMs, 80, plain);
    expect(ready).toContain(
      'last failure  10s ago, over now: It ended with exit code 3. (CRASHED)',
    );
    const again = explanationOf({ status: statusOf('db', { state: 'connecting' }) });
    expect(explanationLines(again, nowMs, 80, plain)).toContain(
      'last failure  10s ago: It ended with exit code 3. (CRASHED)',
    );
  });

  it('shows what the chart did with the details', () => {
    expect(explanationLines(explanationOf(), nowMs, 80, plain, true).join('\n')).toBe(
      `db is backingOff (retrying) for 10s. It ended with exit code 3.
Next: nothing to do; it is tried again in 10s

last failure  CRASHED (crashed) 10s ago: It ended with exit code 3.
exit          code 3
decided by    hasAttemptsLeft -> connection.parked.backingOff.retrying (line 2
              of connection.parked.backingOff.choosing)
timers        reconnectBackoff in 10s of 20s -> queued
moved by      server.stop -> stopped
              server.start, server.restart -> queued
circuit       closed, 2 of 5 failed calls
budgets       attempts 2 of 5; crashes 1 of 5 in 1m 00s; losses 0 of 5 in 30s
admission     admitted, by ungated, mcpServers.db in /settings/troupe.json:3

stderr
  | first words
  | last words

ATTEMPT  STARTED       QUEUED  CONNECT  LIST  READY  ENDED            WAIT
      1  03:04:00.000     1ms     40ms   9ms     5s  crashed, code 3   20s`,
    );
  });

  it('shows the next step, the position in the queue and the state after a stop', () => {
    const first = (more: Partial<Explanation>): readonly string[] =>
      explanationLines(explanationOf(more), nowMs, 200, plain).slice(0, 2);
    expect(first({ nextStep: 'troupe approve db' })[1]).toBe('Next: troupe approve db');
    const queue = {
      pool: 'local',
      position: 2,
      waiting: 4,
      permits: 3,
      heldBy: ['a', 'b'],
    } as const;
    expect(first({ status: statusOf('db', { state: 'queued' }), queue })[0]).toBe(
      'db is queued for 10s: place 2 of 4 in the queue for 3 local start permits; held by a, b.',
    );
    const repeated = { ...queue, position: 1, heldBy: [], retriesLeft: 0 };
    expect(first({ status: statusOf('db', { state: 'queued' }), queue: repeated })[0]).toBe(
      'db is queued for 10s: place 1 of 4 in the queue for 3 local start permits; too many servers are restarting, so restarts take turns.',
    );
    const { decision } = explanationOf();
    if (decision === undefined) throw new Error('There is a decision.');
    const stopping = {
      status: statusOf('db', { state: 'stopping' }),
      decision: {
        ...decision,
        guard: 'isStopWanted',
        target: 'connection.parked.stopped',
        isForecast: true,
      },
    };
    expect(first(stopping)[0]).toBe('db is stopping for 10s; then stopped.');
  });

  it.each([40, 60, 80, 120])('fits %i columns', (width) => {
    const lines = explanationLines(explanationOf(), nowMs, width, plain);
    expect(Math.max(...lines.map(columnsOf))).toBeLessThanOrEqual(width);
  });

  it('wraps between words and breaks only a word that is too long', () => {
    expect(wrapText('one two three', 9, '> ')).toEqual(['> one two', '  three']);
    expect(wrapText('incomprehensibilities', 8)).toEqual(['incompr…']);
  });
});

function lineOf(number: number, line: string, more: Partial<ServerLogLine> = {}): ServerLogLine {
  return { number, at: '2026-01-02T03:04:05.000Z', session: 1, stream: 'stderr', line, ...more };
}

describe('a printed log line', () => {
  it("cannot be forged by a server's output", () => {
    const forged = logLine(lineOf(1, 'hello\n2026-01-02T03:04:05.000Z #1 troupe | ready\u001b[2J'));
    expect(forged.split('\n')).toHaveLength(1);
    expect(forged).toBe(
      '2026-01-02T03:04:05.000Z #1 stderr | hello 2026-01-02T03:04:05.000Z #1 troupe | ready',
    );
  });
});

describe('explain', () => {
  it("prints the summary, the next step and the details, or the library's document with --json", async () => {
    const explanation = explanationOf();
    const { folder } = await upHere(
      createStandIn({ servers: [explanation.status], explanations: [explanation] }),
    );
    const told = await runCliHere(['explain', 'db'], { folder });
    expect(told.exitCode).toBe(0);
    expect(told.stdout).toMatch(/^db is backingOff \(retrying\)[^]*\nNext: [^]*\nattempts /);
    const detailed = await runCliHere(['explain', 'db', '--details'], { folder });
    expect(detailed.stdout).toMatch(/\ndecided by [^]*\ntimers /);
    const json = await runCliHere(['explain', 'db', '--json'], { folder });
    expect(JSON.parse(json.stdout)).toEqual(explanation);
  });

  it.each([['explain'], ['logs'], ['logs', '--follow']])(
    'rejects an unknown name: %s',
    async (...words) => {
      const { folder } = await upHere();
      const run = await runCliHere([words[0] ?? '', 'dbb', ...words.slice(1)], { folder });
      expect(run).toMatchObject({ exitCode: 2, stdout: '' });
      expect(run.stderr).toContain('Did you mean db?');
    },
  );

  it.each(['explain', 'logs'])('requires a running troupe: %s', async (command) => {
    const run = await runCliHere([command, 'db'], { folder: temporaryFolder() });
    expect(run).toMatchObject({ exitCode: 3, stdout: '' });
  });
});

describe('logs', () => {
  const logs = new Map([
    [
      'db',
      [lineOf(1, 'one'), lineOf(2, 'two'), lineOf(3, 'ready with 1 tool', { stream: 'troupe' })],
    ],
  ]);
  const up = () => upHere(createStandIn({ servers: [statusOf('db')], logs }));

  it('prints the last lines with time, session and stream', async () => {
    const { folder } = await up();
    const run = await runCliHere(['logs', 'db', '--lines', '2'], { folder });
    expect(run).toMatchObject({
      exitCode: 0,
      stdout:
        '2026-01-02T03:04:05.000Z #1 stderr | two\n2026-01-02T03:04:05.000Z #1 troupe | ready with 1 tool\n',
    });
    const json = await runCliHere(['logs', 'db', '--json'], { folder });
    expect(JSON.parse(json.stdout)).toEqual({ server: 'db', lines: logs.get('db') });
  });

  it.each(['0', '-1', 'many', '10001'])('rejects --lines %s', async (count) => {
    const { folder } = await up();
    const run = await runCliHere(['logs', 'db', '--lines', count], { folder });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain('--lines');
  });

  it("prints each of the server's new lines once, one document per line", async () => {
    const { folder, troupe } = await up();
    const before = troupe.listenerCount();
    const run = startCliHere(['logs', 'db', '--follow', '--json', '--lines', '1'], { folder });
    while (troupe.listenerCount() <= before) await new Promise((resolve) => setImmediate(resolve));
    troupe.emit('server.log', {
      server: 'db',
      ...lineOf(3, 'ready with 1 tool', { stream: 'troupe' }),
    });
    troupe.emit('server.log', { server: 'other', ...lineOf(9, 'not mine') });
    troupe.emit('server.log', { server: 'db', ...lineOf(4, 'four') });
    await run.printed('four');
    run.signal('SIGINT');
    const { exitCode, stdout } = await run.finished;
    expect(exitCode).toBe(130);
    const documents = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as ServerLogLine);
    expect(documents).toEqual([
      { server: 'db', ...lineOf(3, 'ready with 1 tool', { stream: 'troupe' }) },
      { server: 'db', ...lineOf(4, 'four') },
    ]);
  });
});
