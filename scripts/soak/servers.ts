/** The thirty servers of a soak run: stdio and HTTP, every fifth of them faulty. */

import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';

import { startHttpHost } from '../../test/lab/http-host.ts';

export interface Member {
  readonly name: string;
  /** The tools to call. */
  readonly tools: readonly string[];
  readonly isFaulty: boolean;
  /** The entry in the settings; another edition is another generation. */
  readonly entry: (edition: number) => object;
}

const localCount = 14;
const remoteCount = 10;

const fileOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));
const hostile = fileOf('test/faults/servers/hostile-stdio.mjs');

/** Starts the processes that serve HTTP and describes all thirty servers. */
export async function startServers() {
  const echoes = await startHttpHost(fileOf('test/bench/servers/http-echo.mjs'));
  const resets = await startHttpHost(fileOf('test/faults/servers/hostile-http.mjs'), [
    '0',
    'reset-call',
  ]);
  const mark = randomUUID();
  const local = (
    name: string,
    words: readonly string[],
    isFaulty = true,
    tools = ['echo'],
  ): Member => ({
    name,
    tools,
    isFaulty,
    // The servers ignore the last two arguments; the fingerprint does not.
    entry: (edition) => ({
      command: process.execPath,
      args: [...words, '--edition', String(edition)],
      env: { SOAK: mark },
    }),
  });
  const remote = (name: string, address: string, isFaulty: boolean): Member => ({
    name,
    tools: ['echo'],
    isFaulty,
    entry: (edition) => ({ type: 'http', url: `${address}?edition=${edition}` }),
  });
  const echo = [fileOf('test/bench/servers/stdio-echo.mjs')];
  const members = [
    ...Array.from({ length: localCount }, (_, index) => local(`local${index}`, echo, false)),
    ...Array.from({ length: remoteCount }, (_, index) =>
      remote(`remote${index}`, `${echoes.origin}/remote${index}`, false),
    ),
    local('crashes', [hostile, 'crash-after', '--n', '20']),
    // It never answers a call of `slow`, and exits on one of `echo`.
    local('hangs', [hostile, 'crash-on-call'], true, ['slow', 'slow', 'echo']),
    local('floods', [hostile, 'list-changed-storm', '--n', '1000']),
    local('flaps', [hostile, 'exit-1']),
    local('silent', [hostile, 'hang-init']),
    remote('resets', `${resets.origin}/mcp`, true),
  ];
  return {
    members,
    /** In the environment of every local server and its descendants. */
    mark,
    async end(): Promise<void> {
      await Promise.all([echoes.stop(), resets.stop()]);
    },
  };
}
