import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ProcessFamilies } from '../../../actors/processes/descendants.ts';
import {
  childrenOf,
  entryOf,
  hasProcessTable,
  type ProcessEntry,
} from '../../../actors/processes/process-table.ts';

function entry(pid: number, parent: number): ProcessEntry {
  return { pid, parent, start: `start of ${pid}`, name: 'server', group: pid, isRunning: true };
}

describe.runIf(hasProcessTable)('a server that starts during a snapshot', () => {
  it('has its descendants tracked even if the snapshot misses it', async () => {
    let finish: (table: readonly ProcessEntry[]) => void = () => undefined;
    const first = new Promise<readonly ProcessEntry[]>((resolve) => {
      finish = resolve;
    });
    const snapshots = [first, Promise.resolve([entry(10, 1), entry(20, 1), entry(21, 20)])];
    const families = new ProcessFamilies(() => snapshots.shift() ?? Promise.resolve([]));
    families.add(entry(10, 1));
    const looking = families.scan();
    families.add(entry(20, 1));
    finish([entry(10, 1)]);
    await looking;
    await families.scan();
    expect(families.membersOf(20).map(({ pid }) => pid)).toEqual([21]);
  });
});

/** Starts a shell with this many children. */
async function startParent(childCount: number): Promise<ProcessEntry> {
  const script = `for child in $(seq ${childCount}); do sleep 600 & done; echo begun; wait`;
  const { pid, stdout } = spawn('sh', ['-c', script], {
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  onTestFinished(() => void process.kill(-(pid as number), 'SIGKILL'));
  await once(stdout, 'data');
  return entryOf(pid as number) as ProcessEntry;
}

describe.runIf(childrenOf(process.pid) !== undefined)('a snapshot of one server', () => {
  it('reads its own processes only', async () => {
    const parent = await startParent(2);
    let scans = 0;
    const families = new ProcessFamilies(() => Promise.resolve([]).finally(() => (scans += 1)));
    families.add(parent);
    await families.scanOne(parent.pid);
    expect(families.membersOf(parent.pid)).toMatchObject([
      { parent: parent.pid },
      { parent: parent.pid },
    ]);
    expect(scans).toBe(0);
  });

  it('reads all processes if the server has many', async () => {
    const parent = await startParent(16);
    const table = [parent, entry(1_000_000, parent.pid)];
    const families = new ProcessFamilies(() => Promise.resolve(table));
    families.add(parent);
    await families.scanOne(parent.pid);
    expect(families.membersOf(parent.pid)).toEqual(table.slice(1));
  });

  it('is not replaced by an older snapshot of all processes', async () => {
    const parent = await startParent(1);
    let finish: (table: readonly ProcessEntry[]) => void = () => undefined;
    const families = new ProcessFamilies(
      () =>
        new Promise((resolve) => {
          finish = resolve;
        }),
    );
    families.add(parent);
    const scanning = families.scan();
    await families.scanOne(parent.pid);
    finish([parent]);
    await scanning;
    expect(families.membersOf(parent.pid)).toHaveLength(1);
  });
});
