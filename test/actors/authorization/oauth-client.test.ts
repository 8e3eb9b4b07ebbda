/** Which client logs in, and how it proves itself: LOGIN.md rows 5, 6, 11 and 15. */

import { generateKeyPairSync } from 'node:crypto';

import { describe, expect, it } from 'vitest';

import { findClient, registeredRedirects } from '../../../actors/authorization/oauth-client.ts';
import type { Fault, IssuerSettings, KnownClient } from '../../support/issuer/settings.ts';
import { failureOf, loggedIn, readyAt, redirectUri, valueOf } from './bench.ts';

const documentUrl = 'https://client.example/metadata.json';
const known: KnownClient = { id: 'known', method: 'none' };

describe('the client', () => {
  it('of the settings comes first', async () => {
    const settings = { clientId: 'known', clientMetadataUrl: documentUrl };
    const ready = await readyAt(
      { clients: [known], acceptsClientIdMetadata: true },
      { settings, stored: undefined as never },
    );
    expect(ready.client).toMatchObject({ how: 'settings', information: { client_id: 'known' } });
    expect(ready.issuer.counts.registrations).toBe(0);
    expect(valueOf(await loggedIn(ready)).accessToken).toBeDefined();
  });

  it('is the metadata document where the issuer accepts one', async () => {
    const settings = { clientMetadataUrl: documentUrl };
    const ready = await readyAt({ acceptsClientIdMetadata: true }, { settings });
    expect(ready.client.how).toBe('metadataDocument');
    expect(ready.issuer.counts.registrations).toBe(0);
    valueOf(await loggedIn(ready));
    expect(ready.issuer.seenAt('/authorize')[0]?.query.get('client_id')).toBe(documentUrl);
  });

  it('is registered where the issuer accepts no document', async () => {
    const ready = await readyAt({}, { settings: { clientMetadataUrl: documentUrl } });
    expect(ready.client.how).toBe('registered');
  });

  it('is used again for the next login', async () => {
    const { access, found, client, issuer } = await readyAt();
    const stored = { issuer: found.issuer, information: client.information };
    const again = await findClient(access, found, { stored, redirectUris: [redirectUri] });
    expect(valueOf(again)).toMatchObject({ how: 'stored', information: client.information });
    expect(issuer.counts.registrations).toBe(1);
  });

  it('is registered again for another issuer, and does not show the earlier id', async () => {
    const first = await readyAt();
    const stored = { issuer: first.found.issuer, information: first.client.information };
    const second = await readyAt({}, { stored });
    expect(second.client.how).toBe('registered');
    expect(JSON.stringify(second.issuer.seen)).not.toContain(first.client.information.client_id);
  });

  it('is registered again if its redirect URI or its secret is no longer valid', async () => {
    const { access, found, client, issuer } = await readyAt({
      authMethods: ['client_secret_basic'],
    });
    const stored = { issuer: found.issuer, information: client.information };
    const elsewhere = ['http://127.0.0.1:5/callback'];
    valueOf(await findClient(access, found, { stored, redirectUris: elsewhere }));
    const information = { ...client.information, client_secret_expires_at: 1 };
    const expired = { issuer: found.issuer, information };
    valueOf(await findClient(access, found, { stored: expired, redirectUris: [redirectUri] }));
    expect(issuer.counts.registrations).toBe(3);
    expect(registeredRedirects(client.information)).toEqual([redirectUri]);
  });

  it('must come from the user if the issuer registers none', async () => {
    const { access, found } = await readyAt(
      { registersClients: false, clients: [known] },
      {
        settings: { clientId: 'known' },
      },
    );
    const outcome = await findClient(access, found, { redirectUris: [redirectUri] });
    expect(failureOf(outcome)).toMatchObject({
      kind: 'clientNeeded',
      isFinal: true,
      message: expect.stringContaining('set "oauth.clientId"'),
    });
  });
});

describe('a registration', () => {
  it('is of a native application that returns to this machine', async () => {
    const { issuer } = await readyAt({}, { scope: 'read' });
    const body = JSON.parse(issuer.seenAt('/register')[0]?.body ?? '') as unknown;
    expect(body).toMatchObject({
      application_type: 'native',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_method: 'none',
      scope: 'read',
    });
  });

  async function registration(fault: Fault) {
    const { access, found, issuer } = await readyAt();
    issuer.settings.faults.set('/register', { fault });
    return failureOf(await findClient(access, found, { redirectUris: [redirectUri] }));
  }

  it('that is rejected shows why and what to do', async () => {
    const body = JSON.stringify({
      error: 'invalid_redirect_uri',
      error_description: 'only\nweb \u001b[31mapplications',
    });
    const { kind, message } = await registration({ status: 400, body });
    expect(kind).toBe('registration');
    expect(message).toContain(
      '(invalid_redirect_uri: only web [31mapplications); register a client',
    );
  });

  it('that an issuer rejects without a reason shows the status', async () => {
    expect((await registration({ status: 403, body: '<html>' })).message).toContain('(status 403)');
  });

  it('without a client id in the answer is invalid', async () => {
    const failure = await registration({ status: 201, body: '{}' });
    expect(failure.message).toContain('with no valid client');
    expect((await registration({ status: 201, body: 'x' })).kind).toBe('registration');
  });

  it('that fails may be tried again', async () => {
    expect(await registration({ status: 500 })).toMatchObject({
      kind: 'unavailable',
      isFinal: false,
    });
  });

  it('uses only an https document', async () => {
    const { access, found } = await readyAt({ acceptsClientIdMetadata: true });
    const settings = { clientMetadataUrl: 'http://client.example/metadata.json' };
    const outcome = await findClient(access, found, { settings, redirectUris: [redirectUri] });
    expect(failureOf(outcome).message).toContain('is not https with a path');
  });
});

describe('the authentication of the client', () => {
  it.each(['none', 'client_secret_basic', 'client_secret_post'])('%s works', async (method) => {
    const ready = await readyAt({ authMethods: [method] });
    expect(valueOf(await loggedIn(ready)).accessToken).toBeDefined();
    const [request] = ready.issuer.seenAt('/token');
    expect(request?.headers.authorization?.startsWith('Basic ')).toBe(
      method === 'client_secret_basic' ? true : undefined,
    );
    expect(request?.form.has('client_secret')).toBe(method === 'client_secret_post');
  });

  it('by Basic encodes the id and the secret', async () => {
    const secret = 'a:b %+ü';
    const client = { id: 'id:1', method: 'client_secret_basic', secret } as const;
    const settings = { clientId: client.id, clientSecret: secret };
    const ready = await readyAt({ clients: [client] }, { settings });
    expect(valueOf(await loggedIn(ready)).accessToken).toBeDefined();
  });

  it('in the settings wins', async () => {
    const client = { id: 'id', method: 'client_secret_post', secret: 's' } as const;
    const settings = { clientId: 'id', clientSecret: 's', authMethod: client.method };
    const ready = await readyAt({ clients: [client] }, { settings });
    expect(valueOf(await loggedIn(ready)).accessToken).toBeDefined();
  });

  const elliptic = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

  it.each([
    ['PKCS #8', elliptic.privateKey.export({ type: 'pkcs8', format: 'pem' }), elliptic],
    ['SEC 1', elliptic.privateKey.export({ type: 'sec1', format: 'pem' }), elliptic],
    ['JWK', JSON.stringify(elliptic.privateKey.export({ format: 'jwk' })), elliptic],
    ['RSA', rsa.privateKey.export({ type: 'pkcs1', format: 'pem' }), rsa],
  ] as const)('by a key in %s form works', async (_form, privateKey, { publicKey }) => {
    const publicJwk = publicKey.export({ format: 'jwk' });
    const client: KnownClient = { id: 'signing', method: 'private_key_jwt', publicJwk };
    const settings = { clientId: 'signing', privateKey: String(privateKey) };
    const ready = await readyAt({ clients: [client] }, { settings });
    expect(valueOf(await loggedIn(ready)).accessToken).toBeDefined();
  });

  it('by something that is not a key is refused', async () => {
    const settings = { clientId: 'known', privateKey: 'planted-secret' };
    const failure = failureOf(await loggedIn(await readyAt({ clients: [known] }, { settings })));
    expect(failure.message).toContain('neither a PEM nor a JWK');
    expect(JSON.stringify(failure)).not.toContain('planted');
  });

  it('that the issuer rejects shows neither secret', async () => {
    const settings = { clientId: 'known', clientSecret: 'planted-secret' };
    const issuer: Partial<IssuerSettings> = {
      clients: [{ id: 'known', method: 'client_secret_basic', secret: 'another' }],
    };
    const failure = failureOf(await loggedIn(await readyAt(issuer, { settings })));
    expect(failure).toMatchObject({ kind: 'registration', isFinal: true, code: 'invalid_client' });
    expect(JSON.stringify(failure)).not.toContain('planted');
  });
});
