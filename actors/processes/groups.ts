/**
 * The process groups that sessions started and that have not ended. If this process exits first, it
 * kills them, because children outlive their parent. If it is killed, the guardian does.
 */

import { posixSystem } from './posix.ts';
import type { ProcessSystem } from './system.ts';
import { createWindowsSystem } from './windows.ts';

/** The system that this runs on. */
export const processSystem: ProcessSystem =
  process.platform === 'win32' ? createWindowsSystem() : posixSystem;

const live = new Set<number>();
let isWatching = false;

/** Remembers the group that is led by this process. */
export function watchGroup(leader: number): void {
  live.add(leader);
  if (isWatching) return;
  isWatching = true;
  // One listener for all: a listener per session would run into Node's warning at ten.
  process.once('exit', () => processSystem.killAll(live));
}

export function forgetGroup(leader: number): void {
  live.delete(leader);
}
