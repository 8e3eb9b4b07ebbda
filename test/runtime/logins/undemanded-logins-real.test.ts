/** Servers that demand no login: each has one only if its credential is stored. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { type CredentialStore, createCredentialStore } from '../../../actors/stores/credentials.ts';
import { credentialKey } from '../../../actors/stores/credentials-record.ts';
import { createTroupe, type Troupe } from '../../../src/index.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';
import { type HttpFixture, startHttpFixture } from '../../fixtures/remote/http-server.ts';

const waits = { timeoutMs: 10_000 };

/** Starts a server that accepts any token, and a state folder with stores of other processes. */
async function setUp() {
  const server = await startHttpFixture();
  onTestFinished(() => server.close());
  const stateDir = mkdtempSync(path.join(tmpdir(), 'troupe-undemanded-'));
  onTestFinished(() => rmSync(stateDir, { recursive: true, force: true }));
  const id = { resource: server.url, account: null, client: null, reach: null };
  const storeElsewhere = async (): Promise<void> => {
    const ports = { clock: promptClock, onProblems: () => {}, stateDir, keyring: null };
    const store: CredentialStore = createCredentialStore(ports);
    await store.update(credentialKey(id), () =>
      Promise.resolve({
        id,
        generation: 0,
        issuer: 'https://issuer.example',
        client: { client_id: 'client' },
        tokens: { accessToken: 'stored', tokenType: 'Bearer' },
        obtainedAtMs: Date.now(),
      }),
    );
    await store.close();
  };
  return { server, stateDir, storeElsewhere };
}

async function started({ url }: HttpFixture, stateDir: string): Promise<Troupe> {
  const settings = { mcpServers: { db: { type: 'http', url } } };
  const troupe = createTroupe({ bare: true, settings, stateDir, inspect: true });
  onTestFinished(() => troupe.stop());
  await troupe.waitFor('db', 'ready', waits);
  return troupe;
}

const loginsIn = (troupe: Troupe) =>
  (troupe.inspection.picture()?.actors ?? []).filter(({ machine }) => machine === 'authorization');

describe('a server that demands no login', () => {
  it('has no chart of a login', async () => {
    const { server, stateDir } = await setUp();
    const troupe = await started(server, stateDir);
    expect(loginsIn(troupe)).toEqual([]);
    expect(server.headers.authorization).toBeUndefined();
  });

  it('gets the stored token', async () => {
    const { server, stateDir, storeElsewhere } = await setUp();
    await storeElsewhere();
    const troupe = await started(server, stateDir);
    expect(loginsIn(troupe)).toHaveLength(1);
    expect(server.headers.authorization).toBe('Bearer stored');
  });

  it('gets a token that another process stores later', async () => {
    const { server, stateDir, storeElsewhere } = await setUp();
    const troupe = await started(server, stateDir);
    const noted = new Promise<void>((resolve) => {
      troupe.inspection.follow(() => {
        if (loginsIn(troupe)[0]?.leaves.includes('authorized') === true) resolve();
      });
    });
    await storeElsewhere();
    await noted;
    await troupe.restartAndWait('db', waits);
    expect(server.headers.authorization).toBe('Bearer stored');
  });
});
