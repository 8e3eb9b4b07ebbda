import { describe, expect, it } from 'vitest';

import { proxySecrets, proxyVariables } from '../../src/policies/proxy-variables.ts';
import { isPem } from '../../src/policies/text/pem.ts';

describe('the variables of proxies', () => {
  it('are listed in both spellings unless they are empty', () => {
    const variables = { http_proxy: 'a', HTTP_PROXY: 'b', HTTPS_PROXY: ' ', ALL_PROXY: 'c' };
    expect(proxyVariables(variables)).toEqual(['http_proxy', 'HTTP_PROXY', 'ALL_PROXY']);
  });
});

describe('the secrets of a proxy', () => {
  it.each([
    ['http://me:p%40ss@host:1', ['p%40ss', 'p@ss']],
    ['me:pass@host', ['pass', 'pass']],
    ['https://a-token@host', ['a-token', 'a-token']],
    ['http://me:100%@host', ['100%', '100%']],
    ['http://me:@host', []],
    ['http://host/@x', []],
    ['host:3128', []],
    ['', []],
  ])('in %j are %j', (address, secrets) => {
    expect(proxySecrets(address)).toEqual(secrets);
  });
});

describe('a value', () => {
  it.each([
    ['-----BEGIN CERTIFICATE-----\nx', true],
    ['\n-----BEGIN PRIVATE KEY-----', true],
    ['ca.pem', false],
  ])('%j is the text of a certificate or key: %s', (value, is) => {
    expect(isPem(value)).toBe(is);
  });
});
