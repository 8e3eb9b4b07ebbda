/** The steps of a login when others interfere with them. */

import { expect, it, onTestFinished } from 'vitest';

import { Credential } from '../../../actors/authorization/credential.ts';
import { plain, type ShownUrl } from '../../../actors/authorization/credential-ports.ts';
import { createCredentialStore } from '../../../actors/stores/credentials.ts';
import { credentialKey } from '../../../actors/stores/credentials-record.ts';
import { promptClock as clock } from '../../../src/runtime/real-clock.ts';
import type { TestIssuer } from '../../support/issuer/issuer.ts';
import { challengedPlace } from '../../support/issuer/places.ts';
import { called, issuerWith } from './bench.ts';

const { signal } = new AbortController();

/** A credential for the issuer's server, and the addresses that its user was shown. */
function credentialAt(issuer: TestIssuer) {
  const id = { resource: issuer.server, account: null, client: null, reach: null };
  const shown: ShownUrl[] = [];
  const credential = new Credential({
    key: credentialKey(id),
    id,
    server: new URL(issuer.server),
    reach: () => undefined,
    settings: () => undefined,
    freshSettings: () => Promise.resolve(undefined),
    store: createCredentialStore({ clock, onProblems: () => {} }),
    clock,
    showUrl: (each) => {
      shown.push(each);
      return new Promise(() => {});
    },
    showCode: () => {},
  });
  onTestFinished(() => credential.close());
  return { credential, shown };
}

it('shows no address once the login is no longer wanted', async () => {
  const issuer = await issuerWith();
  const { credential, shown } = credentialAt(issuer);
  await credential.discover(signal);
  await credential.register(plain, signal);
  const over = new AbortController();
  const asking = credential.askUser(plain, over.signal);
  over.abort(new Error('over'));
  await expect(asking).rejects.toThrow('over');
  expect(shown).toEqual([]);
});

it('remembers where the metadata is when a later refusal does not say it', async () => {
  const issuer = await issuerWith();
  const { credential } = credentialAt(issuer);
  const challenge = (await called(issuer, {})).headers.get('www-authenticate') ?? '';
  credential.noteRefusal({ status: 401, challenge, sentWith: {} });
  const lacking = 'Bearer error="insufficient_scope", scope="write"';
  const { lacks } = credential.noteRefusal({ status: 403, challenge: lacking, sentWith: {} });
  expect([lacks, credential.challengedScopes]).toEqual([['write'], ['write']]);
  await credential.discover(signal);
  expect(issuer.seenAt(challengedPlace)).toHaveLength(1);
});
