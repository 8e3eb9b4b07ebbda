import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { runCliHere, startCliHere, temporaryFolder } from '../run-cli.ts';
import { createStandIn } from '../stand-in-troupe.ts';

/** A home with the settings of three editors, and a project that brings a server. */
function machine() {
  const folder = temporaryFolder();
  const put = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  };
  put(
    'home/.cursor/mcp.json',
    '{ "mcpServers": { "db": { "command": "node", "env": { "API_KEY": "sk-abcdefgh" } }, "troupe": { "command": "troupe", "args": ["serve"] } } }',
  );
  put('home/.codex/config.toml', '[mcp_servers.memory]\ncommand = "node"\nargs = ["m"]\n');
  put('home/.config/zed/settings.json', '{ "theme": "dark" }');
  put('home/.codeium/windsurf/mcp_config.json', '{ broken');
  put(
    'project/.cursor/mcp.json',
    '{ "mcpServers": { "theirs": { "command": "node", "args": ["t"] } } }',
  );
  const project = path.join(folder, 'project');
  const setting = {
    folder,
    env: { HOME: path.join(folder, 'home'), MCP_TROUPE_HOME: path.join(folder, 'state') },
  };
  const terminal = () => ({
    columns: 200,
    stdin: Object.assign(new PassThrough(), { isTTY: true }),
  });
  return {
    project,
    file: path.join(project, 'troupe.json'),
    run: (...argv: string[]) => runCliHere(['--project', project, ...argv], setting),
    start: (...argv: string[]) => {
      const { stdin, columns } = terminal();
      const run = startCliHere(['--project', project, ...argv], {
        ...setting,
        stdin,
        columns,
        troupe: createStandIn(),
      });
      return { ...run, type: (text: string) => void stdin.write(text) };
    },
  };
}

describe('troupe init', () => {
  it('shows what it found and writes nothing without a yes', async () => {
    const { run, file } = machine();
    const { exitCode, stdout, stderr } = await run('init');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('use --yes to write this');
    expect(stderr).toContain('windsurf/mcp_config.json:1: the text is not valid JSON');
    expect(stdout).toMatch(/found cursor: .*home\/\.cursor\/mcp\.json\n/u);
    expect(stdout).toContain('found codex:');
    expect(stdout).toContain('this is troupe itself; it is left out');
    expect(stdout + stderr).not.toContain('sk-abcdefgh');
    expect(existsSync(file)).toBe(false);
  });

  it('leaves out what a project file cannot set, and says so', async () => {
    const { run, file } = machine();
    writeFileSync(
      path.join(path.dirname(file), '../home/.codex/config.toml'),
      '[mcp_servers.memory]\ncommand = "node"\nstartup_timeout_sec = 20\n',
    );
    const { stdout } = await run('init', '--yes');
    expect(stdout).toContain(
      '"connectTimeoutMs" is left out, because a project file cannot set it',
    );
    expect(readFileSync(file, 'utf8')).toContain('memory');
    expect(readFileSync(file, 'utf8')).not.toContain('TimeoutMs');
    expect((await run('check')).stdout).not.toContain('is ignored');
    // A second run finds the same server.
    expect((await run('init', '--yes')).stdout).toContain('has all of these servers already');
    await run('init', '--yes', '--scope', 'user');
    const own = readFileSync(path.join(path.dirname(file), '../state/troupe.json'), 'utf8');
    expect(own).toContain('"connectTimeoutMs": 20000');
  });

  it("writes one file and approves the servers of the user's programs only", async () => {
    const { run, file } = machine();
    const { exitCode, stdout } = await run('init', '--yes');
    expect(exitCode).toBe(0);
    expect(stdout).toContain('need troupe approve: theirs');
    expect(stdout).toContain('claude mcp add troupe -- troupe serve --project');
    expect(
      Object.keys((JSON.parse(readFileSync(file, 'utf8')) as { mcpServers: object }).mcpServers),
    ).toEqual(['db', 'theirs', 'memory']);
    const plan = JSON.parse((await run('plan', '--json')).stdout) as {
      steps: { server: string; why: string }[];
    };
    const waits = plan.steps.filter(({ why }) => why.includes('pendingApproval'));
    expect(waits.map(({ server }) => server)).toEqual(['theirs']);
    expect((await run('init', '--yes')).stdout).toContain('has all of these servers already');
  });

  it('neither reads nor approves what a link of the project leads to', async () => {
    const { run, file, project } = machine();
    const outside = path.join(project, '..', 'outside.json');
    writeFileSync(outside, '{ "mcpServers": { "evil": { "command": "evil" } } }');
    mkdirSync(path.join(project, '.vscode'));
    symlinkSync(outside, path.join(project, '.vscode', 'mcp.json'));
    const { stderr } = await run('init', '--yes');
    expect(stderr).toContain('this link leads out of the project folder');
    expect(readFileSync(file, 'utf8')).not.toContain('evil');
  });

  it.each([
    ['y\n', true],
    ['\n', false],
  ])('is offered by up in a terminal without settings; %j decides', async (answer, isWritten) => {
    const { start, file } = machine();
    const run = start('up');
    await run.noted('write 3 servers to');
    run.type(answer);
    await run.printed('no servers yet');
    run.signal('SIGTERM');
    const { stdout } = await run.finished;
    expect(existsSync(file)).toBe(isWritten);
    expect(stdout.includes('troupe connect HOST')).toBe(isWritten);
    // That is what this command does.
    expect(stdout).not.toContain('run the servers with');
  });
});

describe('troupe import without --from', () => {
  it('shows the servers of all programs and writes them only with --yes', async () => {
    const { run, project } = machine();
    const preview = await run('import');
    expect(preview.stdout).toContain('2 of 2 servers would be written to');
    expect(preview.stderr).toContain('nothing is written; use --yes to write this');
    expect(existsSync(path.join(project, '.mcp.json'))).toBe(false);
    const written = await run('import', '--yes');
    expect(written.stdout).toContain('2 of 2 servers written to');
    expect(existsSync(path.join(project, '.mcp.json'))).toBe(true);
  });
});
