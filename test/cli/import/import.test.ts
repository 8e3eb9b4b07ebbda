import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { placesOf, programNames } from '../../../src/cli/import/program-places.ts';
import { parseSettings } from '../../../src/settings/parse-settings.ts';
import { readProgramFile } from '../../support/program-files.ts';
import { runCliHere, temporaryFolder } from '../run-cli.ts';

interface Report {
  readonly targets: readonly {
    readonly file: string;
    readonly realPath: string;
    readonly written: boolean;
    readonly servers: readonly { readonly name: string; readonly action: string }[];
    readonly problems: readonly { readonly key: string }[];
    readonly warnings: readonly { readonly key: string; readonly message: string }[];
  }[];
}

function put(folder: string, name: string, text: string): string {
  const file = path.join(folder, name);
  mkdirSync(path.dirname(file), { recursive: true });
  writeFileSync(file, text);
  return file;
}

/** Runs `troupe import` with its own home and project folders. */
async function importHere(folder: string, ...argv: readonly string[]) {
  const project = path.join(folder, 'project');
  mkdirSync(project, { recursive: true });
  const run = await runCliHere(['import', '--json', '--project', project, ...argv], {
    folder,
    env: { HOME: path.join(folder, 'home') },
  });
  return {
    ...run,
    report: JSON.parse(run.stdout) as Report & { error?: { code: string; message: string } },
  };
}

describe('troupe import', () => {
  it('keeps the folder of the project in files elsewhere, and takes no other server for the same', async () => {
    const folder = temporaryFolder();
    const project = path.join(folder, 'project');
    const node = { command: 'node', args: ['server.js'], envFile: '.env' };
    const npx = { command: 'npx', args: ['-y', 'server'] };
    const from = put(project, '.cursor/mcp.json', JSON.stringify({ mcpServers: { node, npx } }));
    const to = put(folder, 'own.json', JSON.stringify({ mcpServers: { node, npx } }));
    const taken = await importHere(folder, '--from', from, '--to', to);
    expect(taken.report.targets[0]?.servers).toMatchObject([
      { name: 'node', action: 'conflict' },
      { name: 'npx', action: 'same' },
    ]);
    const free = path.join(folder, 'free.json');
    await importHere(folder, '--from', from, '--to', free);
    const placed = { ...node, envFile: path.join(project, '.env'), cwd: project };
    expect(JSON.parse(readFileSync(free, 'utf8'))).toEqual({ mcpServers: { node: placed, npx } });
    const again = await importHere(folder, '--from', from, '--to', free);
    expect(again.report.targets[0]?.servers.map(({ action }) => action)).toEqual(['same', 'same']);
  });

  it('adds to a file and keeps its comments, order, indentation and other keys', async () => {
    const folder = temporaryFolder();
    const before =
      '{\r\n\t// mine\r\n\t"theme": "dark",\r\n\t"mcpServers": {\r\n\t\t"db": { "command": "db" }, // first\r\n\t},\r\n\t"last": [1]\r\n}\r\n';
    const to = put(folder, 'troupe.json', before);
    const from = put(folder, 'any.name', readProgramFile('windsurf'));
    const { exitCode, report } = await importHere(folder, '--from', from, '--to', to);
    expect(exitCode).toBe(0);
    const after = readFileSync(to, 'utf8');
    // The text is unchanged except for the addition.
    const at = after.indexOf(' // first') + ' // first'.length;
    const piece = after.slice(at, at + after.length - before.length);
    expect(after).toBe(before.slice(0, at) + piece + before.slice(at));
    expect(
      piece
        .split('\r\n')
        .slice(1)
        .every((line) => line.startsWith('\t\t')),
    ).toBe(true);
    const { document, problems } = parseSettings(after, {
      file: to,
      scope: 'config',
      projectRoot: folder,
    });
    // Keys without a counterpart are not copied.
    expect(problems.map(({ key }) => key)).toEqual(['mcpServers.figma.headers.X-Cert']);
    expect(document?.servers.map(({ desired }) => desired.name)).toEqual(['db', 'github', 'figma']);
    expect(report.targets[0]).toMatchObject({ file: to, written: true });
    expect(report.targets[0]?.problems.map(({ key }) => key)).toEqual([
      'mcpServers.figma.headers.X-Cert',
      'mcpServers.figma.alwaysAllow',
    ]);
  });

  it('writes numbers as they are written, and finds them again', async () => {
    const folder = temporaryFolder();
    const env = '"A": 1915883588174806058, "B": 1.10, "C": 1e400, "D": "1.10"';
    const input = '{ "id": "token", "type": "command", "command": "ask", "args": { "id": 1.10 } }';
    const servers = `{ "a": { "command": "x", "args": ["\${input:token}"], "env": { ${env} } } }`;
    const from = put(folder, 'mcp.json', `{ "inputs": [${input}], "servers": ${servers} }`);
    const to = put(folder, 'troupe.json', '{}');
    await importHere(folder, '--from', from, '--to', to);
    const after = readFileSync(to, 'utf8');
    const text = '"A": "1915883588174806058", "B": "1.10", "C": "1e400", "D": "1.10"';
    expect(after.replaceAll(/\s+/gu, ' ')).toContain(text);
    expect(after).toContain('"id": 1.10');
    const again = put(folder, 'own.json', `{ "mcpServers": ${servers}, "inputs": [${input}] }`);
    const { report } = await importHere(folder, '--from', from, '--to', again, '--dry-run');
    expect(report.targets[0]?.servers).toMatchObject([{ name: 'a', action: 'same' }]);
  });

  it('loses no entries when several imports write the same file; a late one fails and can be repeated', async () => {
    const folder = temporaryFolder();
    const to = put(folder, 'troupe.json', '{}');
    const runs = await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f'].map(async (name) => {
        const from = put(
          folder,
          `${name}.json`,
          JSON.stringify({ mcpServers: { [name]: { command: name } } }),
        );
        const { exitCode, report } = await importHere(folder, '--from', from, '--to', to);
        return { name, exitCode, error: report.error };
      }),
    );
    const written = runs.filter(({ exitCode }) => exitCode === 0).map(({ name }) => name);
    const { mcpServers } = JSON.parse(readFileSync(to, 'utf8')) as { mcpServers: object };
    expect(Object.keys(mcpServers).toSorted()).toEqual(written);
    expect(written.length).toBeGreaterThan(0);
    for (const { error } of runs.filter(({ exitCode }) => exitCode !== 0)) {
      expect(error).toMatchObject({
        code: 'INVALID_CONFIG',
        message: expect.stringContaining('run the import again') as string,
      });
    }
    // No drafts or locks are left.
    expect(readdirSync(folder).filter((file) => file.startsWith('troupe.json'))).toEqual([
      'troupe.json',
    ]);
  });

  it('copies settings in our own format unchanged', async () => {
    const folder = temporaryFolder();
    const from = put(folder, 'own.json', readProgramFile('own'));
    const to = path.join(folder, 'new', 'troupe.json');
    expect((await importHere(folder, '--from', from, '--to', to)).exitCode).toBe(0);
    const meaning = (file: string) => {
      const origin = { file: 'x', scope: 'config', projectRoot: folder } as const;
      const { document } = parseSettings(readFileSync(file, 'utf8'), origin);
      return {
        mcp: document?.mcp,
        servers: document?.servers.map(({ spec, desired }) => ({
          spec,
          desired: { ...desired, source: null },
        })),
      };
    };
    expect(meaning(to)).toEqual(meaning(from));
    expect(JSON.parse(readFileSync(to, 'utf8'))).toHaveProperty('inputs.0.id', 'db-password');
    expect(statSync(to).mode & 0o777).toBe(0o600);
    // The second import changes nothing.
    const again = await importHere(folder, '--from', from, '--to', to);
    expect(again.exitCode).toBe(0);
    expect(again.report.targets[0]?.servers.map(({ action }) => action)).toEqual([
      'same',
      'same',
      'same',
      'same',
    ]);
    expect(again.report.targets[0]?.written).toBe(false);
  });

  it('never overwrites a server, writes the others, and exits with 2', async () => {
    const folder = temporaryFolder();
    const from = put(folder, 'cursor.json', readProgramFile('cursor'));
    const to = put(folder, 'troupe.json', '{ "mcpServers": { "remote": { "command": "mine" } } }');
    const { exitCode, report } = await importHere(folder, '--from', from, '--to', to);
    expect(exitCode).toBe(2);
    expect(report.targets[0]?.servers).toEqual([
      expect.objectContaining({ name: 'local', action: 'add' }),
      expect.objectContaining({
        name: 'remote',
        action: 'conflict',
        why: expect.stringContaining('rename'),
      }),
      expect.objectContaining({ name: 'by_folder', action: 'add' }),
    ]);
    expect(JSON.parse(readFileSync(to, 'utf8'))).toMatchObject({
      mcpServers: { remote: { command: 'mine' } },
    });
    expect(readdirSync(folder).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('writes nothing in a dry run and never prints values that look like secrets', async () => {
    const folder = temporaryFolder();
    const from = put(folder, 'claude.json', readProgramFile('claude-desktop'));
    const to = path.join(folder, 'troupe.json');
    const run = await runCliHere(['import', '--from', from, '--to', to, '--dry-run'], { folder });
    expect(run.exitCode).toBe(0);
    expect(existsSync(to)).toBe(false);
    expect(run.stdout).toContain('2 of 2 servers would be written to');
    expect(run.stdout).toContain(
      `${from}:11 mcpServers.weather.env.WEATHER_KEY: looks like a secret`,
    );
    expect(run.stdout).toContain('metric');
    expect(run.stdout + run.stderr).not.toContain('abcdef0123456789');
  });

  it("writes a project's servers into the project, where they need approval", async () => {
    const folder = temporaryFolder();
    put(folder, 'home/.cursor/mcp.json', '{ "mcpServers": { "mine": { "command": "mine" } } }');
    const its = { command: 'its', connectTimeoutMs: 20_000 };
    put(folder, 'project/.cursor/mcp.json', JSON.stringify({ mcpServers: { its } }));
    const { exitCode, report } = await importHere(folder, '--from', 'cursor');
    expect(exitCode).toBe(0);
    expect(
      report.targets.map(({ file, servers }) => [path.relative(folder, file), servers[0]?.name]),
    ).toEqual([
      ['state/troupe.json', 'mine'],
      ['project/.mcp.json', 'its'],
    ]);
    // A project's file cannot set it.
    expect(readFileSync(path.join(folder, 'project/.mcp.json'), 'utf8')).not.toContain('Timeout');
    expect(report.targets[1]?.warnings[0]?.message).toContain('"connectTimeoutMs" is left out');
  });

  it('reads all programs of one maker', async () => {
    const folder = temporaryFolder();
    put(folder, 'home/.claude.json', '{ "mcpServers": { "code": { "command": "code" } } }');
    put(
      folder,
      'home/.config/Claude/claude_desktop_config.json',
      '{ "mcpServers": { "desktop": { "command": "desktop" } } }',
    );
    const { exitCode, report } = await importHere(folder, '--from', 'claude');
    expect(exitCode).toBe(0);
    const names = report.targets.flatMap(({ servers }) => servers.map(({ name }) => name));
    expect(names.toSorted()).toEqual(['code', 'desktop']);
  });

  it.each<[what: string, from: string, link: (folder: string) => void]>([
    [
      "the file is a link to the user's settings",
      'cursor',
      (folder) => symlinkSync('../state/troupe.json', path.join(folder, 'project/.mcp.json')),
    ],
    [
      'the file is a dangling link',
      'cursor',
      (folder) =>
        symlinkSync(path.join(folder, 'new.json'), path.join(folder, 'project/.mcp.json')),
    ],
    [
      'a parent folder is a link',
      '--to',
      (folder) => symlinkSync('../state', path.join(folder, 'project/sub')),
    ],
    [
      'the project is reached through its own link',
      '--to-alias',
      (folder) => {
        symlinkSync('project', path.join(folder, 'alias'));
        symlinkSync('../state', path.join(folder, 'project/sub'));
      },
    ],
  ])('writes nothing outside the project for a target inside it: %s', async (_what, how, link) => {
    const folder = temporaryFolder();
    const own = put(folder, 'state/troupe.json', '{"mcpServers":{}}');
    put(folder, 'project/.cursor/mcp.json', '{ "mcpServers": { "evil": { "command": "x" } } }');
    link(folder);
    const to = path.join(folder, how === '--to' ? 'project' : 'alias', 'sub', 'troupe.json');
    const argv = how === 'cursor' ? [] : ['--to', to];
    const { exitCode, report } = await importHere(folder, '--from', 'cursor', ...argv);
    expect(exitCode).toBe(2);
    expect(report.error).toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('outside the project folder') as string,
    });
    expect(readFileSync(own, 'utf8')).toBe('{"mcpServers":{}}');
    expect(existsSync(path.join(folder, 'new.json'))).toBe(false);
  });

  it('treats a file as the project’s when its path leads through a link to the project', async () => {
    const folder = temporaryFolder();
    put(folder, 'project/any.json', '{ "mcpServers": { "its": { "command": "its" } } }');
    symlinkSync('project', path.join(folder, 'alias'));
    const from = path.join(folder, 'alias/any.json');
    const { report } = await importHere(folder, '--from', from);
    expect(report.targets.map(({ realPath }) => path.relative(folder, realPath))).toEqual([
      'project/.mcp.json',
    ]);
  });

  it('follows the user’s own links and links within the project and prints the path before writing', async () => {
    const folder = temporaryFolder();
    const dotfile = put(folder, 'dotfiles/troupe.json', '{}');
    mkdirSync(path.join(folder, 'state'));
    const own = path.join(folder, 'state/troupe.json');
    symlinkSync(dotfile, own);
    const shared = put(folder, 'project/shared.json', '{}');
    symlinkSync('shared.json', path.join(folder, 'project/.mcp.json'));
    put(folder, 'home/.cursor/mcp.json', '{ "mcpServers": { "mine": { "command": "mine" } } }');
    put(folder, 'project/.cursor/mcp.json', '{ "mcpServers": { "its": { "command": "its" } } }');
    const { exitCode, report, stderr } = await importHere(folder, '--from', 'cursor');
    expect(exitCode).toBe(0);
    expect(report.targets.map(({ realPath }) => realPath)).toEqual([dotfile, shared]);
    expect(stderr).toBe(`troupe: writing to ${dotfile}\ntroupe: writing to ${shared}\n`);
    expect(readFileSync(dotfile, 'utf8')).toContain('mine');
    expect(readFileSync(shared, 'utf8')).toContain('its');
    expect(lstatSync(own).isSymbolicLink()).toBe(true);
  });

  it('disables servers that the other program excludes when it cannot copy the lists', async () => {
    const folder = temporaryFolder();
    const from = put(folder, 'qwen.json', readProgramFile('qwen'));
    const to = put(folder, 'troupe.json', '{ "mcpServers": { "db": { "command": "db" } } }');
    await importHere(folder, '--from', from, '--to', to);
    const written = JSON.parse(readFileSync(to, 'utf8')) as Record<string, Record<string, unknown>>;
    expect(written['mcp']).toBeUndefined();
    expect(written['mcpServers']).toMatchObject({ two: { enabled: false } });
    expect(written['mcpServers']?.['one']).not.toHaveProperty('enabled');
  });

  it("applies oh-my-pi's lists and names the servers that ran only with consent", async () => {
    const folder = temporaryFolder();
    const entry = (more: object) => ({ command: 'x', ...more });
    const from = put(
      folder,
      'mcp.json',
      JSON.stringify({
        mcpServers: {
          off: entry({ args: ['off'] }),
          on: entry({ args: ['on'], enabled: false }),
          both: entry({ args: ['both'], enabled: false }),
          asked: entry({ env: { TOKEN: '!pass show token' } }),
        },
        disabledServers: ['off', 'both'],
        enabledServers: ['on', 'both'],
      }),
    );
    const to = put(folder, 'troupe.json', '{ "mcpServers": { "db": { "command": "db" } } }');
    const { exitCode, report } = await importHere(folder, '--from', from, '--to', to);
    expect(exitCode).toBe(0);
    expect(JSON.parse(readFileSync(to, 'utf8'))).toMatchObject({
      mcpServers: {
        off: { enabled: false },
        on: { enabled: true },
        both: { enabled: false },
        asked: { env: { TOKEN: '!pass show token' } },
      },
    });
    expect(report.targets[0]?.warnings).toContainEqual({
      file: from,
      line: 1,
      key: 'mcpServers.asked.env.TOKEN',
      message: expect.stringContaining('write "mcp": { "commandValues": true }'),
    });

    const fresh = path.join(folder, 'fresh.json');
    await importHere(folder, '--from', from, '--to', fresh);
    expect(JSON.parse(readFileSync(fresh, 'utf8'))).toMatchObject({
      mcp: { disabledServers: ['off', 'both'], enabledServers: ['on', 'both'] },
      mcpServers: { on: { enabled: false } },
    });
  });

  it.each<[what: string, from: string, to: string | undefined, says: string]>([
    ['a file in an unknown format', '{ "theme": "dark" }', undefined, 'found no MCP servers'],
    ['a file that is not JSON', '{', undefined, 'not valid JSON'],
    [
      'two programs at once',
      '{ "mcp_servers": {}, "context_servers": {} }',
      undefined,
      'keep one of them',
    ],
    [
      "another program's file as a target",
      '{ "mcpServers": {} }',
      '{ "servers": { "a": { "command": "x" } } }',
      'another program',
    ],
    ['a broken target', '{ "mcpServers": {} }', '{ "mcpServers": ', 'nothing is written'],
    [
      'an unreadable list',
      '{ "mcpServers": {}, "mcp": { "excluded": "db" } }',
      undefined,
      'nothing is imported',
    ],
  ])('rejects %s', async (_what, text, target, says) => {
    const folder = temporaryFolder();
    const from = put(folder, 'from.json', text);
    const to = target === undefined ? path.join(folder, 'to.json') : put(folder, 'to.json', target);
    const { exitCode, report } = await importHere(folder, '--from', from, '--to', to);
    expect([exitCode, report.error?.code]).toEqual([2, 'INVALID_CONFIG']);
    expect(report.error?.message).toContain(says);
    expect(existsSync(to) ? readFileSync(to, 'utf8') : undefined).toBe(target);
  });

  it.each([
    [['--from', 'gemni'], 'did you mean "gemini"?'],
    [['--from', 'zed'], 'found no settings of zed'],
  ])('suggests a valid argument for %j', async (argv, says) => {
    const { exitCode, report } = await importHere(temporaryFolder(), ...argv);
    expect(exitCode).toBe(2);
    expect(report.error?.message).toContain(says);
  });
});

describe("a program's settings files", () => {
  it.each(['linux', 'darwin', 'win32'] as const)(
    'have absolute paths for every program on %s',
    (platform) => {
      for (const name of programNames) {
        const places = placesOf(name, {
          platform,
          home: '/home/me',
          env: {},
          projectRoot: '/project',
        });
        expect(places.length).toBeGreaterThan(0);
        for (const place of places) expect(place).toMatch(/^\/(?:home\/me|project)\//u);
      }
    },
  );

  it("follow the environment variables that relocate a program's settings", () => {
    const env = { XDG_CONFIG_HOME: '/x', CODEX_HOME: '/c', CLAUDE_CONFIG_DIR: '/d' };
    const of = (name: (typeof programNames)[number]) =>
      placesOf(name, { platform: 'linux', home: '/home/me', env, projectRoot: '/project' })[0];
    expect([of('zed'), of('codex'), of('claude-code')]).toEqual([
      '/x/zed/settings.json',
      '/c/config.toml',
      '/d/.claude.json',
    ]);
  });
});
