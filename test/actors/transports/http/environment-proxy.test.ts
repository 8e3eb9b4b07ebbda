/** Which proxy of the environment an address is reached through. */

import { describe, expect, it } from 'vitest';

import { environmentProxy } from '../../../../actors/transports/http/environment-proxy.ts';

function chosen(url: string, variables: Readonly<Record<string, string>>): string | undefined {
  return environmentProxy(new URL(url), variables)?.variable;
}

describe('the proxy of the environment', () => {
  it.each([
    ['https://a.test/', { HTTPS_PROXY: 'p' }, 'HTTPS_PROXY'],
    ['https://a.test/', { https_proxy: 'p', HTTPS_PROXY: 'q' }, 'https_proxy'],
    ['https://a.test/', { https_proxy: '', HTTPS_PROXY: 'q' }, 'HTTPS_PROXY'],
    ['wss://a.test/', { HTTPS_PROXY: 'p' }, 'HTTPS_PROXY'],
    ['http://a.test/', { HTTPS_PROXY: 'p' }, undefined],
    ['http://a.test/', { HTTP_PROXY: 'p' }, 'HTTP_PROXY'],
    ['ws://a.test/', { http_proxy: 'p' }, 'http_proxy'],
    ['http://a.test/', { HTTP_PROXY: 'p', REQUEST_METHOD: 'GET' }, undefined],
    ['http://a.test/', { http_proxy: 'p', REQUEST_METHOD: 'GET' }, 'http_proxy'],
    ['http://a.test/', { ALL_PROXY: 'p' }, 'ALL_PROXY'],
    ['https://a.test/', { all_proxy: 'p', https_proxy: 'q' }, 'https_proxy'],
    ['https://a.test/', {}, undefined],
    ['https://a.test/', { HTTPS_PROXY: ' ' }, undefined],
  ])('for %s with %j is that of %s', (url, variables, variable) => {
    expect(chosen(url, variables)).toBe(variable);
  });

  it.each([
    'localhost',
    'api.localhost',
    'localhost.',
    '127.0.0.1',
    '127.8.8.8',
    '[::1]',
    '0x7f.1',
    '[::ffff:127.0.0.1]',
  ])('is never used for this machine: %s', (host) => {
    expect(chosen(`http://${host}:8080/`, { ALL_PROXY: 'p' })).toBeUndefined();
  });
});

describe('NO_PROXY', () => {
  it.each([
    ['*', 'https://a.test/', true],
    ['a.test', 'https://a.test/', true],
    ['a.test', 'https://A.TEST./', true],
    ['A.Test', 'https://a.test/', true],
    ['a.test', 'https://sub.a.test/', true],
    ['a.test', 'https://nota.test/', false],
    ['a.test', 'https://a.test.evil/', false],
    ['.a.test', 'https://a.test/', true],
    ['.a.test', 'https://sub.a.test/', true],
    ['*.a.test', 'https://sub.a.test/', true],
    ['*.a.test', 'https://b.test/', false],
    ['a.test.', 'https://a.test/', true],
    ['b.test, a.test', 'https://a.test/', true],
    ['b.test a.test', 'https://a.test/', true],
    ['b.test,,', 'https://a.test/', false],
    ['a.test:443', 'https://a.test/', true],
    ['a.test:443', 'https://a.test:8443/', false],
    ['a.test:8443', 'wss://a.test:8443/', true],
    ['a.test:80', 'ws://a.test/', true],
    ['10.1.2.3', 'http://10.1.2.3/', true],
    ['10.1.2.3:81', 'http://10.1.2.3/', false],
    ['10.0.0.0/8', 'http://10.1.2.3/', true],
    ['10.0.0.0/8', 'http://11.1.2.3/', false],
    ['10.0.0.0/99', 'http://10.1.2.3/', false],
    ['10.0.0.0/', 'http://11.1.2.3/', false],
    ['10.0.0.0/x', 'http://10.1.2.3/', false],
    ['fd00::/8', 'http://[fd00::1]/', true],
    ['[fd00::1]', 'http://[fd00::1]/', true],
    ['fd00::1', 'http://[fd00::1]/', true],
    ['[fd00::1]:80', 'http://[fd00::1]:81/', false],
    ['fd00::1', 'http://[fd00::2]/', false],
    ['10.0.0.0/8', 'http://a.test/', false],
    ['1.2.3.4', 'http://1.2.3.4.test/', false],
    ['(a+)+$', 'http://aaaaaaaaaaaaaaaaaaaaaaaaaa/', false],
  ])('%j reaches %s directly: %s', (list, url, isDirect) => {
    for (const name of ['NO_PROXY', 'no_proxy'])
      expect(chosen(url, { ALL_PROXY: 'p', [name]: list })).toBe(
        isDirect ? undefined : 'ALL_PROXY',
      );
  });

  it('counts in lower case when both are set', () => {
    const variables = { ALL_PROXY: 'p', no_proxy: 'b.test', NO_PROXY: '*' };
    expect(chosen('http://a.test/', variables)).toBe('ALL_PROXY');
  });
});
