import { describe, expect, it } from 'vitest';

import { mcpFields } from '../../src/config/mcp-section.ts';
import { mergeSettings } from '../../src/config/merge-settings.ts';
import { parseSettings } from '../../src/config/parse-settings.ts';
import { policySchemas } from '../../src/config/policy-schema.ts';
import { isRestartRequired } from '../../src/config/restart-required.ts';
import { changedSinceStart } from '../../src/config/start-values.ts';

const declared = [
  ...Object.entries(mcpFields).map(([key, schema]) => ['mcp', key, schema] as const),
  ...Object.entries(policySchemas).flatMap(([group, fields]) =>
    Object.entries(fields).map(
      ([field, schema]) => ['mcp', `policy.${group}.${field}`, schema] as const,
    ),
  ),
]
  .filter(([, , schema]) => isRestartRequired(schema))
  .map(([section, key]) => `${section}.${key}`);

/** The settings that say nothing but a number for one key. */
function startValues(key: string, value: number) {
  const settings = key
    .split('.')
    .reduceRight<unknown>((inner, part) => ({ [part]: inner }), value);
  const origin = { file: '/troupe.json', scope: 'config', projectRoot: '/project' } as const;
  return mergeSettings([parseSettings(JSON.stringify(settings), origin)]).startValues;
}

describe('a key whose schema says that it counts from the next start', () => {
  it('is one of those that are documented', () => {
    expect(declared).toEqual(['mcp.startupGateMs', 'mcp.policy.startup.gateMs']);
  });

  it.each(declared)('is told of when it is edited: %s', (key) => {
    const before = startValues(key, 10);
    expect(changedSinceStart(before, startValues(key, 20))).toEqual([
      { file: '/troupe.json', line: 1, key, message: expect.stringContaining('write 10 again') },
    ]);
    expect(changedSinceStart(before, startValues(key, 10))).toEqual([]);
  });
});
