/** F05 and F06: starts without enough file descriptors or processes. */

import { execFileSync } from 'node:child_process';
import { chmodSync, readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import type { Seen } from '../expectation.ts';
import type { Rows } from '../row.ts';
import type { Peer, Stage } from '../stage.ts';
import type { TroupeProcess } from '../troupe-process.ts';

export const scarcityRows: Rows = {
  F05: {
    inject: 'prlimit --nofile=64, 24 servers; then 1024',
    expect: { code: 'CONNECTING', says: /too many files/u, ready: 24, exitCode: 143, left: 0 },
    isAlone: true,
    async run(stage) {
      // Node itself needs more files than that to load the troupe.
      const up = stage.up({});
      await up.printed(/no servers yet/u);
      limit(up, 'nofile=64');
      stage.write(manyLeast(stage, 24));
      return afterScarcity(stage, up, 'nofile=1024');
    },
  },
  // Only root may become another user, who must be able to read this folder.
  ...(canBecomeAnother() && {
    F06: {
      inject: 'prlimit --nproc for four more, 12 servers; then 1024',
      expect: {
        code: 'CONNECTING',
        says: /too many processes/u,
        ready: 12,
        exitCode: 143,
        left: 0,
      },
      isAlone: true,
      async run(stage: Stage) {
        chmodSync(stage.folder, 0o777);
        // The limit does not bind root, and counts the user's threads.
        const up = stage.up({}, { wrap: ['setpriv', '--reuid=65534', '--clear-groups'] });
        await up.printed(/no servers yet/u);
        limit(up, `nproc=${readdirSync(`/proc/${up.child.pid}/task`).length + 4}`);
        stage.write(manyLeast(stage, 12));
        return afterScarcity(stage, up, 'nproc=1024');
      },
    },
  }),
};

function canBecomeAnother(): boolean {
  let folder = fileURLToPath(new URL('.', import.meta.url));
  while (folder !== path.dirname(folder)) {
    // The last bit: whether every user may enter the folder.
    if (statSync(folder).mode % 2 === 0) return false;
    folder = path.dirname(folder);
  }
  return process.getuid?.() === 0;
}

function manyLeast(stage: Stage, count: number): Readonly<Record<string, Peer>> {
  const peers = Array.from({ length: count }, () =>
    // Without a log, because a shell that writes one needs additional processes.
    stage.least({ env: { FAULTS_LOG: '' } }),
  );
  return Object.fromEntries(peers.map((peer, n) => [`s${n}`, peer]));
}

/** Sets the soft limit, which can be raised again, as the user of the process. */
function limit({ child }: TroupeProcess, what: string): void {
  const [, uid = '0'] =
    /^Uid:\s+(\d+)/mu.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8')) ?? [];
  const words = ['prlimit', '--pid', String(child.pid), `--${what}:`];
  execFileSync('setpriv', [`--reuid=${uid}`, ...words]);
}

async function afterScarcity(stage: Stage, up: TroupeProcess, relief: string): Promise<Seen> {
  const scarceStatus = await up.when(
    ({ servers }) =>
      servers.some(({ state }) => state === 'backingOff' || state === 'failed') &&
      servers.some(({ state }) => state === 'ready'),
    'a server that could not start beside one that could',
  );
  const unavailable = scarceStatus.servers.find(({ lastError }) => lastError !== undefined);
  limit(up, relief);
  const after = await up.when(
    ({ servers }) => servers.every(({ state }) => state === 'ready'),
    'all servers to be ready after the limit was raised',
    40_000,
  );
  up.child.kill('SIGTERM');
  const { exitCode } = await up.ended;
  return {
    code: unavailable?.lastError?.code,
    says: unavailable?.lastError?.message,
    ready: after.servers.filter(({ state }) => state === 'ready').length,
    exitCode: exitCode ?? undefined,
    left: stage.processes().length,
  };
}
