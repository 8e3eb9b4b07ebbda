/**
 * The process groups that sessions started and have not yet seen end. Should
 * this process leave first, they are killed on its way out: children survive
 * their parent otherwise.
 */

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
