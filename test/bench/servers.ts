/** The benchmark's servers, which cost almost nothing themselves. */

import { fileURLToPath } from 'node:url';

import { startHttpHost } from '../lab/http-host.ts';
import type { HttpServer, StdioServer } from './contender.ts';

const stdioFile = fileURLToPath(new URL('servers/stdio-echo.mjs', import.meta.url));
const sdkFile = fileURLToPath(new URL('servers/stdio-sdk.mjs', import.meta.url));
const httpFile = fileURLToPath(new URL('servers/http-echo.mjs', import.meta.url));

export function stdioServer(name: string, options: readonly string[] = []): StdioServer {
  return { kind: 'stdio', name, command: process.execPath, args: [stdioFile, ...options] };
}

/** A server written with the SDK. */
export function sdkServer(name: string): StdioServer {
  return { kind: 'stdio', name, command: process.execPath, args: [sdkFile] };
}

/** `server0`, `server1`, … */
export function stdioServers(count: number, options: readonly string[] = []): StdioServer[] {
  return Array.from({ length: count }, (_, index) => stdioServer(`server${index}`, options));
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
    /** Where the host says how many sessions were not terminated. */
    sessions: `${host.origin}/sessions`,
    stop: () => host.stop(),
  };
}
