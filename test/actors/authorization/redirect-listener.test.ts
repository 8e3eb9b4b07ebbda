import { connect } from 'node:net';
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
});
