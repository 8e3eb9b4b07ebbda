/** Logins that a page starts, at a real issuer: what the page gets, what is recorded, what is replayed. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { inspectHere, PageLogins } from '../../../src/cli/run/inspect-here.ts';
import type { ErrorDocument } from '../../../src/domain/caller-code.ts';
import { createTroupe } from '../../../src/index.ts';
import { openJournal } from '../../../visualizations/server/replay-source.ts';
import { startTestIssuer } from '../../support/issuer/issuer.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';
import { Browser } from '../../visualizations/server/browser.ts';
import { temporaryFolder } from '../run-cli.ts';

interface Answer {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: ErrorDocument;
}

/** A troupe with a server that waits for a login, its journal, and a page. */
async function pageOf(settings: Partial<IssuerSettings> = {}) {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  const folder = temporaryFolder();
  const journal = path.join(folder, 'troupe.ndjson');
  const troupe = createTroupe({
    bare: true,
    settings: { mcpServers: { db: { url: `${issuer.server}?key=planted-in-the-query` } } },
    inspect: { journal },
  });
  onTestFinished(() => troupe.stop());
  const identity = { pid: 1, version: '0', projectRoot: folder, stateFolder: folder, config: [] };
  const inspect = inspectHere(troupe, { ...identity, allow: null });
  onTestFinished(() => inspect.close());
  await troupe.waitFor('db', 'authRequired');
  const browser = await Browser.at(await inspect.address());
  const ask = async (command: string, args: object = { server: 'db' }): Promise<Answer> => {
    const { body } = await browser.post('/api/command', JSON.stringify({ command, args }));
    return JSON.parse(body) as Answer;
  };
  const loginNow = () =>
    troupe.inspection.picture()?.actors.find(({ machine }) => machine === 'authorization');
  return { issuer, troupe, ask, browser, loginNow, journal };
}

describe("a page's login", () => {
  it('gives the page the address, continues without it, and is recorded without secrets', async () => {
    const { issuer, troupe, ask, browser, loginNow, journal } = await pageOf();
    expect(await browser.document('/api/servers/db/acts')).toMatchObject({
      acts: expect.arrayContaining([{ act: 'login', accepted: true, to: 'ready' }]) as unknown,
    });
    const { result } = await ask('login');
    const url = new URL(String(result?.['url']));
    expect(url.href).toContain(`${issuer.origin}/authorize?`);
    expect(loginNow()).toMatchObject({
      leaves: ['signingIn.awaitingUser'],
      login: { origin: issuer.origin, servers: ['db'] },
    });
    await fetch(await issuer.consent(url));
    await troupe.waitFor('db', 'ready');
    expect(await browser.document('/api/servers/db/acts')).not.toMatchObject({
      acts: expect.arrayContaining([expect.objectContaining({ act: 'login' })]) as unknown,
    });
    const last = troupe.inspection.last;
    expect(await ask('logout')).toEqual({ result: { server: 'db' } });
    expect(loginNow()).toMatchObject({ leaves: ['unauthorized.signedOut'] });
    await troupe.stop();
    const replay = await openJournal(journal);
    const recorded = replay.picture(last)?.actors.find(({ id }) => id === 'login.0');
    expect(recorded).toMatchObject({ leaves: ['authorized'], login: { servers: ['db'] } });
    expect(replay.context(recorded?.actor ?? '', last)).toMatchObject({
      token: { generation: 1, issuer: issuer.issuer(), isRefreshable: true },
    });
    const text = readFileSync(journal, 'utf8');
    const [exchange] = issuer.seenAt('/token');
    const secrets = [
      'planted-in-the-query',
      url.searchParams.get('state'),
      url.searchParams.get('code_challenge'),
      exchange?.form.get('code'),
      exchange?.form.get('code_verifier'),
      ...issuer.seenAt('/mcp').map(({ headers }) => headers.authorization?.split(' ')[1]),
      ...issuer.seenAt('/revoke').map(({ form }) => form.get('token')),
    ].filter((each) => typeof each === 'string');
    expect(new Set(secrets).size).toBeGreaterThan(6);
    for (const secret of secrets) expect(text).not.toContain(secret);
  });

  it('is replaced by the next one, can be cancelled, and accepts a pasted address', async () => {
    const { issuer, troupe, ask, loginNow } = await pageOf();
    const first = await ask('login');
    const second = await ask('login');
    expect(second.result?.['url']).not.toBe(first.result?.['url']);
    expect(await ask('cancelLogin')).toEqual({ result: { server: 'db' } });
    expect(loginNow()).toMatchObject({ leaves: ['unauthorized.signedOut'] });
    const nothing = await ask('cancelLogin');
    expect(nothing.error).toMatchObject({ code: 'USAGE', server: 'db' });
    const third = await ask('login');
    const redirect = await issuer.consent(new URL(String(third.result?.['url'])));
    expect(await ask('finishLogin', { server: 'db', url: redirect.href })).toEqual({
      result: { server: 'db' },
    });
    await troupe.waitFor('db', 'ready');
    expect(issuer.counts.codes).toBe(1);
  });

  it('reports a failure before the user is needed', async () => {
    const { ask, loginNow } = await pageOf({ registersClients: false });
    const { error } = await ask('login');
    expect(error).toMatchObject({ code: 'AUTH_REQUIRED' });
    expect(error?.message).toContain('registers no clients');
    expect(loginNow()).toMatchObject({ leaves: ['unauthorized.clientNeeded'] });
    expect((await ask('login', { server: 7 })).error).toMatchObject({ code: 'INVALID_ARGUMENTS' });
  });

  it.each(['http://issuer.example/authorize', 'javascript:alert(1)', 'https://a:b@issuer.example'])(
    'never passes on %s',
    async (url) => {
      let isCancelled = false;
      const logins = new PageLogins({
        inspection: { last: 1 } as never,
        on: (_: string, listener: (event: { server: string; url: string }) => void) => {
          queueMicrotask(() => listener({ server: 'db', url }));
          return () => undefined;
        },
        login: (_, { signal } = {}) =>
          new Promise((_resolve, reject) => {
            signal?.addEventListener('abort', () => {
              isCancelled = true;
              reject(new Error('cancelled'));
            });
          }),
      } as ConstructorParameters<typeof PageLogins>[0]);
      const begun = logins.begin('db', new AbortController().signal);
      await expect(begun).rejects.toThrow('the address for the login to db must');
      expect(isCancelled).toBe(true);
    },
  );
});
