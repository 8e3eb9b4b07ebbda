import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { describe, expect, it } from 'vitest';

import { endGroup } from '../../actors/stdio-ending.ts';
import { realClock } from '../../src/runtime/real-clock.ts';
import { isRunning } from './session-bench.ts';
import { startDeaf } from './stubborn-processes.ts';

// Takes a second SIGTERM for "at once", as many servers do.
const insistent =
  'let n=0;process.on("SIGTERM",()=>{n+=1;process.stdout.write("T");if(n===2)process.exit(0)});' +
  'setInterval(()=>{},1000);process.stdout.write(".")';

describe('ending a group', () => {
  it('sends each signal once, to members of the group and to those that left it', async () => {
    const child = spawn(process.execPath, ['-e', insistent], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const escaped = await startDeaf();
    const escapedEnd = once(escaped.child, 'exit');
    await once(child.stdout, 'data');
    const heard = once(child.stdout, 'data');
    let hasExited = false;
    const end = once(child, 'exit');
    const exited = end.then(() => {
      hasExited = true;
    });
    const leader = child.pid as number;
    const isGone = await endGroup({
      leader,
      clock: realClock,
      exited,
      hasExited: () => hasExited,
      // Not before the first signal has arrived, or two of them would be one.
      descendants: async () => {
        await heard;
        return [leader, escaped.pid].filter(isRunning);
      },
      hasCrashed: false,
      endInput: () => {},
      steps: [
        { by: 'SIGTERM', waitMs: 300 },
        { by: 'SIGKILL', waitMs: 5_000 },
      ],
    });
    expect(isGone).toBe(true);
    expect(await end).toEqual([null, 'SIGKILL']);
    expect(await escapedEnd).toEqual([null, 'SIGKILL']);
  });
});
