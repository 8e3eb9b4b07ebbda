import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { InspectionRecord } from '../../src/domain/host/inspection.ts';
import { Browser } from '../visualizations/server/browser.ts';
import { createPlace } from './cli-process.ts';
import { cliFromSources, compiledCli } from './compiled-cli.ts';

// Each test starts two or three Node processes one after another, a second each on a busy machine.
const everything = fileURLToPath(
  new URL(
    '../../node_modules/@modelcontextprotocol/server-everything/dist/index.js',
    import.meta.url,
  ),
);

const cli = compiledCli();

describe('the command line with real servers', () => {
  it('runs from source', async () => {
    const place = createPlace(cliFromSources);
    place.writeSettings({ db: place.server() });
    const call = ['call', 'db', 'echo', 'text=hi', '--config', place.settings];
    expect(await place.run(...call)).toEqual({
      exitCode: 0,
      stdout: '{"text":"hi"}\n',
      stderr: expect.stringMatching(
        /^troupe: no matching troupe is running; using .*\n$/,
      ) as string,
    });
    await place.isEmpty();
  });

  it("calls an npm server's tool without a running troupe and leaves no process behind", async () => {
    const place = createPlace(cli);
    place.writeSettings({
      sums: { command: process.execPath, args: [everything, 'stdio'], env: { [place.mark]: '1' } },
      other: place.server(),
    });
    const call = ['call', 'sums', 'get-sum', 'a=2', 'b=3', '--config', place.settings];
    const plain = await place.run(...call);
    expect(plain).toMatchObject({ exitCode: 0, stdout: 'The sum of 2 and 3 is 5.\n' });
    const json = await place.run(...call, '--json');
    expect(JSON.parse(json.stdout)).toMatchObject({
      result: { content: [{ type: 'text', text: 'The sum of 2 and 3 is 5.' }] },
      meta: { server: 'sums', tool: 'get-sum', attempts: 1 },
    });
    await place.isEmpty();
  });

  it('shows on the page what failed before anyone asked for a link', async () => {
    const place = createPlace(cli);
    place.writeSettings({ db: place.server(), gone: { command: 'no-such-mcp-server' } });
    const up = place.start('up', '--config', place.settings);
    await up.printed(/gone .*failed/u);
    const { stdout } = await place.run('inspect');
    const browser = await Browser.at(stdout.trim());
    const { body } = await browser.get('/api/records?from=1&limit=5000');
    const { records } = JSON.parse(body) as { readonly records: readonly InspectionRecord[] };
    const states = records.flatMap((record) =>
      record.kind === 'status' && record.status.name === 'gone' ? [record.status.state] : [],
    );
    expect(states).toContain('connecting');
    expect(states.at(-1)).toBe('failed');
    up.child.kill('SIGTERM');
    await up.ended;
    await place.isEmpty();
  });

  it('prints one JSON document for every error', async () => {
    const place = createPlace(cli);
    place.writeSettings({ db: place.server('is-error'), gone: { command: 'no-such-mcp-server' } });
    place.writeProject({ gated: place.server() });
    const ends = async (...argv: string[]) => {
      const { exitCode, stdout, stderr } = await place.run(
        ...argv,
        '--json',
        '--config',
        place.settings,
      );
      const { error } = JSON.parse(stdout) as { error?: { code: string } };
      return [exitCode, error?.code, stderr.includes('Error')];
    };
    expect(
      await Promise.all([
        ends('status'),
        ends('call', 'gated', 'echo'),
        ends('call', 'gone', 'echo'),
        ends('call', 'dbb', 'echo'),
        ends('call', 'db', 'ehco', 'a=1'),
        ends('call', 'db', 'ehco'),
        ends('call', 'db', 'crash'),
        ends('call', 'db', 'slow', '--timeout', '5000'),
      ]),
    ).toEqual([
      [3, 'NOT_RUNNING', false],
      [10, 'PENDING_APPROVAL', false],
      [8, 'FAILED', false],
      [2, 'SERVER_UNKNOWN', false],
      [2, 'TOOL_UNKNOWN', false],
      [2, 'TOOL_UNKNOWN', false],
      [13, 'CRASHED', false],
      [13, 'TIMEOUT', false],
    ]);
    expect(await ends('call', 'db', 'echo')).toEqual([14, undefined, false]);
    await place.isEmpty();
  });

  it("shows, approves, calls and stops a running troupe's servers", async () => {
    const place = createPlace(cli);
    place.writeSettings({ db: place.server() });
    // With the same settings as db, it would not be a separate server.
    place.writeProject({ gated: { ...place.server(), tools: { exclude: ['none'] } } });
    const up = place.start('up', '--config', place.settings);
    const [, pid] = await up.printed(/db ready: 4 tools, pid (\d+)/);
    const json = async (...argv: string[]) =>
      JSON.parse((await place.run(...argv, '--json')).stdout) as unknown;
    expect(await json('status')).toMatchObject({
      // A fast machine sends the command before the startup gate has opened.
      troupe: { pid: up.child.pid, state: expect.toBeOneOf(['starting', 'running']) },
      servers: [
        { name: 'db', state: 'ready', pid: Number(pid) },
        { name: 'gated', state: 'blocked', reason: 'pendingApproval' },
      ],
    });
    for (const [server, tool] of [
      ['bd', 'echo'],
      ['db', 'ehco'],
    ] as const) {
      const { stderr } = await place.run('call', server, tool);
      expect(stderr).toMatch(/There is no .* Did you mean (db|echo)\?/);
    }
    const approved = await place.run('approve', 'gated', '--yes');
    expect(approved.stdout).toContain(JSON.stringify(process.execPath));
    await up.printed(/gated ready: 4 tools/);
    expect(await json('call', 'gated', 'echo', 'text=hi')).toMatchObject({
      result: { content: [{ text: '{"text":"hi"}' }] },
    });
    expect(await json('stop', 'db')).toMatchObject({ status: { name: 'db', state: 'stopped' } });
    expect(place.servers()).not.toContain(Number(pid));
    expect(await json('start', 'db')).toMatchObject({ status: { state: 'ready' } });
    expect(await json('restart', '--all')).toMatchObject({
      servers: [
        { name: 'db', state: 'ready', restarts: 2 },
        { name: 'gated', state: 'ready', restarts: 1 },
      ],
    });
    expect(await json('plan')).toMatchObject({ steps: [{ step: 'keep' }, { step: 'keep' }] });
    expect(await json('revoke', 'gated')).toMatchObject({ approval: { decision: 'pending' } });
    const second = await place.run('up', '--config', place.settings);
    expect(second.exitCode).toBe(2);
    expect(second.stderr).toContain(`(pid ${up.child.pid})`);
    up.child.kill('SIGTERM');
    expect(await up.ended).toEqual({ exitCode: 143, signal: null });
    await place.isEmpty();
    expect((await place.run('status')).exitCode).toBe(3);
  });

  it('changes only edited servers and prints the plan', async () => {
    const place = createPlace(cli);
    place.writeSettings({ one: place.server(), two: place.server() });
    const up = place.start('up', '--config', place.settings);
    const [, pid] = await up.printed(/one ready: 4 tools, pid (\d+)/);
    await up.printed(/two ready/);
    place.writeSettings({ one: place.server(), two: place.server('noise') });
    await up.printed(/plan: restart two/);
    await up.printed(/two ready[^]*plan: restart two[^]*two ready/);
    expect(place.servers()).toContain(Number(pid));
    expect(place.servers()).toHaveLength(2);
    expect(up.stdout().match(/one ready/g)).toHaveLength(1);
    place.writeSettings({ one: place.server() });
    await up.printed(/plan: stop two/);
    const asked = [
      ['call', 'two', 'echo'],
      ['call', 'two', 'echo', 'text=hi'],
      ['status', 'two'],
    ];
    for (const argv of asked) {
      const { stdout } = await place.run(...argv, '--json');
      expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'SERVER_REMOVED' } });
    }
  });

  it.each([
    // A server that ignores SIGTERM takes both grace periods, 2 s each.
    ['SIGINT', 130, 'ignore-term'],
    ['SIGHUP', 129, 'ok'],
  ] as const)(
    'ends within 5 s on %s and leaves no process behind',
    async (signal, exitCode, mode) => {
      const place = createPlace(cli);
      place.writeSettings({ db: place.server(), slow: place.server(mode) });
      const up = place.start('up', '--config', place.settings);
      await up.printed(/slow ready/);
      await up.printed(/db ready/);
      const askedAt = performance.now();
      up.child.kill(signal);
      expect(await up.ended).toEqual({ exitCode, signal: null });
      // Five seconds by our own clocks; a busy machine adds time at the start and the end.
      expect(performance.now() - askedAt).toBeLessThan(8_000);
      expect(up.stdout()).toContain(`${signal}: stopping, waiting up to 5 s for`);
      await place.isEmpty();
    },
  );

  it('exits at once on the second signal and leaves no process behind', async () => {
    const place = createPlace(cli);
    place.writeSettings({ deaf: place.server('ignore-term') });
    const up = place.start('up', '--config', place.settings);
    await up.printed(/deaf ready/);
    const pressedAt = performance.now();
    up.child.kill('SIGINT');
    await up.printed(/deaf stopping/);
    // Two signals within 100 ms count as one key press, and a fast machine responds sooner.
    do {
      const { stdout } = await place.run('status', '--json');
      expect(JSON.parse(stdout)).toMatchObject({ troupe: { state: 'stopping' } });
    } while (performance.now() - pressedAt < 200);
    const insistedAt = performance.now();
    up.child.kill('SIGINT');
    expect(await up.ended).toEqual({ exitCode: 130, signal: null });
    // 600 ms by our own clocks; a graceful stop would take four seconds.
    expect(performance.now() - insistedAt).toBeLessThan(2_500);
    await place.isEmpty();
  });

  it('exits without an error when its output is closed', async () => {
    const place = createPlace(cli);
    place.writeSettings({ db: place.server() });
    const up = place.start('up', '--config', place.settings);
    await up.printed(/db ready/);
    up.child.stdout.destroy();
    place.writeSettings({ db: place.server(), more: place.server() });
    await once(up.child, 'exit');
    expect(up.stderr()).toBe('');
    await place.isEmpty();
  });

  it.runIf(existsSync('/dev/full'))('reports output that does not fit on a full disk', () => {
    const full = openSync('/dev/full', 'w');
    onTestFinished(() => closeSync(full));
    const { status, stderr } = spawnSync(process.execPath, [...cli.words, 'help', 'call'], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    });
    expect(stderr).toBe('troupe: the output cannot be written (ENOSPC); free some space\n');
    expect(status).toBe(2);
  });
});
