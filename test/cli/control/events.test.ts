import { describe, expect, it } from 'vitest';
import { runCliHere, startCliHere, temporaryFolder } from '../run-cli.ts';
import { type StandIn, statusOf } from '../stand-in-troupe.ts';
import { upHere } from '../up-here.ts';

const documentsOf = (stdout: string): unknown[] =>
  stdout
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as unknown);

/** Resolves once the troupe has more listeners than `up` itself adds. */
async function followed(troupe: StandIn, before: number): Promise<void> {
  while (troupe.listenerCount() <= before) await new Promise((resolve) => setImmediate(resolve));
}

describe('events', () => {
  it.each([[[]], [['--json']]])(
    'are printed as one JSON document per line until a signal arrives, with %j',
    async (flags) => {
      const { folder, troupe } = await upHere();
      const before = troupe.listenerCount();
      const run = startCliHere(['events', ...flags], { folder });
      await followed(troupe, before);
      troupe.become(statusOf('db', { state: 'stopped' }));
      troupe.emit('tools.changed', { servers: ['db'] });
      troupe.emit('resource.updated', { server: 'db', uri: 'db://rows' });
      const log = {
        server: 'db',
        number: 1,
        at: '2026-01-02T03:04:05.000Z',
        session: 1,
        stream: 'stderr',
        line: 'two\nlines \u202egnp.exe \u009b2J',
      } as const;
      troupe.emit('server.log', log);
      await run.printed('server.log');
      run.signal('SIGINT');
      const { exitCode, stdout, stderr } = await run.finished;
      expect(exitCode).toBe(130);
      expect(stderr).toBe('');
      expect(documentsOf(stdout)).toEqual([
        { type: 'status.changed', status: statusOf('db', { state: 'stopped' }) },
        { type: 'tools.changed', servers: ['db'] },
        { type: 'resource.updated', server: 'db', uri: 'db://rows' },
        { type: 'server.log', ...log },
      ]);
      // The stream contains no terminal control sequences.
      expect(stdout).not.toMatch(/[\u0080-\u009f\u202e]/);
    },
  );

  it('are dropped and counted when no client reads them', async () => {
    const { folder, troupe } = await upHere();
    const before = troupe.listenerCount();
    const run = startCliHere(['events'], { folder });
    await followed(troupe, before);
    const read = run.stopReading();
    const say = (number: number, line: string): void => {
      const at = '2026-01-02T03:04:05.000Z';
      troupe.emit('server.log', { server: 'db', number, at, session: 1, stream: 'stderr', line });
    };
    for (let number = 1; number <= 400; number += 1) {
      say(number, 'x'.repeat(50_000));
      for (let turn = 0; turn < 3; turn += 1) await new Promise(setImmediate);
    }
    expect(run.unreadBytes()).toBeLessThan(1_000_000);
    read();
    // The next event reports what was dropped.
    for (let number = 401; !run.printedSoFar().includes('then the end'); number += 1) {
      say(number, 'then the end');
      await new Promise(setImmediate);
    }
    run.signal('SIGINT');
    const { stdout } = await run.finished;
    expect(stdout.length).toBeLessThan(400 * 50_000 * 0.5);
    expect(stdout).toMatch(/"events\.dropped","count":\d{2,}/u);
  });

  it('end with a single error line when the troupe ends', async () => {
    const { folder, run: up, troupe } = await upHere();
    const before = troupe.listenerCount();
    const run = startCliHere(['events', '--json'], { folder });
    await followed(troupe, before);
    up.signal('SIGTERM');
    const { exitCode, stdout } = await run.finished;
    expect(exitCode).toBe(3);
    expect(documentsOf(stdout)).toEqual([
      { error: expect.objectContaining({ code: 'NOT_RUNNING' }) as unknown },
    ]);
  });

  it('require a running troupe', async () => {
    const folder = temporaryFolder();
    expect(await runCliHere(['events'], { folder })).toMatchObject({ exitCode: 3, stdout: '' });
  });
});

describe('status --watch', () => {
  it('prints a line for every change until a signal arrives', async () => {
    const { folder, troupe } = await upHere();
    const before = troupe.listenerCount();
    const run = startCliHere(['status', '--watch'], { folder });
    await followed(troupe, before);
    troupe.become(statusOf('db', { state: 'stopped' }));
    await run.printed('db stopped');
    run.signal('SIGINT');
    const { exitCode, stdout, stderr } = await run.finished;
    expect(exitCode).toBe(130);
    expect(stderr).toBe('');
    expect(stdout).toMatch(/db ready[^]*db stopped/);
  });
});
