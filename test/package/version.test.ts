import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { version } from '../../src/domain/version.ts';

describe('the version in the source', () => {
  it('matches package.json and the lock file', () => {
    const versionIn = (file: string): unknown =>
      (
        JSON.parse(readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8')) as {
          readonly version: unknown;
        }
      ).version;
    expect([versionIn('package.json'), versionIn('package-lock.json')]).toEqual([version, version]);
  });
});
