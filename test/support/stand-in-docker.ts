/**
 * A fake `docker` executable in a folder of its own, for PATH. Its mode selects its
 * behaviour. Each process keeps a socket to the test open while it runs, so that the
 * test notices its start and its end.
 */

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** `noCommand`: as Docker without the plugin answers a wish for help; `noCommandOld` is an error. */
export type DockerMode =
  | 'ok'
  | 'noCommand'
  | 'noCommandOld'
  | 'noDaemon'
  | 'noDaemonOld'
  | 'hangs'
  | 'hangingDaemon'
  | 'garbage'
  | 'noVersion';

export interface StandInDocker {
  /** The folder that contains only the executable. */
  readonly folder: string;
  /** The environment in which a process finds and runs it. */
  readonly env: Readonly<Record<string, string>>;
  become(mode: DockerMode): void;
  /** The arguments of each run so far, or `helper` for a process that it started. */
  readonly runs: readonly string[];
  /** Resolves after this many runs in total. */
  ran(count: number): Promise<void>;
  /** Resolves when none of its processes runs. */
  gone(): Promise<void>;
}

const server = fileURLToPath(new URL('../fixtures/stdio-server.mjs', import.meta.url));

export async function standInDocker(initial: DockerMode = 'ok'): Promise<StandInDocker> {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-docker-'));
  const runs: string[] = [];
  const lines = new Set<Socket>();
  const waiting = new Set<() => void>();
  const look = (): void => {
    for (const each of [...waiting]) each();
  };
  const socket = createServer((line) => {
    lines.add(line);
    line.setEncoding('utf8').on('data', (words: string) => {
      runs.push(words.trim());
      look();
    });
    line
      .on('error', () => {})
      .on('close', () => {
        lines.delete(line);
        look();
      });
  });
  const address = path.join(folder, 'line');
  await new Promise<void>((resolve) => {
    socket.listen(address, resolve);
  });
  onTestFinished(() => {
    socket.close();
    for (const line of lines) line.destroy();
    rmSync(folder, { recursive: true, force: true });
  });
  const become = (mode: DockerMode): void => writeFileSync(path.join(folder, 'mode'), mode);
  become(initial);
  const file = path.join(folder, 'docker');
  writeFileSync(file, `#!${process.execPath}\n${program}`);
  chmodSync(file, 0o755);
  const until = (isSo: () => boolean): Promise<void> =>
    new Promise((resolve) => {
      const check = (): void => {
        if (!isSo()) return;
        waiting.delete(check);
        resolve();
      };
      waiting.add(check);
      check();
    });
  return {
    folder,
    env: { PATH: folder, DOCKER_STAND_IN: address, DOCKER_SERVER: server },
    become,
    runs,
    ran: (count) => until(() => runs.length >= count),
    gone: () => until(() => lines.size === 0),
  };
}

const program = `
const { spawn } = require('node:child_process');
const { readFileSync } = require('node:fs');
const { connect } = require('node:net');
const words = process.argv.slice(2).join(' ');
const mode = readFileSync(__dirname + '/mode', 'utf8');
const ownHelp = 'Usage:  docker [OPTIONS] COMMAND\\n\\nCommands:\\n  run   Create and run a container\\n';
const mcpHelp = 'Usage: docker mcp [OPTIONS]\\n\\nAvailable Commands:\\n  catalog     Manage catalogs\\n  gateway     Manage the gateway\\n';
const noDaemon = 'Cannot connect to the Docker daemon at unix:///nowhere. Is it running?\\nerrors pretty printing info\\n';
const helper = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);" +
  "require('node:net').connect(process.env.DOCKER_STAND_IN, function () { this.write('helper'); }).on('close', () => process.exit());";

function leave(exitCode, out, err = '') {
  process.exitCode = exitCode;
  process.stdout.write(out);
  process.stderr.write(err);
}
function hang() {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 1000);
  spawn(process.execPath, ['-e', helper], { stdio: 'inherit' });
}
function act() {
  if (mode === 'hangs') return hang();
  if (mode === 'garbage') return leave(0, '\\u001b[31m{{%\\n'.repeat(50000));
  if (words === 'mcp --help') {
    if (mode === 'noCommand') return leave(0, ownHelp);
    if (mode === 'noCommandOld') return leave(1, '', "docker: 'mcp' is not a docker command.\\nSee 'docker --help'\\n");
    return leave(0, mcpHelp);
  }
  if (words === 'info --format {{.ServerVersion}}') {
    if (mode === 'hangingDaemon') return hang();
    if (mode === 'noDaemon') return leave(1, '\\n', noDaemon);
    if (mode === 'noDaemonOld') return leave(0, '\\n', noDaemon);
    if (mode === 'noVersion') return leave(0, '<html>\\n');
    return leave(0, '28.5.1\\n');
  }
  if (words !== 'mcp gateway run') return leave(64, '', 'what?\\n');
  if (mode.startsWith('noDaemon')) return leave(1, '', noDaemon);
  process.argv.splice(2, Infinity, 'ok');
  return void import(process.env.DOCKER_SERVER);
}
const line = connect(process.env.DOCKER_STAND_IN, () => line.write(words, () => {
  line.unref();
  act();
}));
// Ends with the test, even if the test failed to end it.
line.on('close', () => process.exit());
`;
