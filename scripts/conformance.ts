/**
 * Runs the official conformance suite in both roles: `npm run conformance`.
 *
 * As a server: `troupe serve --only` in front of a server that has one of everything, once with a
 * server of each era for each revision. As a client: the library through its public interface.
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
import { startHttpHost } from '../test/lab/http-host.ts';
import { startClientHost } from './conformance/client.ts';
import {
  expectedFailures,
  requirementsOf,
  resultsIn,
  root,
  runSuite,
  type SuiteRun,
} from './conformance/suite.ts';
import { type ExpectedFailure, judge, type Row, rowLines, summary } from './conformance/verdict.ts';

const revisions = ['2025-11-25', '2026-07-28'];
const upstreams = [
  { era: 'legacy', transport: 'stdio', of: revisions },
  { era: 'legacy', transport: 'http', of: ['2026-07-28'] },
  { era: 'modern', transport: 'stdio', of: revisions },
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
  for (const { era, transport, of } of upstreams) {
    const wanted = of.filter(isWanted);
    if (wanted.length > 0) await runServer(era, transport, wanted);
  }
}

async function runServer(era: string, transport: string, wanted: readonly string[]): Promise<void> {
  const cli = ['--import', 'tsx', path.join(root, 'src/cli/main.ts')];
  const file = path.join(root, 'test/fixtures/conformance-server.mjs');
  const host = transport === 'http' ? await startHttpHost(file, ['--http']) : undefined;
  const reference =
    host === undefined
      ? { command: process.execPath, args: [file], era }
      : { url: `${host.origin}/mcp`, era };
  const state = path.join(folder, `${era}-${transport}`);
  const gateway = await startGateway(cli, state, { reference }, ['--only', 'reference']);
  try {
    for (const revision of wanted) {
      const title = `server ${revision}, in front of a ${era} one over ${transport}`;
      const expected = expectedFailures('server', { revision, behind: era });
      await run(title, { role: 'server', revision, args: ['--url', gateway.url] }, { expected });
    }
  } finally {
    await gateway.stop();
    await host?.stop();
  }
}

async function runClients(): Promise<void> {
  for (const revision of revisions.filter(isWanted)) {
    const host = await startClientHost();
    const { command, env, troubles } = host;
    const args = ['--command', command];
    try {
      const expected = expectedFailures('client', { revision });
      const suiteRun = { role: 'client', revision, args, env } as const;
      await run(`client ${revision}`, suiteRun, { expected, troubles });
    } finally {
      host.stop();
    }
  }
}

async function run(
  title: string,
  suiteRun: SuiteRun,
  {
    expected,
    troubles,
  }: {
    readonly expected: readonly ExpectedFailure[];
    /** Why our client failed, by scenario. */
    readonly troubles?: Map<string, string>;
  },
): Promise<void> {
  const { role, revision } = suiteRun;
  const results = path.join(folder, title.replaceAll(/\W+/g, '-'));
  mkdirSync(results);
  const output = await runSuite(suiteRun, results, values.scenario);
  if (values.scenario !== undefined) {
    console.log(`\n${title}\n${output}`);
    return;
  }
  const rowsOf = (from: string): readonly Row[] =>
    judge(
      requirementsOf(role, revision),
      resultsIn(from, role).map((result) => ({
        ...result,
        trouble: troubles?.get(result.scenario),
      })),
      expected,
    );
  const rows = [...rowsOf(results)];
  // The suite waits for real time, so a scenario that fails on a busy machine gets a second try.
  for (const [index, { scenario, isWrong, end, note }] of rows.entries()) {
    if (!isWrong || end !== 'failed') continue;
    console.log(`\n${scenario} failed, and is tried again: ${note}`);
    const again = path.join(results, `again ${index}`);
    mkdirSync(again);
    troubles?.delete(scenario);
    await runSuite(suiteRun, again, scenario);
    const second = rowsOf(again).find((row) => row.scenario === scenario);
    if (second?.end === 'passed') rows[index] = second;
  }
  runs.set(title, rows);
  console.log(`\n${title}\n${rowLines(rows)}`);
}
