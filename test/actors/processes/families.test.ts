import { describe, expect, it } from 'vitest';
import { ProcessFamilies, type Seen } from '../../../actors/processes/families.ts';
import { hasProcessTable } from '../../../actors/processes/identity.ts';

function seen(pid: number, parent: number): Seen {
  return { pid, parent, start: `start of ${pid}`, name: 'server', group: pid, isRunning: true };
}

describe.runIf(hasProcessTable)('a server that starts during a snapshot', () => {
  it('keeps its family, though the snapshot does not show it', async () => {
    let finish: (table: readonly Seen[]) => void = () => undefined;
    const first = new Promise<readonly Seen[]>((resolve) => {
      finish = resolve;
    });
    const snapshots = [first, Promise.resolve([seen(10, 1), seen(20, 1), seen(21, 20)])];
    const families = new ProcessFamilies(() => snapshots.shift() ?? Promise.resolve([]));
    families.add(seen(10, 1));
    const looking = families.look();
    families.add(seen(20, 1));
    finish([seen(10, 1)]);
    await looking;
    await families.look();
    expect(families.membersOf(20).map(({ pid }) => pid)).toEqual([21]);
  });
});
