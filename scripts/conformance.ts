/**
 * Runs the official conformance suite in both roles: `npm run conformance`.
 *
 * As a server: `troupe serve --only` in front of a server that has one of everything. That server
 * speaks the era of the revision; clients of before meet one of the present era too. (The other way
 * round the suite wants to see names for questions that servers of before do not give.) As a client:
 * the library through its public interface.
 *
 * Everything that a revision requires or has besides is run. What fails must stand, with its reason,
 * in `conformance-expected-failures.yaml`, and what stands there must fail. `-- REVISION` runs one
 * revision, `-- --role client` one role, `-- --scenario NAME` one scenario, in full.
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { startClientHost } from './conformance/client-role.ts';
import { startGateway } from './conformance/server-role.ts';
import { expectedFailures, requirementsOf, resultsIn, runSuite } from './conformance/suite.ts';
import { judge, type Role, type Row, rowLines, summary } from './conformance/verdict.ts';

interface Part {
  readonly title: string;
  readonly role: Role;
  readonly revision: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly troubles?: ReadonlyMap<string, string>;
}

const revisions = ['2025-11-25', '2026-07-28'];
const serversInFront = [
  { era: 'legacy', of: ['2025-11-25'] },
  { era: 'modern', of: revisions },
];

const { values, positionals } = parseArgs({
  options: { scenario: { type: 'string' }, role: { type: 'string' } },
  allowPositionals: true,
});
const isWanted = (revision: string): boolean =>
  positionals.length === 0 || positionals.includes(revision);

const expected = expectedFailures();
const folder = mkdtempSync(path.join(tmpdir(), 'troupe-conformance-'));
const runs: { readonly title: string; readonly rows: readonly Row[] }[] = [];
try {
  if (values.role !== 'client') await runServers();
  if (values.role !== 'server') await runClients();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const wrong = runs.flatMap(({ rows }) => rows.filter(({ isWrong }) => isWrong));
if (values.scenario === undefined) {
  console.log(`\n${summary(runs)}`);
  console.log(wrong.length === 0 ? '\nConformance: as expected.' : `\nWrong: ${wrong.length}.`);
  process.exitCode = wrong.length === 0 ? 0 : 1;
}

async function runServers(): Promise<void> {
  for (const { era, of } of serversInFront) {
    const gateway = await startGateway(era, folder);
    try {
      for (const revision of of.filter(isWanted))
        await run({
          title: `server ${revision}, in front of a ${era} one`,
          role: 'server',
          revision,
          args: ['--url', gateway.url],
        });
    } finally {
      await gateway.stop();
    }
  }
}

async function runClients(): Promise<void> {
  for (const revision of revisions.filter(isWanted)) {
    const host = await startClientHost();
    try {
      const title = `client ${revision}`;
      const { command, env, troubles } = host;
      const args = ['--command', command];
      await run({ title, role: 'client', revision, args, env, troubles });
    } finally {
      host.stop();
    }
  }
}

async function run({ title, troubles, ...part }: Part): Promise<void> {
  const { role, revision } = part;
  const results = path.join(folder, title.replaceAll(/\W+/g, '-'));
  mkdirSync(results);
  const output = await runSuite({ ...part, scenario: values.scenario, folder: results });
  if (values.scenario !== undefined) {
    console.log(`\n${title}\n${output}`);
    return;
  }
  const rows = judge({
    ...requirementsOf(role, revision),
    role,
    revision,
    results: resultsIn(results, role).map((result) => ({
      ...result,
      trouble: troubles?.get(result.scenario),
    })),
    expected: expected[role],
  });
  runs.push({ title, rows });
  console.log(`\n${title}\n${rowLines(rows)}`);
}
