/** How all processes are looked at, with the process table of this machine. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { describe, expect, it, onTestFinished } from 'vitest';

import { createScan, hasProcessTable } from '../../../actors/processes/process-table.ts';

/** So that there are more processes than one step takes. */
async function crowd(size: number): Promise<readonly number[]> {
  const children = Array.from({ length: size }, () => spawn('sleep', ['600'], { stdio: 'ignore' }));
  onTestFinished(() => {
    for (const child of children) child.kill('SIGKILL');
  });
  await Promise.all(children.map((child) => once(child, 'spawn')));
  return children.map(({ pid }) => pid as number);
}

describe.runIf(hasProcessTable)('a scan of all processes', () => {
  it('finds every process without blocking the event loop', async () => {
    const pids = await crowd(100);
    let inOneTurn = 0;
    let most = 0;
    let isOver = false;
    const turn = (): void => {
      inOneTurn = 0;
      if (!isOver) setImmediate(turn);
    };
    turn();
    const found = await createScan((pid) => {
      inOneTurn += 1;
      most = Math.max(most, inOneTurn);
      return pid;
    })();
    isOver = true;
    expect(found).toEqual(expect.arrayContaining([...pids]));
    expect(most).toBeLessThanOrEqual(32);
  });

  it('is shared only by requests made before it begins', async () => {
    let looks = 0;
    let later: Promise<readonly number[]> | undefined;
    const look = createScan((pid) => {
      if (pid !== process.pid) return undefined;
      looks += 1;
      later ??= look();
      return pid;
    });
    const first = look();
    expect(look()).toBe(first);
    expect(await first).toEqual([process.pid]);
    expect(looks).toBe(1);
    expect(later).not.toBe(first);
    expect(await later).toEqual([process.pid]);
    expect(looks).toBe(2);
  });

  it('omits processes that cannot be read', async () => {
    const found = await createScan((pid) => {
      if (pid !== process.pid) throw new Error('closed to us');
      return pid;
    })();
    expect(found).toEqual([process.pid]);
  });
});
