import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  looksSecret,
  redact,
  safeCut,
  secretsInArgs,
  secretsInText,
  secretsOf,
} from '../../../src/policies/text/redact.ts';

describe('redaction', () => {
  it('removes every secret at any position', () => {
    expect(redact('key=abcd1234, again abcd1234!', ['abcd1234'])).toBe(
      'key=[redacted], again [redacted]!',
    );
    expect(redact('nothing here', ['abcd1234'])).toBe('nothing here');
  });

  it('leaves no part of a secret that contains another', () => {
    expect(redact('abcd1234', secretsOf(['1234', 'abcd1234']))).toBe('[redacted]');
  });

  it('removes the credentials after an Authorization scheme', () => {
    expect(redact('token abcd1234 refused', secretsOf(['Bearer abcd1234']))).toBe(
      'token [redacted] refused',
    );
  });

  it('keeps values that are too short to be secret', () => {
    expect(secretsOf(['1', 'on', '', 'a b'])).toEqual([]);
    const once = secretsOf(['same-one']);
    expect(secretsOf(['same-one', 'same-one'])).toEqual(once);
  });

  it.each(['\n', '\r\n', '\\n'])('removes each line of a key whose lines end in %j', (end) => {
    const secrets = secretsOf([['-----BEGIN KEY-----', 'MIIabcdef', 'xyz', '----'].join(end)]);
    expect(redact('read MIIabcdef', secrets)).toBe('read [redacted]');
    expect(secrets).not.toContain('xyz');
  });

  it('leaves no secret behind', () => {
    const secret = fc.stringMatching(/^[a-z0-9]{4,12}$/u);
    fc.assert(
      fc.property(
        fc.array(secret, { minLength: 1, maxLength: 5 }),
        fc.array(fc.string()),
        (values, words) => {
          // The mark itself is no leak.
          const secrets = secretsOf(values).filter((value) => !'[redacted]'.includes(value));
          const text = words
            .map((word, index) => word + (values[index % values.length] ?? ''))
            .join(' ');
          const clean = redact(text, secrets).replaceAll('[redacted]', ' ');
          for (const value of secrets) expect(clean).not.toContain(value);
        },
      ),
    );
  });
});

describe('an encoded secret', () => {
  const value = 'p ä"s/s+1\\w';

  it.each([
    ['JSON', JSON.stringify({ password: value })],
    ['a URL', `https://host/?password=${encodeURIComponent(value)}`],
    ['form data', new URLSearchParams({ password: value }).toString().replaceAll('%21', '!')],
  ])('is redacted in %s', (_where, text) => {
    const clean = redact(text, secretsOf([value]));
    expect(clean).toContain('[redacted]');
    expect(clean).toMatch(/^(?:\{"password":"\[redacted\]"\}|(?:https.*)?password=\[redacted\])$/u);
  });

  it('is redacted in Base64 at any offset', () => {
    const secret = fc.string({ minLength: 6, maxLength: 40, unit: 'binary' });
    const around = fc.string({ maxLength: 8 });
    const coding = fc.constantFrom('base64' as const, 'base64url' as const);
    fc.assert(
      fc.property(secret, around, around, coding, (hidden, before, after, how) => {
        const bytes = Buffer.from(hidden);
        fc.pre(bytes.toString() === hidden);
        const text = Buffer.from(`${before}${hidden}${after}`).toString(how);
        const clean = redact(text, secretsOf([hidden]));
        expect(clean).toContain('[redacted]');
        // What is left is that of the neighbours, and the characters shared with them.
        const most = Math.ceil(((Buffer.byteLength(before + after) + 2) * 4) / 3) + 6;
        expect(clean.replaceAll('[redacted]', '').length).toBeLessThanOrEqual(most);
      }),
    );
  });

  it('is not matched in Base64 if it is very short or a whole document', () => {
    expect(secretsOf(['abcd'])).toEqual(['abcd']);
    expect(secretsOf(['x'.repeat(8_193)])).toEqual(['x'.repeat(8_193)]);
  });
});

describe('the secrets in a string', () => {
  it.each([
    [
      'postgres://me:hunter2@db/x and redis://:other%21@r',
      ['hunter2', 'hunter2', 'other%21', 'other!'],
    ],
    ['https://me:100%@host', ['100%', '100%']],
    ['Authorization: Bearer abc.def', ['abc.def']],
    ['https://host/a:b@c', []],
    ['nothing', []],
  ])('are found in %s', (text, secrets) => {
    expect(secretsInText(text)).toEqual(secrets);
  });

  it('are found quickly in a long string', () => {
    for (const part of ['a', ':', '://', '://a:', 'bearer ']) {
      expect(secretsInText(part.repeat(20_000)).every((each) => each.length > 3)).toBe(true);
    }
  });
});

describe('the secrets in a command line', () => {
  it.each([
    [['--token', 'abcd1234'], ['abcd1234']],
    [['--token=abcd1234', 'x'], ['abcd1234']],
    [
      ['--api-key', 'abcd1234', '--password', 'hunter2'],
      ['abcd1234', 'hunter2'],
    ],
    [['-e', 'API_KEY=a=b'], ['a=b']],
    [['--use-token', '--port', '80'], []],
    [['--token', 'true'], []],
    [['token', 'list'], ['']],
    [['--token'], ['']],
    [['an argument', '--port=80'], []],
  ])('are found in %j: %j', (args, secrets) => {
    expect(secretsInArgs(args)).toEqual(secrets);
  });
});

describe('truncating an incomplete text', () => {
  it('never splits a complete or partial secret', () => {
    const secret = fc.stringMatching(/^[ab]{4,9}$/u);
    const pieces = fc.array(fc.oneof(secret, fc.constantFrom('a', 'b', '-', 'ab')));
    fc.assert(
      fc.property(fc.array(secret, { maxLength: 3 }), pieces, pieces, (values, now, later) => {
        const secrets = secretsOf(values);
        const text = now.join('');
        const cut = safeCut(text, secrets);
        const all = text + later.join('');
        for (const value of secrets) {
          for (let at = all.indexOf(value); at !== -1; at = all.indexOf(value, at + 1)) {
            expect(at < cut && at + value.length > cut).toBe(false);
          }
        }
      }),
      { numRuns: 500 },
    );
  });

  it('truncates anywhere if there are no secrets', () => {
    expect(safeCut('abc', [])).toBe(3);
    expect(safeCut('abc', ['one\ntwo'])).toBe(3);
    expect(safeCut('abc', ['abcdefgh'])).toBe(0);
  });
});

describe('a secret key name', () => {
  it.each([
    'API_KEY',
    'apikey',
    'GITHUB_TOKEN',
    'password',
    'DB_PASSWD',
    'Authorization',
    'Cookie',
    'X-Api-Key',
  ])('includes %s', (key) => {
    expect(looksSecret(key)).toBe(true);
  });

  it.each(['PATH', 'HOME', 'PORT', 'DEBUG', 'LOG_LEVEL'])('excludes %s', (key) => {
    expect(looksSecret(key)).toBe(false);
  });
});
