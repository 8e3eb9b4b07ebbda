import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { redactData, redactWords } from '../../../src/policies/text/redact-words.ts';

const key = 'sk-live-4f9a8b7c6d5e';

describe('the redactor', () => {
  it.each([
    ['an Authorization header', `authorization: Bearer ${key}`, 'authorization: Bearer [redacted]'],
    [
      'a header with another scheme',
      'Authorization: Token hush',
      'Authorization: Token [redacted]',
    ],
    ['a header without a scheme', '"Authorization":"hush"', '"Authorization":"[redacted]"'],
    ['a bearer token alone', 'got bearer a1b2c3d4e5', 'got bearer [redacted]'],
    ['a bearer token that looks like a word', 'Bearer abcdef', 'Bearer [redacted]'],
    ['Base64 credentials', 'Basic dXNlcjpodXNo', 'Basic [redacted]'],
    ['all cookies', 'set-cookie: a=b; c=dd', 'set-cookie: [redacted]'],
    ['a password in a URL', 'postgres://u:hush@db/x', 'postgres://u:[redacted]@db/x'],
    ['a token in a URL', 'https://a1b2c3d4@host/x', 'https://[redacted]@host/x'],
    ['a key with a known prefix', `refused ${key}.`, 'refused [redacted].'],
    ['a signed token', 'jwt eyJhbGciOi.eyJzdWIi.c2ln!', 'jwt [redacted]!'],
    ['a query parameter', '/mcp?v=1&api_key=hush&x=2', '/mcp?v=1&api_key=[redacted]&x=2'],
    ['a variable', 'error: DB_PASSWORD=hush1', 'error: DB_PASSWORD=[redacted]'],
    ['a quoted value', '{"client_secret": "hush"}', '{"client_secret": "[redacted]"}'],
    ['a bare key', 'key=hush', 'key=[redacted]'],
    ['a token after a colon', 'token: a1b2c3', 'token: [redacted]'],
    ['consecutive secrets', 'token=hush token=tush', 'token=[redacted] token=[redacted]'],
  ])('redacts %s', (_what, text, clean) => {
    expect(redactWords(text)).toBe(clean);
  });

  it.each([
    'Bearer authentication is required',
    'a bearer token for basic authentication',
    'invalid token: unexpected end of JSON',
    'session: closed',
    'max_tokens=4096, password=none, token=abc',
    'ssh://developer@host/path',
    'key: value',
    'at file:///srv/app.mjs:12:34',
  ])('keeps "%s"', (text) => {
    expect(redactWords(text)).toBe(text);
  });

  it('redacts known secrets in any form', () => {
    expect(redactWords('it is hush', ['hush'])).toBe('it is [redacted]');
  });

  it('reads a bounded prefix of a long text without splitting a secret', () => {
    const filler = 'x'.repeat(16_380);
    expect(redactWords(`${filler} ${key}`)).toBe(`${filler} `);
    expect(redactWords(`${'x '.repeat(8_190)}known secret`, ['known secret'])).not.toContain(
      'known',
    );
    const endless = redactWords('y'.repeat(16 * 1024 * 1024));
    expect(endless.length).toBeLessThanOrEqual(16_384);
    expect(endless).toMatch(/^y+$/);
  });

  it('reads each value once, however many names precede it', () => {
    const text = '://a:b'.repeat(2_700);
    // Quadratic reading takes 12 s, more than the test's timeout allows.
    for (let count = 0; count < 500; count += 1) expect(redactWords(text)).toBe(text);
  });

  it('redacts a secret inside any text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), fc.string({ maxLength: 200 }), (before, after) => {
        expect(redactWords(`${before} api_key=${key} ${after}`)).not.toContain(key);
      }),
    );
  });

  it('redacts data up to a bounded depth and keeps other values', () => {
    expect(redactData({ a: [`key=${key}`, 7, null], b: { c: true } })).toEqual({
      a: ['key=[redacted]', 7, null],
      b: { c: true },
    });
    let deep: unknown = 7;
    for (let depth = 0; depth < 40; depth += 1) deep = { deep };
    expect(JSON.stringify(redactData(deep))).toContain('"[redacted]"');
    expect(redactData([7], [], 31)).toEqual([7]);
  });
});
