/** Runs the official suite, and reads what it found and what a revision requires. */

import { spawn } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parse } from 'yaml';

import type { Check, ExpectedFailure, Role, ScenarioResult } from './verdict.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const suite = path.join(root, 'node_modules', '@modelcontextprotocol', 'conformance');
const shim = pathToFileURL(path.join(root, 'scripts', 'conformance-shim.mjs')).href;
// A revision takes ten seconds; a crowded machine needs several times that.
const runLimitMs = 180_000;

/** What the suite asks of a role in a revision, in its own order. */
export interface Requirements {
  readonly required: readonly string[];
  /** Run and shown; by themselves they decide nothing. */
  readonly unscored: readonly string[];
}

export interface SuiteRun {
  readonly role: Role;
  readonly revision: string;
  /** Absent: all that the revision requires, and what it has besides. */
  readonly scenario?: string | undefined;
  /** Where the suite leaves its results; empty before. */
  readonly folder: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export function requirementsOf(role: Role, revision: string): Requirements {
  const file = path.join(suite, 'requirements', `${revision}.yaml`);
  const document = parse(readFileSync(file, 'utf8')) as Record<Role, readonly string[]> & {
    readonly not_scored: readonly { readonly scenario: string; readonly leg: Role }[];
  };
  const unscored = document.not_scored.filter(({ leg }) => leg === role);
  return { required: document[role], unscored: unscored.map(({ scenario }) => scenario) };
}

/** What we know to fail, by role. */
export function expectedFailures(): Readonly<Record<Role, readonly ExpectedFailure[]>> {
  const file = path.join(root, 'scripts', 'conformance-expected-failures.yaml');
  const groups = parse(readFileSync(file, 'utf8')) as Record<
    Role,
    readonly { readonly reason: string; readonly scenarios: readonly string[] }[]
  >;
  const of = (role: Role): readonly ExpectedFailure[] =>
    groups[role].flatMap(({ reason, scenarios }) =>
      scenarios.map((scenario) => ({ scenario, reason })),
    );
  return { server: of('server'), client: of('client') };
}

/** Settles with all that the suite printed. */
export async function runSuite({
  role,
  revision,
  scenario,
  folder,
  args,
  env,
}: SuiteRun): Promise<string> {
  const which =
    scenario === undefined
      ? ['--requirements', revision]
      : ['--scenario', scenario, '--spec-version', revision, '--force'];
  const child = spawn(
    process.execPath,
    [
      ...['--import', shim, path.join(suite, 'dist', 'index.js')],
      ...[role, ...args, ...which, '--output-dir', folder, '--timeout', String(runLimitMs)],
    ],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, ...env, NO_COLOR: '1' },
    },
  );
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  const ended = new Promise<void>((resolve) => void child.on('close', () => resolve()));
  await within(runLimitMs, ended).catch((error: unknown) => {
    child.kill('SIGKILL');
    output += `\n${String(error)}`;
  });
  return output;
}

/** What the suite wrote down of each scenario that it ran. */
export function resultsIn(folder: string, role: Role): readonly ScenarioResult[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => path.basename(file) === 'checks.json')
    .map((file) => {
      // Each scenario has a folder of its name and the time; those for servers begin with the word.
      const name = path.dirname(file).split(path.sep).join('/');
      const scenario = name.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
      return {
        scenario: role === 'server' ? scenario.replace(/^server-/, '') : scenario,
        checks: JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Check[],
      };
    });
}

export async function within<Value>(limitMs: number, promise: Promise<Value>): Promise<Value> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`Not within ${limitMs} ms.`)), limitMs);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
