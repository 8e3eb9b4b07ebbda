/**
 * Ends a process group by following the policy's steps (usually end of input, SIGTERM, SIGKILL),
 * each with its own wait, and resolves when no member is left. Members that outlive their leader do
 * not read its input and start at SIGTERM, as do descendants that left the group, as far as the
 * system lets us find them.
 */

import type { ClosePolicy } from '../../src/domain/policy.ts';
import { withinTime } from '../host/time-limit.ts';
import { signalAll } from './environment-mark.ts';
import { posixSystem } from './posix.ts';
import type { Group, ProcessSystem } from './system.ts';
import { createWindowsSystem } from './windows.ts';

// The system does not report when a group becomes empty, so it is polled; usually once.
const askAgainMs = 20;
// SIGKILL cannot be refused; a process that still exists after this is stuck in the kernel.
const killedMs = 250;
// The same after a crash, which must be reported within 100 ms.
const crashedMs = 30;

export interface GroupEnding extends Group {
  /** The leader exited on its own, and its group was sent SIGKILL at that moment. */
  readonly hasCrashed: boolean;
  readonly endInput: () => void;
  /** The steps, taken in order until no process is left. */
  readonly steps: ClosePolicy['steps'];
  readonly scope: ClosePolicy['scope'];
}

/** Resolves with whether no process is left. */
export async function endGroup(ending: GroupEnding): Promise<boolean> {
  if (ending.hasCrashed) {
    const left = (await ending.descendants?.()) ?? [];
    signalAll(left, 'SIGKILL');
    // A snapshot of all processes is most of our part of a restart, so only killed processes get a second one.
    const descendants = left.length === 0 ? undefined : ending.descendants;
    return isEmptyWithin({ ...ending, descendants }, crashedMs);
  }
  for (const step of ending.steps) if (await isGoneAfter(step, ending)) return true;
  // No process outlives the last step, whatever the policy.
  return ending.steps.at(-1)?.by === 'SIGKILL' ? false : killGroup(ending);
}

/** Kills a group without a graceful step; resolves with whether no process is left. */
export async function killGroup(group: Group): Promise<boolean> {
  await group.system.signal(group, 'SIGKILL', 'tree');
  return isEmptyWithin(group, killedMs);
}

async function isGoneAfter(
  { by, waitMs }: ClosePolicy['steps'][number],
  ending: GroupEnding,
): Promise<boolean> {
  if (by !== 'stdinEnd') {
    // Whatever the scope of the graceful steps, SIGKILL leaves no process behind.
    await ending.system.signal(ending, by, by === 'SIGKILL' ? 'tree' : ending.scope);
    return isEmptyWithin(ending, waitMs);
  }
  if (!ending.hasExited()) {
    ending.endInput();
    await withinTime(ending.clock, waitMs, ending.exited);
  }
  return ending.hasExited() && (await ending.system.isEmpty(ending));
}

async function isEmptyWithin(group: Group, limitMs: number): Promise<boolean> {
  const { clock } = group;
  const deadline = clock.now() + limitMs;
  if (!group.hasExited()) await withinTime(clock, limitMs, group.exited);
  while (group.hasExited()) {
    if (await group.system.isEmpty(group)) return true;
    if (clock.now() >= deadline) return false;
    const pauseMs = Math.max(1, Math.min(askAgainMs, deadline - clock.now()));
    await withinTime(clock, pauseMs, new Promise(() => {}));
  }
  return false;
}

/** The operating system that this process runs on. */
export const processSystem: ProcessSystem =
  process.platform === 'win32' ? createWindowsSystem() : posixSystem;

/** Groups that sessions started and that have not ended yet. */
const live = new Set<number>();
let isWatching = false;

/**
 * Kills this leader's group when our process exits, because children outlive their parent. If our
 * process is killed, the guardian does so.
 */
export function watchGroup(leader: number): void {
  live.add(leader);
  if (isWatching) return;
  isWatching = true;
  // One listener for all sessions: with one per session, Node would warn at the eleventh.
  process.once('exit', () => processSystem.killAll(live));
}

export function forgetGroup(leader: number): void {
  live.delete(leader);
}
