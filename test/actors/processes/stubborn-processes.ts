/** Processes that do not leave when they are asked to, each in a group of its own. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

// Says that it is deaf before anybody may ask it to leave.
const deaf = 'process.on("SIGTERM",()=>{});setInterval(()=>{},1000);process.stdout.write(".")';
export const launcherFile = fileURLToPath(new URL('../../fixtures/launcher.mjs', import.meta.url));

export interface Stubborn {
  readonly pid: number;
  readonly child: ChildProcess;
}

export async function startDeaf(env: Readonly<Record<string, string>> = {}): Promise<Stubborn> {
  const child = spawn(process.execPath, ['-e', deaf], {
    env,
    detached: true,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  await once(child.stdout, 'data');
  return { child, pid: child.pid as number };
}

/** A launcher like `npx`, and the deaf server that it waits for. */
export async function startLauncher(): Promise<Stubborn & { readonly serverPid: number }> {
  const child = spawn(process.execPath, [launcherFile, 'say'], {
    env: {},
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { child, pid: child.pid as number, serverPid: Number(line.toString()) };
}
