/** Servers that break off without leaving: what is shown of them meanwhile, and what follows them. */

import { fileURLToPath } from 'node:url';
import { expect, it, onTestFinished } from 'vitest';
import type { ServerStatus } from '../../src/domain/host/status.ts';
import { createTroupe } from '../../src/index.ts';
import { isRunning } from '../actors/session/bench.ts';

const serverFile = fileURLToPath(new URL('../fixtures/stdio-server.mjs', import.meta.url));

it('a server that closes its output is replaced only after it exits', async () => {
  const troupe = createTroupe({
    settings: {
      mcpServers: {
        db: {
          command: process.execPath,
          args: [serverFile, 'mute-on-call'],
          // The end takes longer than its total, so that it is forced.
          policy: { close: { steps: [{ by: 'stdinEnd', waitMs: 60_000 }], totalMs: 400 } },
        },
      },
    },
  });
  onTestFinished(() => troupe.stop());
  const { pid: before } = await troupe.waitFor('db', 'ready', { timeoutMs: 30_000 });
  const told: [state: ServerStatus['state'], isBeforeRunning: boolean][] = [];
  troupe.on('status.changed', ({ status }) => {
    told.push([status.state, isRunning(before as number)]);
  });
  const stopping = troupe.waitFor('db', 'stopping', { timeoutMs: 30_000 });
  const [called] = await Promise.allSettled([troupe.callServerTool('db', 'echo', {}), stopping]);
  expect(called).toMatchObject({ reason: { code: 'CRASHED', outcome: 'unknown' } });
  const { pid: after } = await troupe.waitFor('db', 'ready', { timeoutMs: 30_000 });
  expect(after).not.toBe(before);
  expect(told[0]).toEqual(['stopping', true]);
  const starts = told.filter(([state]) => state === 'connecting' || state === 'loadingTools');
  expect(starts.map(([, isBeforeRunning]) => isBeforeRunning)).toContain(false);
  expect(starts.map(([, isBeforeRunning]) => isBeforeRunning)).not.toContain(true);
});
