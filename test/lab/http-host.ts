/** Runs an HTTP server in its own process, which prints its port and exits with its input. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

export interface HttpHost {
  readonly child: ChildProcess;
  readonly port: number;
  readonly origin: string;
  stop(): Promise<void>;
}

export async function startHttpHost(
  file: string,
  args: readonly string[] = [],
  env: NodeJS.ProcessEnv = {},
): Promise<HttpHost> {
  const child = spawn(process.execPath, [file, ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [chunk] = (await once(child.stdout, 'data')) as [Buffer];
  const port = Number(chunk.toString());
  return {
    child,
    port,
    origin: `http://127.0.0.1:${port}`,
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}
