/** Login settings of whole troupes, at a real issuer on this machine. */

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';

import { createTroupe, type Troupe, type TroupeOptions } from '../../../src/index.ts';
import { freePort } from '../../fixtures/remote/free-port.ts';
import { startTestIssuer, type TestIssuer } from '../../support/issuer/issuer.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';

async function issuerWith(settings: Partial<IssuerSettings>): Promise<TestIssuer> {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  return issuer;
}

function troupeWith(
  { server: url }: TestIssuer,
  oauth: object,
  options: TroupeOptions = {},
): Troupe {
  const troupe = createTroupe({
    bare: true,
    settings: { mcpServers: { db: { url, oauth } } },
    ...options,
  });
  onTestFinished(() => troupe.stop());
  return troupe;
}

const waits = { timeoutMs: 10_000 };

describe('log-in settings', () => {
  it('give a workload its present token for every request of a token', async () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'troupe-workload-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const issuer = await issuerWith({
      clients: [{ id: 'job', method: 'none' }],
      workloads: ['monday'],
      issuesRefreshTokens: false,
    });
    writeFileSync(path.join(folder, 'token'), 'monday\n');
    const oauth = { grant: 'workload', clientId: 'job', assertionFile: '${DIR}/token' };
    const troupe = troupeWith(issuer, oauth, { env: { DIR: folder } });
    await troupe.waitFor('db', 'ready', waits);
    writeFileSync(path.join(folder, 'token'), 'tuesday\n');
    issuer.settings.workloads = ['tuesday'];
    issuer.book.expireAccess();
    const { meta } = await troupe.callServerTool('db', 'echo', {});
    expect(meta.attempts).toBe(1);
    expect(issuer.counts).toMatchObject({ otherGrants: 2, registrations: 0, calls: 1 });
  });

  it('lead the browser back to the registered port and path', async () => {
    const port = await freePort();
    const redirectUri = `http://localhost:${port}/oauth/callback`;
    const issuer = await issuerWith({
      registersClients: false,
      clients: [
        { id: 'own', method: 'client_secret_post', secret: 'hush', redirectUris: [redirectUri] },
      ],
    });
    const client = { clientId: 'own', clientSecret: '${SECRET}' };
    const oauth = { ...client, redirectUri, tokenEndpointAuthMethod: 'client_secret_post' };
    const troupe = troupeWith(issuer, oauth, { env: { SECRET: 'hush' } });
    troupe.on('auth.started', ({ url }) => {
      void issuer.consent(new URL(url)).then((redirect) => {
        expect(`${redirect.origin}${redirect.pathname}`).toBe(redirectUri);
        return fetch(new URL(`${redirect.pathname}${redirect.search}`, `http://127.0.0.1:${port}`));
      });
    });
    expect(await troupe.login('db', waits)).toMatchObject({ state: 'ready' });
    expect(issuer.counts).toMatchObject({ registrations: 0, codes: 1 });
  });
});
