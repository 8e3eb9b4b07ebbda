import {
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
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { approvalFile, createApprovalStore } from '../../../actors/stores/approvals.ts';
import type { Problem } from '../../../src/domain/settings.ts';
import { decisionsOf, recordsIn } from '../../../src/policies/approvals/records.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';

const f1 = '1'.repeat(64);
const granted = {
  server: 'db',
  fingerprint: f1,
  decision: 'granted',
  decidedAt: 1,
  facts: [],
  pins: [],
} as const;

let folder = '';
let stateDir = '';
beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'approvals-')));
  stateDir = path.join(folder, 'state');
  mkdirSync(stateDir);
  mkdirSync(path.join(folder, 'project'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function openStore() {
  let problems: readonly Problem[] = [];
  const store = createApprovalStore({
    stateDir,
    projectRoot: path.join(folder, 'project'),
    clock: realClock,
    onProblems: (list) => {
      problems = list;
    },
    watch: () => () => {},
  });
  await store.load();
  return { store, problems: () => problems };
}
type Opened = Awaited<ReturnType<typeof openStore>>;

describe('approvals for removed projects', () => {
  const year = 365 * 24 * 3_600_000;
  const old = Date.now() - year - 60_000;
  const kept = (opened: Opened) =>
    opened.store.saved().then(() => projectsIn(approvalFile(stateDir)));
  const projectsIn = (file: string) =>
    (
      JSON.parse(readFileSync(file, 'utf8')) as { records: { project: string; decision: string }[] }
    ).records
      .map((record) => `${path.basename(record.project)} ${record.decision}`)
      .sort();

  it('are removed and reported when unused for a year', async () => {
    const away = path.join(folder, 'away');
    const recent = Date.now() - year / 2;
    const record = (name: string, change: object) => ({
      ...granted,
      project: path.join(folder, name),
      decidedAt: old,
      ...change,
    });
    const records = [
      record('gone', {}),
      record('used', { usedAt: recent }),
      record('new', { decidedAt: recent }),
      record('rejected', { decision: 'rejected' }),
      record('revoked', { decision: 'revoked' }),
      record('away', {}),
    ];
    mkdirSync(away);
    writeFileSync(approvalFile(stateDir), JSON.stringify({ version: 1, records }), { mode: 0o600 });
    const opened = await openStore();
    opened.store.add({ kind: 'decision', record: granted });
    expect(await kept(opened)).toEqual([
      'away granted',
      'new granted',
      'project granted',
      'rejected rejected',
      'revoked revoked',
      'used granted',
    ]);
    expect(opened.problems().map(({ message }) => message)).toEqual([
      'removed 1 approval that had not been used for a year and whose project folder is gone',
    ]);
  });

  it('are not removed while the folder cannot be read', async () => {
    const loop = path.join(folder, 'loop');
    symlinkSync(loop, loop);
    const records = [{ ...granted, project: path.join(loop, 'deep'), decidedAt: old }];
    writeFileSync(approvalFile(stateDir), JSON.stringify({ version: 1, records }), { mode: 0o600 });
    const opened = await openStore();
    opened.store.add({ kind: 'decision', record: granted });
    expect(await kept(opened)).toEqual(['deep granted', 'project granted']);
  });
});

describe('a full approvals file', () => {
  it('keeps all decisions and reports its maximum size', async () => {
    const shown = 'x'.repeat(1_000_000);
    const facts = [{ field: 'command', shown, digest: f1 }];
    const records = Array.from({ length: 16 }, (_, n) => ({
      ...granted,
      project: `/p${n}`,
      decidedAt: Date.now(),
      facts,
    }));
    const content = JSON.stringify({ version: 1, records });
    writeFileSync(approvalFile(stateDir), content, { mode: 0o600 });
    const { store, problems } = await openStore();
    const entry = { server: 'db', fingerprint: f1, decision: 'granted', decidedAt: 1 } as const;
    store.add({ kind: 'decision', record: { ...entry, facts: [...facts, ...facts], pins: [] } });
    expect(await store.saved()).toBe(false);
    expect(problems()[0]?.message).toContain('larger than 16 MB');
    expect(readFileSync(approvalFile(stateDir), 'utf8')).toBe(content);
    expect(decisionsOf(recordsIn(store.records()))).toMatchObject([{ server: 'db' }]);
  });
});
