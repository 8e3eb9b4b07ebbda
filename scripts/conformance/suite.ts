/** Runs the official suite; reads its results and what a revision requires. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

import { parse } from 'yaml';

import { withinTime } from '../../actors/host/time-limit.ts';
import { promptClock } from '../../src/runtime/real-clock.ts';
import type { Check, ExpectedFailure, Requirements, Role, ScenarioResult } from './verdict.ts';

export const root = fileURLToPath(new URL('../..', import.meta.url));
const suite = path.join(root, 'node_modules', '@modelcontextprotocol', 'conformance');
const shim = pathToFileURL(path.join(root, 'scripts', 'conformance-shim.mjs')).href;

// A revision takes ten seconds; a busy machine needs several times that.
const runLimitMs = 180_000;

export interface SuiteRun {
  readonly role: Role;
  readonly revision: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** A revision's scenarios for a role, in the suite's order. */
export function requirementsOf(role: Role, revision: string): Requirements {
  const file = path.join(suite, 'requirements', `${revision}.yaml`);
  const document = parse(readFileSync(file, 'utf8')) as Record<Role, readonly string[]> & {
    readonly not_scored: readonly { readonly scenario: string; readonly leg: Role }[];
  };
  const unscored = document.not_scored.filter(({ leg }) => leg === role);
  return { required: document[role], unscored: unscored.map(({ scenario }) => scenario) };
}

/** The failures that are expected of a run; a group may be limited to a revision and to a server's era. */
export function expectedFailures(
  role: Role,
  about: { readonly revision: string; readonly behind?: string },
): readonly ExpectedFailure[] {
  const file = path.join(root, 'scripts', 'conformance-expected-failures.yaml');
  const groups = parse(readFileSync(file, 'utf8')) as Partial<Record<Role, readonly Group[]>>;
  return (groups[role] ?? [])
    .filter(
      ({ revision = about.revision, behind = about.behind }) =>
        revision === about.revision && behind === about.behind,
    )
    .flatMap(({ reason, scenarios }) => scenarios.map((scenario) => ({ scenario, reason })));
}

interface Group {
  readonly reason: string;
  readonly revision?: string;
  readonly behind?: string;
  readonly scenarios: readonly string[];
}

/**
 * Runs one scenario, or all of a revision, and resolves with the output.
 *
 * @param folder - where the suite leaves its results; empty before
 */
export async function runSuite(
  { role, revision, args, env }: SuiteRun,
  folder: string,
  scenario?: string,
): Promise<string> {
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
  if ((await withinTime(promptClock, runLimitMs, once(child, 'close'))) === undefined) {
    child.kill('SIGKILL');
    output += `\nThe suite did not end within ${runLimitMs} ms.`;
  }
  return output;
}

/** The suite's results of each scenario that it ran. */
export function resultsIn(folder: string, role: Role): readonly ScenarioResult[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => path.basename(file) === 'checks.json')
    .map((file) => {
      // Each scenario has a folder with its name and the time; those for servers have a prefix.
      const name = path.dirname(file).split(path.sep).join('/');
      const scenario = name.replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '');
      return {
        scenario: role === 'server' ? scenario.replace(/^server-/, '') : scenario,
        checks: JSON.parse(readFileSync(path.join(folder, file), 'utf8')) as Check[],
      };
    });
}
