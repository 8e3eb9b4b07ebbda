import { describe, expect, it } from 'vitest';
import { ProcessFamilies } from '../../../actors/processes/descendants.ts';
import { hasProcessTable, type ProcessEntry } from '../../../actors/processes/process-table.ts';

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
