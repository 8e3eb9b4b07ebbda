/** Removes sockets whose owner was killed. A socket on which a process listens is never removed. */

import { renameSync, statSync, unlinkSync } from 'node:fs';
import { usageError } from '../../domain/user-errors.ts';
import type { Launch } from '../launch.ts';
import { connectControl } from './control-client.ts';
import { type CallSocket, callSockets } from './socket-path.ts';

type Place = Pick<Launch, 'stateFolder' | 'projectRoot'>;

// A process creates its socket just before it listens, so a young one may be about to live.
const youngMs = 10_000;
// More are left to the next start: each takes a connection.
const mostRemoved = 64;

/**
 * Frees the path of a control socket.
 * @throws TroupeError `USAGE` with the pid when a live troupe holds it
 */
export async function removeStaleSocket(socketPath: string): Promise<void> {
  const before = inodeOf(socketPath);
  if (before === undefined) return;
  const client = await connectControl(socketPath);
  if (client !== undefined) {
    const owner = await client.request('identify', {}, 2_000).catch(() => undefined);
    client.close();
    const pid = owner === undefined ? '' : ` (pid ${owner.pid})`;
    throw usageError(
      `a troupe is already running for this project${pid}; use it, or stop it with Ctrl-C or kill`,
    );
  }
  removeUnlessReplaced(socketPath, before);
}

/** Removes what killed calls left in this launch's folder of sockets. Never rejects. */
export async function removeDeadCallSockets(launch: Place): Promise<void> {
  let found: readonly CallSocket[];
  try {
    found = callSockets(launch).filter(mayBeDead).slice(0, mostRemoved);
  } catch {
    // Another user's folder; the command reports it when it needs the folder.
    return;
  }
  await Promise.all(found.map((each) => removeUnheard(each.path)));
}

function mayBeDead({ path, pid }: CallSocket): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
  // Another process may have got the pid since.
  const found = statSync(path, { throwIfNoEntry: false });
  return found !== undefined && Date.now() - found.mtimeMs > youngMs;
}

async function removeUnheard(socketPath: string): Promise<void> {
  const before = inodeOf(socketPath);
  try {
    const client = await connectControl(socketPath);
    client?.close();
    if (client === undefined && before !== undefined) removeUnlessReplaced(socketPath, before);
  } catch {
    // Its owner was stopped with SIGSTOP, and may continue.
  }
}

/**
 * Moves the socket before it is removed: if another process has taken the path meanwhile, this is its live
 * socket, and it is moved back.
 */
function removeUnlessReplaced(socketPath: string, before: number): void {
  const aside = `${socketPath}.${process.pid}.stale`;
  try {
    renameSync(socketPath, aside);
    if (inodeOf(aside) === before) unlinkSync(aside);
    else renameSync(aside, socketPath);
  } catch {
    // Another process removed it first; listening will show.
  }
}

function inodeOf(file: string): number | undefined {
  try {
    return statSync(file).ino;
  } catch {
    return undefined;
  }
}
