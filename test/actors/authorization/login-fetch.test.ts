/** What logins may reach, and when a request is sent again: LOGIN.md row 23. */

import { describe, expect, it } from 'vitest';

import { permittedUrl } from '../../../actors/authorization/login-fetch.ts';
import { freePort } from '../../fixtures/remote/free-port.ts';
import { accessTo, issuerWith } from './bench.ts';

describe('a URL of an issuer', () => {
  it.each([
    'https://issuer.example/token',
    'http://localhost:1/token',
    'http://app.localhost/token',
    'http://127.8.8.8/token',
    'http://[::1]:1/token',
  ])('may be %s', (text) => {
    expect(permittedUrl(text, 'the URL').href).toBe(text);
  });

  it.each([
    'http://issuer.example/token',
    'http://10.0.0.1/token',
    'http://localhost.example/token',
    'ftp://issuer.example/token',
    'data:text/html,x',
    'https://user@issuer.example/',
    '/token',
    '',
  ])('may not be %s', (text) => {
    expect(() => permittedUrl(text, 'the URL')).toThrow(/^the URL /u);
  });

  it('is shown without its query, and without control characters', () => {
    const text = 'http://issuer.example/\u001b[31m?key=planted#planted';
    expect(() => permittedUrl(text, 'the URL')).toThrow('"http://issuer.example/ [31m"');
  });
});

describe('a request', () => {
  it('that was never sent is sent once more, also a POST', async () => {
    const port = await freePort();
    const lookups: string[] = [];
    const access = accessTo(`http://server.localhost:${port}/mcp`, {
      resolve: (host, _options, callback) => {
        lookups.push(host);
        callback(null, [{ address: '127.0.0.1', family: 4 }]);
      },
    });
    const request = access.fetch(`http://server.localhost:${port}/token`, { method: 'POST' });
    await expect(request).rejects.toMatchObject({ wasConnected: false });
    // One for each of two checks, and one for each attempt.
    expect(lookups).toHaveLength(4);
  });

  it('keeps the status, the headers and the whole body of its response', async () => {
    const issuer = await issuerWith();
    const fault = { status: 418, headers: { 'x-one': '1' }, body: 'ü' };
    issuer.settings.faults.set('/x', { fault });
    const response = await accessTo(issuer.server).fetch(`${issuer.origin}/x`);
    expect([response.status, response.headers.get('x-one')]).toEqual([418, '1']);
    expect(await response.text()).toBe('ü');
  });

  it('may have no body in its response', async () => {
    const issuer = await issuerWith();
    issuer.settings.faults.set('/x', { fault: { status: 204 } });
    const response = await accessTo(issuer.server).fetch(`${issuer.origin}/x`);
    expect(response.status).toBe(204);
  });
});
