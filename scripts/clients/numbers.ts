/**
 * npm run clients:numbers: what one, five and twenty clients with ten servers cost by hand, with a
 * gateway each, and with the troupe that they share. Writes the table of `docs/clients.md`. Linux only.
 */

import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { installPeers } from '../../test/bench/peers.ts';
import { findPublished } from '../../test/bench/published.ts';
import { initialize } from '../../test/fixtures/initialize.ts';
import { build, rootFolder } from '../../test/lab/build.ts';
import { killAll, processesOf, survivorsOf } from '../../test/lab/processes.ts';
import { table, withBlock } from '../docs/markdown.ts';

interface Cost {
  readonly processes: number;
  readonly megabytes: number;
  readonly seconds: number;
}

const clientCounts = [1, 5, 20] as const;
const serverCount = 10;
// Everything that starts late has started by then.
const restMs = 5_000;
const goneMs = 10_000;
const fileOf = (file: string): string => fileURLToPath(new URL(file, import.meta.url));
const serverFile = fileOf('../../test/bench/servers/stdio-echo.mjs');

const { cli, about } = findPublished();
if (!about.startsWith('dist')) await build();
await installPeers(['mcporter']);

const ways: Readonly<Record<string, (folder: string) => readonly string[]>> = {
  'the SDK by hand': (folder) => [fileOf('by-hand.mjs'), path.join(folder, 'troupe.json')],
  '`mcporter serve`, its daemon': (folder) => [
    path.join(rootFolder, 'node_modules/.cache/node_modules/mcporter/dist/cli.js'),
    ...['serve', '--stdio', '--config', path.join(folder, 'mcporter.json')],
  ],
  '`troupe serve --alone`': (folder) => serve(folder, '--alone'),
  '`troupe serve`, shared': (folder) => serve(folder),
};

function serve(folder: string, ...flags: readonly string[]): readonly string[] {
  const settings = ['--bare', '--config', path.join(folder, 'troupe.json')];
  const folders = ['--project', folder, '--state-dir', path.join(folder, 'state')];
  return [cli, 'serve', ...flags, ...settings, ...folders];
}

async function measure(
  words: (folder: string) => readonly string[],
  clients: number,
): Promise<Cost> {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-numbers-'));
  const mark = randomUUID();
  const { MCP_TROUPE_NO_BACKGROUND: _none, ...own } = process.env;
  const env = { ...own, TROUPE_CLIENTS: mark, MCPORTER_DAEMON_DIR: path.join(folder, 'daemon') };
  const command = process.execPath;
  const servers = Array.from({ length: serverCount }, (_, n) => {
    const entry = { command, args: [serverFile, String(n)], env: { TROUPE_CLIENTS: mark } };
    return [`server${n}`, entry] as const;
  });
  mkdirSync(path.join(folder, 'state'));
  const write = (file: string, more = {}): void => {
    const mcpServers = Object.fromEntries(
      servers.map(([name, entry]) => [name, { ...entry, ...more }]),
    );
    writeFileSync(path.join(folder, file), JSON.stringify({ mcpServers }));
  };
  write('troupe.json');
  // Only these belong to the daemon.
  write('mcporter.json', { lifecycle: 'keep-alive' });
  try {
    const startedAt = performance.now();
    await Promise.all(
      Array.from({ length: clients }, () => hasTool(spawnClient(words(folder), env))),
    );
    const seconds = (performance.now() - startedAt) / 1_000;
    await pause(restMs);
    const pids = processesOf(mark, folder);
    const bytes = pids.reduce((sum, pid) => sum + memoryOf(pid), 0);
    return { processes: pids.length, megabytes: bytes / 1024, seconds };
  } finally {
    killAll(processesOf(mark, folder));
    await survivorsOf(() => processesOf(mark, folder), goneMs);
    rmSync(folder, { recursive: true, force: true });
  }
}

function spawnClient(words: readonly string[], env: NodeJS.ProcessEnv) {
  return spawn(process.execPath, words, { env, stdio: ['pipe', 'pipe', 'ignore'] });
}

/** Resolves once the first tool is listed. */
async function hasTool(child: ReturnType<typeof spawnClient>): Promise<void> {
  const send = (message: object): void => void child.stdin.write(`${JSON.stringify(message)}\n`);
  child.stdin.on('error', () => undefined);
  send(initialize());
  let asked = 1;
  for await (const line of createInterface(child.stdout)) {
    if (line.includes('"inputSchema"')) return void child.stdout.resume();
    const { id } = JSON.parse(line) as { readonly id?: number };
    if (id !== asked) continue;
    if (id === 1) send({ jsonrpc: '2.0', method: 'notifications/initialized' });
    asked += 1;
    send({ jsonrpc: '2.0', id: asked, method: 'tools/list' });
  }
  throw new Error('A client ended before it had a tool.');
}

/** The process's proportional set size in kB: a page that several share counts in equal parts. */
function memoryOf(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss: +(\d+)/mu.exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  }
}

const loadBefore = loadavg()[0]?.toFixed(1);
const rows: string[][] = [];
for (const clients of clientCounts)
  for (const [way, words] of Object.entries(ways)) {
    const { processes, megabytes, seconds } = await measure(words, clients);
    const row = [
      String(clients),
      way,
      String(processes),
      `${Math.round(megabytes)} MB`,
      `${seconds.toFixed(1)} s`,
    ];
    console.error(row.join('  '));
    rows.push(row);
  }
const head = ['clients', 'each with', 'processes', 'memory (PSS)', 'until all have a tool'];
const machine = `Node ${process.version}, ${cpus().length} cores (${cpus()[0]?.model ?? 'unknown'}); load average ${loadBefore} before.`;
const page = path.join(rootFolder, 'docs/clients.md');
writeFileSync(
  page,
  withBlock(readFileSync(page, 'utf8'), 'numbers', `${machine}\n\n${table(head, rows)}`),
);
