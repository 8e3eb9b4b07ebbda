/**
 * Ends a process group step by step: end of input, SIGTERM, SIGKILL, each with
 * its grace, and resolves when no member is left. Members that outlive their
 * leader have no input of ours to wait for and start at SIGTERM.
 */

import type { Clock } from '../src/domain/clock.ts';
import { hasMembers, signalGroup } from './stdio-groups.ts';

// The kernel tells nobody when a group is empty, so it is asked; mostly once.
const askAgainMs = 20;
// SIGKILL cannot be refused; who is still there after this hangs in the kernel.
const killedMs = 250;
// The same after a crash, whose end must be known within 100 ms.
const crashedMs = 30;

export interface GroupEnding {
  readonly leader: number;
  readonly clock: Clock;
  /** Resolves when the leader has exited. */
  readonly exited: Promise<void>;
  readonly hasExited: () => boolean;
  /** The leader died by itself, and its group was sent SIGKILL at that moment. */
  readonly hasCrashed: boolean;
  readonly endInput: () => void;
  readonly stdinGraceMs: number;
  readonly termGraceMs: number;
}

export async function endGroup(ending: GroupEnding): Promise<void> {
  const { leader, clock } = ending;
  if (ending.hasCrashed) {
    await isEmptyWithin(ending, crashedMs);
    return;
  }
  if (!ending.hasExited()) {
    ending.endInput();
    await within(clock, ending.stdinGraceMs, ending.exited);
  }
  if (ending.hasExited() && !hasMembers(leader)) return;
  signalGroup(leader, 'SIGTERM');
  if (await isEmptyWithin(ending, ending.termGraceMs)) return;
  signalGroup(leader, 'SIGKILL');
  await isEmptyWithin(ending, killedMs);
}

async function isEmptyWithin(ending: GroupEnding, limitMs: number): Promise<boolean> {
  const { clock, leader } = ending;
  const deadline = clock.now() + limitMs;
  if (!ending.hasExited()) await within(clock, limitMs, ending.exited);
  while (ending.hasExited()) {
    if (!hasMembers(leader)) return true;
    if (clock.now() >= deadline) return false;
    await pause(clock, Math.min(askAgainMs, deadline - clock.now()));
  }
  return false;
}

function within(clock: Clock, limitMs: number, event: Promise<void>): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.setTimeout(resolve, limitMs);
    void event.then(() => {
      clock.clearTimeout(timer);
      resolve();
    });
  });
}

function pause(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimeout(resolve, Math.max(1, delayMs));
  });
}
