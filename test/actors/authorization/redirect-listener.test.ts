import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';

import { listenForRedirect } from '../../../actors/authorization/redirect-listener.ts';

describe('the listener for the browser', () => {
  it('refuses requests whose target is not a URL', async () => {
    const listener = await listenForRedirect([], false);
    onTestFinished(() => listener.close());
    const { host, port } = new URL(listener.redirectUri);
    for (const target of ['//', 'http://[', '*']) {
      const socket = connect(Number(port), '127.0.0.1');
      socket.end(`GET ${target} HTTP/1.1\r\nHost: ${host}\r\n\r\n`);
      expect(await text(socket)).toMatch(/^HTTP\/1.1 40[04] /u);
    }
  });

  const hasIpv6 = Object.values(networkInterfaces()).some((addresses) =>
    addresses?.some(({ address }) => address === '::1'),
  );
  const own = hasIpv6 ? ['127.0.0.1', '[::1]'] : ['127.0.0.1'];
  const place = { hostname: 'localhost', path: '/done' };
  const { signal } = new AbortController();

  it('of localhost listens at both of its addresses', async () => {
    for (const address of own) {
      const listener = await listenForRedirect([], false, place);
      onTestFinished(() => listener.close());
      const redirect = new URL(listener.redirectUri);
      expect(redirect).toMatchObject({ hostname: 'localhost', pathname: '/done' });
      const response = listener.response((got) => got.get('state') === 's', signal);
      const at = `http://${address}:${redirect.port}/done?state=s`;
      expect((await fetch(at, { headers: { host: redirect.host } })).status).toBe(200);
      expect((await response).get('state')).toBe('s');
    }
  });

  it.runIf(hasIpv6)('of localhost does not share its port with another program', async () => {
    const other = createServer().listen(0, '::1');
    onTestFinished(() => void other.close());
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    await expect(listenForRedirect([port], true, place)).rejects.toMatchObject({
      code: 'EADDRINUSE',
    });
    const listener = await listenForRedirect([port], false, place);
    onTestFinished(() => listener.close());
    expect(new URL(listener.redirectUri).port).not.toBe(String(port));
  });
});
