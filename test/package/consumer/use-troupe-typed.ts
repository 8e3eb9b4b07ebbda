// A caller in strict TypeScript; what it names must be exported, and have these types.
import assert from 'node:assert/strict';
import {
  type CallerCode,
  type CallReport,
  createTroupe,
  type ServerStatus,
  type StartReport,
  type Troupe,
  TroupeError,
  type TroupeOptions,
} from 'mcp-troupe';
import type { TroupeChartElement } from 'mcp-troupe/chart';
import { type InspectionRecord, serverStates } from 'mcp-troupe/inspection';
import type { Account } from 'mcp-troupe/login';
import type { StdioSpec } from 'mcp-troupe/settings';

const shown: Pick<TroupeChartElement, 'server' | 'chart'> = { server: 'fixture', chart: 'circuit' };
assert.equal(shown.chart, 'circuit');

const options: TroupeOptions = {
  settings: { mcpServers: { fixture: { command: process.execPath, args: ['server.mjs'] } } },
  rules: [
    ({ spec }) => {
      if (spec.type !== 'stdio') return;
      const { command }: StdioSpec = spec;
      assert.equal(command, process.execPath);
    },
  ],
  inspect: true,
};
const troupe: Troupe = createTroupe(options);
const seen: ServerStatus[] = [];
const forget = troupe.on('status.changed', ({ status }) => seen.push(status));
const report: StartReport = await troupe.ready();
assert.deepEqual(report.failed, []);

const { result }: CallReport = await troupe.callServerTool(
  'fixture',
  'echo',
  { text: 'hi' },
  { timeoutMs: 30_000 },
);
assert.equal(result.content[0]?.['text'], '{"text":"hi"}');
assert.ok(seen.some(({ state }) => state === 'ready'));
assert.ok(seen.every(({ state }) => serverStates.includes(state)));
const records: readonly InspectionRecord[] = troupe.inspection.records(1, 1_000);
assert.ok(records.some(({ kind }) => kind === 'status'));
const accounts: readonly Account[] = await troupe.accounts();
assert.deepEqual(accounts, []);
forget();

const code = await troupe.callTool('mcp__nobody__echo').then(
  (): CallerCode | undefined => undefined,
  (error: unknown) => (error instanceof TroupeError ? error.code : undefined),
);
assert.equal(code, 'TOOL_UNKNOWN' satisfies CallerCode);
await troupe.stop();
