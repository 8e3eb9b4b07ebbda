import { execFile, spawnSync } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { completionScripts, type Shell, shells } from '../../../src/cli/completion/scripts.ts';
import { compiledCli } from '../compiled-cli.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';
import { createStandIn, statusOf, toolOf } from '../stand-in-troupe.ts';
import { upHere } from '../up-here.ts';

const run = promisify(execFile);

/** The suggestions that the scripts get for a line with the cursor at its end. */
async function suggested(folder: string, ...words: string[]): Promise<readonly string[]> {
  const { stdout, stderr, exitCode } = await runCliHere(['__complete', ...words], { folder });
  expect(stderr).toBe('');
  expect(exitCode).toBe(0);
  return stdout.trimEnd().split('\n');
}

const wordsOf = async (folder: string, ...words: string[]): Promise<readonly string[]> => {
  const [kind, ...lines] = await suggested(folder, ...words);
  expect(kind).toBe('words');
  return lines.map((line) => line.split('\t')[0] ?? '');
};

const running = () =>
  upHere(
    createStandIn({
      servers: [
        statusOf('api:eu'),
        statusOf('db', { state: 'dormant' }),
        statusOf('data', { state: 'failed' }),
      ],
      tools: [
        { ...toolOf('db', 'get-row'), description: 'reads\u001b[2J\na\trow' },
        toolOf('db', 'get_table'),
        toolOf('db', '$(touch gotcha)'),
        toolOf('db', '--flag'),
        toolOf('data', 'get-other'),
      ],
    }),
  );

function settingsFolder(): string {
  const folder = temporaryFolder();
  const servers = { one: { command: 'node' }, two: { command: 'node', enabled: false } };
  writeFileSync(path.join(folder, 'my troupe.json'), JSON.stringify({ mcpServers: servers }));
  writeFileSync(path.join(folder, '.mcp.json'), '{ "mcpServers": { "ours": {"command": "x"} } }');
  return folder;
}

describe('a completion', () => {
  it('suggests commands with their summaries', async () => {
    const lines = await suggested(temporaryFolder(), 're');
    expect(lines[0]).toBe('words');
    expect(lines.slice(1).map((line) => line.split('\t')[0])).toEqual([
      'refresh',
      'restart',
      'reload',
      'replay',
      'resources',
      'read',
      'reject',
      'revoke',
      'remove',
    ]);
    expect(lines).toContain(
      'reload\tread all settings files again without waiting for the file watcher',
    );
  });

  it.each([
    [['--st'], ['--state-dir']],
    [['status', '--w'], ['--watch']],
    [['tools', '--w'], []],
    [
      ['call', 'db', 'echo', '--a'],
      ['--allow', '--alone', '--args'],
    ],
    [['--v'], ['--version']],
    [['up', '--v'], []],
    [['plan', '--h'], ['--help']],
    [
      ['help', 'st'],
      ['start', 'stop', 'status'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['--timeout', ''], []],
    [['--timeout', '5', 'stat'], ['status']],
    [['--timeout=5', '--json', 'stat'], ['status']],
    [['nonsense', ''], []],
    [['plan', ''], []],
    [['status', '--', '--w'], []],
    [['status', '--nonsense=x'], []],
  ])('completes %j with %j', async (words, expected) => {
    expect(await wordsOf(temporaryFolder(), ...words)).toEqual(expected);
  });

  it.each([
    [['--config', 'x'], 'files'],
    [['up', '--config='], 'files'],
    [['up', '--journal='], 'files'],
    [['replay', ''], 'files'],
    [['--project', ''], 'folders'],
    [['status', '--state-dir=/tm'], 'folders'],
  ])('leaves the completion of %j to the shell as %s', async (words, kind) => {
    expect(await suggested(temporaryFolder(), ...words)).toEqual([kind]);
  });

  it("suggests the running troupe's servers with their states", async () => {
    const { folder, troupe } = await running();
    expect(await suggested(folder, 'restart', '')).toEqual([
      'words',
      'api:eu\tready',
      'db\tdormant',
      'data\tfailed',
    ]);
    expect(await wordsOf(folder, 'stop', 'd')).toEqual(['db', 'data']);
    expect(await wordsOf(folder, 'stop', 'db', '')).toEqual([]);
    expect(await wordsOf(folder, '--allow', 'db,d')).toEqual(['db,db', 'db,data']);
    expect(await wordsOf(folder, 'up', '--allow=d')).toEqual(['--allow=db', '--allow=data']);
    expect(troupe.sent).toEqual([]);
  });

  it('suggests tools with shell-safe names without starting a server', async () => {
    const { folder, troupe } = await running();
    expect(await suggested(folder, 'call', 'db', '')).toEqual([
      'words',
      'get-row\treads a row',
      'get_table',
      '--flag',
    ]);
    expect(await wordsOf(folder, 'call', '--json', 'data', 'get')).toEqual(['get-other']);
    expect(await wordsOf(folder, 'call', 'db.get-')).toEqual(['db.get-row']);
    expect(await wordsOf(folder, 'call', '--stdio', 'x', '')).toEqual([]);
    expect(troupe.sent).toEqual([]);
  });

  it('suggests servers from the settings files without a running troupe', async () => {
    const folder = settingsFolder();
    expect(await wordsOf(folder, 'status', '')).toEqual(['ours']);
    for (const file of ['"my troupe.json"', "'my troupe.json'", 'my\\ troupe.json']) {
      expect(await wordsOf(folder, '--config', file, 'call', '')).toEqual(['ours', 'one', 'two']);
    }
    expect(await wordsOf(folder, 'call', 'ours', '')).toEqual([]);
  });

  it('suggests servers from --config when the running troupe has other settings', async () => {
    const { folder } = await running();
    writeFileSync(path.join(folder, 'mine.json'), '{ "mcpServers": { "own": {"command": "x"} } }');
    expect(await wordsOf(folder, 'call', '--config', 'mine.json', '')).toEqual(['own']);
  });

  it('suggests nothing and prints no error when nothing is known', async () => {
    const folder = temporaryFolder();
    writeFileSync(path.join(folder, '.mcp.json'), '{ broken');
    expect(await wordsOf(folder, 'status', '')).toEqual([]);
    const nowhere = ['__complete', '--project', 'nowhere', 'status', ''];
    expect(await runCliHere(nowhere, { folder })).toMatchObject({
      exitCode: 1,
      stdout: '',
      stderr: '',
    });
  });
});

describe('a completion script', () => {
  const cli = compiledCli();

  /** Bash's completions of a line, split into words at blanks, `=` and `:` as bash does. */
  async function bashOffers(folder: string, line: string): Promise<readonly string[]> {
    const troupe = path.join(folder, 'troupe');
    const words = [process.execPath, ...cli.words].map((word) => `'${word}'`).join(' ');
    writeFileSync(troupe, `#!/bin/sh\nexec ${words} "$@"\n`);
    chmodSync(troupe, 0o755);
    const cut: readonly string[] = line.match(/[^\s=:]+|[=:]+/g) ?? [];
    const compWords = line.endsWith(' ') ? [...cut, ''] : cut;
    const script = [
      'source <(troupe completion bash)',
      // Like readline, look up the function and split the line.
      '[[ $(complete -p troupe) == "complete -F _troupe troupe" ]] || echo unbound',
      'COMP_LINE=$1; COMP_POINT=${#1}; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))',
      '_troupe troupe',
      '((${#COMPREPLY[@]})) && printf "%s\\n" "${COMPREPLY[@]}"; true',
    ].join('\n');
    const { stdout, stderr } = await run(
      'bash',
      ['--norc', '-c', script, 'bash', line, ...compWords],
      {
        cwd: folder,
        env: {
          PATH: `${folder}:${process.env['PATH']}`,
          MCP_TROUPE_HOME: path.join(folder, 'state'),
        },
      },
    );
    expect(stderr).toBe('');
    return stdout === '' ? [] : stdout.trimEnd().split('\n');
  }

  // Each line starts a shell and the program twice, half a second each on a busy machine.
  it('makes bash complete commands, servers, tools and flags', async () => {
    const { folder } = await running();
    const offers = (line: string) => bashOffers(folder, line);
    expect(await offers('troupe rest')).toEqual(['restart']);
    expect(await offers('troupe call d')).toEqual(['db', 'data']);
    expect(await offers('troupe call  db get')).toEqual(['get-row', 'get_table']);
    expect(await offers('troupe status --wat')).toEqual(['--watch']);
    // Bash itself keeps the text before the colon or the equals sign.
    expect(await offers('troupe stop api:')).toEqual(['eu']);
    expect(await offers('troupe up --allow=da')).toEqual(['data']);
    expect(await offers('troupe up --allow=')).toEqual(['api:eu', 'db', 'data']);
  });

  it('makes bash complete files for arguments that name a file', async () => {
    const folder = settingsFolder();
    expect(await bashOffers(folder, 'troupe up --config my')).toEqual(['my troupe.json']);
    expect(await bashOffers(folder, 'troupe up --config=my')).toEqual(['my troupe.json']);
    expect(await bashOffers(folder, 'troupe up --project m')).toEqual([]);
    expect(await bashOffers(folder, 'troupe status o')).toEqual(['ours']);
  });

  // Only bash is installed everywhere.
  const checks: Readonly<Record<Shell, string>> = { bash: '-n', zsh: '-n', fish: '--no-execute' };
  const installed = shells.filter((shell) => spawnSync(shell, ['-c', 'true']).status === 0);
  it.each<Shell>(installed)('has valid syntax in %s', (shell) => {
    const file = path.join(temporaryFolder(), 'completion');
    writeFileSync(file, completionScripts[shell]);
    const checked = spawnSync(shell, [checks[shell], file], { encoding: 'utf8' });
    expect(checked).toMatchObject({ status: 0, stderr: '' });
  });

  it.each(shells)('is printed for %s', async (shell) => {
    const folder = temporaryFolder();
    const printed = await runCliHere(['completion', shell], { folder });
    expect(printed).toMatchObject({ exitCode: 0, stdout: completionScripts[shell], stderr: '' });
    const json = await runCliHere(['completion', shell, '--json'], { folder });
    expect(JSON.parse(json.stdout)).toEqual({ shell, script: completionScripts[shell] });
  });
});
