import { mkdirSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { TroupeError } from '../../src/domain/troupe-error.ts';
import { runCliHere, startCliHere, temporaryFolder } from './run-cli.ts';
import { approvalOf, createStandIn, reportOf, statusOf, toolOf } from './stand-in-troupe.ts';
import { upHere } from './up-here.ts';

describe('up', () => {
  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('stops gracefully on %s and exits with %i', async (signal, exitCode) => {
    const { run, troupe } = await upHere();
    run.signal(signal);
    const { exitCode: ended, stdout } = await run.finished;
    expect(ended).toBe(exitCode);
    expect(troupe.stopped).toBe(true);
    expect(stdout).toContain(`${signal}: stopping, waiting up to 5 s for db`);
  });

  it('prints changes, plans and problems as lines', async () => {
    const { run, troupe } = await upHere();
    troupe.become(statusOf('db', { state: 'stopped' }));
    troupe.become(statusOf('db', { state: 'stopped' }));
    troupe.emit('reconciled', {
      plan: [{ server: 'db', step: 'replace', why: 'args changed' }],
      durationMs: 1,
    });
    troupe.emit('settings.invalid', {
      problems: [{ file: 't.json', line: 2, message: 'add a comma' }],
    });
    run.signal('SIGINT');
    const { stdout } = await run.finished;
    expect(stdout.match(/db stopped/g)).toHaveLength(1);
    expect(stdout).toContain('plan: restart db (args changed)');
    expect(stdout).toContain('settings: t.json:2: add a comma');
    expect(stdout).toMatch(/socket \S+\.sock\n/);
  });

  it('rejects a second troupe for the same project and state folder', async () => {
    const { folder } = await upHere();
    const second = await runCliHere(['up', '--json'], { folder, troupe: createStandIn() });
    expect(second.exitCode).toBe(2);
    expect(JSON.parse(second.stdout)).toMatchObject({
      error: { code: 'USAGE', message: expect.stringContaining(`(pid ${process.pid})`) as string },
    });
    expect(second.created).toEqual([]);
  });

  it('prints one document with --json and everything else to stderr', async () => {
    const folder = temporaryFolder();
    const run = startCliHere(['up', '--json'], {
      folder,
      troupe: createStandIn({ servers: [statusOf('db')] }),
    });
    await run.printed('socket');
    run.signal('SIGINT');
    const { stdout, stderr } = await run.finished;
    expect(JSON.parse(stdout)).toMatchObject({ servers: [statusOf('db')] });
    expect(stderr).toContain('SIGINT: stopping');
  });

  it('suggests where to add the first server', async () => {
    const folder = temporaryFolder();
    const run = startCliHere(['up'], { folder, troupe: createStandIn() });
    await run.printed('no servers yet');
    run.signal('SIGINT');
    const { stdout } = await run.finished;
    expect(stdout).toContain(`add one to ${path.join(folder, 'troupe.json')}`);
  });

  it('names the settings that could not be read instead', async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, 'troupe.json');
    const troupe = createStandIn({ problems: [{ file, line: 2, message: 'close the brace' }] });
    const run = startCliHere(['up'], { folder, troupe });
    await run.printed('no server could be read');
    run.signal('SIGINT');
    const { stdout } = await run.finished;
    expect(stdout).toContain(`no server could be read from ${file}:2: close the brace`);
    expect(stdout).not.toContain('no servers yet');
  });
});

it('up shows servers the folders of --root', async () => {
  const folder = realpathSync(temporaryFolder());
  const src = path.join(folder, 'src');
  mkdirSync(src);
  const troupe = createStandIn();
  const run = startCliHere(['up', '--root', '.', '--root', 'src'], { folder, troupe });
  await run.printed('no servers yet');
  run.signal('SIGTERM');
  expect((await run.finished).created).toMatchObject([{ roots: [folder, src] }]);
});

describe('commands alongside a running troupe', () => {
  it('check a call without arguments before it is sent, and find a tool behind a slash', async () => {
    const sent: unknown[] = [];
    const schema = { properties: { a: { type: 'number' } }, required: ['a'] };
    const { folder } = await upHere(
      createStandIn({
        servers: [statusOf('db', { tools: 1 })],
        tools: [toolOf('db', 'add', schema)],
        answer: (args) => Promise.resolve(reportOf(String(sent.push(args)))),
      }),
    );
    for (const words of [['db', 'add'], ['db.add'], ['db/add']]) {
      const run = await runCliHere(['call', ...words], { folder });
      expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('add a=…') });
    }
    expect(sent).toEqual([]);
    const run = await runCliHere(['db/add', 'a=1', 'c=3'], { folder });
    expect(run).toMatchObject({ exitCode: 0, stderr: expect.stringContaining('not list c') });
    // --args is sent as it is.
    expect((await runCliHere(['call', 'db/add', '--args', '{}'], { folder })).exitCode).toBe(0);
  });

  it.each(['ls', 'ps', 'list'])('list servers under the name %s', async (name) => {
    const { folder } = await upHere(createStandIn({ servers: [statusOf('db')] }));
    expect((await runCliHere([name], { folder })).stdout).toContain('db');
  });

  it('query the troupe', async () => {
    const { folder } = await upHere(
      createStandIn({
        servers: [statusOf('db', { tools: 1 })],
        tools: [toolOf('db', 'echo', { properties: { count: { type: 'number' } } })],
        steps: [{ server: 'db', step: 'update', why: 'timeoutMs changed' }],
        answer: (args) => Promise.resolve(reportOf(JSON.stringify(args))),
      }),
    );
    const json = async (...argv: string[]) => {
      const run = await runCliHere([...argv, '--json'], { folder });
      expect(run.exitCode).toBe(0);
      return JSON.parse(run.stdout) as unknown;
    };
    expect(await json('status')).toMatchObject({
      troupe: { pid: process.pid },
      servers: [{ name: 'db' }],
    });
    expect(await json('status', 'db')).toMatchObject({ servers: [{ name: 'db' }] });
    expect(await json('tools')).toMatchObject({ tools: [{ name: 'mcp__db__echo' }] });
    expect(await json('plan')).toEqual({
      steps: [{ server: 'db', step: 'update', why: 'timeoutMs changed' }],
      problems: [],
    });
    expect(await json('call', 'db', 'echo', 'count=3')).toMatchObject({
      result: { content: [{ text: '{"count":3}' }] },
      meta: { server: 'db' },
    });
    expect(await json('reload')).toMatchObject({ troupe: { state: 'running' } });
  });

  it('show the approved server', async () => {
    const { folder } = await upHere(
      createStandIn({
        servers: [statusOf('gated', { state: 'blocked', reason: 'pendingApproval' })],
        approvals: [
          approvalOf('gated', { values: [{ field: 'env.KEY', text: 'x' }], cwd: '/project' }),
        ],
        onSend: (event, own) => {
          if (event.type === 'approval.grant')
            own.become(statusOf('gated', { state: 'connecting' }));
        },
      }),
    );
    const { stdout, exitCode } = await runCliHere(['approve', 'gated', '--yes'], { folder });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('runs         "node" "server.mjs"');
    expect(stdout).toContain('gets         KEY');
    expect(stdout).toContain('gated connecting');
    const unknown = await runCliHere(['approve', 'gatde'], { folder });
    expect(unknown.exitCode).toBe(2);
    expect(unknown.stderr).toContain('Did you mean gated?');
  });

  it.each([
    ['status', 'bd'],
    ['tools', 'bd'],
    ['start', 'bd'],
    ['stop', 'bd'],
    ['restart', 'bd'],
    ['approve', 'bd'],
    ['reject', 'bd'],
    ['revoke', 'bd'],
    ['call', 'bd', 'echo', 'count=1'],
  ])('suggest the closest server: %s %s', async (...argv) => {
    const { folder } = await upHere();
    const run = await runCliHere(argv, { folder });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toMatch(/did you mean db\?/i);
  });

  it.each([
    ['call', 'gone', 'echo'],
    ['call', 'gone', 'echo', 'count=1'],
    ['tools', 'gone'],
    ['status', 'gone'],
    ['stop', 'gone'],
    ['approve', 'gone'],
  ])('report a removed server consistently: %s %s %s %s', async (...argv) => {
    const removed = new TroupeError('SERVER_REMOVED', 'gone was removed; add it again');
    const { folder, troupe } = await upHere(
      createStandIn({ servers: [statusOf('db')], answer: () => Promise.reject(removed) }),
    );
    const run = await runCliHere([...argv, '--json'], { folder });
    expect(JSON.parse(run.stdout)).toMatchObject({ error: { code: 'SERVER_REMOVED' } });
    for (const { tool, options } of troupe.calls) {
      expect(tool === 'echo' || options.signal?.aborted).toBe(true);
    }
  });

  it('restart all servers that run or gave up, and report each', async () => {
    const failed = statusOf('db', { state: 'failed', reason: 'restartNever' });
    const { folder, troupe } = await upHere(
      createStandIn({
        servers: [
          statusOf('api'),
          statusOf('db'),
          statusOf('broken', { state: 'failed', reason: 'attemptsExhausted' }),
          statusOf('stormy', { state: 'suspended', reason: 'crashLoop' }),
          statusOf('later', { state: 'dormant' }),
          statusOf('off', { state: 'disabled' }),
          statusOf('gated', { state: 'blocked', reason: 'pendingApproval' }),
          statusOf('halted', { state: 'stopped' }),
        ],
        onSend: (event, own) => {
          if (event.type !== 'server.restart') return;
          own.become(event.server === 'db' ? failed : statusOf(event.server));
        },
      }),
    );
    const run = await runCliHere(['restart', '--all'], { folder });
    expect(troupe.sent).toEqual([
      { type: 'server.restart', server: 'api' },
      { type: 'server.restart', server: 'db' },
      { type: 'server.restart', server: 'broken' },
      { type: 'server.restart', server: 'stormy' },
    ]);
    expect(run.stdout).toMatch(/^api ready: 0 tools\ndb failed \(restartNever\)/u);
    expect(run.stdout).toMatch(/^broken ready: 0 tools\nstormy ready: 0 tools$/mu);
    expect(run.exitCode).toBeGreaterThan(1);
  });

  it.each([[['restart']], [['restart', 'db', '--all']]])(
    'restart either one server or all: %j',
    async (argv) => {
      const { folder } = await upHere();
      const run = await runCliHere(argv, { folder });
      expect(run).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining('name one server to restart, or use --all'),
      });
    },
  );

  it('report that a stopped server stays stopped after approval', async () => {
    const gated = statusOf('gated', { state: 'blocked', reason: 'pendingApproval' });
    const { folder } = await upHere(createStandIn({ servers: [gated] }));
    const { stdout } = await runCliHere(['stop', 'gated'], { folder });
    expect(stdout).toContain(
      'gated stays stopped even when it is approved; run troupe start gated to start it\n',
    );
  });

  it('suggest the closest tool', async () => {
    const { folder } = await upHere(
      createStandIn({ servers: [statusOf('db', { tools: 1 })], tools: [toolOf('db', 'echo')] }),
    );
    const run = await runCliHere(['call', 'db', 'ehco', 'count=1'], { folder });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain('There is no tool ehco on db. Did you mean echo?');
  });

  it.each([
    ['status', '--config', 'other.json'],
    ['plan', '--allow', 'db'],
    ['stop', 'db', '--allow='],
  ])("reject settings other than the troupe's own: %s %s %s", async (...argv) => {
    const { folder } = await upHere();
    const run = await runCliHere(argv, { folder });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toMatch(
      /the running troupe \(pid \d+\) was started with a different --(config|allow)/,
    );
  });

  it('accept a settings file that is replaced by a link or reached through another link', async () => {
    const folder = temporaryFolder();
    const file = path.join(folder, 'mine.json');
    writeFileSync(file, '{}');
    const up = await upHere(createStandIn({ servers: [statusOf('db')] }), '--config', file);
    writeFileSync(path.join(folder, 'moved.json'), '{}');
    rmSync(file);
    symlinkSync('moved.json', file);
    symlinkSync('mine.json', path.join(folder, 'other-name.json'));
    for (const name of ['mine.json', 'other-name.json', 'moved.json']) {
      const config = path.join(folder, name);
      const run = await runCliHere(['status', '--config', config], { folder: up.folder });
      expect([name, run.exitCode, run.stderr]).toEqual([name, 0, '']);
    }
    writeFileSync(path.join(folder, 'stranger.json'), '{}');
    const stranger = path.join(folder, 'stranger.json');
    const run = await runCliHere(['status', '--config', stranger], { folder: up.folder });
    expect(run.stderr).toContain('was started with a different --config');
  });

  it('run tools and call in a separate troupe with other settings', async () => {
    const { folder } = await upHere();
    writeFileSync(path.join(folder, 'other.json'), '{}');
    const own = createStandIn({ servers: [statusOf('db')] });
    const run = await runCliHere(['call', 'db', 'echo', '--config', 'other.json'], {
      folder,
      troupe: own,
    });
    expect(run).toMatchObject({ exitCode: 0, stdout: 'hello\n' });
    expect(own.calls).toHaveLength(1);
  });

  it("accept the troupe's settings only in the same order", async () => {
    const { folder } = await upHere(
      undefined,
      '--config',
      'a.json',
      '--config',
      'b.json',
      '--allow',
      'x,y',
    );
    const same = ['status', '--config', 'a.json', '--config', 'b.json', '--allow', 'y,x'];
    expect(await runCliHere(same, { folder })).toMatchObject({ exitCode: 0 });
    const swapped = ['status', '--config', 'b.json', '--config', 'a.json'];
    expect(await runCliHere(swapped, { folder })).toMatchObject({ exitCode: 2 });
  });
});

describe('an interrupted call', () => {
  it("is cancelled, prints one error and exits with the signal's code", async () => {
    let began = (): void => undefined;
    const beginning = new Promise<void>((resolve) => {
      began = resolve;
    });
    const troupe = createStandIn({
      servers: [statusOf('db')],
      answer: (_args, { signal }) =>
        new Promise((_, reject) => {
          signal?.addEventListener('abort', () =>
            reject(
              new TroupeError('CANCELLED', 'cancelled; look before you call again', {
                outcome: 'unknown',
              }),
            ),
          );
          began();
        }),
    });
    const run = startCliHere(['call', 'db', 'echo', '--json'], {
      folder: temporaryFolder(),
      troupe,
    });
    await beginning;
    run.signal('SIGINT');
    const { exitCode, stdout } = await run.finished;
    expect(exitCode).toBe(130);
    expect(JSON.parse(stdout)).toMatchObject({ error: { code: 'CANCELLED', outcome: 'unknown' } });
    expect(troupe.stopped).toBe(true);
  });
});
