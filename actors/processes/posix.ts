/** Processes on systems that have process groups: whatever a server starts is in its group, unless it leaves it. */

import { entryOf, hasProcessTable } from './identity.ts';
import { createLook } from './look.ts';
import { signalAll } from './marks.ts';
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
   * The group first: it needs no search. Who is in it has the signal already, and must
   * not get it twice: many servers take a second SIGTERM for "at once".
   */
  async signal({ leader, descendants, hasExited }, name, scope) {
    if (scope === 'child') {
      // Once it has exited, its number may be another's.
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

/** Signals every member of the group; says whether there was one. Signal 0 only asks. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch (error) {
    // EPERM: there is a member, but it took another user's identity and is out of reach.
    return (error as NodeJS.ErrnoException).code === 'EPERM' && signal === 0;
  }
}

/** Says whether anybody in the group still runs. Zombies that nobody reaped do not. */
async function hasMembers(leader: number): Promise<boolean> {
  if (!signalGroup(leader, 0)) return false;
  if (!hasProcessTable) return true;
  // Rare: something outlived its leader. In a container whose first process reaps nobody,
  // only the process table tells the living from the dead.
  return (await lookForGroups()).includes(leader);
}

const lookForGroups = createLook((pid) => {
  const entry = entryOf(pid);
  return entry?.isRunning === true ? entry.group : undefined;
});
