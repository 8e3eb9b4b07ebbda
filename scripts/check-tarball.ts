/**
 * Uses the packed package as an installer would: `npm run check:tarball`.
 *
 * Packs it, installs the tarball into an empty project and runs the programs of
 * `test/package/consumer/` there, from JavaScript and from TypeScript, and the
 * command line. Only this check detects files that are missing from the tarball and
 * imports of development packages. `dist/` has to be built first.
 */

import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly files: readonly { readonly path: string; readonly size: number }[];
}

const root = fileURLToPath(new URL('..', import.meta.url));
const manifest = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as {
  readonly version: string;
};
// Two minutes: an installation with an empty cache takes most of one over a slow line. A
// program that leaves a server or a timer behind never ends, and fails here too.
const stepLimitMs = 120_000;

/** Runs a program and returns its output; a failure ends the check. */
function run(folder: string, command: string, ...args: readonly string[]): string {
  const startedAt = performance.now();
  const { status, signal, error, stdout, stderr } = spawnSync(command, args, {
    cwd: folder,
    encoding: 'utf8',
    timeout: stepLimitMs,
    killSignal: 'SIGKILL',
    env: { ...process.env, NO_COLOR: '1', MCP_TROUPE_HOME: path.join(folder, '.state') },
  });
  const shown = [path.basename(command), ...args].join(' ').replaceAll(root, '');
  if (status !== 0) {
    throw new Error(
      `${shown} failed (${error?.message ?? signal ?? `exit code ${status}`})\n${stdout}${stderr}`,
    );
  }
  console.log(`ok  ${((performance.now() - startedAt) / 1_000).toFixed(1)} s  ${shown}`);
  return stdout;
}

function expectText(what: string, text: string, wanted: string | RegExp): void {
  const isThere = typeof wanted === 'string' ? text.trim() === wanted : wanted.test(text);
  if (!isThere) throw new Error(`${what}: expected ${String(wanted)}, got:\n${text}`);
}

/** Prints every file and rejects unexpected and missing ones. */
function showFiles({ files, size, unpackedSize }: Packed): void {
  const paths = files.map((file) => file.path);
  for (const file of files) console.log(`${String(file.size).padStart(8)}  ${file.path}`);
  const kilobytes = (bytes: number): string => `${Math.round(bytes / 1_000)} kB`;
  console.log(
    `${files.length} files, ${kilobytes(size)} packed, ${kilobytes(unpackedSize)} unpacked`,
  );

  const wanted = [
    'README.md',
    'SECURITY.md',
    'LICENSE',
    'CHANGELOG.md',
    'package.json',
    'dist/THIRD-PARTY-LICENSES.md',
    'dist/src/cli/main.js',
    'dist/inspector/THIRD-PARTY-LICENSES.md',
    'dist/inspector/index.html',
    'dist/inspector/charts/charts.json',
    'dist/inspector/troupe-chart.js',
    'docs/guide.md',
    'schema/settings.schema.json',
  ];
  const missing = wanted.filter((file) => !paths.includes(file));
  const others = paths.filter(
    (file) =>
      !wanted.includes(file) &&
      !/^dist\/(?:src|machines|actors|visualizations|inspector)\/|^docs\/(?:api\/)?[\w-]+\.md$|^examples\/(?:adapters|host)\//.test(
        file,
      ),
  );
  if (missing.length > 0) throw new Error(`not in the tarball: ${missing.join(', ')}`);
  if (others.length > 0) throw new Error(`should not be in the tarball: ${others.join(', ')}`);
}

/** An empty project with the tarball as its only dependency, and our programs. */
function prepare(project: string): void {
  const [packed] = JSON.parse(
    run(root, 'npm', 'pack', '--json', '--silent', '--pack-destination', project),
  ) as [Packed];
  showFiles(packed);
  cpSync(path.join(root, 'test/package/consumer'), project, { recursive: true });
  cpSync(path.join(root, 'test/fixtures/stdio-server.mjs'), path.join(project, 'server.mjs'));
  writeFileSync(path.join(project, 'package.json'), '{ "private": true, "type": "module" }\n');
  install(project, `./${packed.filename}`);
}

function install(project: string, ...packages: readonly string[]): void {
  // As for a user, whatever our own settings are.
  const options = ['--prefer-offline', '--no-audit', '--no-fund', '--engine-strict=false'];
  run(project, 'npm', 'install', ...options, ...packages);
}

/** Uses our compiler and Node types, so that no development package is installed. */
function compile(project: string, config: string): void {
  const compiler = path.join(root, 'node_modules/@typescript/native/bin/tsc');
  const types = path.join(root, 'node_modules/@types');
  run(project, process.execPath, compiler, '-p', config, '--typeRoots', types);
}

function useLibrary(project: string): void {
  const node = process.execPath;
  run(project, node, 'use-troupe.mjs');
  compile(project, 'tsconfig.json');
  compile(project, 'tsconfig.testing.json');
  run(project, node, 'out/use-troupe-typed.js');
  run(project, node, 'out/use-testing.js');
}

// These need Node 22, so they cannot be development packages; what the adapters use of them runs on 20.
const nextMajors = ['ai@7.0.173', 'openai@7.57.0'];

/**
 * Runs last, because it adds the optional peers, which the other steps must do without: first the next major
 * versions of two, which npm rejects unless our ranges admit them, then the present ones in their place.
 */
function useAdapters(project: string): void {
  install(project, ...nextMajors);
  link(project, ['@langchain/core', '@statelyai/inspect']);
  // Our own tests compile the adapters with the present versions.
  compile(project, 'tsconfig.adapters.json');
  const useThem = (): string => run(project, process.execPath, 'out/use-adapters.js');
  useThem();
  link(project, ['ai', 'openai']);
  useThem();
}

/** Replaces the project's packages with our copies. */
function link(project: string, packages: readonly string[]): void {
  for (const name of packages) {
    const place = path.join(project, 'node_modules', name);
    rmSync(place, { recursive: true, force: true });
    mkdirSync(path.dirname(place), { recursive: true });
    symlinkSync(path.join(root, 'node_modules', name), place, 'dir');
  }
}

function useCommandLine(project: string): void {
  // What `npx troupe` runs.
  const program = path.join(project, 'node_modules/.bin/troupe');
  const troupe = (...args: readonly string[]): string => run(project, program, ...args);
  expectText('troupe --version', troupe('--version'), manifest.version);
  expectText('troupe --help', troupe('--help'), /^Usage: troupe [^]*\bcall\b/);
  expectText(
    'troupe call',
    troupe('call', 'fixture', 'echo', 'text=hi', '--config', 'troupe.json'),
    '{"text":"hi"}',
  );
}

const project = realpathSync(mkdtempSync(path.join(tmpdir(), 'troupe-tarball-')));
try {
  prepare(project);
  useLibrary(project);
  useCommandLine(project);
  useAdapters(project);
  console.log('The packed package works.');
} catch (error) {
  console.error(`\nThe packed package does not work: ${(error as Error).message}`);
  process.exitCode = 1;
} finally {
  rmSync(project, { recursive: true, force: true });
}
