/**
 * Runs the official conformance suite in both roles: `npm run conformance`.
 *
 * As a server: `troupe serve --only` in front of a server that has one of everything. That server
 * speaks the era of the revision; legacy clients also meet a modern server. (The suite expects
 * names for questions, which legacy servers do not give, so the reverse is not run.) As a client:
 * the library through its public interface.
 *
 * All scenarios of a revision are run. A failing scenario must be listed, with its reason, in
 * `conformance-expected-failures.yaml`, and a listed scenario must fail. `-- REVISION` runs one
 * revision, `-- --role client` one role, `-- --scenario NAME` one scenario with its whole output.
 */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';

import { startGateway } from '../test/lab/gateway.ts';
import { startClientHost } from './conformance/client.ts';
import {
  expectedFailures,
  requirementsOf,
  resultsIn,
  root,
  runSuite,
  type SuiteRun,
} from './conformance/suite.ts';
import { judge, type Row, rowLines, summary } from './conformance/verdict.ts';

const revisions = ['2025-11-25', '2026-07-28'];
const upstreams = [
  { era: 'legacy', of: ['2025-11-25'] },
  { era: 'modern', of: revisions },
];

const { values, positionals } = parseArgs({
  options: { scenario: { type: 'string' }, role: { type: 'string' } },
  allowPositionals: true,
});
const isWanted = (revision: string): boolean =>
  positionals.length === 0 || positionals.includes(revision);

const folder = mkdtempSync(path.join(tmpdir(), 'troupe-conformance-'));
const runs = new Map<string, readonly Row[]>();
try {
  if (values.role !== 'client') await runServers();
  if (values.role !== 'server') await runClients();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
if (values.scenario === undefined) {
  const wrong = [...runs.values()].flat().filter(({ isWrong }) => isWrong).length;
  console.log(`\n${summary(runs)}`);
  console.log(wrong === 0 ? '\nConformance: as expected.' : `\nWrong: ${wrong}.`);
  process.exitCode = wrong === 0 ? 0 : 1;
}

async function runServers(): Promise<void> {
  const cli = ['--import', 'tsx', path.join(root, 'src/cli/main.ts')];
  const server = path.join(root, 'test/fixtures/conformance-server.mjs');
  for (const { era, of } of upstreams) {
    const reference = { command: process.execPath, args: [server], era };
    const servers = { reference };
    const gateway = await startGateway(cli, path.join(folder, era), servers, [
      '--only',
      'reference',
    ]);
    try {
      for (const revision of of.filter(isWanted)) {
        const title = `server ${revision}, in front of a ${era} one`;
        await run(title, { role: 'server', revision, args: ['--url', gateway.url] });
      }
    } finally {
      await gateway.stop();
    }
  }
}

async function runClients(): Promise<void> {
  for (const revision of revisions.filter(isWanted)) {
    const host = await startClientHost();
    const { command, env, troubles } = host;
    const args = ['--command', command];
    try {
      await run(`client ${revision}`, { role: 'client', revision, args, env }, troubles);
    } finally {
      host.stop();
    }
  }
}

async function run(
  title: string,
  suiteRun: SuiteRun,
  troubles?: ReadonlyMap<string, string>,
): Promise<void> {
  const { role, revision } = suiteRun;
  const results = path.join(folder, title.replaceAll(/\W+/g, '-'));
  mkdirSync(results);
  const output = await runSuite(suiteRun, results, values.scenario);
  if (values.scenario !== undefined) {
    console.log(`\n${title}\n${output}`);
    return;
  }
  const rows = judge(
    requirementsOf(role, revision),
    resultsIn(results, role).map((result) => ({
      ...result,
      trouble: troubles?.get(result.scenario),
    })),
    expectedFailures(role),
  );
  runs.set(title, rows);
  console.log(`\n${title}\n${rowLines(rows)}`);
}
