/** Reports about logins and their renewal. */

import { describe, expect, onTestFinished } from 'vitest';
import type { Troupe } from '../../src/index.ts';
import { startTestIssuer, type TestIssuer } from '../support/issuer/issuer.ts';
import type { IssuerSettings } from '../support/issuer/settings.ts';
import { exhibit, troupeOf } from './exhibit.ts';

async function issuerWith(settings: Partial<IssuerSettings> = {}): Promise<TestIssuer> {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  return issuer;
}

/** A troupe whose user consents to each login in a browser. */
function troupeAt(issuer: TestIssuer, entry: object = {}): Troupe {
  const troupe = troupeOf({ db: { url: issuer.server, ...entry } });
  troupe.on('auth.started', ({ url }) => {
    void issuer.consent(new URL(url)).then((redirect) => fetch(redirect));
  });
  return troupe;
}

const echo = (troupe: Troupe) => troupe.callServerTool('db', 'echo', {});

/** The values of a form field in the requests to the issuer, each once. */
function sent(issuer: TestIssuer, field: string): readonly (string | null)[] {
  const [authorizations, tokens] = [issuer.seenAt('/authorize'), issuer.seenAt('/token')];
  return [
    ...new Set([
      ...authorizations.map(({ query }) => query.get(field)),
      ...tokens.map(({ form }) => form.get(field)),
    ]),
  ];
}

describe('the resource of a login', () => {
  exhibit(
    ['https://github.com/vercel/ai/issues/13988', 'https://github.com/openai/codex/issues/35716'],
    'A slash was appended to a resource without a path, and strict issuers refused it.',
    'is sent as the server publishes it, without a slash at its end',
    async () => {
      const issuer = await issuerWith();
      const { origin } = issuer;
      issuer.settings.tamper.resource = (metadata) => ({ ...metadata, resource: origin });
      issuer.settings.otherResources = [origin];
      issuer.settings.audience = issuer.server;
      const troupe = troupeAt(issuer);
      await troupe.login('db');
      expect(sent(issuer, 'resource')).toEqual([origin]);
      issuer.book.expireAccess();
      await echo(troupe);
      expect(sent(issuer, 'resource')).toEqual([origin]);
    },
  );

  exhibit(
    'https://github.com/openai/codex/issues/37387',
    'The address of a server with a query did not match the resource of its metadata.',
    'matches an address with a query, which requests keep',
    async () => {
      const issuer = await issuerWith();
      const troupe = troupeAt(issuer, { url: `${issuer.server}?tools=a,b` });
      await troupe.login('db');
      await echo(troupe);
      expect(sent(issuer, 'resource')).toEqual([issuer.server]);
      const queries = issuer.seenAt('/mcp').map(({ query }) => query.get('tools'));
      expect(new Set(queries)).toEqual(new Set(['a,b']));
    },
  );
});

describe('the name of an issuer', () => {
  exhibit(
    [
      'https://github.com/modelcontextprotocol/python-sdk/issues/1919',
      'https://github.com/SparkDevNetwork/Rock/issues/6974',
    ],
    'Servers name an issuer with a slash that its own metadata leave out, as those of Google; clients refused the login.',
    'may end with a slash in the metadata of the server alone; any other difference is named',
    async () => {
      const issuer = await issuerWith();
      const named = (name: string): void => {
        issuer.settings.tamper.resource = (metadata) => ({
          ...metadata,
          authorization_servers: [name],
        });
      };
      named(`${issuer.origin}/`);
      expect(await troupeAt(issuer).login('db')).toMatchObject({ state: 'ready' });
      named(issuer.origin);
      issuer.settings.tamper.issuer = (metadata) => ({ ...metadata, issuer: `${issuer.origin}/x` });
      await expect(troupeAt(issuer).login('db')).rejects.toMatchObject({
        message: expect.stringContaining(`${issuer.origin}/x`) as string,
      });
    },
  );
});

describe('a renewal', () => {
  exhibit(
    'https://github.com/apify/mcpc/issues/387',
    'The secret of a client was used for the login and forgotten for renewals.',
    'uses the secret of the client, as the login does',
    async () => {
      const client = { id: 'robot', method: 'client_secret_basic', secret: 'of-it' } as const;
      const issuer = await issuerWith({ clients: [client], registersClients: false });
      const oauth = { clientId: 'robot', clientSecret: 'of-it' };
      const troupe = troupeAt(issuer, { oauth });
      await troupe.login('db');
      for (const round of [1, 2, 3]) {
        issuer.book.expireAccess();
        await echo(troupe);
        expect(issuer.counts).toMatchObject({ codes: 1, redemptions: round });
      }
    },
  );

  exhibit(
    'https://github.com/kentcdodds/kody/pull/1793',
    'A 401 without an error code led to a new login instead of a renewal.',
    'answers a 401 with a bare challenge, and the call succeeds',
    async () => {
      const issuer = await issuerWith();
      const troupe = troupeAt(issuer);
      await troupe.login('db');
      issuer.settings.faults.set('/mcp', {
        fault: { status: 401, headers: { 'www-authenticate': 'Bearer' } },
        times: 1,
      });
      await echo(troupe);
      expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 1, calls: 1 });
    },
  );
});

describe('a renewal that the issuer refuses', () => {
  exhibit(
    'https://github.com/dust-tt/dust/pull/22773',
    'Issuers refused renewals that name the resource, or left fields out of their answers; logins were lost after an hour.',
    'is tried once without the resource, and its answer needs neither type nor life',
    async () => {
      const issuer = await issuerWith({ resourceOfRenewals: 'refused' });
      issuer.settings.tamper.token = ({ access_token, refresh_token }) => ({
        access_token,
        refresh_token,
      });
      const troupe = troupeAt(issuer);
      await troupe.login('db');
      issuer.book.expireAccess();
      await echo(troupe);
      const renewals = issuer
        .seenAt('/token')
        .filter(({ form }) => form.get('grant_type') === 'refresh_token');
      expect(renewals.map(({ form }) => form.get('resource'))).toEqual([issuer.server, null]);
      expect(issuer.counts).toMatchObject({ codes: 1, redemptions: 1, calls: 1 });
    },
  );

  exhibit(
    'https://github.com/metabase/metabase/issues/80389',
    'An invalid refresh token was sent for ever, and the user was never asked to log in.',
    'ends after two requests, and its reason is shown until the user logs in again',
    async () => {
      const issuer = await issuerWith();
      const troupe = troupeAt(issuer);
      await troupe.login('db');
      const before = issuer.seenAt('/token').length;
      const body = JSON.stringify({
        error: 'invalid_request',
        error_description: 'The token request is invalid.',
      });
      issuer.settings.faults.set('/token', { fault: { status: 400, body } });
      issuer.book.expireAccess();
      const reason = 'invalid_request: The token request is invalid.';
      const refused = { code: 'AUTH_REQUIRED', message: expect.stringContaining(reason) as string };
      await expect(echo(troupe)).rejects.toMatchObject(refused);
      await troupe.waitFor('db', 'authRequired');
      expect(troupe.status('db')).toMatchObject({ lastError: refused });
      expect(JSON.stringify(troupe.explain('db'))).toContain(reason);
      expect(JSON.stringify(troupe.logs('db'))).toContain(reason);
      const renewalRefusal = expect.stringContaining(reason) as string;
      expect(await troupe.accounts()).toMatchObject([{ renewable: false, renewalRefusal }]);
      await expect(echo(troupe)).rejects.toMatchObject(refused);
      expect(issuer.seenAt('/token').length - before).toBe(2);
      issuer.settings.faults.clear();
      await troupe.login('db');
      await echo(troupe);
      const [account] = await troupe.accounts();
      expect(account).toMatchObject({ renewable: true });
      expect(account).not.toHaveProperty('renewalRefusal');
    },
  );
});

describe('the life of a token', () => {
  exhibit(
    'https://github.com/QwenLM/qwen-code/issues/5355',
    'A life of 0 seconds counted as endless; "3600" and "3600abc" were half accepted.',
    'is read from a number or digits, 0 is over at once, anything else is refused, and without one the token serves until a 401',
    async () => {
      const issuer = await issuerWith();
      const lives = (life: unknown): void => {
        issuer.settings.tamper.token = (answer) =>
          Object.fromEntries(
            Object.entries({ ...answer, expires_in: life }).filter(
              ([, value]) => value !== undefined,
            ),
          );
      };
      lives('3600');
      expect(await troupeAt(issuer).login('db')).toMatchObject({ state: 'ready' });
      lives(0);
      const spent = troupeAt(issuer);
      await spent.login('db');
      expect(await spent.accounts()).toMatchObject([{ expired: true, renewable: true }]);
      await spent.stop();
      lives('3600abc');
      await expect(troupeAt(issuer).login('db')).rejects.toMatchObject({
        message: expect.stringContaining('expires_in') as string,
      });
      lives(undefined);
      const troupe = troupeAt(issuer);
      await troupe.login('db');
      const { redemptions } = issuer.counts;
      await echo(troupe);
      issuer.book.expireAccess();
      await echo(troupe);
      expect(issuer.counts).toMatchObject({ redemptions: redemptions + 1, calls: 2 });
    },
  );
});
