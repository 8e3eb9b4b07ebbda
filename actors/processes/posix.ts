/** Processes on systems with process groups: everything a server starts is in its group, unless it leaves it. */

import { signalAll } from './marks.ts';
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
   * The group first, because it needs no search. Its members must not get the signal twice: many
   * servers treat a second SIGTERM as "at once".
   */
  async signal({ leader, descendants, hasExited }, name, scope) {
    if (scope === 'child') {
      // Once it has exited, its number may belong to another process.
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

/** Signals every member of the group; returns whether there was one. Signal 0 only checks. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch (error) {
    // EPERM: there is a member, but it took another user's identity and is out of reach.
    return (error as NodeJS.ErrnoException).code === 'EPERM' && signal === 0;
  }
}

/** Returns whether a member of the group still runs. Zombies do not count. */
async function hasMembers(leader: number): Promise<boolean> {
  if (!signalGroup(leader, 0)) return false;
  if (!hasProcessTable) return true;
  // Rare: a process outlived its leader. In a container whose first process reaps no zombies, only
  // the process table distinguishes the two.
  return (await scanForGroups()).includes(leader);
}

const scanForGroups = createScan((pid) => {
  const entry = entryOf(pid);
  return entry?.isRunning === true ? entry.group : undefined;
});
