/** Makes the light servers of the benchmark. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

import type { BenchServer, StdioServer } from './contender.ts';

const stdioFile = fileURLToPath(new URL('servers/stdio-echo.mjs', import.meta.url));
const launcherFile = fileURLToPath(new URL('servers/launcher.mjs', import.meta.url));
const httpFile = fileURLToPath(new URL('servers/http-echo.mjs', import.meta.url));

export function stdioServer(name: string, options: readonly string[] = []): StdioServer {
  return { kind: 'stdio', name, command: process.execPath, args: [stdioFile, ...options] };
}

/** The same behind a launcher that leaves it behind. */
export function launchedServer(name: string, options: readonly string[]): StdioServer {
  return { kind: 'stdio', name, command: process.execPath, args: [launcherFile, ...options] };
}

export interface HttpHost {
  server(name: string, query?: string): BenchServer;
  stop(): Promise<void>;
}

/** One process in which every path is a server of its own. */
export async function startHttpHost(options: readonly string[] = []): Promise<HttpHost> {
  const child: ChildProcess = spawn(process.execPath, [httpFile, ...options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const [chunk] = (await once(child.stdout ?? child, 'data')) as [Buffer];
  const origin = `http://127.0.0.1:${Number(chunk.toString())}`;
  return {
    server: (name, query = '') => ({ kind: 'http', name, url: `${origin}/${name}${query}` }),
    async stop() {
      const gone = once(child, 'exit');
      child.stdin?.end();
      await gone;
    },
  };
}
