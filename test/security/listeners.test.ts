import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, it, onTestFinished } from 'vitest';

import {
  listenForRedirect,
  type RedirectListener,
} from '../../actors/authorization/redirect-listener.ts';
import { ConnectionLimits, usualStrangers } from '../../actors/host/connection-limits.ts';
import { httpListener, type Listener, socketListener } from '../../actors/host/listener.ts';

async function dial(port: number, line = 'GET / HTTP/1.1\r\nHost: a'): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  // The other side may end it at any time, also with a reset.
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.write(line);
  return socket.resume();
}

async function login(): Promise<{ readonly listener: RedirectListener; readonly url: URL }> {
  const listener = await listenForRedirect([], false);
  onTestFinished(() => listener.close());
  return { listener, url: new URL(listener.redirectUri) };
}

const { signal } = new AbortController();
const untilClosed = (socket: Socket): Promise<unknown> =>
  socket.destroyed ? Promise.resolve() : once(socket, 'close');

describe('strangers at the port of a login', () => {
  it('displace one another, so that they hold no more descriptors than the limit', async () => {
    const { url } = await login();
    const strangers: Socket[] = [];
    for (let count = 0; count < 3 * usualStrangers; count += 1)
      strangers.push(await dial(Number(url.port)));
    const displaced = strangers.slice(0, -usualStrangers);
    await Promise.all(displaced.map(untilClosed));
    expect(strangers.filter(({ destroyed }) => !destroyed)).toHaveLength(usualStrangers);
  });

  it('share one limit among all logins that wait', async () => {
    const [one, two] = [await login(), await login()];
    const first = await dial(Number(one.url.port));
    for (let count = 0; count < usualStrangers; count += 1) await dial(Number(two.url.port));
    await untilClosed(first);
    expect(first.destroyed).toBe(true);
  });

  it('cannot keep the browser out', async () => {
    const { listener, url } = await login();
    for (let count = 0; count < usualStrangers; count += 1) await dial(Number(url.port));
    const response = listener.response((got) => got.get('state') === 's', signal);
    expect((await fetch(`${url.href}?state=s`)).status).toBe(200);
    expect((await response).get('state')).toBe('s');
  });

  it('are disconnected in the middle of a request when the login ends, which is still answered', async () => {
    const { listener, url } = await login();
    const strangers = await Promise.all(Array.from({ length: 8 }, () => dial(Number(url.port))));
    const response = listener.response(() => true, signal);
    const browser = connect(Number(url.port), '127.0.0.1');
    browser.write(`GET ${url.pathname}?code=c HTTP/1.1\r\nHost: ${url.host}\r\n\r\n`);
    const page = text(browser);
    await response;
    listener.close();
    await Promise.all(strangers.map(untilClosed));
    expect(await page).toMatch(/^HTTP\/1\.1 200 [\s\S]*Almost done[\s\S]*<\/html>/u);
  });
});

describe('any listener', () => {
  const limits = (): ConnectionLimits => new ConnectionLimits({ strangers: 2, known: 0 });
  const quick = { headersMs: 100, requestMs: 200, checkEveryMs: 20 };
  const kinds: readonly (readonly [string, () => Listener])[] = [
    ['HTTP', () => httpListener(limits(), () => undefined)],
    ['sockets', () => socketListener(limits(), (socket) => void socket.resume())],
  ];

  it.each(kinds)(
    'for %s bounds strangers, survives a failed accept and ends all connections',
    async (_kind, create) => {
      const listener = await create().listen({ host: '127.0.0.1', port: 0 });
      onTestFinished(() => listener.close());
      const sockets: Socket[] = [];
      for (let count = 0; count < 3; count += 1) sockets.push(await dial(listener.port));
      await untilClosed(sockets[0] as Socket);
      listener.server.emit('error', new Error('EMFILE'));
      listener.close();
      await Promise.all(sockets.map(untilClosed));
      expect(listener.port).toBe(0);
    },
  );

  it('for HTTP disconnects a client that does not finish its headers', async () => {
    const listener = httpListener(limits(), () => undefined, { timeouts: quick });
    await listener.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => listener.close());
    const socket = await dial(listener.port);
    await untilClosed(socket);
    expect(socket.destroyed).toBe(true);
  });

  it('ends a response that is never sent a second after it closes for others', async () => {
    const listener = httpListener(limits(), () => undefined);
    await listener.listen({ host: '127.0.0.1', port: 0 });
    const requested = once(listener.server, 'request');
    const socket = await dial(listener.port, 'GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    await requested;
    listener.closeAfterAnswers();
    await untilClosed(socket);
    expect(socket.destroyed).toBe(true);
  });
});
