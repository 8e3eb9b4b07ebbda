import { chmodSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createPlace } from '../cli-process.ts';
import { compiledCli } from '../compiled-cli.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';

const cli = compiledCli();

/** A project folder, with its own state folder, and the commands in it. */
function project(folder = path.join(temporaryFolder(), 'project')) {
  mkdirSync(folder, { recursive: true });
  const file = path.join(folder, 'troupe.json');
  const common = ['--project', folder, '--state-dir', path.join(folder, 'state')];
  return {
    folder,
    file,
    run: (...argv: string[]) => runCliHere([...common, ...argv], { folder }),
    inTerminal: (...argv: string[]) =>
      runCliHere([...common, ...argv], {
        folder,
        columns: 100,
        stdin: Object.assign(new PassThrough(), { isTTY: true }),
      }),
    write: (text: string, name = 'troupe.json') => {
      mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
      writeFileSync(path.join(folder, name), text);
    },
    text: () => readFileSync(file, 'utf8'),
    content: () => JSON.parse(readFileSync(file, 'utf8')) as unknown,
    plan: async () => {
      const { stdout } = await runCliHere([...common, 'plan', '--json'], { folder });
      return (JSON.parse(stdout) as { steps: { server: string; why: string }[] }).steps.map(
        ({ server, why }) => `${server}: ${why}`,
      );
    },
  };
}

const spawns = 'in the settings, not running yet';

describe('troupe add', () => {
  it("creates the project's file, whose servers wait for approval", async () => {
    const { run, content, plan, file } = project();
    const added = await run('add', 'files', '--env', 'A=b=c', '--', 'node', '-e', '0');
    expect(added).toMatchObject({ exitCode: 0 });
    expect(added.stdout).toContain(`added files to ${file} (project)`);
    expect(added.stdout).toMatch(
      /\nstart it with: troupe up .*\nthen, in another terminal, approve it with: troupe approve files\n/u,
    );
    expect(content()).toEqual({
      mcpServers: { files: { command: 'node', args: ['-e', '0'], env: { A: 'b=c' } } },
    });
    expect(await plan()).toEqual([`files: ${spawns}, but pendingApproval`]);
  });

  it.each(['--yes', 'a terminal'])('approves exactly what was typed with %s', async (how) => {
    const { run, inTerminal, plan, write } = project();
    const words = ['add', 'db', '--', 'node', 'db.js'];
    if (how === '--yes') await run('--json', ...words.toSpliced(1, 0, '--yes'));
    else await inTerminal(...words);
    expect(await plan()).toEqual([`db: ${spawns}`]);
    write('{ "mcpServers": { "db": { "command": "node", "args": ["other.js"] } } }');
    expect(await plan()).toEqual([`db: ${spawns}, but pendingApproval`]);
  });

  it('keeps comments and order, and shows no secret', async () => {
    const { run, write, text } = project();
    write(
      '{\n  // mine\n  "theme": 1,\n  "mcpServers": {\n    "a": { "command": "a" } // first\n  }\n}\n',
    );
    const { stdout, stderr } = await run(
      'add',
      'api',
      'https://example.com/mcp',
      '--type',
      'sse',
      '--header',
      'Authorization: Bearer sk-abcdefgh',
      '--json',
    );
    expect(text()).toContain('// mine\n  "theme": 1');
    expect(text()).toContain('"a": { "command": "a" }, // first\n    "api": {');
    expect(JSON.parse(stdout)).toMatchObject({
      action: 'added',
      approved: false,
      entry: { type: 'sse', url: 'https://example.com/mcp' },
    });
    expect(stderr).toContain('looks like a secret');
    expect(stdout + stderr).not.toContain('sk-abcdefgh');
  });

  it('writes to the file of --scope, or to that of --config', async () => {
    const { run, folder, write } = project();
    expect((await run('add', 'a', '--scope', 'user', '--', 'node')).stdout).toContain(
      `${path.join(folder, 'state', 'troupe.json')} (user)`,
    );
    expect((await run('add', 'b', '--scope', 'local', '--', 'node', 'b')).stdout).toContain(
      `${path.join(folder, '.troupe', 'settings.local.json')} (local)`,
    );
    write('{}', 'own.json');
    const named = await run(
      '--config',
      path.join(folder, 'own.json'),
      'add',
      'c',
      '--',
      'node',
      'c',
    );
    expect(named.stdout).toContain(`${path.join(folder, 'own.json')} (config)`);
    expect(named.stdout).not.toContain('approve');
  });

  it.each([
    [['q'], 'say what to add'],
    [['x y', '--', 'node'], 'is not a server name'],
    [['', '--', 'node'], '"" is not a server name; use 1 to 100 letters'],
    [['z', 'htp://x/mcp'], '"htp://x/mcp" is neither a command nor a URL'],
    [['z', 'htp://x/mcp'], 'write http://x/mcp'],
    [['z', 'localhost:3000/mcp'], 'write http://localhost:3000/mcp'],
    [['z', 'api.example.com:443'], 'write https://api.example.com:443'],
    [['a', '--', 'node'], 'troupe.json:1; use another name, or run troupe remove a first'],
    [['z', '--', 'npx -y pkg'], 'mcpServers.z.command: "command" holds arguments'],
    [['z', '--cwd', 'gone', '--', 'node'], 'gone does not exist'],
    [['z', '--env', 'A', '--', 'node'], 'write NAME=VALUE'],
    [['z', 'http://localhost:1', '--header', 'sk'], 'a value of --header has another form'],
    [['z', '--header', 'A: b', '--', 'node'], '--header is for URLs'],
    [['z', 'http://localhost:1', '--env', 'A=b'], '--env and --cwd are for commands'],
  ])('refuses %j and writes nothing', async (words, message) => {
    const { run, write, text } = project();
    const before = '{ "mcpServers": { "a": { "command": "a" } } }';
    write(before);
    const refused = await run('add', ...words);
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain(message);
    expect(text()).toBe(before);
  });

  it('refuses a project file that is a link out of the project', async () => {
    const { run, folder, file } = project();
    const outside = path.join(path.dirname(folder), 'outside.json');
    writeFileSync(outside, '{}');
    symlinkSync(outside, file);
    expect(await run('add', 'a', '--yes', '--', 'node')).toMatchObject({ exitCode: 2 });
    expect(readFileSync(outside, 'utf8')).toBe('{}');
  });
});

describe('troupe remove, enable and disable', () => {
  const text = `{
  "mcpServers": {
    // the first
    "a": { "command": "node" }, // of a
    "b": { "command": "node", "tools": { "exclude": ["x"] } }
  },
  "mcp": { "disabledServers": ["a"] }
}
`;

  it('edit the file that declares the server and keep the rest of its text', async () => {
    const { run, write, text: now } = project();
    write(text, '.mcp.json');
    const other = '{ "mcpServers": { "c": { "command": "node" } } }\n';
    write(other);
    expect((await run('disable', 'b')).stdout).toContain('.mcp.json (project)');
    expect(now()).toBe(other);
  });

  it('switch a server, whichever list or key disables it', async () => {
    const { run, write, text: now } = project();
    write(text);
    expect(await run('enable', 'a')).toMatchObject({ exitCode: 0 });
    expect(now()).toBe(text.replace('["a"]', '[]'));
    expect((await run('enable', 'a')).stdout).toBe('a is already enabled\n');
    await run('disable', 'b');
    expect(now()).toContain('"tools": { "exclude": ["x"] }, "enabled": false }');
    await run('enable', 'b');
    expect(now()).toBe(text.replace('["a"]', '[]'));
  });

  it('switch a tool', async () => {
    const { run, write, text: now } = project();
    write(text);
    await run('enable', 'b/x');
    expect(now()).toContain('"exclude": []');
    await run('disable', 'a/y');
    expect(now()).toMatch(/"overrides": \{\s*"y": \{\s*"enabled": false/u);
    await run('enable', 'a/y');
    expect(now()).not.toContain('"tools": {\n');
  });

  it('remove an entry', async () => {
    const { run, write, text: now } = project();
    write(text);
    const removed = await run('remove', 'b', '--json');
    expect(JSON.parse(removed.stdout)).toMatchObject({ action: 'removed', server: 'b' });
    expect(now()).toContain('// the first\n    "a": { "command": "node" }');
    expect(now()).not.toContain('"b"');
  });

  it('name the file of a server that they cannot edit', async () => {
    const { run, folder, write } = project();
    write('[mcp_servers.codex]\ncommand = "node"\n', 'codex.toml');
    const toml = await run('--config', path.join(folder, 'codex.toml'), 'remove', 'codex');
    expect(toml.exitCode).toBe(2);
    expect(toml.stderr).toContain('codex.toml:1: it is not JSON; edit it by hand');
    write('{ "servers": { "code": { "command": "node" } } }', 'mcp.json');
    const other = await run('--config', path.join(folder, 'mcp.json'), 'disable', 'code');
    expect(other.exitCode).toBe(2);
    expect(other.stderr).toContain('settings file of another program');
    write('{ "mcpServers": { "boss": { "command": "node" } } }', 'managed.json');
    const managed = await run('disable', 'boss');
    expect(managed.exitCode).toBe(7);
    expect(managed.stderr).toContain('which only an administrator may change');
    const unknown = await run('remove', 'bos');
    expect(unknown.exitCode).toBe(2);
    expect(unknown.stderr).toContain('Did you mean boss?');
  });

  it('point at a file that could not be read, or at a command that lists the servers', async () => {
    const { run, write, file } = project();
    write('{ "mcpServers": {} }');
    const unknown = await run('disable', 'files');
    expect(unknown).toMatchObject({ exitCode: 2 });
    expect(unknown.stderr).toContain('There is no server files. List what is there: troupe plan');
    write('{');
    expect((await run('disable', 'files')).stderr).toContain(
      `no server could be read from ${file}:1`,
    );
  });

  it('refuse a read-only file', async () => {
    const { run, write, file, text: now } = project();
    write('{ "mcpServers": { "a": { "command": "a" } } }');
    chmodSync(file, 0o444);
    for (const command of [
      ['disable', 'a'],
      ['remove', 'a'],
      ['add', 'b', '--', 'b'],
      ['init', '--yes'],
    ]) {
      const { exitCode, stderr } = await run(...command);
      expect([exitCode, stderr]).toEqual([2, expect.stringContaining(`${file}: it is read-only`)]);
    }
    expect(now()).toBe('{ "mcpServers": { "a": { "command": "a" } } }');
  });

  it('say what keeps a server or a tool as it is', async () => {
    const { run, write } = project();
    write('{ "mcpServers": { "a": { "command": "node", "tools": { "exclude": ["d*"] } } } }');
    write('{ "mcp": { "disabledServers": ["a"] } }', '.troupe/settings.json');
    const server = await run('enable', 'a');
    expect(server.exitCode).toBe(2);
    expect(server.stderr).toContain('a stays disabled; remove it from mcp.disabledServers in');
    expect((await run('enable', 'a/drop')).stderr).toContain(
      'drop stays hidden because of the patterns',
    );
  });
});

describe('an edit beside a running troupe', () => {
  it('is in effect when the command returns', async () => {
    const place = createPlace(cli);
    const here = project(place.folder);
    const up = place.start('up');
    await up.printed(/no servers yet/u);
    const { command, args, env } = place.server() as {
      command: string;
      args: string[];
      env: Record<string, string>;
    };
    const variables = Object.entries(env).flatMap(([key, value]) => ['--env', `${key}=${value}`]);
    const added = await here.run(
      'add',
      'db',
      '--yes',
      ...variables,
      '--json',
      '--',
      command,
      ...args,
    );
    expect(JSON.parse(added.stdout)).toMatchObject({ approved: true, applied: true });
    await up.printed(/db ready/u);
    const tools = async (): Promise<readonly string[]> =>
      (
        JSON.parse((await here.run('tools', 'db', '--json')).stdout) as {
          tools: { tool: string }[];
        }
      ).tools.map(({ tool }) => tool);
    const [first = ''] = await tools();
    await here.run('disable', `db/${first}`);
    expect(await tools()).not.toContain(first);
    const disabled = `The tool ${first} of db is disabled in ${here.file}:3. Enable it: troupe enable db/${first}`;
    for (const words of [
      ['call', 'db', first, 'a=1'],
      ['call', 'db', first],
      ['tools', 'db', first],
    ])
      expect((await here.run(...words)).stderr).toContain(disabled);
    await here.run('enable', `db/${first}`);
    expect(await tools()).toContain(first);
    expect((await here.run('disable', 'db/nope')).stderr).toContain('There is no tool nope on db');
    expect(JSON.parse((await here.run('disable', 'db', '--json')).stdout)).toMatchObject({
      applied: true,
      status: { state: 'disabled' },
    });
    expect((await here.run('list')).stdout).toContain('disabled');
    await here.run('remove', 'db');
    expect(JSON.parse((await here.run('list', '--json')).stdout)).toMatchObject({ servers: [] });
    await place.isEmpty();
  });
});
