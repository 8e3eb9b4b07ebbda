import { describe, expect, it } from 'vitest';
import type { Settings } from '../../src/domain/settings.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { entries, layer, merged, verdicts } from './layer.ts';

describe('servers of the project folder', () => {
  const off = { projectServers: false };
  const ofFolder = (['project', 'workspace', 'local'] as const).map((scope) =>
    layer(scope, entries({ [scope]: scope, both: 'theirs' }, { projectServers: true })),
  );

  it('are left out by a switch in own settings, where a server of the same name stays', () => {
    const settings = merged([
      layer('user', entries({ both: 'mine' }, off)),
      ...ofFolder,
      layer('plugin', entries({ plug: 'p' })),
    ]);
    expect(verdicts(settings)).toEqual({
      both: 'admitted',
      project: 'excluded',
      workspace: 'excluded',
      local: 'excluded',
      'plugin:tools:plug': 'admitted',
    });
    const stayed = settings.servers.find(({ name }) => name === 'both');
    expect(stayed?.source.scope).toBe('user');
  });

  it('are let in by the last of the own files with the switch', () => {
    const user = layer('user', entries({}, off));
    const config = layer('config', entries({}, { projectServers: true }));
    expect(verdicts(merged([user, ...ofFolder, config]))).toMatchObject({
      project: 'pendingApproval',
    });
  });

  it('stay out if the switch is not a switch, because the file is then unusable', () => {
    const { document, problems } = layer('user', entries({}, { projectServers: 'no' }));
    expect(document).toBeUndefined();
    expect(problems[0]?.message).toContain('write false');
  });
});

describe('rule lists', () => {
  const servers = {
    a: 'a',
    b: { command: 'b' },
    web: { url: 'https://example.test/mcp' },
    bad: {},
  };

  it('exclude by command and address', () => {
    const excluded = [{ command: 'a' }, { url: 'https://*.test' }, 'bad'];
    const settings = merged([layer('user', entries(servers, { excluded }))]);
    expect(verdicts(settings)).toEqual({
      a: 'excluded',
      b: 'admitted',
      web: 'excluded',
      bad: 'excluded',
    });
    expect(settings.servers[0]?.bar).toEqual({
      verdict: 'excluded',
      rule: 'mcp.excluded',
      source: { file: '/user.json', line: 1, key: 'mcp.excluded', scope: 'user' },
      next: 'run something else, or remove the matching rule from mcp.excluded (/user.json:1)',
    });
  });

  it('match local servers by command only if they have command rules, and remote servers by name', () => {
    const settings = merged([
      layer('user', entries(servers, { allowed: ['a', 'web', 'bad', { command: ['b'] }] })),
    ]);
    expect(verdicts(settings)).toEqual({
      a: 'notAllowed',
      b: 'admitted',
      web: 'admitted',
      bad: 'invalidConfig',
    });
    expect(settings.allowed).toEqual(['web', 'bad', 'b']);
    expect(settings.limits?.[0]?.names).toEqual(['web', 'bad', 'b']);
  });

  it('narrow each other across the host and several layers', () => {
    const settings = merged([
      layer('project', { mcp: { allowed: [{ command: 'a' }] } }),
      layer('api', entries(servers, { allowed: [{ command: '*' }], excluded: [{ command: 'b' }] })),
    ]);
    expect(verdicts(settings)).toMatchObject({ a: 'admitted', b: 'excluded', web: 'notAllowed' });
    expect(settings.servers[1]?.bar?.next).toContain("mcp.excluded of the host's settings");
  });

  it.each([[{ command: '' }], [{ url: 'example.test' }], [{}], [{ command: 'a', url: 'b' }], [7]])(
    'reject the document when they contain %j',
    (rule) => {
      const { document, problems } = layer('user', { mcp: { excluded: [rule] } });
      expect(document).toBeUndefined();
      expect(problems[0]?.message).toContain('write ["db"]');
    },
  );
});

describe('the server budget in settings', () => {
  const budgetOf = (admission: object, policy?: object) =>
    mergeSettings(
      [layer('user', { mcp: { policy: { admission } } })],
      undefined,
      policy === undefined ? undefined : { overrides: policy },
    ).settings;

  const source = {
    file: '/user.json',
    key: 'mcp.policy.admission.maxServers',
    scope: 'user',
  } as const;

  it.each<[admission: object, budget: Settings['budget']]>([
    [{ maxServers: 4 }, { max: 4, mode: 'warn', source }],
    [
      { maxServers: 4, budget: 'warn' },
      { max: 4, mode: 'warn', source },
    ],
    [
      { maxServers: 4, budget: 'enforce' },
      { max: 4, mode: 'enforce', source },
    ],
    [{ maxServers: 4, budget: 'off' }, undefined],
    [{}, undefined],
  ])('is parsed from %j as %j', (admission, budget) => {
    const settings = budgetOf(admission);
    expect(settings.budget).toEqual(budget);
    expect(settings.problems).toEqual([]);
  });

  it('is off when the host disables it and reported when it has no number', () => {
    expect(budgetOf({ maxServers: 4 }, { admission: { budget: 'off' } }).budget).toBeUndefined();
    const { budget, problems } = budgetOf({ budget: 'enforce' });
    expect(budget).toBeUndefined();
    expect(problems).toEqual([
      {
        file: '/user.json',
        key: 'mcp.policy.admission.budget',
        message: '"enforce" has no effect without a number; set admission.maxServers',
        severity: 'warning',
      },
    ]);
    expect(budgetOf({ budget: 'off' }).problems).toEqual([]);
  });
});
