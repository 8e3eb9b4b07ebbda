/** Where a login's requests may go. */

import { describe, expect, it, onTestFinished } from 'vitest';

import { IssuerRoute, listenFor } from '../../../actors/authorization/issuer-route.ts';
import { listenForRedirect } from '../../../actors/authorization/redirect-listener.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';

const { signal } = new AbortController();

describe('a port that another program uses', () => {
  it('is named with what to do', async () => {
    const other = await listenForRedirect([], false);
    onTestFinished(() => other.close());
    const callbackPort = Number(new URL(other.redirectUri).port);
    const { failed } = await listenFor({ callbackPort }, undefined);
    expect(failed?.message).toBe(
      `no port for the response could be opened on this machine (EADDRINUSE); end the program that uses ${callbackPort}, or register and set another "oauth.callbackPort"`,
    );
  });
});

describe("an identity provider in the user's settings", () => {
  it('may be in a private network, unlike an issuer that a public server names', async () => {
    const server = new URL('https://93.184.216.34/mcp');
    const way = new IssuerRoute({ server, clock: promptClock, reach: () => undefined });
    const provider = 'https://10.0.0.7/idp';
    await expect(way.access(signal).check(provider, 'the issuer')).rejects.toMatchObject({
      failure: { kind: 'discovery' },
    });
    const access = way.accessTo(provider, signal);
    expect((await access.check(`${provider}/token`, 'the endpoint')).href).toContain('10.0.0.7');
    await expect(access.check('http://10.0.0.7/token', 'the endpoint')).rejects.toMatchObject({
      failure: { kind: 'discovery' },
    });
    way.close();
  });

  it('never gets the client certificate of the server', () => {
    const asked: string[] = [];
    const ways = (name: string) => ({
      proxyFor: () => void asked.push(name),
      secureContext: undefined,
      proxyContext: undefined,
    });
    const reach = { ...ways('with'), withoutCertificate: ways('without'), ownDigest: null };
    const server = new URL('https://93.184.216.34/mcp');
    const way = new IssuerRoute({ server, clock: promptClock, reach: () => reach });
    const access = way.accessTo('https://10.0.0.7/idp', signal);
    return access.check('https://10.0.0.7/token', 'the endpoint').then(() => {
      expect(asked).not.toContain('with');
      way.close();
    });
  });
});
