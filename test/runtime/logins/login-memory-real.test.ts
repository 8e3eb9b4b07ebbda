/** What later runs remember of a server that demanded a login. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { createTroupe, type Troupe, type TroupeOptions } from '../../../src/index.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';
import { startTestIssuer, type TestIssuer } from '../../support/issuer/issuer.ts';

const waits = { timeoutMs: 10_000 };
const preset: TroupeOptions = { policy: { preset: 'claudeCode' } };

async function issuerWith(): Promise<TestIssuer> {
  const issuer = await startTestIssuer();
  onTestFinished(() => issuer.close());
  return issuer;
}

/** Starts troupes that share a state folder, one after another. */
function runsOf(issuer: TestIssuer) {
  const stateDir = mkdtempSync(path.join(tmpdir(), 'troupe-memory-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  return (options: TroupeOptions = preset, entry: object = {}): Troupe => {
    const settings = { mcpServers: { db: { url: issuer.server, ...entry } } };
    const troupe = createTroupe({ bare: true, settings, stateDir, ...options });
    onTestFinished(() => troupe.stop());
    troupe.on('auth.started', ({ url }) => {
      void issuer.consent(new URL(url)).then((redirect) => fetch(redirect));
    });
    return troupe;
  };
}

const requestsTo = (issuer: TestIssuer): number => issuer.seenAt('/mcp').length;

/** A run in which the server demands a login. */
async function refused(troupe: Troupe): Promise<void> {
  await troupe.waitFor('db', 'authRequired', waits);
  await troupe.stop();
}

describe('a server that demanded a login', () => {
  it('is not asked again by a start soon afterwards, but by a reconnect', async () => {
    const issuer = await issuerWith();
    const run = runsOf(issuer);
    await refused(run());
    const before = requestsTo(issuer);
    const next = run();
    const needed: string[] = [];
    next.on('auth.needed', ({ server }) => needed.push(server));
    expect(await next.waitFor('db', 'authRequired', waits)).toMatchObject({
      action: 'troupe login db',
      lastError: { message: expect.stringContaining('was not asked again') },
    });
    expect([requestsTo(issuer) - before, needed]).toEqual([0, ['db']]);
    next.send({ type: 'server.reconnect', server: 'db' });
    await issuer.arrives('/mcp');
    await next.waitFor('db', 'authRequired', waits);
  });

  it('is asked by a login, and starts', async () => {
    const issuer = await issuerWith();
    const run = runsOf(issuer);
    await refused(run());
    const next = run();
    await next.waitFor('db', 'authRequired', waits);
    expect(await next.login('db', waits)).toMatchObject({ state: 'ready' });
    await next.logout('db');
    await next.waitFor('db', 'authRequired', waits);
  });

  it('is asked when a login was made by another process', async () => {
    const issuer = await issuerWith();
    const run = runsOf(issuer);
    await refused(run());
    const next = run();
    await next.waitFor('db', 'authRequired', waits);
    const other = run({});
    await other.login('db', waits);
    expect(await next.waitFor('db', 'ready', waits)).toMatchObject({ state: 'ready' });
  });

  it('is asked with other settings, after a quarter of an hour, and by our own policy', async () => {
    const issuer = await issuerWith();
    const later = { clock: { ...promptClock, wallNow: () => Date.now() + 900_001 } };
    const cases: readonly [TroupeOptions, object][] = [
      [preset, { headers: { 'X-Key': 'another' } }],
      [{ ...preset, ...later }, {}],
      [{}, {}],
    ];
    for (const [options, entry] of cases) {
      const run = runsOf(issuer);
      await refused(run());
      const before = requestsTo(issuer);
      await run(options, entry).waitFor('db', 'authRequired', waits);
      expect(requestsTo(issuer)).toBeGreaterThan(before);
    }
  });
});
