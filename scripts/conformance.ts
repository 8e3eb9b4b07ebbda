/**
 * Runs the official conformance suite against `troupe serve --only` in front of a server that has
 * one of everything: `npm run conformance`.
 *
 * The server speaks the era of the revision; clients of before meet one of the present era too.
 * (The other way round the suite wants to see names for questions that servers of before do not give.)
 * What a revision requires must pass; what the suite itself does not score (extensions, scenarios
 * that are pending) is run and shown, and decides nothing. `-- REVISION` runs one revision,
 * `-- --scenario NAME` one scenario, in full.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const suite = path.join(
  root,
  'node_modules',
  '@modelcontextprotocol',
  'conformance',
  'dist',
  'index.js',
);
const shim = pathToFileURL(path.join(root, 'scripts', 'conformance-shim.mjs')).href;
const plan = [
  { era: 'legacy', revisions: ['2025-11-25'] },
  { era: 'modern', revisions: ['2025-11-25', '2026-07-28'] },
];
// A start takes two seconds, a revision ten; a crowded machine needs several times that.
const startLimitMs = 60_000;
const runLimitMs = 180_000;

interface Run {
  readonly exitCode: number | null;
  readonly output: string;
}

const { values, positionals } = parseArgs({
  options: { scenario: { type: 'string' } },
  allowPositionals: true,
});

const folder = mkdtempSync(path.join(tmpdir(), 'troupe-conformance-'));
let failed = 0;
try {
  for (const { era, revisions } of plan) failed += await runBehind(era, revisions.filter(isWanted));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(
  failed === 0
    ? '\nConformance: all required scenarios passed.'
    : `\nConformance: ${failed} runs failed.`,
);
process.exitCode = failed === 0 ? 0 : 1;

/** How many runs failed in front of a server of this era. */
async function runBehind(era: string, wanted: readonly string[]): Promise<number> {
  let failures = 0;
  const { url, gateway } = await serve(era);
  try {
    for (const revision of wanted) {
      const { exitCode, output } = await runSuite(url, revision);
      console.log(`\n${revision} through troupe serve, in front of a ${era} server`);
      console.log(values.scenario === undefined ? summaryOf(output) : output);
      if (exitCode !== 0) failures += 1;
    }
  } finally {
    await stop(gateway);
  }
  return failures;
}

function isWanted(revision: string): boolean {
  return positionals.length === 0 || positionals.includes(revision);
}

/** Starts the gateway and settles with its address. */
async function serve(era: string): Promise<{ url: string; gateway: ChildProcess }> {
  const settings = path.join(folder, `${era}.json`);
  const server = path.join(root, 'test', 'fixtures', 'conformance-server.mjs');
  const entry = { command: process.execPath, args: [server], era };
  writeFileSync(settings, JSON.stringify({ mcpServers: { reference: entry } }));
  const gateway = spawn(
    process.execPath,
    [
      ...['--import', 'tsx', path.join(root, 'src', 'cli', 'main.ts')],
      ...['serve', '--only', 'reference', '--http', '0', '--no-auth', '--json', '--bare'],
      ...['--config', settings, '--state-dir', path.join(folder, `state-${era}`)],
    ],
    { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let errors = '';
  gateway.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  let document = '';
  const url = await within(
    startLimitMs,
    new Promise<string>((resolve, reject) => {
      gateway.stdout.on('data', (chunk: Buffer) => {
        document += chunk.toString();
        const found = /"url": "([^"]+)"/.exec(document)?.[1];
        if (found !== undefined) resolve(found);
      });
      gateway.on('exit', () => reject(new Error(`troupe serve ended: ${errors}`)));
    }),
  );
  return { url, gateway };
}

async function runSuite(url: string, revision: string): Promise<Run> {
  const choice = values.scenario === undefined ? [] : ['--scenario', values.scenario];
  const what =
    choice.length === 0 ? ['--requirements', revision] : [...choice, '--spec-version', revision];
  const child = spawn(
    process.execPath,
    ['--import', shim, suite, 'server', '--url', url, ...what],
    // It writes results into its folder.
    { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, NO_COLOR: '1' } },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  const exitCode = await within(
    runLimitMs,
    new Promise<number | null>((resolve) => void child.on('close', resolve)),
  ).catch((error: unknown) => {
    child.kill('SIGKILL');
    output += `\n${String(error)}`;
    return null;
  });
  return { exitCode, output };
}

function summaryOf(output: string): string {
  const start = output.indexOf('=== SUMMARY ===');
  return start === -1 ? output : output.slice(start + '=== SUMMARY ===\n'.length).trimEnd();
}

async function stop(gateway: ChildProcess): Promise<void> {
  const gone = new Promise<void>((resolve) => void gateway.once('exit', () => resolve()));
  if (gateway.exitCode !== null) return;
  gateway.kill('SIGTERM');
  await within(startLimitMs, gone).catch(() => gateway.kill('SIGKILL'));
}

async function within<Value>(limitMs: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Not within ${limitMs} ms.`)), limitMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
