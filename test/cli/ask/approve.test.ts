import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { approvalLines, shortApprovalLines } from '../../../src/cli/ask/approval-lines.ts';
import { runCliHere, startCliHere } from '../run-cli.ts';
import { approvalOf, createStandIn, statusOf } from '../stand-in-troupe.ts';
import { upHere } from '../up-here.ts';

const pending = statusOf('gated', { state: 'blocked', reason: 'pendingApproval' });

/** A running troupe with one server that needs approval. */
async function waiting(more: Parameters<typeof approvalOf>[1] = {}, started = statusOf('gated')) {
  const troupe = createStandIn({
    servers: [pending],
    approvals: [approvalOf('gated', more)],
    onSend: (event, own) => {
      if (event.type === 'approval.grant') own.become(started);
    },
  });
  const { folder } = await upHere(troupe);
  return { troupe, folder };
}

describe('an approval request', () => {
  it('is never truncated', () => {
    const arg = 'x'.repeat(4_000);
    expect(approvalLines(approvalOf('db', { args: [arg] })).join('\n')).toContain(`"${arg}"`);
  });

  it('contains no invisible, direction or control characters in any field', () => {
    const evil = 'a\u001b[2K\u202e\u200b\u{e0041}\r\n\u0007\ufe0f\u00a0"\\z';
    const lines = approvalLines(
      approvalOf(evil, {
        command: evil,
        args: [evil],
        executable: evil,
        cwd: evil,
        url: evil,
        host: evil,
        envFile: evil,
        envFileNames: [evil],
        folderFiles: [evil],
        values: [
          { field: `env.${evil}`, text: evil },
          {
            field: `headers.${evil}`,
            text: evil,
            from: [{ kind: 'environment', reference: evil }],
          },
          { field: evil, from: [{ kind: 'command', reference: evil }] },
        ],
        warnings: [evil],
        changes: [{ field: evil, before: evil, now: `${evil}!` }],
        toolChanges: [{ tool: evil, diff: [`- ${evil}`] }],
        source: { file: evil, key: evil, scope: 'project' },
      }),
    );
    expect(lines.join('')).toMatch(/^[\u0020-\u007e]*$/u);
    expect(lines.find((line) => line.startsWith('runs'))).toBe(
      `runs         ${[1, 2].map(() => String.raw`"a\u{1b}[2K\u{202e}\u{200b}\u{e0041}\u{d}\u{a}\u{7}\u{fe0f}\u{a0}\"\\z"`).join(' ')}`,
    );
  });

  it("shows each environment variable's destination and the project’s values in full", () => {
    const lines = approvalLines(
      approvalOf('db', {
        values: [
          {
            field: 'headers.X-Client-Version',
            text: '${AWS_SECRET_ACCESS_KEY}',
            from: [{ kind: 'environment', reference: '${AWS_SECRET_ACCESS_KEY}' }],
          },
          {
            field: 'env.DB_URL',
            text: 'postgres://${USER}:${input:pw}@db',
            from: [
              { kind: 'environment', reference: '${USER}' },
              { kind: 'input', reference: '${input:pw}' },
            ],
          },
          { field: 'env.npm_config_registry', text: 'http://evil.example' },
          { field: 'env.HIDDEN' },
          { field: 'args[1]', text: '${X}', from: [{ kind: 'environment', reference: '${X}' }] },
        ],
      }),
    );
    expect(lines.filter((line) => /^(?:variable|header|setting) /u.test(line))).toEqual([
      'header       X-Client-Version from ${AWS_SECRET_ACCESS_KEY} (your environment)',
      'variable     DB_URL is "postgres://${USER}:${input:pw}@db", from ${USER} (your environment), ${input:pw} (you are asked)',
      'variable     npm_config_registry is "http://evil.example"',
      'variable     HIDDEN is set to a text that is not shown',
      'setting      args[1] from ${X} (your environment)',
    ]);
  });

  it('lists the changes since the last approval', () => {
    const changes = [
      { field: 'args[0]', before: '--read-only', now: '--write' },
      { field: 'args[1]', now: 'x' },
      { field: 'args[2]', before: 'y' },
      { field: 'env.KEY', before: '', now: '' },
      { field: 'env.NEW', now: '' },
      { field: 'env.OLD', before: '' },
    ];
    const lines = approvalLines(approvalOf('db', { because: 'changed', changes }));
    expect(lines).toContain('asked        it differs from what was approved');
    expect(lines.filter((line) => line.startsWith('changed'))).toEqual([
      'changed      args[0]: "--read-only" became "--write"',
      'changed      args[1] is new: "x"',
      'changed      args[2] is gone: "y"',
      'changed      env.KEY has another value',
      'changed      env.NEW is new',
      'changed      env.OLD is gone',
    ]);
  });
});

describe('a short approval request', () => {
  it('name the account and the client of a login, also in short', () => {
    const request = approvalOf('db', {
      command: undefined,
      args: undefined,
      url: 'https://host/mcp',
      account: 'work',
      values: [
        { field: 'oauth.grant', text: 'authorization_code' },
        { field: 'oauth.clientId', text: 'abc' },
        { field: 'oauth.clientSecret', text: 'hush' },
        { field: 'oauth.metadataUrl', text: 'https://else.where/' },
      ],
    } as never);
    const short = shortApprovalLines(request, '/project');
    expect(short).toContain('logs in with your account work');
    expect(short).toContain('login        clientId is "abc"');
    expect(short).toContain('login        metadataUrl is "https://else.where/"');
    expect(short.join()).not.toContain('hush');
    expect(approvalLines(request)).toContain('login        clientSecret is "hush"');
    expect(approvalLines({ ...request, account: null })).toContain(
      'logs in with your only account there, if you have one',
    );
    const { account: _, ...never } = request;
    expect(approvalLines(never).join()).not.toContain('logs in with');
  });

  it('names what runs, where from, and what it gets', () => {
    const request = approvalOf('db', {
      because: 'new',
      executable: '/usr/bin/node',
      cwd: '/project',
      envFile: '/project/.env',
      values: [
        {
          field: 'env.DB_URL',
          text: 'postgres://${PASSWORD}@db',
          from: [{ kind: 'environment', reference: '${PASSWORD}' }],
        },
        { field: 'env.LEVEL', text: 'debug' },
      ],
    });
    expect(shortApprovalLines(request, '/project')).toEqual([
      'server       db',
      'from         /project/.mcp.json:3; it was never approved',
      'runs         "node" "server.mjs"',
      'gets         DB_URL from ${PASSWORD}, LEVEL, all variables in /project/.env',
    ]);
    expect(shortApprovalLines(request, '/elsewhere')).toContain('in           /project');
  });

  it('lists the files that decide what runs, in the short form too', () => {
    const folderFiles = ['.npmrc', 'node_modules/.bin', 'a b.py'];
    const request = approvalOf('db', { because: 'folderFiles', folderFiles });
    const line = 'reads there  .npmrc, node_modules/.bin, "a b.py"';
    expect(approvalLines(request)).toContain(line);
    expect(shortApprovalLines(request, '/project')).toContain(line);
  });

  it('shows the value of each variable that a warning is about', () => {
    const request = approvalOf('db', {
      values: [
        { field: 'env.NODE_OPTIONS', text: '--require ./evil.cjs' },
        { field: 'env.npm_config_registry', text: 'http://evil.example' },
        { field: 'env.LEVEL', text: 'debug' },
      ],
    });
    expect(shortApprovalLines(request, '/elsewhere').slice(-3)).toEqual([
      'variable     NODE_OPTIONS is "--require ./evil.cjs"',
      'variable     npm_config_registry is "http://evil.example"',
      'gets         LEVEL',
    ]);
  });

  it('leaves out no warning and no difference from what was approved', () => {
    const request = approvalOf('db', {
      because: 'changed',
      url: 'https://xn--e1a.example',
      host: 'е.example',
      args: ['x'.repeat(4_000)],
      warnings: ['one', 'two'],
      changes: [{ field: 'args[0]', before: 'a', now: 'b' }],
      toolChanges: [{ tool: 'query', diff: ['- old', '+ new'] }],
    });
    const full = approvalLines(request);
    const short = shortApprovalLines(request, '/project');
    const isConcern = (line: string): boolean =>
      /^(?:runs|connects to|at host|changed|warning|tool| {2}[-+]) /u.test(line);
    expect(short.filter(isConcern)).toEqual(full.filter(isConcern));
    expect(short.filter(isConcern)).toHaveLength(9);
  });
});

/** A running troupe with three servers that need approval, and one that is approved. */
async function crowd() {
  const names = ['a', 'b', 'c'];
  const troupe = createStandIn({
    servers: [
      ...names.map((name) => statusOf(name, { state: 'blocked', reason: 'pendingApproval' })),
      statusOf('old'),
    ],
    approvals: [
      ...names.map((name) => approvalOf(name, { fingerprint: `f-${name}`, because: 'new' })),
      approvalOf('old', { decision: 'granted' }),
    ],
    onSend: (event, own) => {
      if (event.type === 'approval.grant') own.become(statusOf(event.server));
    },
  });
  const { folder } = await upHere(troupe);
  const granted = (): readonly string[] =>
    troupe.sent.flatMap((event) => (event.type === 'approval.grant' ? [event.server] : []));
  return { folder, troupe, granted };
}

describe('troupe approve for several servers', () => {
  it.each([
    ['a', ['a', 'b', 'c'], 0],
    ['y n y', ['a', 'c'], 10],
    ['n a', ['b', 'c'], 10],
    ['y q', ['a'], 10],
    ['no q', [], 10],
    ['what y q', ['a'], 10],
    // Ctrl-D ends the input.
    ['y \u0004', ['a'], 10],
  ])('asks about each at a terminal: %j approves %j', async (answers, approved, exitCode) => {
    const { folder, granted } = await crowd();
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const asked = startCliHere(['approve', '--all'], { folder, stdin, columns: 100 });
    let about = 1;
    for (const answer of answers.split(' ')) {
      await asked.noted(`(${about} of 3)? [y/N/a/q]`);
      if (answer !== 'what') about += 1;
      stdin.write(answer === '\u0004' ? answer : `${answer}\n`);
    }
    const run = await asked.finished;
    // Each is shown above its own question, and not before.
    const shown = answers === 'a' ? 1 : about - 1;
    expect(run.stdout.match(/^server +\w$/gmu)).toHaveLength(shown);
    expect(granted()).toEqual(approved);
    expect(run.exitCode).toBe(exitCode);
  });

  it('shows all and decides without a terminal only with --yes', async () => {
    const { folder, granted } = await crowd();
    const refused = await runCliHere(['approve', '--all'], { folder });
    expect(refused).toMatchObject({ exitCode: 2 });
    expect(refused.stderr).toContain('add --yes');
    expect(granted()).toEqual([]);
    const run = await runCliHere(['approve', '--all', '--yes', '--json'], { folder });
    expect(run.exitCode).toBe(0);
    const { decisions } = JSON.parse(run.stdout) as { decisions: { status: object }[] };
    expect(decisions.map(({ status }) => status)).toMatchObject([
      { name: 'a', state: 'ready' },
      { name: 'b' },
      { name: 'c' },
    ]);
    const again = await runCliHere(['approve', '--all', '--yes'], { folder });
    expect(again).toMatchObject({ exitCode: 0, stdout: 'nothing needs approval\n' });
  });

  it('decides about the named ones, or about none when a name is wrong', async () => {
    const { folder, granted } = await crowd();
    const wrong = await runCliHere(['approve', 'a', 'bb', '--yes'], { folder });
    expect(wrong.exitCode).toBe(2);
    expect(wrong.stderr).toContain('There is no server bb.');
    expect(granted()).toEqual([]);
    const run = await runCliHere(['approve', 'c', 'a', 'c', '--yes'], { folder });
    expect(run.exitCode).toBe(0);
    expect(granted()).toEqual(['c', 'a']);
  });

  it('reports an approved server and decides nothing about it', async () => {
    const { folder, troupe } = await crowd();
    const run = await runCliHere(['approve', 'old'], { folder });
    expect(run).toMatchObject({ exitCode: 0, stdout: 'already approved: old ready: 0 tools\n' });
    expect(troupe.sent).toEqual([]);
    const json = await runCliHere(['approve', 'old', '--json'], { folder });
    expect(JSON.parse(json.stdout)).toMatchObject({
      approval: { server: 'old', decision: 'granted' },
      status: { name: 'old' },
      saved: true,
    });
  });

  it.each([
    [['a', '--all'], 'leave out the names'],
    [['--all', '--fingerprint', 'f'], 'name that one'],
    [['a', 'b', '--fingerprint', 'f'], 'name that one'],
  ])('rejects flags that exclude each other: %j', async (words, message) => {
    const { folder } = await crowd();
    const run = await runCliHere(['approve', ...words], { folder });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain(message);
  });
});

describe('troupe approve', () => {
  it('lists servers that need approval and exits with 10', async () => {
    const { folder } = await waiting({ because: 'new', warnings: ['mind this'] });
    const run = await runCliHere(['approve'], { folder });
    expect(run.exitCode).toBe(10);
    expect(run.stdout).toContain('from         /project/.mcp.json:3; it was never approved');
    expect(run.stdout).toContain('warning      mind this');
    expect(run.stdout).toContain('decide: troupe approve gated, or troupe reject gated');
    const json = await runCliHere(['approve', '--json'], { folder });
    expect(json.exitCode).toBe(10);
    expect(JSON.parse(json.stdout)).toMatchObject({ approvals: [{ server: 'gated' }] });
    await runCliHere(['approve', 'gated', '--yes'], { folder });
    const after = await runCliHere(['approve'], { folder });
    expect(after).toMatchObject({ exitCode: 0, stdout: 'nothing needs approval\n' });
  });

  it('applies only to the given fingerprint', async () => {
    const { folder, troupe } = await waiting();
    const old = await runCliHere(['approve', 'gated', '--fingerprint', 'f0'], { folder });
    expect(old.exitCode).toBe(10);
    expect(old.stderr).toContain('changed since it was shown');
    expect(troupe.sent).toEqual([]);
    const now = await runCliHere(['approve', 'gated', '--fingerprint', 'f1'], { folder });
    expect(now.exitCode).toBe(0);
    expect(troupe.sent).toEqual([{ type: 'approval.grant', server: 'gated', fingerprint: 'f1' }]);
  });

  it.each([
    ['y\n', 0, 1],
    ['yes\n', 0, 1],
    ['n\n', 10, 0],
    ['\n', 10, 0],
    ['', 10, 0],
  ])(
    'prompts at a terminal, where the answer %j leads to exit code %i',
    async (answer, exitCode, count) => {
      const { folder, troupe } = await waiting();
      const stdin = Object.assign(new PassThrough(), { isTTY: true });
      stdin.end(answer);
      const run = await runCliHere(['approve', 'gated'], { folder, stdin, columns: 80 });
      expect(run.stderr).toContain('approve "gated"? [y/N]');
      expect(run.exitCode).toBe(exitCode);
      expect(troupe.sent).toHaveLength(count);
    },
  );

  it.each([[[]], [['--json']]])('rejects the command without a terminal (%j)', async (more) => {
    const { folder, troupe } = await waiting();
    const run = await runCliHere(['approve', 'gated', ...more], { folder });
    expect(run.exitCode).toBe(2);
    expect(run.stdout + run.stderr).toContain(
      'troupe approve gated --fingerprint f1, or use --yes',
    );
    expect(troupe.sent).toEqual([]);
    const sure = await runCliHere(['approve', 'gated', '--yes', ...more], { folder });
    expect(sure.exitCode).toBe(0);
    expect(troupe.sent).toHaveLength(1);
  });

  it.each([
    ['ends in a failure', { state: 'backingOff', reason: 'retrying' }],
    ['needs a login', { state: 'authRequired' }],
    ['cannot start', { state: 'failed', reason: 'notStartable' }],
  ] as const)('exits with 0 when the approved server %s', async (_how, condition) => {
    const message = 'The server process exited with code 1. It wrote: Error: no key';
    const lastError = { code: 'CRASHED', kind: 'crashed', message } as const;
    const failed = statusOf('gated', { ...condition, lastError });
    for (const columns of [undefined, 80]) {
      const { folder } = await waiting({}, failed);
      const setting = columns === undefined ? { folder } : { folder, columns };
      const run = await runCliHere(['approve', 'gated', '--yes'], setting);
      expect(run.exitCode).toBe(0);
      expect(run.stdout).toContain(`gated ${condition.state}`);
      expect(run.stdout).toContain(message);
    }
  });

  it('exits with 0 when Ctrl-C ends the wait for the approved server', async () => {
    const { folder, troupe } = await waiting({}, statusOf('gated', { state: 'connecting' }));
    const run = startCliHere(['approve', 'gated', '--yes'], { folder, columns: 80 });
    await run.noted('waiting 0s for gated (connecting)');
    run.signal('SIGINT');
    expect(await run.finished).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('gated connecting') as string,
    });
    expect(troupe.sent).toHaveLength(1);
  });

  it('shows how the approved server starts, in a terminal', async () => {
    const connecting = statusOf('gated', { state: 'connecting' });
    const { folder, troupe } = await waiting({}, connecting);
    const run = startCliHere(['approve', 'gated', '--yes'], { folder, columns: 80 });
    await run.noted('waiting 0s for gated (connecting)');
    troupe.become(statusOf('gated', { tools: 3 }));
    const { exitCode, stdout } = await run.finished;
    expect(exitCode).toBe(0);
    expect(stdout).toContain('gated ready: 3 tools');
  });

  it('does not ask at a terminal with --yes or --fingerprint', async () => {
    const { folder, troupe } = await waiting();
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const run = await runCliHere(['approve', 'gated', '--yes'], { folder, stdin, columns: 80 });
    expect(run.exitCode).toBe(0);
    expect(troupe.sent).toHaveLength(1);
  });
});
