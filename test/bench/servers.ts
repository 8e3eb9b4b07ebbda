/** Makes the light servers of the benchmark. */

import { fileURLToPath } from 'node:url';

import { startHttpHost } from '../lab/http-host.ts';
import type { HttpServer, StdioServer } from './contender.ts';

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

/** One process in which every path is a server of its own. */
export async function startHttpServers(options: readonly string[] = []) {
  const host = await startHttpHost(httpFile, options);
  return {
    server: (name: string, query = ''): HttpServer => ({
      kind: 'http',
      name,
      url: `${host.origin}/${name}${query}`,
    }),
    stop: () => host.stop(),
  };
}
