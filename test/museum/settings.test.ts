/** Reports about files of settings, and about what an entry says. */

import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect } from 'vitest';
import { runCliHere, temporaryFolder } from '../cli/run-cli.ts';
import { exhibit, troupeOf } from './exhibit.ts';

const fixture = fileURLToPath(new URL('../fixtures/stdio-server.mjs', import.meta.url));

/** A project with this text as its settings, and commands in it. */
function project(text: string, name = 'troupe.json') {
  const folder = temporaryFolder();
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return {
    folder,
    file,
    text: () => readFileSync(file, 'utf8'),
    run: (...argv: string[]) => runCliHere(['--project', folder, ...argv], { folder }),
  };
}

/** What `check` says about one entry. */
async function checked(entry: object) {
  const { file, run } = project(JSON.stringify({ mcpServers: { db: entry } }, null, 2));
  const { exitCode, stdout } = await run('check', '--config', file, '--bare');
  return { exitCode, stdout };
}

describe('a settings file', () => {
  exhibit(
    'https://github.com/microsoft/vscode/issues/281583',
    'Adding a server with a command removed every comment of the file.',
    'keeps its comments and commented-out servers when servers are added, disabled and removed',
    async () => {
      const before = `{
  // Servers of the team
  "mcpServers": {
    /* "old": { "command": "old" }, */
    "db": { "command": "db" } // needs a key
    // "later": { "command": "later" }
  }
}
`;
      const { run, text } = project(before);
      await run('add', 'web', 'https://h.example/mcp');
      expect(text()).toContain('https://h.example/mcp');
      await run('disable', 'db');
      expect(text()).toMatch(/"enabled": ?false/u);
      await run('enable', 'db');
      await run('remove', 'web');
      expect(text()).toBe(before);
    },
  );

  exhibit(
    'https://github.com/github/copilot-cli/issues/1302',
    'Adding a server cut the last character and the slashes of its name and address.',
    'gets the address that was typed, byte for byte, and no name that could not be used',
    async () => {
      const { run, text } = project('{}');
      for (const [name, url] of [
        ['a', 'https://h.example/mcp/'],
        ['b', 'https://h.example//a//b/'],
        ['c', 'https://h.example/mcp?x=1&y=%2F'],
      ] as const) {
        expect((await run('add', name, url)).exitCode).toBe(0);
        expect(text()).toContain(`"${url}"`);
      }
      const refused = await run('add', 'docs/x', 'https://h.example/mcp');
      expect(refused.exitCode).toBe(2);
      expect(refused.stderr).toContain('docs/x');
      expect(text()).not.toContain('docs');
    },
  );

  exhibit(
    'https://github.com/project-zot/zot/pull/4384',
    'Kubernetes updates a mounted file by another target of a link above it; the watch on the file died silently.',
    'is read again each time the link above it changes, and servers that stay are not restarted',
    async () => {
      const folder = temporaryFolder();
      const at = (name: string): string => path.join(folder, name);
      const deploy = (round: number): void => {
        mkdirSync(at(`..${round}`));
        const mcpServers = {
          stays: { command: 'no-such-a' },
          [`s${round}`]: { command: 'no-such-b' },
        };
        writeFileSync(at(`..${round}/troupe.json`), JSON.stringify({ mcpServers }));
        symlinkSync(`..${round}`, at('..new'));
        renameSync(at('..new'), at('..data'));
        rmSync(at(`..${round - 1}`), { recursive: true, force: true });
      };
      deploy(1);
      symlinkSync('..data/troupe.json', at('troupe.json'));
      const troupe = troupeOf({}, { sources: [at('troupe.json')] });
      const started: string[] = [];
      troupe.on('status.changed', ({ status }) => {
        if (status.state === 'connecting' && status.name === 'stays') started.push(status.name);
      });
      await troupe.waitFor('s1', 'failed');
      for (const round of [2, 3, 4]) {
        const appeared = new Promise<void>((resolve) => {
          troupe.on('status.changed', ({ status }) => {
            if (status.name === `s${round}`) resolve();
          });
        });
        deploy(round);
        await appeared;
      }
      await troupe.waitFor('s4', 'failed');
      expect(troupe.snapshot().servers.map(({ name }) => name)).toEqual(['s4', 'stays']);
      expect(started).toHaveLength(1);
    },
  );
});

describe('an entry', () => {
  exhibit(
    'https://github.com/anthropics/claude-code/issues/6204',
    'Address and headers inside a "transport" object were accepted, and the headers never sent.',
    'with its address and headers inside "transport" is refused, with its line',
    async () => {
      const { run } = project(
        JSON.stringify(
          {
            mcpServers: {
              df: { transport: { type: 'http', url: 'https://h.example', headers: { A: 'b' } } },
            },
          },
          null,
          2,
        ),
        '.mcp.json',
      );
      const { exitCode, stdout } = await run('check');
      expect(exitCode).toBe(2);
      expect(stdout).toMatch(/\.mcp\.json:\d+: mcpServers\.df/u);
    },
  );

  exhibit(
    'https://github.com/Science-Discovery/Aether/issues/1082',
    'A "~" in an argument reached the program as it was, which did not find its file.',
    'with "~" in an argument gets a warning, and with "~" in its command an error; both say ${HOME}',
    async () => {
      const args = await checked({ command: 'node', args: ['~/server.mjs'] });
      expect(args.stdout).toMatch(/args.*~.*\$\{HOME\}/u);
      const command = await checked({ command: '~/bin/server' });
      expect(command.exitCode).toBe(2);
      expect(command.stdout).toContain('${HOME}');
    },
  );

  exhibit(
    'https://github.com/nicobailon/pi-mcp-adapter/issues/442',
    'A working folder that does not exist was reported as a command that does not exist.',
    'with a missing working folder, or a file in its place, gets an error about the folder',
    async () => {
      const { file, folder } = project('');
      for (const cwd of [path.join(folder, 'gone'), file]) {
        const { exitCode, stdout } = await checked({ command: 'node', cwd });
        expect(exitCode).toBe(2);
        expect(stdout).toMatch(new RegExp(`mcpServers\\.db\\.cwd: (?:folder )?${cwd} `, 'u'));
        const { lastError } = await troupeOf({ db: { command: 'node', cwd } }).waitFor(
          'db',
          'blocked',
        );
        expect(lastError?.message).toMatch(new RegExp(`cwd: (?:folder )?${cwd} `, 'u'));
      }
      const cwd = path.join(folder, 'later');
      mkdirSync(cwd);
      const troupe = troupeOf({ db: { command: process.execPath, args: [fixture], cwd } });
      await troupe.waitFor('db', 'ready');
      rmSync(cwd, { recursive: true });
      troupe.send({ type: 'server.restart', server: 'db' });
      const { lastError } = await troupe.waitFor('db', 'backingOff');
      expect(lastError?.message).toBe(`The working folder "${cwd}" does not exist.`);
    },
  );
});
