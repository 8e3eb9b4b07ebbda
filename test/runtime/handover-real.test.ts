/** A seamless handover between two real processes. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { ServerStatus } from '../../src/domain/host/status.ts';
import { createCommandTroupe as createTroupe } from '../../src/runtime/assembly/create-troupe.ts';
import type { Troupe } from '../../src/runtime/troupe.ts';

const server = path.resolve('test/fixtures/stdio-server.mjs');

/** Settles with the first status that is like this. */
function statusOnce(
  troupe: Troupe,
  matches: (status: ServerStatus) => boolean,
): Promise<ServerStatus> {
  return new Promise((resolve) => {
    const end = troupe.on('status.changed', ({ status }) => look(status));
    const look = (status: ServerStatus | undefined): void => {
      if (status === undefined || !matches(status)) return;
      end();
      resolve(status);
    };
    look(troupe.status('db'));
  });
}

function isRunning(pid: number | undefined): boolean {
  try {
    return process.kill(pid ?? 0, 0);
  } catch {
    return false;
  }
}

const textOf = ({ result }: Awaited<ReturnType<Troupe['callTool']>>): unknown =>
  (result.content[0] as { readonly text?: unknown } | undefined)?.text;

// Generous, for a loaded machine; all of it waits on events.
it('a handover keeps the old process until the new one is ready and the last call is done', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'handover-'));
  const at = (name: string): string => path.join(folder, name);
  const settings = (...args: readonly string[]) => ({
    mcpServers: {
      db: { command: process.execPath, args: [server, ...args], handover: 'seamless' },
    },
  });
  const troupe = createTroupe({ settings: settings('slow-until', at('done')), sources: [] });
  onTestFinished(async () => {
    await troupe.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  const { pid: first } = await troupe.waitFor('db', 'ready');
  const changes: unknown[] = [];
  troupe.on('tools.changed', (event) => changes.push(event));
  const slow = troupe.callServerTool('db', 'slow');

  troupe.send({ type: 'settings.changed', settings: settings('late', at('ready')) });
  await statusOnce(troupe, ({ successor }) => successor?.state === 'connecting');
  await troupe.callServerTool('db', 'echo');
  expect(troupe.status('db')).toMatchObject({ state: 'ready', pid: first });

  writeFileSync(at('ready'), '');
  const after = await statusOnce(troupe, ({ pid }) => pid !== first);
  expect(after).toMatchObject({ state: 'ready', catalog: 'live', predecessor: { pid: first } });
  expect([isRunning(first), isRunning(after.pid)]).toEqual([true, true]);
  expect(JSON.parse(String(textOf(await troupe.callServerTool('db', 'env'))))).toMatchObject({
    args: ['late', at('ready')],
  });

  writeFileSync(at('done'), '');
  expect(textOf(await slow)).toBe(String(first));
  await statusOnce(troupe, ({ predecessor }) => predecessor === undefined);
  expect([isRunning(first), isRunning(after.pid)]).toEqual([false, true]);
  expect(changes).toEqual([]);
});
