/** One login, used by several processes at once: bugs 1, 2 and 10, and rows 16 to 18, of LOGIN.md. */

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { describe, expect, it, onTestFinished } from 'vitest';

import { createTroupe } from '../../../src/index.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';
import { compiledProgram } from '../../support/compiled-program.ts';
import { startTestIssuer, type TestIssuer } from '../../support/issuer/issuer.ts';

const program = compiledProgram('test/fixtures/hosts/calling-host.ts');

/** Logs in; the access token has expired since. */
async function expiredLogin() {
  const issuer = await startTestIssuer();
  onTestFinished(() => issuer.close());
  const stateDir = mkdtempSync(path.join(tmpdir(), 'troupe-logins-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const clock = { ...promptClock, wallNow: () => Date.now() - 7_200_000 };
  const settings = { mcpServers: { db: { url: issuer.server } } };
  const troupe = createTroupe({ bare: true, stateDir, settings, clock });
  troupe.on('auth.started', ({ url }) => {
    void issuer.consent(new URL(url)).then((redirect) => fetch(redirect));
  });
  await troupe.login('db', { timeoutMs: 10_000 });
  await troupe.stop();
  issuer.book.expireAccess();
  const host = () => start([stateDir, issuer.server]);
  return { issuer, host };
}

function start(words: readonly string[]) {
  const child: ChildProcessWithoutNullStreams = spawn(
    process.execPath,
    [...program.words, ...words],
    { stdio: 'pipe' },
  );
  const exit = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await exit;
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    says: async (): Promise<unknown> => (await lines.next()).value,
    call: () => child.stdin.write('\n'),
    kill: async () => {
      child.kill('SIGKILL');
      await exit;
    },
    end: async () => {
      child.stdin.end();
      await exit;
    },
  };
}

/** Resolves when so many more requests have come to the server. */
async function requests(issuer: TestIssuer, count: number): Promise<void> {
  const before = issuer.seenAt('/mcp').length;
  while (issuer.seenAt('/mcp').length < before + count) await issuer.arrives('/mcp');
}

describe('an expired login', () => {
  it('is renewed once by twelve processes, at their start and when all meet a 401', async () => {
    const { issuer, host } = await expiredLogin();
    const hosts = Array.from({ length: 12 }, host);
    const all = (what: 'says') => Promise.all(hosts.map((each) => each[what]()));
    expect(new Set(await all('says'))).toEqual(new Set(['begun']));
    expect(new Set(await all('says'))).toEqual(new Set(['ready']));
    expect(issuer.counts).toMatchObject({ redemptions: 1, reuses: 0 });
    issuer.book.expireAccess();
    issuer.settings.holds.set('/token', requests(issuer, hosts.length));
    for (const { call } of hosts) call();
    expect(new Set(await all('says'))).toEqual(new Set(['called']));
    expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 2, reuses: 0, calls: 12 });
    await Promise.all(hosts.map(({ end }) => end()));
  });

  it('is renewed within five seconds after the process that renews it was killed', async () => {
    const { issuer, host } = await expiredLogin();
    issuer.settings.faults.set('/token', { fault: 'hang', times: 1 });
    const isAsking = issuer.arrives('/token');
    const victim = host();
    await isAsking;
    const next = host();
    expect(await next.says()).toBe('begun');
    await victim.kill();
    const killedAt = performance.now();
    expect(await next.says()).toBe('ready');
    expect(performance.now() - killedAt).toBeLessThan(5_000);
    issuer.book.expireAccess();
    next.call();
    expect(await next.says()).toBe('called');
    expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 2, reuses: 0, calls: 1 });
    await next.end();
  });
});
