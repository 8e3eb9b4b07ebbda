/**
 * Holds the numbers of the presets to the catalogue of the systems they imitate;
 * what they lead to is in `presets-in-time.test.ts`.
 */

import { describe, expect, it } from 'vitest';
import { mergeSettings } from '../../../src/config/merge-settings.ts';
import { parseSettings } from '../../../src/config/parse-settings.ts';
import { chosenPolicy } from '../../../src/config/policy-choice.ts';
import { type PolicyField, type PresetName, presetNames } from '../../../src/domain/policy.ts';
import { overridePolicy } from '../../../src/policies/presets/override-policy.ts';
import { presets } from '../../../src/policies/presets/presets.ts';

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

const rows: readonly (readonly [string, PresetName, PolicyField, unknown])[] = [
  ['X1', 'default', 'naming.template', 'mcp__{server}__{tool}'],
  ['X1', 'default', 'naming.maxLength', 64],
  ['OMP-70', 'ohMyPi', 'naming.template', 'mcp__{server}_{tool}'],
  ['OMP-70', 'ohMyPi', 'naming.case', 'lower'],
  ['OMP-70', 'ohMyPi', 'naming.separators', 'single'],
  ['OMP-71', 'ohMyPi', 'naming.stripServerPrefix', true],
  ['OMP-72', 'ohMyPi', 'naming.maxLength', 64],
  ['OMP-72', 'ohMyPi', 'naming.overflow', 'hash'],
  ['OMP-73', 'ohMyPi', 'naming.collision', 'originOrder'],
  ['OMP-74', 'ohMyPi', 'naming.aliases', ['mcp__{server}__{tool}']],
  ['QW-89', 'qwenCode', 'naming.maxLength', 63],
  ['QW-89', 'qwenCode', 'naming.overflow', 'middle'],
  ['CB-13', 'codeBuddy', 'naming.template', '{server}.{tool}'],
  ['CB-13', 'codeBuddy', 'naming.aliases', ['{tool}']],
  ['CC-13', 'claudeCode', 'naming.template', 'mcp__{server}__{tool}'],
  ['DA-65', 'dockerResilient', 'naming.template', '{server}_{tool}'],

  ['OMP-50', 'ohMyPi', 'startup.gateMs', 250],
  ['OMP-52', 'ohMyPi', 'startup.withoutCache', 'late'],
  ['X10', 'default', 'startup.gateMs', 250],
  ['X10', 'qwenCode', 'startup.mode', 'background'],
  ['CB-16', 'codeBuddy', 'startup.mode', 'background'],
  ['X10', 'claudeCode', 'startup.mode', 'eager'],
  ['DA-60', 'dockerResilient', 'startup.mode', 'lazy'],
  ['DA-46', 'dockerStrict', 'startup.required', true],
  ['DA-46', 'dockerStrict', 'startup.timeoutMs', 30_000],
  ['DA-46', 'dockerBestEffort', 'startup.required', false],

  ['CC-24', 'claudeCode', 'connect.missingVariable', 'keep'],
  ['CC-18', 'claudeCode', 'connect.localSlots', 3],
  ['CC-18', 'claudeCode', 'connect.remoteSlots', 20],
  ['OMP-24', 'ohMyPi', 'connect.localSlots', null],
  ['CB-34', 'codeBuddy', 'connect.remoteSlots', null],
  ['DA-69', 'dockerResilient', 'connect.listTimeoutMs', 10_000],

  ['X2', 'default', 'restart.jitter', 'full'],
  ['DA-14', 'dockerResilient', 'restart.jitter', 'none'],
  ['DA-46', 'dockerStrict', 'restart.on', 'never'],
  ['DA-46', 'dockerBestEffort', 'restart.on', 'never'],
  ['DA-45', 'dockerResilient', 'restart.on', 'auto'],

  ['OMP-90', 'ohMyPi', 'health.mode', 'off'],
  ['OMP-40', 'default', 'health.treatMethodNotFoundAsAlive', true],

  ['OMP-93', 'ohMyPi', 'catalog.whileDown', 'keepStale'],
  ['OMP-57', 'ohMyPi', 'catalog.ttlMs', 2_592_000_000],
  ['OMP-57', 'ohMyPi', 'catalog.cache', 'disk'],
  ['QW-07', 'qwenCode', 'catalog.whileDown', 'hide'],
  ['CB-12', 'codeBuddy', 'catalog.ttlMs', 300_000],
  ['CC-08', 'claudeCode', 'catalog.whileDown', 'hide'],
  ['CC-12', 'claudeCode', 'catalog.maxEntries', 20],
  ['CC-14', 'claudeCode', 'catalog.descriptionMaxLength', 2_048],
  ['DA-64', 'dockerResilient', 'catalog.cache', 'memory'],

  ['CC-11', 'claudeCode', 'connect.listTimeoutMs', 60_000],
  ['CC-33', 'claudeCode', 'call.idleTimeoutMs', { local: null, remote: 300_000 }],
  ['CC-33', 'claudeCode', 'call.backgroundAfterMs', 120_000],
  ['QW-86', 'qwenCode', 'call.idleTimeoutMs', 300_000],
  ['QW-86', 'qwenCode', 'call.timeoutMs', 600_000],
  ['OMP-25', 'ohMyPi', 'call.timeoutMs', 30_000],
  ['OMP-35', 'ohMyPi', 'call.progressResets', true],
  ['OMP-77 X13', 'ohMyPi', 'call.replay', 'once'],
  ['QW-85 X13', 'qwenCode', 'call.replay', 'idempotentTrusted'],
  ['CB-24 X13', 'codeBuddy', 'call.replay', 'once'],
  ['CC-10 X13', 'claudeCode', 'call.replay', 'sessionExpired'],
  ['DA-66 X13', 'dockerResilient', 'call.replay', 'once'],

  ['CC-05', 'claudeCode', 'close.totalMs', 600],
  ['OMP-108', 'ohMyPi', 'close.totalMs', 3_000],
  ['X19', 'default', 'close.scope', 'tree'],
  ['CB-25', 'codeBuddy', 'close.scope', 'child'],
  ['CC-05', 'claudeCode', 'close.scope', 'child'],
  ['OMP-110', 'ohMyPi', 'close.scope', 'group'],
  ['QW-112', 'qwenCode', 'close.scope', 'tree'],

  ['QW-40', 'qwenCode', 'approval.gatedScopes', ['project', 'workspace']],
  ['CC-23', 'claudeCode', 'approval.gatedScopes', ['project']],
  ['OMP-76', 'ohMyPi', 'approval.perCall', true],
]; // prettier-ignore

const ladders: readonly (readonly [string, PresetName, string])[] = [
  ['X19', 'default', 'stdinEnd 2000, SIGTERM 2000, SIGKILL 250'],
  ['OMP-110', 'ohMyPi', 'stdinEnd 0, SIGTERM 1000, SIGKILL 500'],
  ['QW-112', 'qwenCode', 'SIGTERM 2000, SIGKILL 250'],
  ['CB-25', 'codeBuddy', 'SIGTERM 5000, SIGTERM 0, SIGKILL 250'],
  ['CC-05', 'claudeCode', 'SIGINT 100, SIGTERM 400, SIGKILL 50'],
];

describe('the presets', () => {
  it.each(rows)('%s: %s has %s = %j', (_rows, preset, field, value) => {
    expect(valueOf(preset, field)).toEqual(value);
  });

  it.each(ladders)('%s: %s closes in the steps %s', (_rows, preset, steps) => {
    const { close } = presets[preset];
    expect(close.steps.map(({ by, waitMs }) => `${by} ${waitMs}`).join(', ')).toBe(steps);
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
