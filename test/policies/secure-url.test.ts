import { describe, expect, it } from 'vitest';

import { isLoopback, secureUrlFault } from '../../src/policies/secure-url.ts';

describe('the address of a login', () => {
  it.each([
    'https://auth.example.com/login',
    'http://localhost:4000/login',
    'http://app.localhost/login',
    'http://127.0.0.1/login',
    'http://127.8.9.10/login',
    'http://[::1]:8080/login',
  ])('may be %s', (address) => {
    expect(secureUrlFault(new URL(address))).toBeUndefined();
  });

  it.each([
    ['http://auth.example.com/', 'must begin with https://'],
    ['http://localhost.example.com/', 'must begin with https://'],
    ['ftp://localhost/', 'must begin with https://'],
    ['https://user@auth.example.com/', 'user name or password'],
    ['https://:secret@auth.example.com/', 'user name or password'],
    ['https://auth.example.com/#top', 'must not have a fragment'],
  ])('may not be %s', (address, reason) => {
    expect(secureUrlFault(new URL(address))).toContain(reason);
  });

  it('is on this machine only if its host is', () => {
    expect(isLoopback(new URL('http://LOCALHOST/'))).toBe(true);
    expect(isLoopback(new URL('http://128.0.0.1/'))).toBe(false);
  });
});
