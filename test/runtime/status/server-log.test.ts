import { describe, expect, it } from 'vitest';
import { ServerLogs } from '../../../src/runtime/status/server-log.ts';
import { bringUp, crash, nextAttempt, servers, stageOf } from '../stage.ts';

const from = { session: 1, stream: 'stderr' } as const;

describe("a server's log", () => {
  it('keeps the last 64 KB of long or short lines', () => {
    const logs = new ServerLogs();
    for (let count = 0; count < 100; count += 1) logs.append('db', 'x'.repeat(2_000), from, 0);
    for (let count = 0; count < 10_000; count += 1) logs.append('chatty', 'y', from, 0);
    expect(logs.of('db')).toHaveLength(30);
    expect(logs.of('db')?.at(-1)?.number).toBe(100);
    expect(logs.of('chatty')?.length).toBe(508);
    expect(logs.of('unknown')).toBeUndefined();
  });

  it('is kept for the most recently removed servers, up to 4 MB', () => {
    const logs = new ServerLogs();
    const names = Array.from({ length: 100 }, (_, index) => `s${index}`);
    for (const name of names)
      for (let count = 0; count < 40; count += 1) logs.append(name, 'x'.repeat(2_000), from, 0);
    logs.retain((name) => name === 's0', names.slice(1));
    const kept = names.filter((name) => logs.of(name) !== undefined);
    expect(kept).toHaveLength(1 + 65);
    expect(kept.slice(0, 2)).toEqual(['s0', 's35']);
  });

  it("records the server's state changes and emits each line", async () => {
    const stage = await stageOf({ settings: servers({ db: 'db' }), obedient: [] });
    const announced: string[] = [];
    stage.troupe.on('server.log', ({ server, number, line }) =>
      announced.push(`${server} ${number} ${line}`),
    );
    bringUp(stage.sessions.of('db'));
    await stage.settle();
    stage.sessions.of('db').fail(crash());
    await nextAttempt(stage, 'db');
    stage.sessions.of('db').fail(crash('It would not start.'));
    await stage.settle();
    const told = stage.troupe
      .logs('db')
      ?.map(({ session, stream, line }) => `${session} ${stream} ${line}`);
    expect(told).toEqual([
      '1 troupe queued, attempt 1',
      '1 troupe connecting, attempt 1',
      '1 troupe loadingTools, attempt 1',
      '1 troupe ready with 1 tool',
      '1 troupe lost: It died.',
      expect.stringMatching(/^1 troupe next attempt in \d\.\ds \(retrying\)$/),
      '2 troupe queued, attempt 2',
      '2 troupe connecting, attempt 2',
      '2 troupe did not start: It would not start.',
      expect.stringMatching(/^2 troupe next attempt in \d\.\ds \(retrying\)$/),
    ]);
    expect(announced[0]).toBe('db 3 loadingTools, attempt 1');
    expect(announced.at(-1)).toMatch(/^db 10 next attempt/);
  });

  it('remains readable after the server is removed', async () => {
    const stage = await stageOf({ settings: servers({ db: 'db', other: 'other' }) });
    await stage.apply(servers({ other: 'other' }));
    expect(stage.troupe.status('db')).toBeUndefined();
    expect(stage.troupe.logs('db')?.map(({ line }) => line)).toContain('ready with 1 tool');
    expect(stage.troupe.logs('dbb')).toBeUndefined();
  });
});
