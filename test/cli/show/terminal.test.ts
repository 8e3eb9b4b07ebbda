import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { progressText } from '../../../src/cli/show/start-progress.ts';
import { columnsOf } from '../../../src/cli/show/table.ts';
import { runCliHere, startCliHere, temporaryFolder } from '../run-cli.ts';
import { createStandIn, statusOf, toolOf } from '../stand-in-troupe.ts';
import { upHere } from '../up-here.ts';

const escape = '\u001b[';
const long = 'reads a row, and says so at such length that no terminal has room for all of it';
const names = [
  'db',
  'a-server-with-a-rather-long-name.that.goes.on:and:on',
  'データベース・サーバー',
  'cafe\u0301-e\u0301te\u0301',
  '🎭❤️👩‍👩‍👧',
];
const servers = names.map((name) =>
  statusOf(name, {
    state: 'authRequired',
    reason: 'pendingApproval',
    tools: 120,
    pid: 1_234_567,
    nextAttemptAt: '2026-01-02T03:06:14.000Z',
    action: `log in to ${name}, then troupe restart ${name}`,
  }),
);
const parts = {
  servers,
  tools: names.map((name) => ({ ...toolOf(name, `get_${name}`), description: `${name} ${long}` })),
  steps: names.map((server) => ({ server, step: 'replace' as const, why: `${long} ${server}` })),
};

describe('on a terminal', () => {
  it.each([40, 80, 200])('tables fit %i columns in any script', async (columns) => {
    const { folder } = await upHere(createStandIn(parts));
    for (const command of ['status', 'tools', 'plan']) {
      const { stdout } = await runCliHere([command], { folder, columns });
      const lines = stripVTControlCharacters(stdout).trimEnd().split('\n');
      const table = lines.filter((line) => !/^(?:troupe|\d+) /.test(line));
      // An action that does not fit stands below its row.
      expect(table.filter((line) => !line.startsWith('  '))).toHaveLength(names.length + 1);
      for (const line of table) expect(columnsOf(line)).toBeLessThanOrEqual(columns);
    }
  });

  it('the status table shows name, state and action in 40 columns', async () => {
    const gated = statusOf('gated', {
      state: 'blocked',
      reason: 'pendingApproval',
      action: 'troupe approve gated',
    });
    const { folder } = await upHere(createStandIn({ servers: [gated, statusOf('everything')] }));
    const { stdout } = await runCliHere(['status'], {
      folder,
      columns: 40,
      env: { NO_COLOR: '1' },
    });
    expect(stdout.split('\n').slice(2, 5)).toEqual([
      'SERVER     STATE    ACTION',
      'gated      blocked  troupe approve gated',
      'everythi…  ready',
    ]);
  });

  it('the tool table shows whole names in 40 columns and descriptions where they fit', async () => {
    const name = 'get-structured-content-of-a-row';
    const tools = [{ ...toolOf('db', name), description: long }];
    const { folder } = await upHere(createStandIn({ servers: [statusOf('db')], tools }));
    const setting = { folder, env: { NO_COLOR: '1' } };
    const narrow = await runCliHere(['tools'], { ...setting, columns: 40 });
    expect(narrow.stdout).toContain(name);
    expect(narrow.stdout).not.toContain('DESCRIPTION');
    const wide = await runCliHere(['tools'], { ...setting, columns: 80 });
    expect(wide.stdout).toContain(`${name}    reads a row`);
  });

  it('wraps every problem at 50 columns', async () => {
    const message =
      'The command "no-such-program" was not found on PATH. Install it, or name it by its path.';
    const failed = statusOf('missing', {
      state: 'failed',
      reason: 'attemptsExhausted',
      lastError: { code: 'CRASHED', kind: 'crashed', message },
    });
    const steps = [{ server: 'missing', step: 'keep' as const, why: 'unchanged' }];
    const { folder } = await upHere(createStandIn({ servers: [failed], steps }));
    const setting = { folder, columns: 50, env: { NO_COLOR: '1' } };
    for (const command of [['status'], ['status', 'missing'], ['plan']]) {
      const { stdout } = await runCliHere(command, setting);
      const lines = stdout.trimEnd().split('\n');
      for (const line of lines) expect(columnsOf(line)).toBeLessThanOrEqual(50);
      const text = lines.map((line) => line.trim()).join(' ');
      expect(text).toContain(
        command[0] === 'plan'
          ? 'nothing to do: every server matches the settings or is on its way there'
          : message,
      );
    }
  });

  it('an unknown size counts as 80 columns', async () => {
    const { folder } = await upHere();
    const shown = await runCliHere(['status'], { folder, columns: 0, env: { NO_COLOR: '1' } });
    expect(shown.stdout).toContain('SERVER  STATE');
    const help = await runCliHere(['--help'], { folder, columns: 0 });
    expect(help.stdout).toBe((await runCliHere(['--help'], { folder, columns: 80 })).stdout);
  });

  it('the live table is complete even if a pty reports a size of zero', async () => {
    const many = Array.from({ length: 9 }, (_, index) => statusOf(`server-${index}`));
    const troupe = createStandIn({ servers: many });
    const setting = { folder: temporaryFolder(), troupe, columns: 0, rows: 0 };
    const run = startCliHere(['up'], { ...setting, env: { NO_COLOR: '1' } });
    await run.printed('servers: 9');
    troupe.become(statusOf('server-0', { state: 'stopped' }));
    await run.printed('server-8  ready');
    run.signal('SIGINT');
    expect((await run.finished).stdout).not.toContain('more: troupe status');
  });

  describe('with more servers than lines', () => {
    const failed = statusOf('zz', {
      state: 'failed',
      lastError: { code: 'CRASHED', kind: 'crashed', message: 'no database' },
    });
    const many = [...Array.from({ length: 59 }, (_, index) => statusOf(`server-${index}`)), failed];
    const setting = { columns: 60, rows: 24, env: { NO_COLOR: '1' } };

    it('the live table shows problems first, then a summary, and disappears before the stop', async () => {
      const troupe = createStandIn({ servers: many });
      const run = startCliHere(['up'], { ...setting, folder: temporaryFolder(), troupe });
      await run.printed('servers: 60');
      troupe.become(statusOf('server-0', { state: 'backingOff', reason: 'retrying' }));
      await run.printed('58 ready, 1 failed, 1 backingOff');
      run.signal('SIGINT');
      const { stdout } = await run.finished;
      const stop = stdout.indexOf('SIGINT: stopping');
      const frame = stdout.slice(stdout.lastIndexOf('SERVER', stop), stop).split('\n');
      expect(frame.slice(1, 4).map((line) => stripVTControlCharacters(line).trim())).toEqual([
        expect.stringMatching(/^zz +failed/),
        'no database',
        expect.stringMatching(/^server-0 +backingOff/),
      ]);
      expect(frame.at(-1)).toContain(`${escape}J${escape}?25h`);
      const rest = stdout.slice(stop);
      expect(rest).not.toContain('SERVER');
      expect(rest).not.toContain('backingOff');
      expect(rest).toContain('stopped');
      expect(rest.endsWith(`${escape}?25h`)).toBe(true);
    });

    it('the status shows problems first, with a summary at both ends', async () => {
      const { folder } = await upHere(createStandIn({ servers: many }));
      // Wide enough for the head on one line, however long the pid is.
      const wide = { ...setting, folder, columns: 100 };
      const tall = await runCliHere(['status'], { ...wide, rows: 80 });
      const low = await runCliHere(['status'], wide);
      expect(tall.stdout.split('\n')[2]).toMatch(/^server-0 /);
      expect(tall.stdout).toMatch(/^troupe running, .* \(59 ready, 1 failed\)\n/);
      expect(low.stdout.split('\n')[2]).toMatch(/^zz /);
      expect(low.stdout).toMatch(/^troupe running, .* \(59 ready, 1 failed\)\n/);
      expect(low.stdout).toMatch(/\n59 ready, 1 failed\n$/);
    });
  });

  it.each([
    ['colours', 80, {}, true],
    ['no colours with NO_COLOR', 80, { NO_COLOR: '1' }, false],
    ['colours with an empty NO_COLOR', 80, { NO_COLOR: '' }, true],
    ['no colours with a dumb terminal', 80, { TERM: 'dumb' }, false],
    ['no colours without a terminal', undefined, {}, false],
  ])('output has %s', async (_title, columns, env, coloured) => {
    const { folder } = await upHere();
    const setting = { folder, env, ...(columns === undefined ? {} : { columns }) };
    const shown = await runCliHere(['status'], setting);
    const refused = await runCliHere(['status', 'bd'], setting);
    expect(shown.stdout.includes(escape)).toBe(coloured);
    expect(refused.stderr.includes(escape)).toBe(coloured);
  });

  it('JSON has no colours', async () => {
    const { folder } = await upHere();
    const run = await runCliHere(['status', '--json'], { folder, columns: 80 });
    expect(run.stdout + run.stderr).not.toContain(escape);
  });
});

describe('the progress line', () => {
  const connecting = () =>
    createStandIn({
      servers: [statusOf('db', { state: 'connecting' }), statusOf('api')],
      tools: [toolOf('db', 'echo')],
      onSend: (event, own) => {
        if (event.type === 'server.restart') own.become(statusOf('db', { state: 'connecting' }));
      },
    });
  const shown = `\rwaiting 0s for 1 of 2 servers: db (connecting)${escape}K`;
  const erased = `\r${escape}K`;

  it('names the servers that are still starting and disappears before the result', async () => {
    const troupe = connecting();
    const folder = temporaryFolder();
    const run = startCliHere(['tools'], { folder, troupe, columns: 80 });
    await run.noted('db (connecting)');
    troupe.become(statusOf('db', { tools: 1 }));
    const { exitCode, stdout, stderr } = await run.finished;
    expect(exitCode).toBe(0);
    expect(stdout).toContain('echo');
    const progress = stderr.slice(stderr.indexOf('\n') + 1);
    expect(progress.startsWith(shown)).toBe(true);
    expect(progress.indexOf(erased, shown.length)).toBe(shown.length);
    expect(progress.lastIndexOf('waiting')).toBe(shown.indexOf('waiting'));
    expect(troupe.listenerCount()).toBe(0);
  });

  it("is truncated to the terminal's width", async () => {
    const troupe = connecting();
    const run = startCliHere(['tools'], { folder: temporaryFolder(), troupe, columns: 20 });
    await run.noted('waiting 0s');
    troupe.become(statusOf('db', { tools: 1 }));
    expect((await run.finished).stderr).toContain(`\rwaiting 0s for 1 o…${escape}K`);
  });

  it.each(['restart', 'start'])('is shown for %s', async (command) => {
    const troupe = createStandIn({
      servers: [statusOf('db')],
      onSend: (event, own) => {
        if (event.type.startsWith('server.')) own.become(statusOf('db', { state: 'connecting' }));
      },
    });
    const { folder } = await upHere(troupe);
    const run = startCliHere([command, 'db'], { folder, columns: 80 });
    await run.noted('waiting 0s for db (connecting)');
    troupe.become(statusOf('db', { pid: 7 }));
    const { exitCode, stdout, stderr } = await run.finished;
    expect(exitCode).toBe(0);
    expect(stdout).toContain('db ready: 0 tools, pid 7');
    expect(stderr.endsWith(erased)).toBe(true);
  });

  it.each([
    ['without a terminal', [], undefined, {}],
    ['with --json', ['--json'], 80, {}],
    ['on a dumb terminal', [], 80, { TERM: 'dumb' }],
  ])('is not shown %s', async (_title, flags, columns, env) => {
    const troupe = connecting();
    const run = startCliHere(['tools', ...flags], {
      folder: temporaryFolder(),
      troupe,
      env,
      ...(columns === undefined ? {} : { columns }),
    });
    while (troupe.listenerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
    troupe.become(statusOf('db', { tools: 1 }));
    const { exitCode, stderr } = await run.finished;
    expect(exitCode).toBe(0);
    expect(stderr).not.toContain('waiting');
    expect(stderr).not.toContain(escape);
  });

  it('counts only servers that are still starting', () => {
    expect(progressText([statusOf('db')], 0)).toBeUndefined();
    expect(progressText([statusOf('db', { state: 'dormant' })], 0)).toBeUndefined();
    expect(progressText([statusOf('db', { state: 'backingOff' })], 65_000)).toBe(
      'waiting 1m 05s for db (backingOff)',
    );
  });

  it('mentions a possible download after a few seconds', () => {
    const downloading = [statusOf('db', { state: 'connecting', mayDownload: true })];
    expect(progressText(downloading, 2_000)).toBe('waiting 2s for db (connecting)');
    expect(progressText(downloading, 4_000)).toBe(
      'waiting 4s for db (connecting, may be downloading)',
    );
  });

  it('mentions what a server waits for', () => {
    const action = 'enter the input "token" where the troupe runs';
    expect(progressText([statusOf('db', { state: 'connecting', action })], 4_000)).toBe(
      `waiting 4s for db (connecting, ${action})`,
    );
  });
});
