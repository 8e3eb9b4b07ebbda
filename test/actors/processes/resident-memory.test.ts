import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';
import {
  membersIn,
  memoryOfTrees,
  residentMemory,
} from '../../../actors/processes/resident-memory.ts';

const none = (): number => 0;

describe('the memory of process trees', () => {
  it('is the sum of each tree, with processes whose parent has ended', () => {
    const members = membersIn(`
      1     0     1  9000
     10     1    10   100
     11    10    10    20
     12    11    12     3
     13     1    10     5
     20     1    20     7
    `);
    expect(memoryOfTrees([10, 20, 30], members, none)).toEqual(
      new Map([
        [10, { bytes: 128 * 1_024, processCount: 4 }],
        [20, { bytes: 7 * 1_024, processCount: 1 }],
      ]),
    );
  });

  it('ends although the list, which was read while processes ended, has a loop', () => {
    const members = membersIn('5 6 5 1\n6 5 6 1');
    expect(memoryOfTrees([7], members, none)).toEqual(new Map());
  });

  it.skipIf(process.platform === 'win32')('is read of real processes', async () => {
    const inner = `setInterval(() => {}, 1e9); console.log('up')`;
    const outer = `require('node:child_process').spawn(process.execPath, ['-e', ${JSON.stringify(inner)}], { stdio: 'inherit' });`;
    const leader = spawn(process.execPath, ['-e', outer], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const pid = leader.pid as number;
    onTestFinished(() => void process.kill(-pid, 'SIGKILL'));
    await once(createInterface({ input: leader.stdout }), 'line');
    const use = (await residentMemory([pid])).get(pid);
    expect(use?.processCount).toBe(2);
    // Two times Node, in bytes.
    expect(use?.bytes).toBeGreaterThan(40_000_000);
    expect(use?.bytes).toBeLessThan(1_000_000_000);
  });

  it('is unknown of a process that has ended', async () => {
    expect(await residentMemory([2 ** 30])).toEqual(new Map());
  });
});
