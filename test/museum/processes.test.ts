/** Reports about local servers and about the process of the host. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished } from 'vitest';

import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { isRunning } from '../actors/session/bench.ts';
import { compiledCli } from '../cli/compiled-cli.ts';
import { runCliHere, startCliHere, temporaryFolder } from '../cli/run-cli.ts';
import { createStandIn, statusOf } from '../cli/stand-in-troupe.ts';
import { turn } from '../support/turn.ts';
import { exhibit, peerOf, troupeOf } from './exhibit.ts';
import { SkippingClock } from './skipping-clock.ts';

const cli = compiledCli();
const fixture = fileURLToPath(new URL('../fixtures/stdio-server.mjs', import.meta.url));
const local = (mode: string, more: object = {}) => ({
  command: process.execPath,
  args: [fixture, mode],
  ...more,
});

/** A folder with settings, and the words that make a command use it. */
function placeWith(mcpServers: Readonly<Record<string, object>>, mcp: object = {}) {
  const folder = temporaryFolder();
  const settings = path.join(folder, 'troupe.json');
  writeFileSync(settings, JSON.stringify({ mcpServers, mcp }));
  const words = ['--config', settings, '--bare', '--project', folder];
  return { folder, words: [...words, '--state-dir', path.join(folder, 'state')] };
}

async function outputOf(program: string, words: readonly string[], cwd: string) {
  const child = spawn(program, words, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
  onTestFinished(() => void child.kill('SIGKILL'));
  const output = Promise.all([text(child.stdout), text(child.stderr)]);
  const [exitCode] = (await once(child, 'close')) as [number | null];
  const [stdout, stderr] = await output;
  return { exitCode, stdout, stderr };
}

describe('the environment of a server', () => {
  exhibit(
    'https://github.com/anthropics/claude-code/issues/1254',
    'One variable in "env" replaced the whole environment, and PATH and HOME were gone.',
    'has PATH and HOME, whether its entry adds variables or not',
    async () => {
      const env = { PATH: process.env['PATH'], HOME: '/home/of-the-user', OTHER: 'x' };
      const troupe = troupeOf(
        { plain: local('ok'), adding: local('ok', { env: { A: '1' } }) },
        { env },
      );
      for (const [server, a] of [
        ['plain', undefined],
        ['adding', '1'],
      ] as const) {
        await troupe.waitFor(server, 'ready');
        const { result } = await troupe.callServerTool(server, 'env', {});
        const seen = JSON.parse(String(result.content[0]?.['text'])) as NodeJS.ProcessEnv;
        expect(seen).toMatchObject({ PATH: env.PATH, HOME: env.HOME });
        expect([seen['A'], seen['OTHER']]).toEqual([a, undefined]);
      }
    },
  );
});

describe('a local server', () => {
  exhibit(
    'https://github.com/openclaw/mcporter/blob/main/CHANGELOG.md',
    'A server that exits when its first message is not "initialize" never connected.',
    'that exits on an unknown first message is started again with the old handshake',
    async () => {
      const troupe = troupeOf({ db: local('exit-on-discover') });
      expect(await troupe.waitFor('db', 'ready')).toMatchObject({ era: 'legacy', restarts: 0 });
      const lines = troupe.logs('db')?.map(({ line }) => line);
      expect(lines).toContainEqual(expect.stringContaining('old handshake'));
    },
  );

  exhibit(
    'https://github.com/CommandCodeAI/command-code/issues/515',
    'The host waited for a server that never ends by itself, and could not be left.',
    'that ignores the end of input and SIGTERM is killed within five seconds of a stop',
    async () => {
      const clock = new VirtualClock();
      const troupe = troupeOf({ db: local('ignore-term') }, { clock });
      const { pid = 0 } = await troupe.waitFor('db', 'ready');
      const stopped = troupe.stop();
      for (let step = 0; step < 50; step += 1) {
        await turn();
        // Two graces of two seconds have passed; the system may take its time over the kill.
        while (step === 45 && isRunning(pid)) await turn();
        clock.advanceBy(100);
      }
      // Its timers do not fire any more: only a process that ends resolves this.
      await stopped;
      expect(isRunning(pid)).toBe(false);
    },
  );

  exhibit(
    'https://github.com/NousResearch/hermes-agent/issues/97245',
    'A server that never answers "ping" was restarted over and over, although it answered calls.',
    'that never answers "ping" is not restarted, by default, under qwenCode, and with health checks: these list its tools instead',
    async () => {
      for (const policy of ['default', 'qwenCode'] as const) {
        const peer = await peerOf(({ method }) => (method === 'ping' ? 'hang' : undefined));
        const clock = new SkippingClock();
        const troupe = troupeOf({ db: { url: peer.url } }, { clock, policy });
        await troupe.waitFor('db', 'ready');
        for (let minute = 0; minute < 5; minute += 1) {
          await clock.skip(60_000, () => fetch(new URL('/', peer.url)));
          await troupe.callServerTool('db', 'echo', {});
        }
        expect(peer.seen.filter((method) => method === 'initialize')).toHaveLength(1);
        expect(troupe.status('db')?.state).toBe('ready');
      }
      const peer = await peerOf(({ method }) => (method === 'ping' ? 'hang' : undefined));
      const clock = new SkippingClock();
      const policy = { health: { mode: 'ping' } };
      const troupe = troupeOf({ db: { url: peer.url, policy } }, { clock });
      await troupe.waitFor('db', 'ready');
      await clock.skip(300_000, () => fetch(new URL('/', peer.url)));
      await troupe.waitFor('db', 'ready');
      const count = (asked: string) => peer.seen.filter((method) => method === asked).length;
      expect([count('initialize'), count('ping')]).toEqual([1, 1]);
      expect(count('tools/list')).toBeGreaterThan(5);
      const remarks = (troupe.logs('db') ?? []).filter(({ line }) => line.includes('ping'));
      expect(remarks.map(({ line }) => line)).toEqual([
        'does not answer ping; its health is checked by listing its tools',
      ]);
    },
  );
});

describe('a host', () => {
  exhibit(
    'https://github.com/coder/coder/issues/27060',
    'Servers inherited the folder of the host; after its removal nothing could be started.',
    'that is started in a deleted folder runs servers of the project',
    async () => {
      const { folder, words } = placeWith({ db: local('ok') });
      const gone = path.join(folder, 'gone');
      mkdirSync(gone);
      // The shell stays in the folder; Node cannot start a process in one that does not exist.
      const line = 'rmdir "$PWD" && exec "$@"';
      const call = [process.execPath, ...cli.words, 'call', 'db', 'env', ...words];
      const { exitCode, stdout } = await outputOf('/bin/sh', ['-c', line, 'sh', ...call], gone);
      expect(exitCode).toBe(0);
      expect((JSON.parse(stdout) as { cwd: string }).cwd).not.toContain('gone');
    },
  );

  exhibit(
    'https://github.com/openai/codex/issues/18656',
    'A program for headers ran an interactive shell, which took the terminal; the host was stopped.',
    'keeps its terminal when a program for headers runs an interactive shell',
    async () => {
      const seen: unknown[] = [];
      const peer = await peerOf((_, headers) => void seen.push(headers['x-terminal']));
      const print = `printf '{"X-Terminal":"%s"}' "$(ps -o tty= -p $$ | tr -d ' ')"`;
      const headersCommand = ['bash', '--norc', '-ic', print];
      const { folder, words } = placeWith(
        { db: { url: peer.url, headersCommand } },
        { commandValues: true },
      );
      const call = [process.execPath, ...cli.words, 'call', 'db', 'echo', ...words];
      const line = call.map((word) => `'${word}'`).join(' ');
      const { exitCode, stdout } = await outputOf(
        'script',
        ['--quiet', '--return', '--command', line, '/dev/null'],
        folder,
      );
      expect(stdout).toContain('done');
      expect(exitCode).toBe(0);
      // The program has no terminal to take.
      expect(new Set(seen)).toEqual(new Set(['?']));
    },
  );

  exhibit(
    'https://github.com/apify/mcpc/blob/main/CHANGELOG.md',
    'In a deep folder the path of the socket was longer than the system allows, and nothing started.',
    'is reached in a state folder whose path is too long for a socket',
    async () => {
      const folder = temporaryFolder();
      const deep = path.join(folder, 'd'.repeat(150));
      const troupe = createStandIn({ servers: [statusOf('db')] });
      const up = startCliHere(['up', '--state-dir', deep], { folder, troupe });
      onTestFinished(async () => {
        up.signal('SIGTERM');
        await up.finished;
      });
      await up.printed('servers: ');
      const status = await runCliHere(['status', '--state-dir', deep], { folder });
      expect(status).toMatchObject({ exitCode: 0, created: [] });
      expect(status.stdout).toContain('db');
    },
  );
});
