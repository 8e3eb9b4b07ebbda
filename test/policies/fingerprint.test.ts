import { createHash } from 'node:crypto';

import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { HttpSpec, ServerSpec, StdioSpec } from '../../src/domain/server-spec.ts';
import type { DesiredServer } from '../../src/domain/settings.ts';
import {
  approvalFingerprint,
  digestOf,
  fingerprintOf,
  keepDigests,
  settingsDigestOf,
} from '../../src/policies/fingerprint.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';
import { overridePolicy } from '../../src/policies/presets/override-policy.ts';

const stdio: StdioSpec = {
  type: 'stdio',
  command: 'npx',
  args: ['-y', 'db'],
  env: { DB_URL: 'x', DB_USER: 'y' },
  cwd: '/project',
  era: 'auto',
};
const http: HttpSpec = {
  type: 'http',
  url: 'https://api.example.com/mcp',
  headers: { 'X-Key': 'k', Accept: 'a' },
  era: 'auto',
};
const desired: DesiredServer = {
  name: 'db',
  generation: 'a'.repeat(64),
  transport: 'stdio',
  enabled: true,
  startup: 'eager',
  trust: false,
  tools: { include: ['*'], exclude: [] },
  policy: defaultPolicy,
  source: { key: 'mcpServers.db', scope: 'config' },
  gated: false,
};

/** The same hash, computed naively: keys sorted by code unit at every depth. */
function naiveDigestOf(value: unknown): string {
  const write = (item: unknown): string => {
    if (Array.isArray(item)) return `[${item.map(write).join(',')}]`;
    if (typeof item !== 'object' || item === null) return JSON.stringify(item);
    const keys = Object.keys(item).sort((a, b) => (a < b ? -1 : 1));
    const entries = new Map(Object.entries(item));
    return `{${keys.map((key) => `${JSON.stringify(key)}:${write(entries.get(key))}`).join(',')}}`;
  };
  return createHash('sha256').update(write(value)).digest('hex');
}

/** The same value with every object's keys in reverse order. */
function withKeysReversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withKeysReversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([key, item]) => [key, withKeysReversed(item)]),
  );
}

const words = fc.dictionary(fc.string(), fc.string());
const specs: fc.Arbitrary<ServerSpec> = fc.oneof(
  fc.record({
    type: fc.constant('stdio' as const),
    command: fc.string(),
    args: fc.array(fc.string()),
    env: words,
    cwd: fc.string(),
    era: fc.constantFrom('auto' as const, 'legacy' as const, 'modern' as const),
  }),
  fc.record({
    type: fc.constant('http' as const),
    url: fc.string(),
    headers: words,
    era: fc.constantFrom('auto' as const, 'legacy' as const, 'modern' as const),
  }),
);

describe('a fingerprint', () => {
  it('agrees with a naive implementation', () => {
    fc.assert(
      fc.property(specs, (spec) => {
        expect(fingerprintOf(spec)).toBe(naiveDigestOf(spec));
      }),
    );
  });

  it('ignores key order at every depth', () => {
    fc.assert(
      fc.property(specs, (spec) => {
        expect(fingerprintOf(withKeysReversed(spec) as ServerSpec)).toBe(fingerprintOf(spec));
      }),
    );
  });

  it('changes when two unequal arguments are swapped', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.string(), { minLength: 2 }), (args) => {
        const swapped = [args[1] ?? '', args[0] ?? '', ...args.slice(2)];
        expect(fingerprintOf({ ...stdio, args: swapped })).not.toBe(
          fingerprintOf({ ...stdio, args }),
        );
      }),
    );
  });

  it.each<[string, ServerSpec]>([
    ['command', { ...stdio, command: 'node' }],
    ['arguments', { ...stdio, args: ['-y', 'db2'] }],
    ['number of arguments', { ...stdio, args: ['-ydb'] }],
    ['env values', { ...stdio, env: { ...stdio.env, DB_URL: 'z' } }],
    ['env names', { ...stdio, env: { DB_URI: 'x', DB_USER: 'y' } }],
    ['cwd', { ...stdio, cwd: '/project/sub' }],
    ['era', { ...stdio, era: 'modern' }],
  ])("changes with a local server's %s", (_field, changed) => {
    expect(fingerprintOf(changed)).not.toBe(fingerprintOf(stdio));
  });

  it.each<[string, ServerSpec]>([
    ['url', { ...http, url: 'https://api.example.com/mcp2' }],
    ['header values', { ...http, headers: { ...http.headers, Accept: 'b' } }],
    ['header names', { ...http, headers: { 'X-Key': 'k' } }],
    ['era', { ...http, era: 'legacy' }],
  ])("changes with a remote server's %s", (_field, changed) => {
    expect(fingerprintOf(changed)).not.toBe(fingerprintOf(http));
  });

  it('ignores fields that do not affect the connection', () => {
    const withComment = { ...stdio, description: 'the database', line: 7 };
    expect(fingerprintOf(withComment)).toBe(fingerprintOf(stdio));
  });

  it('is stable across releases', () => {
    expect(fingerprintOf(stdio)).toBe(
      createHash('sha256')
        .update(
          '{"args":["-y","db"],"command":"npx","cwd":"/project","env":{"DB_URL":"x","DB_USER":"y"},"era":"auto","type":"stdio"}',
        )
        .digest('hex'),
    );
  });
});

describe('an approval fingerprint', () => {
  const { source } = desired;

  it.each([
    ['generation', { generation: 'b'.repeat(64) }],
    ['scope', { source: { ...source, scope: 'workspace' } as const }],
    ['name', { name: 'db2' }],
    ['program', { executable: '/usr/bin/node' }],
    ['names in the variables file', { envFileNames: ['TOKEN'] }],
    ['files of the folder', { folderFiles: [{ path: '.npmrc', digest: 'a' }] }],
  ])('changes with the %s', (_field, change) => {
    expect(approvalFingerprint({ ...desired, ...change })).not.toBe(approvalFingerprint(desired));
  });

  it("uses the spec's digest when the generation is keyed", () => {
    const keyed = { ...desired, generation: 'keyed', specDigest: desired.generation };
    expect(approvalFingerprint(keyed)).toBe(approvalFingerprint(desired));
  });

  it('ignores all other fields', () => {
    const moved = { ...desired, trust: !desired.trust, source: { ...source, line: 3 } };
    expect(approvalFingerprint(moved)).toBe(approvalFingerprint(desired));
  });
});

describe('a settings digest', () => {
  it.each<[string, DesiredServer]>([
    ['startup', { ...desired, startup: 'lazy' }],
    ['trust', { ...desired, trust: true }],
    ['the included tools', { ...desired, tools: { include: ['a*'], exclude: [] } }],
    ['the excluded tools', { ...desired, tools: { include: ['*'], exclude: ['drop_*'] } }],
    [
      'a policy value',
      { ...desired, policy: overridePolicy(defaultPolicy, { idle: { stopMs: 1 } }) },
    ],
    ['the description', { ...desired, description: 'the database' }],
  ])('changes with %s', (_field, changed) => {
    expect(settingsDigestOf(changed)).not.toBe(settingsDigestOf(desired));
  });

  it.each<[string, DesiredServer]>([
    ['the admission verdict', { ...desired, enabled: false, gated: true }],
    ['the source', { ...desired, source: { key: 'x', line: 9, scope: 'user' } }],
    ['the connection', { ...desired, generation: 'b'.repeat(64), transport: 'http' }],
  ])('ignores %s', (_field, changed) => {
    expect(settingsDigestOf(changed)).toBe(settingsDigestOf(desired));
  });

  it('is stable and the same for equal servers', () => {
    expect(settingsDigestOf(desired)).toBe(settingsDigestOf(desired));
    expect(settingsDigestOf({ ...desired })).toBe(settingsDigestOf(desired));
  });
});

describe('the settings digests of thousands of servers', () => {
  it('match digests that are computed individually', () => {
    const described = Array.from({ length: 2_500 }, (_, index) => `the database ${index}`);
    const digests = described.map((description) => settingsDigestOf({ ...desired, description }));
    expect(new Set(digests).size).toBe(described.length);
    const policy = { ...desired.policy };
    const alone = described.map((description) =>
      settingsDigestOf({ ...desired, description, policy }),
    );
    expect(alone).toEqual(digests);
  });
});

describe('a digest', () => {
  it('agrees with a naive implementation on any JSON value', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(digestOf(value)).toBe(naiveDigestOf(value));
      }),
    );
  });

  it('accepts a lone surrogate, which canonical JSON rejects', () => {
    expect(digestOf({ name: '\ud800' })).toMatch(/^[0-9a-f]{64}$/);
    expect(digestOf({ name: '\ud800' })).not.toBe(digestOf({ name: '\ud801' }));
  });
});

describe('digests of settings that were read again', () => {
  const other: DesiredServer = { ...desired, name: 'other', startup: 'lazy' };

  it('are the ones computed before', () => {
    const [from, to] = [{ ...desired }, { ...other }];
    const before = [settingsDigestOf(from), approvalFingerprint(from)];
    keepDigests(from, to);
    expect([settingsDigestOf(to), approvalFingerprint(to)]).toEqual(before);
  });

  it('are computed if there were none', () => {
    const to = { ...other };
    keepDigests({ ...desired }, to);
    expect([settingsDigestOf(to), approvalFingerprint(to)]).toEqual([
      settingsDigestOf(other),
      approvalFingerprint(other),
    ]);
  });
});
