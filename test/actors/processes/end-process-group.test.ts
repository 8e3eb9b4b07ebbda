import { spawn } from 'node:child_process';
import { once } from 'node:events';

import { describe, expect, it } from 'vitest';

import { endGroup } from '../../../actors/processes/end-process-group.ts';
import { posixSystem } from '../../../actors/processes/posix.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { isRunning } from '../session/bench.ts';
import { startDeaf } from './stubborn-processes.ts';

// Takes a second SIGTERM for "at once", as many servers do.
const insistent =
  'let n=0;process.on("SIGTERM",()=>{n+=1;process.stdout.write("T");if(n===2)process.exit(0)});' +
  'setInterval(()=>{},1000);process.stdout.write(".")';

const graceMs = 600_000;
const deafUnlessKilled =
  'process.on("SIGTERM",()=>process.stdout.write("T"));' +
  'setInterval(()=>{},1000);process.stdout.write(".")';
const withMember =
  'process.on("SIGTERM",()=>process.stdout.write("leader "));' +
  `const member=require("child_process").spawn(process.execPath,["-e",${JSON.stringify(deafUnlessKilled)}]);` +
  'member.stdout.on("data",(text)=>process.stdout.write(text.includes("T")?"member ":String(member.pid)))';

describe('ending a process group', () => {
  it.each([
    ['child', 'leader'],
    ['group', 'leader member'],
    ['tree', 'leader member escaped'],
  ] as const)('sends SIGTERM to the %s (%s) and kills all survivors', async (scope, asked) => {
    const told = new Set<string>();
    let hearAll = (): void => {};
    const hear = (names: string): void => {
      for (const name of names.trim().split(' ')) told.add(name);
      if (told.size === asked.split(' ').length) hearAll();
    };
    const escaped = spawn(process.execPath, ['-e', deafUnlessKilled], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    // It starts the member of its group itself, and says its number.
    const leader = spawn(process.execPath, ['-e', withMember], {
      detached: true,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    const [[line]] = (await Promise.all([
      once(leader.stdout, 'data'),
      once(escaped.stdout, 'data'),
    ])) as [[Buffer], unknown];
    const member = Number(line.toString());
    leader.stdout.on('data', (text: Buffer) => hear(text.toString()));
    escaped.stdout.on('data', () => hear('escaped'));
    let hasExited = false;
    const end = once(leader, 'exit').then(() => {
      hasExited = true;
    });
    const isGone = await endGroup({
      system: posixSystem,
      leader: leader.pid as number,
      // The grace of SIGTERM lasts until all have heard who should.
      clock: {
        ...realClock,
        setTimeout: (callback, ms) => {
          if (ms !== graceMs) return realClock.setTimeout(callback, ms);
          hearAll = callback;
          if (told.size === asked.split(' ').length) callback();
          return undefined;
        },
      },
      exited: end,
      hasExited: () => hasExited,
      descendants: async () =>
        [leader.pid as number, member, escaped.pid as number].filter(isRunning),
      hasCrashed: false,
      endInput: () => {},
      scope,
      steps: [
        { by: 'SIGTERM', waitMs: graceMs },
        { by: 'SIGKILL', waitMs: 5_000 },
      ],
    });
    expect(isGone).toBe(true);
    expect([...told].sort()).toEqual(asked.split(' ').sort());
    expect([member, escaped.pid as number].filter(isRunning)).toEqual([]);
  });

  it('sends each signal once to group members and to processes that left the group', async () => {
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
      system: posixSystem,
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
      scope: 'tree',
      steps: [
        { by: 'SIGTERM', waitMs: 300 },
        { by: 'SIGKILL', waitMs: 5_000 },
      ],
    });
    expect(isGone).toBe(true);
    expect(await end).toEqual([null, 'SIGKILL']);
    expect(await escapedEnd).toEqual([null, 'SIGKILL']);
  });

  it.each([
    ['once when nothing else is left', false, 1],
    ['again after it killed a process that left the group', true, 2],
  ])('after a crash takes a snapshot of descendants %s', async (_when, hasEscaped, most) => {
    const leader = spawn(process.execPath, ['-e', ''], { detached: true, stdio: 'ignore' });
    const exited = once(leader, 'exit');
    const escaped = await startDeaf();
    const escapedEnd = once(escaped.child, 'exit');
    await exited;
    let snapshots = 0;
    const isGone = await endGroup({
      system: posixSystem,
      leader: leader.pid as number,
      clock: realClock,
      exited,
      hasExited: () => true,
      descendants: async () => {
        snapshots += 1;
        if (!hasEscaped) return [];
        if (snapshots > 1) await escapedEnd;
        return [escaped.pid].filter(isRunning);
      },
      hasCrashed: true,
      endInput: () => {},
      scope: 'tree',
      steps: [],
    });
    expect(isGone).toBe(true);
    expect(snapshots).toBe(most);
    expect(isRunning(escaped.pid)).toBe(!hasEscaped);
    escaped.child.kill('SIGKILL');
  });
});
