import { type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { access } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { placeOfThisProcess, startOf } from '../../../actors/processes/process-table.ts';
import {
  type ApprovalStore,
  approvalFile,
  createApprovalStore,
} from '../../../actors/stores/approvals.ts';
import type { Decision } from '../../../src/domain/host/approval.ts';
import type { Problem } from '../../../src/domain/settings.ts';
import { decisionsOf, recordsIn } from '../../../src/policies/approvals/records.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { compiledProgram } from '../../support/compiled-program.ts';

const f1 = '1'.repeat(64);
const isRoot = process.getuid?.() === 0;

let folder = '';
let stateDir = '';
let project = '';
const open: ApprovalStore[] = [];
const children: ChildProcessWithoutNullStreams[] = [];

beforeEach(() => {
  folder = realpathSync(mkdtempSync(path.join(tmpdir(), 'approvals-')));
  stateDir = path.join(folder, 'state');
  project = path.join(folder, 'project');
  mkdirSync(stateDir);
  mkdirSync(project);
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const store of open.splice(0)) await store.close();
  rmSync(folder, { recursive: true, force: true });
});

interface Opened {
  readonly store: ApprovalStore;
  readonly problems: () => readonly Problem[];
  /** Settles once there is a change after this call. */
  changed(): Promise<void>;
}

async function openStore(projectRoot = project, isWatching = false): Promise<Opened> {
  let problems: readonly Problem[] = [];
  const store = createApprovalStore({
    stateDir,
    projectRoot,
    clock: realClock,
    onProblems: (list) => {
      problems = list;
    },
    ...(isWatching ? {} : { watch: () => () => {} }),
  });
  open.push(store);
  await store.load();
  const changed = (): Promise<void> =>
    new Promise((resolve) => {
      const end = store.listen(() => {
        end();
        resolve();
      });
    });
  return { store, problems: () => problems, changed };
}

function decide(store: ApprovalStore, server: string, decision: Decision, fingerprint = f1): void {
  store.add({
    kind: 'decision',
    record: { server, fingerprint, decision, decidedAt: 1, facts: [], pins: [] },
  });
}

const filesIn = (where: string): readonly string[] =>
  readdirSync(where, { recursive: true, encoding: 'utf8' }).sort();

const wordsOf = ({ store }: Opened): readonly string[] =>
  recordsIn(store.records()).map(({ server, decision }) => `${server} ${decision}`);

describe('approvals on disk', () => {
  it('outlive the run in a private file', async () => {
    const { store } = await openStore();
    decide(store, 'a', 'granted');
    decide(store, 'b', 'rejected');
    decide(store, 'c', 'revoked');
    expect(await store.saved()).toBe(true);
    expect(wordsOf(await openStore())).toEqual(['a granted', 'b rejected', 'c revoked']);
    expect(statSync(approvalFile(stateDir)).mode & 0o777).toBe(0o600);
    expect(readdirSync(stateDir)).toEqual(['approvals.json']);
  });

  it('are awaited, including those added during a write', async () => {
    const { store } = await openStore();
    decide(store, 'first', 'granted');
    const saved = store.saved();
    for (let turn = 0; turn < 50; turn += 1) {
      // As long as some of what the store itself does meanwhile.
      await access(stateDir);
      decide(store, `later${turn}`, 'granted');
    }
    expect(await saved).toBe(true);
    expect(recordsIn((await openStore()).store.records())).toHaveLength(51);
  });

  it('are reported as unsaved when their folder cannot be created', async () => {
    const place = path.join(process.platform === 'linux' ? '/proc' : '/dev/null', 'nope');
    let problems: readonly Problem[] = [];
    const store = createApprovalStore({
      stateDir: place,
      projectRoot: project,
      clock: realClock,
      onProblems: (list) => {
        problems = list;
      },
      watch: () => () => {},
    });
    await store.load();
    decide(store, 'a', 'granted');
    expect(await store.saved()).toBe(false);
    expect(problems.map(({ message }) => message).join()).toContain('approvals cannot be saved');
    await store.close();
  });

  it('apply to one folder, however its path is written', async () => {
    const link = path.join(folder, 'link');
    symlinkSync(project, link);
    const { store } = await openStore(`${link}/`);
    decide(store, 'a', 'granted');
    await store.saved();
    expect(wordsOf(await openStore(project))).toEqual(['a granted']);
    const other = await openStore(folder);
    expect(wordsOf(other)).toEqual([]);
    decide(other.store, 'z', 'granted');
    await other.store.saved();
    expect(wordsOf(await openStore(project))).toEqual(['a granted']);
  });

  it('reach other processes as soon as they are written', async () => {
    const here = await openStore(project, true);
    const there = await openStore(project, true);
    decide(here.store, 'a', 'granted');
    if (wordsOf(there).length === 0) await there.changed();
    expect(wordsOf(there)).toEqual(['a granted']);
    decide(there.store, 'a', 'revoked');
    if (wordsOf(here)[0] !== 'a revoked') await here.changed();
    expect(wordsOf(here)).toEqual(['a revoked']);
  });

  it('support any server name', async () => {
    const { store } = await openStore();
    for (const name of ['__proto__', 'constructor', '\u202edb']) decide(store, name, 'granted');
    await store.saved();
    expect(wordsOf(await openStore())).toEqual([
      '__proto__ granted',
      'constructor granted',
      '\u202edb granted',
    ]);
  });
});

const granted = {
  project: '',
  server: 'db',
  fingerprint: f1,
  decision: 'granted',
  decidedAt: 1,
  facts: [],
  pins: [],
};
const goodText = (change: object = {}): string =>
  JSON.stringify({ version: 1, records: [{ ...granted, project, ...change }] });

describe('a damaged approvals file', () => {
  it.each<[string, () => string]>([
    ['is empty', () => ''],
    ['is an empty object', () => '{}'],
    ['is a list', () => '[]'],
    ['has an older version', () => goodText().replace('"version":1', '"version":0')],
    ['has an unknown decision', () => goodText({ decision: 'Approved' })],
    ['has a decision that is not a string', () => goodText({ decision: true })],
    ['has a truncated fingerprint', () => goodText({ fingerprint: '1'.repeat(32) })],
    ['has an uppercase fingerprint', () => goodText({ fingerprint: 'A'.repeat(64) })],
    ['has an extra key', () => goodText({ trusted: true })],
    ['is too large', () => `${goodText()}${' '.repeat(17 * 1024 * 1024)}`],
  ])('grants nothing, is set aside and is reported when it %s', async (_what, text) => {
    const content = text();
    writeFileSync(approvalFile(stateDir), content, { mode: 0o600 });
    const opened = await openStore();
    expect(wordsOf(opened)).toEqual([]);
    const [problem, ...more] = opened.problems();
    expect(more).toEqual([]);
    expect(problem?.message).toContain('decide again');
    expect(path.basename(problem?.file ?? '')).toMatch(/^approvals\.json\.damaged-/u);
    expect(readFileSync(problem?.file ?? '', 'utf8')).toBe(content);
    decide(opened.store, 'new', 'granted');
    expect(await opened.store.saved()).toBe(true);
    expect(wordsOf(await openStore())).toEqual(['new granted']);
    expect(readFileSync(problem?.file ?? '', 'utf8')).toBe(content);
  });

  it('grants nothing, wherever it is truncated', async () => {
    const text = goodText();
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: text.length - 1 }), async (length) => {
        writeFileSync(approvalFile(stateDir), text.slice(0, length), { mode: 0o600 });
        expect(decisionsOf(recordsIn((await openStore()).store.records()))).toEqual([]);
      }),
      { numRuns: 60 },
    );
  });

  it('grants nothing new, whichever bit is flipped', async () => {
    const bytes = Buffer.from(goodText({ decision: 'rejected' }));
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: bytes.length * 8 - 1 }), async (bit) => {
        const flipped = Buffer.from(bytes);
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (1 << (bit & 7));
        writeFileSync(approvalFile(stateDir), flipped, { mode: 0o600 });
        const found = decisionsOf(recordsIn((await openStore()).store.records()));
        expect(found.filter(({ decision }) => decision === 'granted')).toEqual([]);
      }),
      { numRuns: 100 },
    );
  });
});

describe('an approvals file that cannot be trusted', () => {
  const put = (mode = 0o600): void => {
    writeFileSync(approvalFile(stateDir), goodText());
    chmodSync(approvalFile(stateDir), mode);
  };

  it.each<[string, string, () => void]>([
    ['is writable by everyone', 'chmod 600', () => put(0o666)],
    ['is writable by a group', 'chmod 600', () => put(0o620)],
    ['is readable by others', 'chmod 600', () => put(0o644)],
    [
      'has a newer version',
      'newer version',
      () => {
        writeFileSync(approvalFile(stateDir), goodText().replace('"version":1', '"version":3'), {
          mode: 0o600,
        });
      },
    ],
    [
      'is a link',
      'is a link',
      () => {
        writeFileSync(path.join(folder, 'elsewhere'), goodText(), { mode: 0o600 });
        symlinkSync(path.join(folder, 'elsewhere'), approvalFile(stateDir));
      },
    ],
    ['is a folder', 'not a file', () => mkdirSync(approvalFile(stateDir))],
    [
      'is a pipe',
      'not a file',
      () => {
        expect(spawnSync('mkfifo', [approvalFile(stateDir)]).status).toBe(0);
      },
    ],
  ])('grants nothing and is left unchanged when it %s', async (_what, word, make) => {
    make();
    const before = filesIn(folder);
    const opened = await openStore();
    expect(wordsOf(opened)).toEqual([]);
    expect(opened.problems()).toEqual([
      { file: approvalFile(stateDir), message: expect.stringContaining(word) },
    ]);
    decide(opened.store, 'new', 'granted');
    // It counts for this run, and is not reported as saved.
    expect(wordsOf(opened)).toEqual(['new granted']);
    expect(await opened.store.saved()).toBe(false);
    expect(opened.problems()).toHaveLength(1);
    expect(filesIn(folder)).toEqual(before);
  });

  it('stores later decisions once it is fixed', async () => {
    put(0o666);
    const opened = await openStore(project, true);
    decide(opened.store, 'new', 'granted');
    expect(await opened.store.saved()).toBe(false);
    const fixed = opened.changed();
    chmodSync(approvalFile(stateDir), 0o600);
    await fixed;
    expect(await opened.store.saved()).toBe(true);
    expect(opened.problems()).toEqual([]);
    expect(wordsOf(await openStore())).toEqual(['db granted', 'new granted']);
  });

  it.runIf(isRoot)('grants nothing when it belongs to another user', async () => {
    put();
    expect(spawnSync('chown', ['65534', approvalFile(stateDir)]).status).toBe(0);
    const opened = await openStore();
    expect(wordsOf(opened)).toEqual([]);
    expect(opened.problems()[0]?.message).toContain('another user');
  });

  it('is used again once it is fixed', async () => {
    put(0o666);
    const opened = await openStore(project, true);
    expect(wordsOf(opened)).toEqual([]);
    const changed = opened.changed();
    put();
    await changed;
    expect(wordsOf(opened)).toEqual(['db granted']);
    expect(opened.problems()).toEqual([]);
  });

  it('revokes its approvals when it vanishes', async () => {
    put();
    const opened = await openStore(project, true);
    expect(wordsOf(opened)).toEqual(['db granted']);
    const changed = opened.changed();
    rmSync(approvalFile(stateDir));
    await changed;
    expect(wordsOf(opened)).toEqual([]);
  });
});

describe('an unwritable state folder', () => {
  it('limits decisions to this run, reports it, and retries with the next decision', async () => {
    // A file in place of the folder: even root cannot write there.
    rmSync(stateDir, { recursive: true });
    writeFileSync(stateDir, '');
    const opened = await openStore();
    decide(opened.store, 'a', 'granted');
    expect(wordsOf(opened)).toEqual(['a granted']);
    expect(await opened.store.saved()).toBe(false);
    const [problem, ...more] = opened.problems();
    expect(problem?.message).toContain('end with this run');
    expect(more).toEqual([]);
    rmSync(stateDir);
    decide(opened.store, 'b', 'rejected');
    expect(await opened.store.saved()).toBe(true);
    expect(opened.problems()).toEqual([]);
    expect(wordsOf(await openStore())).toEqual(['a granted', 'b rejected']);
  });

  it.runIf(process.platform === 'linux' && isRoot)(
    'keeps the old file intact when the disk is full',
    async () => {
      const mounted = spawnSync('mount', [
        '-t',
        'tmpfs',
        '-o',
        'size=64k,mode=700',
        'tmpfs',
        stateDir,
      ]);
      // Where nothing may be mounted, as in most containers, this is not to be seen.
      if (mounted.status !== 0) return;
      try {
        const { store } = await openStore();
        decide(store, 'a', 'granted');
        expect(await store.saved()).toBe(true);
        const before = readFileSync(approvalFile(stateDir), 'utf8');
        spawnSync('dd', ['if=/dev/zero', `of=${path.join(stateDir, 'fill')}`, 'bs=1k', 'count=80']);
        const opened = await openStore();
        decide(opened.store, 'b', 'granted');
        expect(await opened.store.saved()).toBe(false);
        expect(opened.problems()[0]?.message).toContain('ENOSPC');
        expect(readFileSync(approvalFile(stateDir), 'utf8')).toBe(before);
      } finally {
        spawnSync('umount', ['-l', stateDir]);
      }
    },
  );
});

describe('a lock', () => {
  const lockOf = (holder: object): void => {
    writeFileSync(`${approvalFile(stateDir)}.lock`, JSON.stringify(holder));
  };
  const dead = {
    token: '00000000-0000-4000-8000-000000000000',
    pid: process.pid,
    // The number is ours, the process was another one.
    start: '1',
    place: placeOfThisProcess(),
  };

  it('is taken over from a dead process', async () => {
    lockOf(dead);
    const { store } = await openStore();
    decide(store, 'a', 'granted');
    expect(await store.saved()).toBe(true);
    expect(readdirSync(stateDir)).toEqual(['approvals.json']);
  });

  it('removes drafts of killed writers and keeps those of running ones', async () => {
    const draftOf = (end: string, holder: object): string => {
      const name = `approvals.json.lock.${end}`;
      writeFileSync(path.join(stateDir, name), JSON.stringify(holder));
      return name;
    };
    const living = { ...dead, start: startOf(process.pid) ?? '' };
    draftOf('00000000-0000-4000-8000-000000000001', dead);
    draftOf(`${dead.token}.1.00000000-0000-4000-8000-000000000002`, dead);
    const kept = [
      draftOf('00000000-0000-4000-8000-000000000003', living),
      draftOf('00000000-0000-4000-8000-000000000004', {}),
      draftOf(`${dead.token}.1`, dead),
    ];
    const { store } = await openStore();
    decide(store, 'a', 'granted');
    expect(await store.saved()).toBe(true);
    expect(readdirSync(stateDir).toSorted()).toEqual(['approvals.json', ...kept].toSorted());
  });

  it('is taken over even if another claimant has died too', async () => {
    lockOf(dead);
    writeFileSync(`${approvalFile(stateDir)}.lock.${dead.token}.1`, JSON.stringify(dead));
    const { store } = await openStore();
    decide(store, 'a', 'granted');
    expect(await store.saved()).toBe(true);
    expect(readdirSync(stateDir)).toEqual(['approvals.json']);
  });

  it('never blocks readers', async () => {
    const { store } = await openStore();
    decide(store, 'a', 'granted');
    await store.saved();
    lockOf({ ...dead, place: { ...dead.place, host: 'far away' } });
    expect(wordsOf(await openStore())).toEqual(['a granted']);
  });
});

describe('two processes that decide at once', { timeout: 120_000 }, () => {
  const program = compiledProgram('test/fixtures/hosts/deciding-host.ts');
  const host = (name: string, count: number): ChildProcessWithoutNullStreams => {
    const child = spawn(
      process.execPath,
      [...program.words, stateDir, project, name, String(count)],
      { stdio: 'pipe' },
    );
    children.push(child);
    child.stdout.setEncoding('utf8');
    return child;
  };

  it('lose no decision in 200 writes each', async () => {
    const count = 200;
    const hosts = ['one', 'two'].map((name) => host(name, count));
    const outputs = hosts.map(() => '');
    await Promise.all(
      hosts.map(async (child, at) => {
        await once(child.stdout, 'data');
        child.stdout.on('data', (text: string) => {
          outputs[at] += text;
        });
      }),
    );
    const exits = hosts.map((child) => once(child, 'exit'));
    for (const child of hosts) child.stdin.write('go\n');
    expect(await Promise.all(exits)).toEqual([
      [0, null],
      [0, null],
    ]);
    expect(outputs).toEqual(['done\n', 'done\n']);
    const expected = ['one', 'two'].flatMap((name) =>
      Array.from(
        { length: count },
        (_, turn) => `${name}-${turn} ${turn % 3 === 2 ? 'revoked' : 'granted'}`,
      ),
    );
    expect(wordsOf(await openStore()).toSorted()).toEqual(
      [...expected, 'shared granted'].toSorted(),
    );
    expect(readdirSync(stateDir)).toEqual(['approvals.json']);
  });

  it('continue when one is killed during a write', async () => {
    const [one, two] = [host('one', 100_000), host('two', 20)];
    await Promise.all([once(one.stdout, 'data'), once(two.stdout, 'data')]);
    one.stdin.write('go\n');
    const exit = once(two, 'exit');
    two.stdin.write('go\n');
    // While both are at it.
    const watcher = await openStore(project, true);
    while (!wordsOf(watcher).includes('one-3 granted')) await watcher.changed();
    one.kill('SIGKILL');
    expect(await exit).toEqual([0, null]);
    decide(watcher.store, 'last', 'granted');
    expect(await watcher.store.saved()).toBe(true);
    const words = wordsOf(await openStore());
    expect(words.filter((word) => word.startsWith('two-'))).toHaveLength(20);
    expect(words).toContain('last granted');
  });
});
