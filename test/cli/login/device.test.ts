/** Logins from the command line on another device, at a real issuer on this machine. */

import { describe, expect, it, onTestFinished } from 'vitest';
import { defined } from '../../../src/domain/data/defined.ts';
import { createTroupe } from '../../../src/index.ts';
import { startTestIssuer, type TestIssuer } from '../../support/issuer/issuer.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';
import { createPlace } from '../cli-process.ts';
import { compiledCli } from '../compiled-cli.ts';
import { startCliHere, temporaryFolder } from '../run-cli.ts';

// The test starts two Node processes one after another, a second each on a busy machine.

const cli = compiledCli();

/** It may be asked about a code every second, the shortest interval. */
async function issuerForDevices(
  resource?: IssuerSettings['tamper']['resource'],
): Promise<TestIssuer> {
  const token = (answer: object) => ('user_code' in answer ? { ...answer, interval: 0 } : answer);
  const tamper = { token, ...defined({ resource }) };
  const issuer = await startTestIssuer({ offersDevice: true, tamper });
  onTestFinished(() => issuer.close());
  return issuer;
}

async function here({ server }: TestIssuer) {
  const settings = { mcpServers: { db: { url: server } } };
  const troupe = createTroupe({ bare: true, settings });
  onTestFinished(() => troupe.stop());
  await troupe.ready();
  return { troupe, folder: temporaryFolder(), columns: 80 };
}

describe('a login on another device from the command line', () => {
  it('prints the page and the code, and ends when the user has entered it', async () => {
    const issuer = await issuerForDevices();
    const run = startCliHere(['login', 'db', '--device'], await here(issuer));
    await run.noted('(valid until ');
    const [code = ''] = [...issuer.devices.values()].map(({ userCode }) => userCode);
    issuer.decide(code, 'allowed');
    const { exitCode, stdout, stderr } = await run.finished;
    expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/^logged in to db\ndb ready/)]);
    expect(stderr).toContain(`log in to db:\n${issuer.origin}/enter\nand enter the code ${code} (`);
    expect(stderr).toContain(`${issuer.origin}/enter?user_code=${code}\n`);
  });

  it.each(['--device', '--no-browser'])(
    "shows a token's resource that is not the server's address: %s",
    async (flag) => {
      const toOrigin = ({ resource, ...metadata }: Record<string, unknown>) => ({
        ...metadata,
        resource: new URL(String(resource)).origin,
      });
      const issuer = await issuerForDevices(toOrigin);
      const { troupe, ...place } = await here(issuer);
      const shown: unknown[] = [];
      troupe.on('auth.started', ({ resource }) => shown.push(resource));
      const run = startCliHere(['login', 'db', flag], { troupe, ...place });
      await run.noted(`${issuer.origin}/, which is not its own address`);
      run.signal('SIGINT');
      await run.finished;
      expect(shown).toEqual([`${issuer.origin}/`]);
    },
  );

  it('is mentioned by a login without a browser', async () => {
    const issuer = await issuerForDevices();
    const { troupe, ...place } = await here(issuer);
    const run = startCliHere(['login', 'db', '--no-browser'], { troupe, ...place });
    await run.noted('troupe login db --device');
    run.signal('SIGINT');
    expect(await run.finished).toMatchObject({ exitCode: 130 });
  });

  it('reports the code as JSON', async () => {
    const issuer = await issuerForDevices();
    const place = createPlace(cli);
    place.writeSettings({ db: { url: issuer.server } });
    const login = place.start('login', 'db', '--device', '--json', '--config', place.settings);
    const [, code = ''] = await login.printed(/"userCode":"([^"]+)"/);
    issuer.decide(code, 'allowed');
    expect(await login.ended).toMatchObject({ exitCode: 0 });
    const lines = login.stdout().trimEnd().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject([
      {
        type: 'auth.started',
        server: 'db',
        url: `${issuer.origin}/enter?user_code=${code}`,
        verificationUri: `${issuer.origin}/enter`,
        userCode: code,
        scopes: [],
        expiresAt: expect.stringMatching(/Z$/),
      },
      { status: { name: 'db', state: 'ready' } },
    ]);
  });
});
