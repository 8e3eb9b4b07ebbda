/**
 * Ends a process group by the steps of the policy (mostly end of input, SIGTERM,
 * SIGKILL), each with its grace, and resolves when no member is left. Members that outlive their
 * leader have no input of ours to wait for and start at SIGTERM.
 */

import type { Clock } from '../src/domain/clock.ts';
import type { CloseStep } from '../src/domain/policy.ts';
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
  /** Of the policy: taken one after the other until nobody is left. */
  readonly steps: readonly CloseStep[];
}

export async function endGroup(ending: GroupEnding): Promise<void> {
  if (ending.hasCrashed) {
    await isEmptyWithin(ending, crashedMs);
    return;
  }
  for (const step of ending.steps) if (await isGoneAfter(step, ending)) return;
  if (ending.steps.at(-1)?.by === 'SIGKILL') return;
  // Nobody outlives the last step, whatever the policy names.
  signalGroup(ending.leader, 'SIGKILL');
  await isEmptyWithin(ending, killedMs);
}

async function isGoneAfter({ by, waitMs }: CloseStep, ending: GroupEnding): Promise<boolean> {
  if (by !== 'stdinEnd') {
    signalGroup(ending.leader, by);
    return isEmptyWithin(ending, waitMs);
  }
  if (!ending.hasExited()) {
    ending.endInput();
    await within(ending.clock, waitMs, ending.exited);
  }
  return ending.hasExited() && !hasMembers(ending.leader);
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
