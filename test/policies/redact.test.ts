import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { looksSecret, redact, secretsOf } from '../../src/policies/redact.ts';

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
