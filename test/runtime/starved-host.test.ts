/** A host that runs out of file descriptors: what becomes of the servers that it cannot start. */

import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import { compiledProgram } from '../support/compiled-program.ts';

const hostProgram = compiledProgram('test/fixtures/hosts/starved-host.ts');
const serverFile = fileURLToPath(new URL('../faults/servers/least-server.sh', import.meta.url));

// 110 descriptors: three for each of 36 servers, and more than twenty that Node has open itself.
it.runIf(process.platform === 'linux')(
  'a host without free file descriptors keeps retrying its servers until it has some',
  async () => {
    const words = [...hostProgram.words, serverFile, '36'];
    const host = spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] });
    onTestFinished(() => void host.kill('SIGKILL'));
    const said: string[] = [];
    for await (const line of createInterface({ input: host.stdout })) {
      said.push(line);
      // Only now: loading modules for the first time takes more.
      if (line === 'loaded') execFileSync('prlimit', ['--nofile=110', `--pid=${host.pid}`]);
      if (line === 'loaded' || line === 'starved') host.stdin.write('free\n');
      else host.stdin.end();
    }
    if (host.exitCode === null) await once(host, 'exit');
    expect(said).toEqual(['loaded', 'starved', 'recovered']);
    expect(host.exitCode).toBe(0);
  },
  60_000,
);
