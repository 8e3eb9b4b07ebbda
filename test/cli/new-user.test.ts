/** A new user's first minutes, in a terminal: editors' servers, one file, one approval, a call, a failure. */

import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { compiledCli } from './compiled-cli.ts';
import { temporaryFolder } from './run-cli.ts';

const cli = compiledCli();
const pathOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const npm = (name: string): string =>
  pathOf(`../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`);
const fixture = (mode: string, more = '') => ({
  command: process.execPath,
  args: [pathOf('../fixtures/stdio-server.mjs'), mode, more],
});

/** A home with the settings of four editors, and a project that brings a server of its own. */
function createMachine() {
  const folder = temporaryFolder();
  const project = path.join(folder, 'project');
  const documents = path.join(folder, 'documents');
  const put = (name: string, text: string | object): void => {
    const file = path.join(folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, typeof text === 'string' ? text : JSON.stringify(text, null, 2));
  };
  mkdirSync(documents);
  put('home/.claude.json', {
    numStartups: 7,
    mcpServers: {
      everything: { type: 'stdio', command: process.execPath, args: [npm('everything')], env: {} },
      files: { type: 'stdio', command: process.execPath, args: [npm('filesystem'), documents] },
    },
  });
  put('home/.cursor/mcp.json', {
    mcpServers: {
      memory: {
        command: process.execPath,
        args: [npm('memory')],
        env: { MEMORY_FILE_PATH: path.join(folder, 'memory.jsonl') },
      },
      // As in Claude Code, which writes more keys.
      everything: { command: process.execPath, args: [npm('everything')] },
      tickets: fixture('ok', 'tickets'),
    },
  });
  put(
    'home/.config/Code/User/mcp.json',
    `// VS Code has its own key\n${JSON.stringify({ servers: { search: fixture('ok', 'search'), mail: fixture('noise') } })}`,
  );
  put(
    'home/.codex/config.toml',
    `model = "o"\n[mcp_servers.modern]\ncommand = "${process.execPath}"\nargs = ${JSON.stringify(fixture('modern').args)}\n`,
  );
  put('project/.cursor/mcp.json', { mcpServers: { theirs: fixture('ok', 'theirs') } });
  const env = {
    ...process.env,
    HOME: path.join(folder, 'home'),
    XDG_CONFIG_HOME: '',
    XDG_DATA_HOME: '',
    CLAUDE_CONFIG_DIR: '',
    CODEX_HOME: '',
    MCP_TROUPE_HOME: path.join(folder, 'state'),
    NO_COLOR: '1',
    FORCE_COLOR: undefined,
  };
  return { project, documents, open: (...words: string[]) => openTerminal(words, project, env) };
}

/** Runs one command line in a pseudo terminal of 120 columns; the test types into it. */
function openTerminal(words: readonly string[], cwd: string, env: NodeJS.ProcessEnv) {
  const line = [process.execPath, ...cli.words, ...words].map((word) => `'${word}'`).join(' ');
  const child: ChildProcessByStdio<Writable, Readable, null> = spawn(
    'script',
    ['--quiet', '--return', '--command', `stty cols 120 rows 50; exec ${line}`, '/dev/null'],
    { cwd, env, stdio: ['pipe', 'pipe', 'inherit'] },
  );
  let text = '';
  const looking = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk;
    for (const look of looking) look();
  });
  const shown = (): string => stripVTControlCharacters(text).replaceAll(/\r\n?/gu, '\n');
  const ended = once(child, 'close').then(([exitCode]) => exitCode as number);
  onTestFinished(() => void child.kill('SIGKILL'));
  return {
    type: (keys: string) => void child.stdin.write(keys),
    /** Resolves once the terminal has shown the pattern. */
    shows: (pattern: RegExp) =>
      new Promise<string>((resolve, reject) => {
        const look = (): void => {
          if (!pattern.test(shown())) return;
          looking.delete(look);
          resolve(shown());
        };
        looking.add(look);
        look();
        void ended.then(() => reject(new Error(`ended without ${pattern}: ${shown()}`)));
      }),
    ended: ended.then((exitCode) => ({ exitCode, shown: shown() })),
  };
}

// About ten processes, one after another, a second each on a busy machine.
describe('a new user', { timeout: 120_000 }, () => {
  it('gets from the servers of four editors to a running troupe, a call and an explained failure', async () => {
    const { project, documents, open } = createMachine();
    const run = (...words: string[]) => open(...words).ended;

    const init = open('init');
    const found = await init.shows(/write 8 servers to \S+troupe\.json\? \[y\/N\]/u);
    for (const program of ['claude-code', 'cursor', 'vscode', 'codex'])
      expect(found).toMatch(new RegExp(`^found ${program}: /`, 'mu'));
    expect(found).toMatch(/^= everything \(\S*\.cursor\/mcp\.json:\d+ .*the same as above$/mu);
    init.type('y\r');
    const written = await init.ended;
    expect(written.exitCode).toBe(0);
    expect(written.shown).toContain('need troupe approve: theirs');
    expect(written.shown).toContain('run the servers with: troupe up');
    expect(
      Object.keys(
        (
          JSON.parse(readFileSync(path.join(project, 'troupe.json'), 'utf8')) as {
            mcpServers: object;
          }
        ).mcpServers,
      ),
    ).toHaveLength(8);

    const up = open('up');
    await up.shows(/\n7 ready, 1 blocked\n/u);
    await up.shows(/^theirs +blocked +pendingApproval .*troupe approve theirs$/mu);

    const approve = open('approve', '--all');
    await approve.shows(/approve "theirs"\? \[y\/N\]/u);
    approve.type('y\r');
    const approved = await approve.ended;
    expect(approved.shown).toMatch(/^theirs ready: 4 tools, pid \d+$/mu);
    expect(approved.exitCode).toBe(0);
    await up.shows(/\n8 ready\n/u);
    const list = await run('list');
    expect(list.shown).toMatch(/\(8 ready\)$/mu);
    expect(list.shown.match(/^\S+ +ready +\d+ +\d+ /gmu)).toHaveLength(8);

    expect(await run('call', 'everything.get-sum', 'a=2', 'b=3')).toEqual({
      exitCode: 0,
      shown: 'The sum of 2 and 3 is 5.\n',
    });

    rmSync(documents, { recursive: true });
    const broken = await run('restart', 'files');
    expect(broken.exitCode).toBe(5);
    const sentence =
      'The server process exited with code 1. It wrote: Error: None of the specified directories are accessible';
    expect(broken.shown).toContain(`${sentence}. Next: `);
    expect(broken.shown).toContain('then troupe restart files');
    const why = await run('list', 'files');
    expect(why.shown.replaceAll(/\s+/gu, ' ')).toContain(sentence);
    // The cause is removed, and the next step works.
    mkdirSync(documents);
    const repaired = await run('restart', 'files');
    expect(repaired.shown).toMatch(/^files ready: \d+ tools, pid \d+$/mu);
    expect(repaired.exitCode).toBe(0);

    up.type('\u0003');
    const { exitCode, shown } = await up.ended;
    expect(exitCode).toBe(130);
    expect(shown.trimEnd()).toMatch(/stopped$/u);
  });
});
