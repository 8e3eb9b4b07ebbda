import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  looksSecret,
  redact,
  safeCut,
  secretsInArgs,
  secretsInText,
  secretsOf,
} from '../../src/policies/redact.ts';

describe('redacting', () => {
  it('takes every secret out, wherever it stands', () => {
    expect(redact('key=abcd1234, again abcd1234!', ['abcd1234'])).toBe(
      'key=[redacted], again [redacted]!',
    );
    expect(redact('nothing here', ['abcd1234'])).toBe('nothing here');
  });

  it('leaves no half of a secret that contains another one', () => {
    expect(redact('abcd1234', secretsOf(['1234', 'abcd1234']))).toBe('[redacted]');
  });

  it('knows the word after the scheme of an Authorization header', () => {
    expect(secretsOf(['Bearer abcd1234'])).toEqual(['Bearer abcd1234', 'abcd1234']);
    expect(redact('token abcd1234 refused', secretsOf(['Bearer abcd1234']))).toBe(
      'token [redacted] refused',
    );
  });

  it('leaves values alone that are too short to hide anything', () => {
    expect(secretsOf(['1', 'on', '', 'a b'])).toEqual([]);
    expect(secretsOf(['same-one', 'same-one'])).toEqual(['same-one']);
  });

  it.each(['\n', '\r\n', '\\n'])('takes out each line of a key whose lines end in %j', (end) => {
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

describe('the secrets of a text', () => {
  it.each([
    [
      'postgres://me:hunter2@db/x and redis://:other%21@r',
      ['hunter2', 'hunter2', 'other%21', 'other!'],
    ],
    ['https://me:100%@host', ['100%', '100%']],
    ['Authorization: Bearer abc.def', ['abc.def']],
    ['https://host/a:b@c', []],
    ['nothing', []],
  ])('are those of %s', (text, secrets) => {
    expect(secretsInText(text)).toEqual(secrets);
  });

  it('are found in a long one at once', () => {
    for (const part of ['a', ':', '://', '://a:', 'bearer ']) {
      expect(secretsInText(part.repeat(20_000)).every((each) => each.length > 3)).toBe(true);
    }
  });
});

describe('the secrets of a command line', () => {
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
  ])('of %j are %j', (args, secrets) => {
    expect(secretsInArgs(args)).toEqual(secrets);
  });
});

describe('cutting a text that is not over', () => {
  it('never cuts a secret, nor one that may be about to come', () => {
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

  it('needs no care without secrets', () => {
    expect(safeCut('abc', [])).toBe(3);
    expect(safeCut('abc', ['one\ntwo'])).toBe(3);
    expect(safeCut('abc', ['abcdefgh'])).toBe(0);
  });
});

describe('a key that looks secret', () => {
  it.each([
    'API_KEY',
    'apikey',
    'GITHUB_TOKEN',
    'password',
    'DB_PASSWD',
    'Authorization',
    'Cookie',
    'X-Api-Key',
  ])('is %s', (key) => {
    expect(looksSecret(key)).toBe(true);
  });

  it.each(['PATH', 'HOME', 'PORT', 'DEBUG', 'LOG_LEVEL'])('is not %s', (key) => {
    expect(looksSecret(key)).toBe(false);
  });
});
