import { describe, expect, it } from 'vitest';
import type { Scope } from '../../src/domain/settings.ts';
import { overridePolicy } from '../../src/policies/presets/override-policy.ts';
import { presets } from '../../src/policies/presets/presets.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';

const file = (scope: Scope, db: object, mcp: object = {}) =>
  parseSettings(JSON.stringify({ mcpServers: { db: { command: 'db', ...db } }, mcp }), {
    file: `/${scope}.json`,
    scope,
    projectRoot: '/project',
  });
const policyOf = (...given: Parameters<typeof mergeSettings>) =>
  mergeSettings(...given).settings.servers[0]?.policy;

describe("a server's policy", () => {
  it('is the default without settings', () => {
    expect(policyOf([file('config', {})])).toEqual(presets.default);
  });

  it('is the policy for all servers with its own overrides', () => {
    const mcp = { policy: { preset: 'codeBuddy', call: { timeoutMs: 5 } } };
    expect(policyOf([file('config', { policy: { restart: { maxAttempts: 9 } } }, mcp)])).toEqual(
      overridePolicy(presets.codeBuddy, { call: { timeoutMs: 5 }, restart: { maxAttempts: 9 } }),
    );
  });

  it('ignores the policy for all servers when it names a preset', () => {
    expect(policyOf([file('config', { policy: 'ohMyPi' }, { policy: 'codeBuddy' })])).toEqual(
      presets.ohMyPi,
    );
  });

  it("merges all the user's files, later ones first", () => {
    const user = file('user', {}, { policy: { preset: 'ohMyPi', call: { timeoutMs: 5 } } });
    const config = file('config', {}, { policy: { restart: { maxAttempts: 2 } } });
    expect(policyOf([user, config])).toEqual(
      overridePolicy(presets.ohMyPi, { call: { timeoutMs: 5 }, restart: { maxAttempts: 2 } }),
    );
  });

  it("starts from the host's choice", () => {
    const host = { preset: 'qwenCode', overrides: {} } as const;
    expect(policyOf([file('config', {})], undefined, host)).toEqual(presets.qwenCode);
  });

  it("prefers its entry's short keys", () => {
    const db = {
      policy: {
        startup: { maxAttempts: 9, timeoutMs: 9, required: false },
        connect: { localTimeoutMs: 9, listTimeoutMs: 9 },
        restart: { maxAttempts: 9, on: 'always' },
        idle: { stopMs: 9 },
        call: { timeoutMs: 9 },
      },
      timeoutMs: 1,
      connectTimeoutMs: 2,
      idleStopMs: null,
      restart: 'never',
      maxAttempts: 3,
      required: true,
      startupTimeoutMs: 4,
    };
    expect(policyOf([file('config', db)])).toEqual(
      overridePolicy(presets.default, {
        startup: { maxAttempts: 3, timeoutMs: 4, required: true },
        connect: { localTimeoutMs: 2, firstRunTimeoutMs: 2, remoteTimeoutMs: 2, listTimeoutMs: 9 },
        restart: { maxAttempts: 3, on: 'never' },
        idle: { stopMs: null },
        call: { timeoutMs: 1 },
      }),
    );
  });

  it("takes only the startup mode from a folder's file", () => {
    const db = { policy: 'ohMyPi', required: true, startupTimeoutMs: 1, startup: 'lazy' };
    const { settings } = mergeSettings([
      file('user', {}, { policy: 'codeBuddy' }),
      parseSettings(
        JSON.stringify({
          mcpServers: { web: { command: 'web', ...db } },
          mcp: { policy: 'dockerStrict' },
        }),
        { file: '/project.json', scope: 'project', projectRoot: '/project' },
      ),
    ]);
    expect(settings.servers[1]).toMatchObject({
      name: 'web',
      startup: 'lazy',
      policy: overridePolicy(presets.codeBuddy, { startup: { mode: 'lazy' } }),
    });
    expect(settings.problems.map(({ key }) => key)).toEqual([
      'mcp.policy',
      'mcpServers.web.policy',
      'mcpServers.web.required',
      'mcpServers.web.startupTimeoutMs',
    ]);
  });

  it('starts a required server eagerly, even if it is lazy', () => {
    const db = { startup: 'lazy', required: true };
    expect(mergeSettings([file('config', db)]).settings.servers[0]?.startup).toBe('eager');
  });

  it('invalidates its entry when it is invalid, with file, line, key and remedy', () => {
    const text =
      '{ "mcpServers": { "db": {\n"command": "db",\n"policy": {\n"restart": {\n"one": 1 } } } } }';
    const origin = { file: '/troupe.json', scope: 'config', projectRoot: '/project' } as const;
    expect(parseSettings(text, origin).document?.servers[0]?.desired.invalid).toEqual({
      file: '/troupe.json',
      line: 5,
      key: 'mcpServers.db.policy.restart.one',
      message: 'unknown key; did you mean "on"?',
    });
  });

  it('is treated as absent when set for all servers and invalid', () => {
    const { settings } = mergeSettings([file('config', {}, { policy: { restrat: {} } })]);
    expect(settings.servers[0]?.policy).toEqual(presets.default);
    expect(settings.problems).toMatchObject([
      { key: 'mcp.policy.restrat', message: 'unknown key; did you mean "restart"?' },
    ]);
  });
});
