/**
 * Holds the numbers of the presets to the catalogue of the systems they imitate;
 * what they lead to is in `presets-in-time.test.ts`.
 */

import { describe, expect, it } from 'vitest';
import { presetRows } from '../../../scripts/mutants/preset-mutants.ts';
import { type PolicyField, type PresetName, presetNames } from '../../../src/domain/policy.ts';
import { overridePolicy } from '../../../src/policies/presets/override-policy.ts';
import { presets } from '../../../src/policies/presets/presets.ts';
import { mergeSettings } from '../../../src/settings/merge-settings.ts';
import { parseSettings } from '../../../src/settings/parse-settings.ts';
import { chosenPolicy } from '../../../src/settings/policy-choice.ts';

const origin = { file: '/troupe.json', scope: 'config', projectRoot: '/project' } as const;
const settingsUnder = (policy: unknown) =>
  mergeSettings([
    parseSettings(
      JSON.stringify({ mcp: { policy }, mcpServers: { db: { command: 'db' } } }),
      origin,
    ),
  ]).settings;

const valueOf = (preset: PresetName, name: PolicyField): unknown => {
  const [group = '', field = ''] = name.split('.');
  const fields = new Map<string, object>(Object.entries(presets[preset])).get(group) ?? {};
  return new Map<string, unknown>(Object.entries(fields)).get(field);
};

const ladders: readonly (readonly [string, PresetName, string])[] = [
  ['X19', 'default', 'stdinEnd 2000, SIGTERM 2000, SIGKILL 250 to its tree'],
  ['OMP-110', 'ohMyPi', 'stdinEnd 0, SIGTERM 1000, SIGKILL 500 to its group'],
  ['QW-112', 'qwenCode', 'SIGTERM 2000, SIGKILL 250 to its tree'],
  ['CB-25', 'codeBuddy', 'SIGTERM 5000, SIGTERM 0, SIGKILL 250 to its child'],
  ['CC-05', 'claudeCode', 'SIGINT 100, SIGTERM 400, SIGKILL 50 to its child'],
];

describe('the presets', () => {
  it.each(presetRows)('%s: %s has %s = %j', (_rows, preset, field, value) => {
    expect(valueOf(preset, field)).toEqual(value);
  });

  it.each(ladders)('%s: %s closes in the steps %s', (_rows, preset, steps) => {
    const { close } = presets[preset];
    const list = close.steps.map(({ by, waitMs }) => `${by} ${waitMs}`).join(', ');
    expect(`${list} to its ${close.scope}`).toBe(steps);
  });

  it.each(presetNames)(
    'use SIGKILL as the last closing step and leave time for every step: %s',
    (preset) => {
      const { steps, totalMs } = presets[preset].close;
      expect(steps.at(-1)?.by).toBe('SIGKILL');
      expect(steps.reduce((sum, { waitMs }) => sum + waitMs, 0)).toBeLessThanOrEqual(totalMs);
    },
  );

  it('differ from each other', () => {
    expect(new Set(presetNames.map((name) => JSON.stringify(presets[name]))).size).toBe(8);
  });
});

describe('a preset in settings', () => {
  it.each([
    ['CC-18 X20', 'claudeCode', { local: 3, remote: 20 }, 250],
    ['OMP-24 OMP-50', 'ohMyPi', { local: 10_000, remote: 10_000 }, 250],
    ['X10 X20', 'codeBuddy', { local: 10_000, remote: 10_000 }, 0],
  ] as const)('%s: sets slots and startup gate: %s', (_rows, preset, slots, startupGateMs) => {
    expect(settingsUnder(preset)).toMatchObject({ slots, startupGateMs, problems: [] });
  });

  it.each([
    ['X10', 'default', 'eager'],
    ['X10', 'qwenCode', 'eager'],
    ['DA-60', 'dockerResilient', 'lazy'],
    ['DA-46', 'dockerStrict', 'eager'],
    ['DA-46', 'dockerBestEffort', 'lazy'],
  ] as const)('%s: %s makes servers %s', (_rows, preset, startup) => {
    expect(settingsUnder(preset).servers[0]).toMatchObject({ startup, policy: presets[preset] });
  });
});

describe('a policy choice', () => {
  it('returns the same object for equal choices, even after thousands of others', () => {
    const attempts = (maxAttempts: number) =>
      chosenPolicy(presets.default, { overrides: { restart: { maxAttempts } } });
    const first = attempts(1);
    expect(attempts(1)).toBe(first);
    const all = Array.from({ length: 2_500 }, (_, index) => attempts(index));
    expect(all.map(({ restart }) => restart.maxAttempts)).toEqual([...all.keys()]);
    expect(attempts(1)).toEqual(first);
  });

  const base = overridePolicy(presets.ohMyPi, { call: { timeoutMs: 1 } });

  it('starts from the policy below it', () => {
    const chosen = chosenPolicy(base, { overrides: { restart: { maxAttempts: 2 } } });
    expect(chosen.call.timeoutMs).toBe(1);
    expect(chosen.restart).toEqual({ ...presets.ohMyPi.restart, maxAttempts: 2 });
  });

  it('ignores the policy below it when it names a preset', () => {
    expect(chosenPolicy(base, { preset: 'codeBuddy', overrides: {} })).toEqual(presets.codeBuddy);
  });

  it('does not change the policy that it starts from', () => {
    const before = JSON.stringify(presets.default);
    overridePolicy(presets.default, { restart: { maxAttempts: 1 }, close: { totalMs: 1 } });
    expect(JSON.stringify(presets.default)).toBe(before);
  });
});
