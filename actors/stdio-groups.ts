/**
 * The process groups that sessions started and have not yet seen end. Should
 * this process leave by itself first, they are killed on its way out: children
 * survive their parent otherwise. When it is killed, that is for the guardian.
 */

import { readFileSync } from 'node:fs';

import { hasProcessTable } from './process-identity.ts';
import { createLook } from './process-look.ts';

const live = new Set<number>();
let isWatching = false;

function killAll(): void {
  for (const leader of live) signalGroup(leader, 'SIGKILL');
}

/** Remembers the group that is led by this process. */
export function watchGroup(leader: number): void {
  live.add(leader);
  if (isWatching) return;
  isWatching = true;
  // One listener for all: a listener per session would run into Node's warning at ten.
  process.once('exit', killAll);
}

export function forgetGroup(leader: number): void {
  live.delete(leader);
}

/** Signals every member of the group; says whether there was one. Signal 0 only asks. */
export function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch (error) {
    // EPERM: there is a member, but it took another user's identity and is out of reach.
    return (error as NodeJS.ErrnoException).code === 'EPERM' && signal === 0;
  }
}

/** Says whether anybody in the group still runs. Zombies that nobody reaped do not. */
export async function hasMembers(leader: number): Promise<boolean> {
  if (!signalGroup(leader, 0)) return false;
  if (!hasProcessTable) return true;
  // Rare: something outlived its leader. In a container whose first process reaps nobody,
  // only the process table tells the living from the dead.
  return (await lookForGroups()).includes(leader);
}

const lookForGroups = createLook((pid) => {
  const place = placeIn(pid);
  return place?.state === 'Z' || place?.state === 'X' ? undefined : place?.group;
});

/** Says whether the process is in the group, dead or alive. Linux only. */
export function isMember(pid: number, leader: number): boolean {
  return placeIn(pid)?.group === leader;
}

function placeIn(pid: number): { readonly state: string; readonly group: number } | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The name in parentheses may itself hold spaces and parentheses.
    const [state = '', , group] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state, group: Number(group) };
  } catch {
    return undefined;
  }
}
