import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { hostNames } from '../../../src/cli/connect/hosts.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';

/** A home with `troupe` on its PATH, and the commands in it. */
function machine() {
  const folder = temporaryFolder();
  const put = (name: string, text: string): string => {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  };
  put('bin/troupe', '');
  const env = {
    HOME: path.join(folder, 'home'),
    PATH: path.join(folder, 'bin'),
    MCP_TROUPE_HOME: path.join(folder, 'state'),
  };
  return {
    folder,
    put,
    run: (...argv: string[]) => runCliHere(argv, { folder, env }),
    inTerminal: (typed: string, ...argv: string[]) => {
      const stdin = Object.assign(new PassThrough(), { isTTY: true });
      stdin.write(typed);
      return runCliHere(argv, { folder, env, stdin, columns: 200 });
    },
  };
}

const files = {
  'claude-code': [
    'home/.claude.json',
    '{\n  // mine\n  "mcpServers": { "a": { "command": "a" } }\n}\n',
  ],
  'claude-desktop': ['home/.config/Claude/claude_desktop_config.json', '{ "theme": "dark" }\n'],
  cursor: [
    'home/.cursor/mcp.json',
    '{\n  "mcpServers": {\n    "a": { "command": "a" } // a\n  }\n}\n',
  ],
  vscode: ['home/.config/Code/User/mcp.json', '{\n\t"servers": {},\n\t"inputs": []\n}\n'],
  codex: [
    'home/.codex/config.toml',
    '# mine\nmodel = "m"\n\n[mcp_servers.a]\ncommand = "a" # a\n\n[other]\nx = 1\n',
  ],
  windsurf: [
    'home/.codeium/windsurf/mcp_config.json',
    '{ "mcpServers": { "a": { "command": "a" } } }\n',
  ],
  gemini: [
    'home/.gemini/settings.json',
    '{\n  "theme": "x", // x\n  "mcpServers": { "a": { "command": "a" } }\n}\n',
  ],
  qwen: ['home/.qwen/settings.json', '{ "mcpServers": { "a": { "command": "a" } } }\n'],
  kiro: ['home/.kiro/settings/mcp.json', '{\n  "mcpServers": { "a": { "command": "a" } }\n}\n'],
  zed: ['home/.config/zed/settings.json', '// Zed\n{\n  "vim": true, // v\n}\n'],
} as const;

describe('troupe connect', () => {
  it.each(hostNames)(
    'adds and removes the gateway of %s and keeps the rest of its file',
    async (host) => {
      const { put, run, folder } = machine();
      const [name, before] = files[host];
      const file = put(name, before);
      const now = (): string => readFileSync(file, 'utf8');
      const connected = await run('connect', host, '--yes');
      expect(connected).toMatchObject({ exitCode: 0, stderr: '' });
      expect(connected.stdout).toContain('  + ');
      expect(readFileSync(`${file}.before-troupe`, 'utf8')).toBe(before);
      for (const [comment] of before.matchAll(/(?:\/\/|#).*$/gmu)) expect(now()).toContain(comment);
      expect(now()).toContain(folder);
      const found = await run(
        'import',
        '--from',
        file,
        '--to',
        path.join(folder, 'to.json'),
        '--dry-run',
        '--json',
      );
      expect(found.stdout).toContain('this is troupe itself');
      const text = now();
      expect((await run('connect', host)).stdout).toContain(`${host} is already connected`);
      expect(now()).toBe(text);
      expect(await run('disconnect', host, '--yes')).toMatchObject({ exitCode: 0 });
      expect(now()).not.toContain('troupe');
      expect((await run('disconnect', host)).stdout).toContain('is already disconnected');
    },
  );

  it('asks first, and writes nothing without a yes', async () => {
    const { put, run, inTerminal } = machine();
    const [name, before] = files.cursor;
    const file = put(name, before);
    expect(await run('connect', 'cursor')).toMatchObject({ exitCode: 2 });
    expect((await inTerminal('n\n', 'connect', 'cursor')).stderr).toContain('nothing is written');
    expect(readFileSync(file, 'utf8')).toBe(before);
    expect((await inTerminal('y\n', 'connect', 'cursor')).stdout).toContain('connected cursor');
    expect(readFileSync(file, 'utf8')).toContain('"serve"');
  });

  it('creates a file that does not exist, and refuses one that is broken', async () => {
    const { put, run } = machine();
    const made = await run('connect', 'vscode', '--yes', '--json');
    expect(JSON.parse(made.stdout)).toMatchObject({
      written: true,
      entry: { type: 'stdio', command: 'troupe' },
    });
    for (const [host, text] of [
      ['cursor', '{ broken'],
      ['codex', 'x = ['],
    ] as const) {
      const file = put(files[host][0], text);
      const refused = await run('connect', host, '--yes');
      expect(refused.exitCode).toBe(2);
      expect(refused.stderr).toContain(`cannot edit ${file}`);
    }
    expect((await run('connect', 'emacs')).stderr).toContain('claude-code');
  });

  it.each(hostNames)('keeps the file of %s as it was before the first connect', async (host) => {
    const { put, run } = machine();
    const [name, before] = files[host];
    const file = put(name, before);
    await run('connect', host, '--yes');
    await run('connect', host, '--yes', '--allow', 'a');
    expect(readFileSync(file, 'utf8')).toContain('--allow');
    await run('disconnect', host, '--yes');
    expect(readFileSync(`${file}.before-troupe`, 'utf8')).toBe(before);
  });

  it.each([
    ['cursor', '{ "mcpServers": { "troupe": { "command": "mine" } } }'],
    ['codex', '[mcp_servers]\ntroupe.command = "mine"\n'],
  ] as const)('leaves another server named troupe in the settings of %s', async (host, text) => {
    const { put, run } = machine();
    const file = put(files[host][0], text);
    for (const command of ['connect', 'disconnect']) {
      const refused = await run(command, host, '--yes');
      expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
      expect(refused.stderr).toContain('does not run troupe serve; rename it to keep it');
    }
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it.each([
    ['an inline table', 'mcp_servers = { a = { command = "a" } }\n'],
    ['a string over several lines', 'x = """\n[mcp_servers.troupe]\n"""\n'],
  ])('refuses TOML with %s that it cannot edit', async (_, text) => {
    const { put, run } = machine();
    const file = put(files.codex[0], text);
    const refused = await run('connect', 'codex', '--yes');
    expect(refused).toMatchObject({ exitCode: 2 });
    expect(refused.stderr).toContain('its content would change elsewhere; edit it by hand');
    expect(readFileSync(file, 'utf8')).toBe(text);
  });

  it('keeps the comments below its own TOML table', async () => {
    const { put, run } = machine();
    const own = '[mcp_servers.troupe]\ncommand = "troupe" # ours\nargs = ["serve"]\n\n';
    const others = '# about other\n[other]\nx = 1\n';
    const file = put(files.codex[0], own + others);
    expect(await run('disconnect', 'codex', '--yes')).toMatchObject({ exitCode: 0 });
    expect(readFileSync(file, 'utf8')).toBe(others);
  });

  it('refuses a file that its owner made read-only', async () => {
    const { put, run } = machine();
    const file = put(...files.cursor);
    chmodSync(file, 0o444);
    const refused = await run('connect', 'cursor', '--yes');
    expect(refused).toMatchObject({ exitCode: 2, stdout: '' });
    expect(refused.stderr).toContain(`cannot edit ${file}: it is read-only`);
    expect(readFileSync(file, 'utf8')).toBe(files.cursor[1]);
  });

  it('says why the system refuses to write', async () => {
    const { put, run } = machine();
    put(...files.cursor);
    // A folder in the place of the copy stands for every reason.
    put('home/.cursor/mcp.json.before-troupe/x', '');
    const refused = await run('connect', 'cursor', '--yes');
    expect(refused).toMatchObject({ exitCode: 2 });
    expect(refused.stderr).toMatch(/cannot write .*mcp\.json\.before-troupe \(\w+\); /u);
  });

  const doubles = {
    ...files,
    'claude-desktop': [
      'home/.config/Claude/claude_desktop_config.json',
      '{ "mcpServers": { "a": { "command": "a" } }, "x": 1 }\n',
    ],
    vscode: [
      'home/.config/Code/User/mcp.json',
      '{\n\t"servers": {\n\t\t"a": { "type": "stdio", "command": "a" }, // a\n\t\t"b": { "command": "b" }\n\t}\n}\n',
    ],
    zed: ['home/.config/zed/settings.json', '{ "context_servers": { "a": { "command": "a" } } }'],
  } as const;

  it.each(hostNames)('moves what troupe runs out of the settings of %s, and back', async (host) => {
    const { put, run } = machine();
    put(
      'troupe.json',
      '{ "mcpServers": { "a": { "command": "a", "args": [] }, "c": { "command": "c" } } }',
    );
    const [name, before] = doubles[host];
    const file = put(name, before);
    const plain = await run('connect', host, '--yes');
    expect(plain.stdout).toContain(`${host} also starts a itself`);
    expect(plain.stdout).toContain(`troupe connect ${host} --replace`);
    const replaced = await run('connect', host, '--replace', '--yes', '--json');
    expect(JSON.parse(replaced.stdout)).toMatchObject({ moved: ['a'], doubled: [] });
    expect(readFileSync(file, 'utf8')).not.toMatch(/"command": ?"a"|command = "a"/u);
    expect((await run('connect', host, '--yes')).stdout).not.toContain('also starts');
    const back = await run('disconnect', host, '--yes', '--json');
    expect(JSON.parse(back.stdout)).toMatchObject({ moved: ['a'], connected: false });
    expect(readFileSync(file, 'utf8')).toBe(before);
  });

  it('leaves a server that starts elsewhere with the files of another folder', async () => {
    const { put, run } = machine();
    const servers = JSON.stringify({
      mcpServers: {
        node: { command: 'node', args: ['server.js'] },
        npx: { command: 'npx', args: ['-y', 'server'] },
      },
    });
    const project = path.dirname(put('project/troupe.json', servers));
    put('home/.cursor/mcp.json', servers);
    const { stdout } = await run('connect', 'cursor', '--yes', '--json', '--project', project);
    expect(JSON.parse(stdout)).toMatchObject({ doubled: ['npx'] });
  });

  it('keeps what was edited since, and servers that only look alike', async () => {
    const { put, run } = machine();
    put(
      'troupe.json',
      '{ "mcpServers": { "a": { "command": "a" }, "b": { "command": "b" }, "d": { "command": "d", "enabled": false } } }',
    );
    const file = put(
      'home/.cursor/mcp.json',
      '{ "mcpServers": { "a": { "command": "a" }, "b": { "command": "b", "args": ["x"] }, "d": { "command": "d" } } }',
    );
    await run('connect', 'cursor', '--replace', '--yes');
    const content = () => JSON.parse(readFileSync(file, 'utf8')).mcpServers;
    expect(Object.keys(content())).toEqual(['b', 'd', 'troupe']);
    writeFileSync(file, readFileSync(file, 'utf8').replace('"x"', '"y"'));
    await run('disconnect', 'cursor', '--yes');
    expect(content()).toEqual({
      a: { command: 'a' },
      b: { command: 'b', args: ['y'] },
      d: { command: 'd' },
    });
  });
});
