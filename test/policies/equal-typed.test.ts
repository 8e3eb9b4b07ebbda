import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ServerStatus } from '../../src/domain/host/status.ts';
import type { ServerSpec } from '../../src/domain/server-spec.ts';
import type { Settings } from '../../src/domain/settings.ts';
import type { ExposedTool } from '../../src/domain/tool.ts';
import { equalData } from '../../src/policies/equal-data.ts';
import { equalTyped } from '../../src/policies/equal-typed.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';

const names = ['a', 'entries', '', '__proto__', 'constructor', 'toString', 'valueOf'] as const;
const name = fc.constantFrom(...names, 'hasOwnProperty', 'toJSON');
const { data } = fc.letrec((tie) => ({
  data: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, 0, 1, '', 'a'),
    fc.array(tie('data'), { maxLength: 3 }),
    objectOf(tie('data')),
  ),
}));

function objectOf<Value>(value: fc.Arbitrary<Value>) {
  return fc
    .array(fc.tuple(name, value), { maxLength: 3 })
    .map((members) => Object.fromEntries<Value>(members));
}

const text = fc.constantFrom('a', 'b');
const documents = fc.record(
  {
    mcpServers: objectOf(
      fc.record(
        {
          command: text,
          args: fc.array(text, { maxLength: 1 }),
          env: objectOf(text),
          tools: fc.record({ exclude: fc.array(name, { maxLength: 2 }) }),
          note: data,
        },
        { requiredKeys: ['command'] },
      ),
    ),
    mcp: fc.record({ excluded: fc.array(name, { maxLength: 2 }) }),
    other: data,
  },
  { requiredKeys: ['mcpServers'] },
);

function settingsOf(document: unknown): Settings {
  const origin = { file: '/settings.json', scope: 'user', projectRoot: '/project' } as const;
  return mergeSettings([parseSettings(JSON.stringify(document), origin)]).settings;
}

function reversed(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(reversed);
  const members = Object.entries(value).map(([key, inner]) => [key, reversed(inner)] as const);
  return Object.fromEntries(members.toReversed());
}

describe('two settings documents', () => {
  it('are equal in any key order', () => {
    fc.assert(fc.property(fc.oneof(documents, data), (one) => equalData(one, reversed(one))));
  });

  it('compare the same with equalTyped and equalData after parsing', () => {
    fc.assert(
      fc.property(documents, documents, (one, other) => {
        const [before, after] = [settingsOf(one), settingsOf(other)];
        expect(equalTyped(before, after)).toBe(equalData(before, after));
        expect(equalTyped(before, settingsOf(one))).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it.each(names)('may have a key called "%s", with any value', (key) => {
    for (const value of [null, 1, 'a', {}, []]) {
      const one = { env: Object.fromEntries([[key, value]]) };
      expect(equalData(one, structuredClone(one))).toBe(true);
      expect(equalData(one, { env: Object.fromEntries([[key, 2]]) })).toBe(false);
      expect(equalData(one, { env: {} })).toBe(false);
    }
  });

  it("differ when one has an array with the other's object entries", () => {
    expect(equalData({ a: 1 }, [['a', 1]])).toBe(false);
    expect(equalData({ a: 1 }, { entries: [['a', 1]] })).toBe(false);
  });
});

describe('the fast-deep-equal comparison', () => {
  it('accepts our own types and rejects types with arbitrary keys at compile time', () => {
    const compilesFor = (
      settings: Settings,
      status: ServerStatus,
      spec: ServerSpec,
      tool: ExposedTool,
      free: unknown,
    ) => {
      equalTyped(settings, settings);
      equalTyped(status, status);
      // @ts-expect-error -- env and headers are maps with the user's keys
      equalTyped(spec, spec);
      // @ts-expect-error -- a schema is the server's
      equalTyped(tool, tool);
      // @ts-expect-error -- nothing is known of its keys
      equalTyped(free, free);
    };
    expect(compilesFor).toBeTypeOf('function');
  });
});
