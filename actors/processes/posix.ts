/**
 * Processes on systems with process groups: everything a server starts is in its group unless it
 * leaves the group.
 */

import { signalAll } from './environment-mark.ts';
import { createScan, entryOf, hasProcessTable } from './process-table.ts';
import type { ProcessSystem } from './system.ts';

export const posixSystem: ProcessSystem = {
  startOf: ({ command, args, argv0 = command }) => ({
    command,
    args,
    argv0,
    detached: true,
    windowsVerbatimArguments: false,
  }),

  /**
   * Signals the group first, because that needs no search. Its members must not get the signal
   * twice: many servers treat a second SIGTERM as "at once".
   */
  async signal({ leader, descendants, hasExited }, name, scope) {
    if (scope === 'child') {
      // Once the process has exited, its id may belong to another process.
      if (!hasExited()) signalAll([leader], name);
      return;
    }
    signalGroup(leader, name);
    if (scope === 'group' || descendants === undefined) return;
    const escaped = (await descendants()).filter((pid) => entryOf(pid)?.group !== leader);
    signalAll(escaped, name);
  },

  async isEmpty({ leader, descendants }) {
    if (await hasMembers(leader)) return false;
    return descendants === undefined || (await descendants()).length === 0;
  },

  killAll(leaders) {
    for (const leader of leaders) signalGroup(leader, 'SIGKILL');
  },
};

/** Signals every member of the group; returns whether it has any. Signal 0 only checks. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch (error) {
    // EPERM: there is a member, but it switched to another user and is out of reach.
    return (error as NodeJS.ErrnoException).code === 'EPERM' && signal === 0;
  }
}

/** Returns whether any member of the group is still running. Zombies do not count. */
async function hasMembers(leader: number): Promise<boolean> {
  if (!signalGroup(leader, 0)) return false;
  if (!hasProcessTable) return true;
  // Rare: a process outlived its leader. In a container whose first process does not reap zombies,
  // only the process table tells the two apart.
  return (await scanForGroups()).includes(leader);
}

const scanForGroups = createScan((pid) => {
  const entry = entryOf(pid);
  return entry?.isRunning === true ? entry.group : undefined;
});
