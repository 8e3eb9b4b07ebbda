import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandsOf } from '../../scripts/docs/command-table.ts';
import { managedSettingsFile } from '../../src/cli/launch.ts';
import { type CallerCode, exitCodeOf } from '../../src/domain/caller-code.ts';
import { TroupeError } from '../../src/domain/troupe-error.ts';
import { runCliHere, temporaryFolder } from './run-cli.ts';
import { approvalOf, createStandIn, reportOf, statusOf, toolOf } from './stand-in-troupe.ts';
import { upHere } from './up-here.ts';

/** The settings files of a project folder, lowest precedence first. */
function folderFiles(folder: string) {
  return [
    { file: path.join(folder, '.mcp.json'), scope: 'project' },
    { file: path.join(folder, 'troupe.json'), scope: 'project' },
    { file: path.join(folder, '.troupe/settings.json'), scope: 'workspace' },
    { file: path.join(folder, '.troupe/settings.local.json'), scope: 'local' },
  ];
}

const ready = [statusOf('db', { tools: 1 })];
const db = (answer = () => Promise.resolve(reportOf('hello'))) =>
  createStandIn({
    servers: ready,
    tools: [toolOf('db', 'echo', { properties: { count: { type: 'number' } } })],
    answer,
  });

const commands = commandsOf();

describe('the command line', () => {
  it.each([
    [['--jsno', 'status'], "unknown option '--jsno'; did you mean --json?"],
    [['status', '--wacth'], "unknown option '--wacth'; did you mean --watch?"],
    [['call', 'db', 'echo', '--agrs', '{}'], "unknown option '--agrs'; did you mean --args?"],
    [['nonsense'], "unknown command 'nonsense'; see troupe --help"],
    [['completion', 'bsh'], 'bsh is not a shell; did you mean bash?'],
    [['connect'], /^the host is missing; use one of claude-code, claude-desktop, cursor/],
    [['connect', 'claude'], /^claude is not a host; did you mean claude-code or claude-desktop\?$/],
    [['connect', 'emacs'], /^emacs is not a host; use one of claude-code, claude-desktop, cursor/],
    [['stat'], "unknown command 'stat'; did you mean status?"],
    [['stauts'], "unknown command 'stauts'; did you mean status?"],
    [['call', 'db'], 'missing tool; write troupe call db TOOL; troupe tools db lists them'],
    [['plan', 'extra'], /too many arguments/],
    [[], 'no command was given; see troupe --help'],
    [['status', '--project', 'a', '--project', 'b'], /It was given twice; use it once; see/],
    [['status', '--project', ''], /It must not be empty/],
    [
      ['status', '--project', 'missing'],
      "missing is not a folder; set --project to your project's folder",
    ],
    [['up', '--root', 'missing'], 'missing is not a folder; set --root to a folder'],
    [['serve', '--root', 'missing'], 'missing is not a folder; set --root to a folder'],
    [['status', '--config', '-'], /settings are read only from files/],
    [['status', '--allow'], /argument missing/],
    [['status', '--allow=a,,b'], /It contains an empty name/],
    [['status', '--allow', '__proto__'], /Server names have 1 to 100/],
    [['status', '--allow', 'a/b'], /Server names have 1 to 100/],
    [['status', '--timeout', '1e3'], /Write a whole number from 1/],
    [['status', '--timeout', '0'], /Write a whole number from 1/],
    [['status', '--timeout', '0x10'], /Write a whole number from 1/],
    [['status', '--timeout', '2147483648'], /Write a whole number from 1/],
    [['call', 'db', 'echo', 'a=1', '--args', '{}'], /key=value or with --args, not both/],
    [['call', 'db', 'echo', '--args', '@nowhere.json'], /nowhere\.json cannot be read \(ENOENT\)/],
    [
      ['status', ''],
      'the name of the server must have 1 to 300 characters; see troupe help status',
    ],
    [
      ['call', 'db', 'x'.repeat(301)],
      'the name of the tool must have 1 to 300 characters; see troupe help call',
    ],
    [['status', '--watch', '--json'], /use one of them/],
  ])('rejects %j with exit code 2 and a single line', async (argv, message) => {
    const run = await runCliHere(argv, { folder: temporaryFolder(), troupe: db() });
    expect(run.exitCode).toBe(2);
    const said = argv.includes('--json')
      ? (JSON.parse(run.stdout) as { error: { message: string } }).error.message
      : run.stderr.replace('troupe: ', '').trimEnd();
    if (typeof message === 'string') expect(said).toBe(message);
    else expect(said).toMatch(message);
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1);
  });

  it('prints exactly one document for a mistyped flag with --json', async () => {
    const run = await runCliHere(['status', '--json', '--cofnig', 'x'], {
      folder: temporaryFolder(),
    });
    expect(JSON.parse(run.stdout)).toEqual({
      error: {
        code: 'USAGE',
        retryable: false,
        outcome: 'not_executed',
        message: "unknown option '--cofnig'; did you mean --config?",
      },
    });
    expect(run.stderr).toBe('');
  });

  it.each(commands.map((command) => [command.name(), command] as const))(
    'has a valid example in the help of %s',
    async (name, command) => {
      const run = await runCliHere([name, '--help'], { folder: temporaryFolder() });
      expect(run.exitCode).toBe(0);
      expect(run.stdout).toContain('--state-dir <dir>');
      const [, example = ''] = /\nExample:\n {2}troupe (.*)\n/.exec(run.stdout) ?? [];
      const [own = ''] = example.split(' | ');
      const [typed, ...words] = own.split(' ');
      expect(typed).toBe(name);
      const options = [...command.options, ...(command.parent?.options ?? [])];
      const flags = words.filter((word) => /^--\w/u.test(word));
      expect(options.map((option) => option.long)).toEqual(expect.arrayContaining(flags));
      const needed = command.registeredArguments.filter((argument) => argument.required);
      expect(words.length).toBeGreaterThanOrEqual(needed.length);
    },
  );

  it('groups its commands in the help, which fits 80 columns in a pipe', async () => {
    const { stdout } = await runCliHere(['help'], { folder: temporaryFolder() });
    for (const heading of ['Run:', 'Look:', 'Use:', 'Decide:', 'Settings:', 'Hosts and shells:'])
      expect(stdout.split('\n')).toContain(heading);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    expect(stdout).not.toContain('Commands:');
  });

  it("shows a command's help or suggests the closest command", async () => {
    const folder = temporaryFolder();
    const asked = await runCliHere(['help', 'status'], { folder });
    expect(asked).toMatchObject({ exitCode: 0 });
    expect(asked.stdout).toBe((await runCliHere(['status', '--help'], { folder })).stdout);
    const mistyped = await runCliHere(['help', 'stauts'], { folder });
    expect(mistyped).toMatchObject({
      exitCode: 2,
      stderr: "troupe: unknown command 'stauts'; did you mean status?\n",
    });
  });

  it('prints its version', async () => {
    const run = await runCliHere(['--version'], { folder: temporaryFolder() });
    expect(run).toMatchObject({ exitCode: 0, stdout: '1.2.3\n' });
  });

  it.each(['status', 'reload', 'approve db', 'stop db'])(
    'reports how to start a troupe when %s finds none',
    async (command) => {
      const folder = temporaryFolder();
      const run = await runCliHere([...command.split(' '), '--config', 'my settings.json'], {
        folder,
      });
      expect(run.exitCode).toBe(3);
      expect(run.stderr).toBe(
        `troupe: no troupe is running for ${folder}; start one with: troupe up --project ${folder} --config '${folder}/my settings.json'\n`,
      );
    },
  );

  it("plans a troupe's first steps when none is running", async () => {
    const folder = temporaryFolder();
    writeFileSync(
      path.join(folder, 'troupe.json'),
      '{ "mcpServers": { "db": { "command": "node" }, "off": { "command": "node", "enabled": false } } }',
    );
    const run = await runCliHere(['plan', '--json', '--config', 'troupe.json'], { folder });
    expect(run.exitCode).toBe(0);
    const flags = `--project ${folder} --config ${path.join(folder, 'troupe.json')}`;
    const reason = `it is switched off; next: troupe enable ${flags} off`;
    const why = 'in the settings, not running yet';
    expect(JSON.parse(run.stdout)).toEqual({
      steps: [
        { server: 'db', step: 'spawn', why },
        { server: 'off', step: 'spawn', why: `${why}, but disabled`, reason },
      ],
      problems: [],
    });
  });

  it("waits for approval of a server in the project's troupe.json unless --config names the file", async () => {
    const folder = temporaryFolder();
    writeFileSync(
      path.join(folder, 'troupe.json'),
      '{ "mcpServers": { "db": { "command": "node" } } }',
    );
    writeFileSync(
      path.join(folder, '.mcp.json'),
      '{ "mcpServers": { "db": { "command": "other" }, "api": { "url": "http://localhost:1" } } }',
    );
    const gated = await runCliHere(['plan', '--json'], { folder });
    const waits = 'in the settings, not running yet, but pendingApproval';
    expect(JSON.parse(gated.stdout)).toMatchObject({
      steps: [
        { server: 'db', step: 'spawn', why: waits },
        { server: 'api', step: 'spawn', why: waits },
      ],
    });
    const link = path.join(folder, 'link.json');
    symlinkSync(path.join(folder, 'troupe.json'), link);
    for (const file of ['./troupe.json', link]) {
      const named = await runCliHere(['plan', '--json', '--config', file], { folder });
      expect(JSON.parse(named.stdout)).toMatchObject({
        steps: [{ server: 'api' }, { server: 'db', why: 'in the settings, not running yet' }],
      });
    }
  });

  it.each(['up', 'serve', 'plan', 'tools', 'call db query'])(
    'fails when a file of --config does not exist, for %s',
    async (command) => {
      const folder = temporaryFolder();
      const argv = [...command.split(' '), '--config', 'nope.json'];
      const run = await runCliHere(argv, { folder, troupe: db() });
      expect(run).toMatchObject({ exitCode: 2, created: [] });
      expect(run.stderr).toContain(
        `the file ${path.join(folder, 'nope.json')} given to --config does not exist; create it, or fix the path`,
      );
    },
  );

  it("reads the --config files after the project's own", async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, 'p'));
    for (const name of ['a.json', 'b.json']) writeFileSync(path.join(folder, name), '{}');
    const argv = [
      'call',
      'db',
      'echo',
      '--config',
      'a.json',
      '--config',
      'b.json',
      '--project',
      'p',
    ];
    const run = await runCliHere(argv, { folder, troupe: db() });
    expect(run.created).toEqual([
      {
        sources: [
          { file: path.join(folder, 'managed.json'), scope: 'managed' },
          ...folderFiles(path.join(folder, 'p')),
          { file: path.join(folder, 'a.json'), scope: 'config' },
          { file: path.join(folder, 'b.json'), scope: 'config' },
        ],
        projectRoot: path.join(folder, 'p'),
        allow: ['db'],
        stateDir: path.join(folder, 'state'),
        onQuestion: expect.any(Function),
      },
    ]);
  });

  it('lists the tools that match --search, best match first', async () => {
    const troupe = createStandIn({
      servers: ready,
      tools: [toolOf('db', 'create_table'), toolOf('db', 'list'), toolOf('db', 'table')],
    });
    const argv = ['tools', '--search', 'table', '--json'];
    const run = await runCliHere(argv, { folder: temporaryFolder(), troupe });
    const { tools } = JSON.parse(run.stdout) as { tools: { tool: string }[] };
    expect(tools.map(({ tool }) => tool)).toEqual(['create_table', 'table']);
    const none = await runCliHere(['tools', '--search', 'nothing'], {
      folder: temporaryFolder(),
      troupe,
    });
    expect(none).toMatchObject({ exitCode: 0, stdout: 'no tools\n' });
  });

  it('rejects --search without a search term', async () => {
    const argv = ['tools', '--search', ' '];
    const run = await runCliHere(argv, { folder: temporaryFolder(), troupe: db() });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toContain('at least one word');
  });

  it('reads no user or project settings with --bare', async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, 'a.json'), '{}');
    const argv = ['tools', '--bare', '--config', 'a.json'];
    const run = await runCliHere(argv, { folder, troupe: db() });
    expect(run.created).toMatchObject([
      {
        sources: [
          { file: path.join(folder, 'managed.json'), scope: 'managed' },
          { file: path.join(folder, 'a.json'), scope: 'config' },
        ],
        bare: true,
      },
    ]);
  });

  it.each([
    ['linux', '/etc/mcp-troupe/managed.json'],
    ['darwin', '/Library/Application Support/mcp-troupe/managed.json'],
    ['win32', 'C:\\Program Files\\mcp-troupe\\managed.json'],
  ] as const)('reads managed settings from the standard path on %s', (platform, file) => {
    expect(managedSettingsFile(platform)).toBe(file);
  });

  it("reads the user's own settings and the project's without --config", async () => {
    const folder = temporaryFolder();
    mkdirSync(path.join(folder, 'state'));
    writeFileSync(path.join(folder, 'state/troupe.json'), '{}');
    const run = await runCliHere(['tools'], { folder, troupe: db() });
    expect(run.created[0]?.sources).toEqual([
      { file: path.join(folder, 'managed.json'), scope: 'managed' },
      { file: path.join(folder, 'state/troupe.json'), scope: 'user' },
      ...folderFiles(folder),
    ]);
  });

  it.each([
    ['', []],
    ['db', ['db']],
    ['api, db', ['db']],
    ['api', []],
  ])('never lets a call widen --allow %j', async (allow, expected) => {
    const argv = ['call', 'db', 'echo', `--allow=${allow}`];
    const run = await runCliHere(argv, { folder: temporaryFolder(), troupe: db() });
    expect(run.created[0]?.allow).toEqual(expected);
  });

  it("prints a result's text and stops its troupe", async () => {
    const troupe = db();
    const run = await runCliHere(['call', 'db', 'echo', 'count=2'], {
      folder: temporaryFolder(),
      troupe,
    });
    expect(run).toMatchObject({ exitCode: 0, stdout: 'hello\n' });
    expect(troupe.calls[0]?.args).toEqual({ count: 2 });
    expect(troupe.stopped).toBe(true);
  });

  it.each([
    ['call', 'everything', 'echo'],
    ['tools', 'everything'],
  ])(
    'reports that --allow excludes a server rather than that it is unknown: %s',
    async (...words) => {
      const argv = [...words, '--allow', ''];
      const run = await runCliHere(argv, { folder: temporaryFolder(), troupe: db() });
      expect(run.exitCode).toBe(7);
      expect(run.stderr).toContain('because --allow leaves it out');
    },
  );

  it('reads the arguments from stdin', async () => {
    const troupe = db();
    const setting = { folder: temporaryFolder(), troupe, stdin: '{"any": [1]}' };
    await runCliHere(['call', 'db', 'echo', '--args', '-'], setting);
    expect(troupe.calls[0]?.args).toEqual({ any: [1] });
  });

  it('exits with 14 and prints the result when the tool returns an error', async () => {
    const folder = temporaryFolder();
    const answer = () => Promise.resolve(reportOf('no such table', true));
    const plain = await runCliHere(['call', 'db', 'echo'], { folder, troupe: db(answer) });
    expect(plain).toMatchObject({ exitCode: 14, stdout: 'no such table\n' });
    const json = await runCliHere(['call', 'db', 'echo', '--json'], { folder, troupe: db(answer) });
    expect(json.exitCode).toBe(14);
    expect(JSON.parse(json.stdout)).toMatchObject({
      result: { isError: true },
      meta: { attempts: 1 },
    });
  });

  it.each(Object.entries(exitCodeOf))('exits with the code of %s', async (code, exitCode) => {
    const answer = () =>
      Promise.reject(new TroupeError(code as CallerCode, 'it went wrong; try again'));
    const argv = ['call', 'db', 'echo', '--json'];
    const run = await runCliHere(argv, { folder: temporaryFolder(), troupe: db(answer) });
    expect(run.exitCode).toBe(exitCode);
    expect(JSON.parse(run.stdout)).toMatchObject({
      error: { code, message: 'it went wrong; try again' },
    });
  });

  it('exits with 13 when it is unknown whether the call ran', async () => {
    const error = new TroupeError('INTERNAL', 'lost; look before you call again', {
      outcome: 'unknown',
    });
    const troupe = db(() => Promise.reject(error));
    const run = await runCliHere(['call', 'db', 'echo'], { folder: temporaryFolder(), troupe });
    expect(run).toMatchObject({
      exitCode: 13,
      stderr: expect.stringContaining('troupe: lost; look before you call again\n') as string,
    });
  });

  it.each([
    [['call', 'bd', 'echo'], /There is no server bd\. Did you mean db\?/],
    [['call', 'db', 'ecoh', 'a=1'], /There is no tool ecoh on db\. Did you mean echo\?/],
    [['tools', 'bd'], /There is no server bd\. Did you mean db\?/],
  ])('suggests a correction for %j', async (argv, message) => {
    const run = await runCliHere(argv, { folder: temporaryFolder(), troupe: db() });
    expect(run.exitCode).toBe(2);
    expect(run.stderr).toMatch(message);
  });

  it('exits with 12 for a withheld tool, with and without arguments', async () => {
    const changed = { tool: 'query', diff: ['+ "description": "Other."'] };
    const troupe = createStandIn({
      servers: ready,
      tools: [toolOf('db', 'echo')],
      approvals: [approvalOf('db', { because: 'toolsChanged', toolChanges: [changed] })],
    });
    const argv = ['call', 'db', 'query', 'a=1', '--json'];
    const { folder } = await upHere(troupe);
    for (const setting of [{ folder }, { folder: temporaryFolder(), troupe }]) {
      const run = await runCliHere(argv, setting);
      expect(run.exitCode).toBe(12);
      expect(JSON.parse(run.stdout)).toMatchObject({
        error: { code: 'TOOL_CHANGED', server: 'db', tool: 'query', outcome: 'not_executed' },
      });
    }
    expect(troupe.calls).toEqual([]);
  });

  it('points to the status when a running troupe has no tools', async () => {
    const troupe = createStandIn({ servers: ready, tools: [] });
    const run = await runCliHere(['tools'], await upHere(troupe));
    expect(run.stdout).toBe('no tools\n');
    expect(run.stderr).toContain('no ready server offers a tool; see troupe status');
    // Another server may offer some.
    const one = await runCliHere(['tools', 'db'], await upHere(troupe));
    expect(one.stderr).toBe('');
  });

  it('suggests a correction for --allow', async () => {
    const setting = { folder: temporaryFolder(), troupe: db() };
    const run = await runCliHere(['tools', '--allow', 'bd,db,nonsense'], setting);
    expect(run.exitCode).toBe(0);
    expect(run.stderr).toContain(
      'troupe: --allow names the unknown server bd; did you mean db?\n' +
        'troupe: --allow names the unknown server nonsense; see troupe plan\n',
    );
  });

  it('reports the unreadable settings file when a server is unknown', async () => {
    const problems = [{ file: '/x/troupe.json', line: 4, message: 'a comma is missing; add one' }];
    const troupe = createStandIn({ problems });
    const run = await runCliHere(['call', 'db', 'echo', '--json'], {
      folder: temporaryFolder(),
      troupe,
    });
    expect(run.exitCode).toBe(2);
    expect(JSON.parse(run.stdout)).toMatchObject({
      error: {
        code: 'INVALID_CONFIG',
        message: expect.stringContaining('/x/troupe.json:4') as string,
      },
    });
  });

  it('takes SERVER.TOOL as one word, for the servers of the settings', async () => {
    const folder = temporaryFolder();
    const settings = path.join(folder, 'a.json');
    const entry = { command: 'never-started' };
    writeFileSync(settings, JSON.stringify({ mcpServers: { db: entry, 'a.b': entry } }));
    const config = ['--config', settings];
    const troupe = db();
    const long = 'x'.repeat(400);
    const run = await runCliHere(['call', 'db.echo', `text=${long}`, ...config], {
      folder,
      troupe,
    });
    expect(run).toMatchObject({ exitCode: 0, created: [{ allow: ['db'] }] });
    expect(troupe.calls).toMatchObject([{ server: 'db', tool: 'echo', args: { text: long } }]);
    const near = await runCliHere(['call', 'bd.echo', ...config], { folder, troupe: db() });
    expect(near.stderr).toContain('There is no server bd. Did you mean db?');
    const one = await runCliHere(['tools', 'db.echo', ...config], { folder, troupe: db() });
    expect(one.stdout).toContain('example      troupe call db echo');
  });

  it('requests approval with exit code 10', async () => {
    const servers = [
      statusOf('db', { state: 'blocked', reason: 'pendingApproval', action: 'troupe approve db' }),
    ];
    const run = await runCliHere(['tools', 'db'], {
      folder: temporaryFolder(),
      troupe: createStandIn({ servers }),
    });
    expect(run.exitCode).toBe(10);
    expect(run.stderr).toContain('troupe approve db');
  });

  it('starts a dormant server', async () => {
    const troupe = createStandIn({
      servers: [statusOf('db', { state: 'dormant' })],
      tools: [toolOf('db', 'echo')],
      onSend: (event, own) => {
        if (event.type === 'server.start') own.become(statusOf('db'));
      },
    });
    const run = await runCliHere(['tools', 'db', '--json'], { folder: temporaryFolder(), troupe });
    expect(JSON.parse(run.stdout)).toEqual({ tools: [toolOf('db', 'echo')] });
  });

  it('waits for starting servers until the timeout', async () => {
    const troupe = createStandIn({ servers: [statusOf('slow', { state: 'connecting' })] });
    const argv = ['tools', 'slow', '--timeout', '20'];
    const run = await runCliHere(argv, { folder: temporaryFolder(), troupe });
    expect(run.exitCode).toBe(4);
    expect(troupe.listenerCount()).toBe(0);
  });

  it('strips terminal control sequences from server output', async () => {
    const nasty = '\u001b[2Jgone\u202Etxt\u0007';
    const tool = { ...toolOf('db', 'echo'), description: nasty };
    const troupe = createStandIn({
      servers: ready,
      tools: [tool],
      answer: () => Promise.resolve(reportOf(nasty)),
    });
    const folder = temporaryFolder();
    const tools = await runCliHere(['tools'], { folder, troupe });
    const call = await runCliHere(['call', 'db', 'echo'], { folder, troupe });
    // oxlint-disable-next-line no-control-regex
    expect(tools.stdout + call.stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u202e]/);
    expect(call.stdout).toBe('gonetxt\n');
  });
});
