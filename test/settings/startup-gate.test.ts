import { describe, expect, it } from 'vitest';
import type { Scope } from '../../src/domain/settings.ts';
import { mcpFields } from '../../src/settings/mcp-section.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';
import { policySchemas } from '../../src/settings/policy-schema.ts';
import { isRestartRequired } from '../../src/settings/restart-required.ts';
import { changedSinceStart } from '../../src/settings/startup-gate.ts';

const all = [
  ...Object.entries(mcpFields).map(([key, schema]) => [`mcp.${key}`, schema] as const),
  ...Object.entries(policySchemas).flatMap(([group, fields]) =>
    Object.entries(fields).map(
      ([field, schema]) => [`mcp.policy.${group}.${field}`, schema] as const,
    ),
  ),
];
const declared = all.filter(([, schema]) => isRestartRequired(schema)).map(([key]) => key);

function startupGate(text: string, scope: Scope = 'config') {
  const origin = { file: `/${scope}.json`, scope, projectRoot: '/project' };
  return mergeSettings([parseSettings(text, origin)]).startupGate;
}

const noticeOf = (before: string, after: string, scope?: Scope) =>
  changedSinceStart(startupGate(before, scope), startupGate(after, scope));

describe('a key that applies at the next start', () => {
  it('is the startup gate, alone or in a policy', () => {
    expect(declared).toEqual(['mcp.startupGateMs', 'mcp.policy.startup.gateMs']);
  });

  it.each(declared)('is reported when it is edited: %s', (key) => {
    const text = (value: number) =>
      JSON.stringify(
        key.split('.').reduceRight<unknown>((inner, part) => ({ [part]: inner }), value),
      );
    expect(noticeOf(text(10), text(20))).toMatchObject([{ file: '/config.json', line: 1, key }]);
    expect(noticeOf(text(10), text(10))).toEqual([]);
  });
});

const gate = (ms: number) => `{ "mcp": {\n"startupGateMs": ${ms} } }`;

describe('the restart notice', () => {
  it.each<[key: string, before: string, after: string, value: number, line: number | undefined]>([
    ['mcp.startupGateMs', gate(400), gate(500), 400, 2],
    [
      'mcp.policy.startup.gateMs',
      '{}',
      '{ "mcp": { "policy": {\n"startup": {\n"gateMs": 500 } } } }',
      250,
      3,
    ],
    ['mcp.policy', '{}', '{ "mcp": {\n"policy": "qwenCode" } }', 250, 2],
    ['mcp.startupGateMs', gate(400), '{}', 400, undefined],
  ])('names %s, its position and a remedy', (key, before, after, value, line) => {
    expect(noticeOf(before, after)).toEqual([
      {
        file: '/config.json',
        ...(line === undefined ? {} : { line }),
        key,
        message: `a new startup gate applies at the next start, so the running troupe keeps ${value}; restart the troupe, or set ${value} again`,
        severity: 'warning',
      },
    ]);
  });

  it('has no line number for settings without a file', () => {
    expect(noticeOf(gate(1), gate(2), 'api')).toEqual([
      {
        file: '/api.json',
        key: 'mcp.startupGateMs',
        message: expect.stringContaining('keeps 1'),
        severity: 'warning',
      },
    ]);
  });

  it.each([
    ['reformatting', '{\n// mine\n"mcp": { "startupGateMs":400 } }'],
    ['another key', '{ "mcp": { "startupGateMs": 400, "excluded": ["a"] } }'],
    [
      'the same number in another place',
      '{ "mcp": { "policy": { "startup": { "gateMs": 400 } } } }',
    ],
    [
      'a number that another layer overrides',
      '{ "mcp": { "startupGateMs": 400, "policy": { "startup": { "gateMs": 7 } } } }',
    ],
  ])('is not sent for %s', (_what, after) => {
    expect(noticeOf(gate(400), after)).toEqual([]);
  });

  it("is not sent for a folder's numbers, which are ignored", () => {
    expect(noticeOf(gate(400), gate(500), 'project')).toEqual([]);
  });
});
