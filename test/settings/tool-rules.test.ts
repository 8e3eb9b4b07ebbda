import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesGlob } from '../../src/policies/text/glob.ts';
import { restsOf } from '../../src/settings/formats/tool-rules.ts';
import { parseSettingsFile } from '../../src/settings/parse-settings.ts';

const origin = { file: '/home/me/settings', scope: 'config', projectRoot: '/project' } as const;

/** What a file hides of its servers, what it asks about, and what it only reports. */
async function rulesIn(settings: unknown, file: string = origin.file) {
  const text = typeof settings === 'string' ? settings : JSON.stringify(settings);
  const { document, problems } = await parseSettingsFile(text, { ...origin, file });
  return {
    tools: Object.fromEntries(
      (document?.servers ?? []).flatMap(({ desired: { name, tools } }) => {
        const { exclude, permissions } = tools;
        const ruled = {
          ...(exclude.length > 0 && { exclude }),
          ...(permissions && { permissions }),
        };
        return Object.keys(ruled).length === 0 ? [] : [[name, ruled]];
      }),
    ),
    permissions: document?.mcp.permissions,
    reported: problems.flatMap(({ key, severity }) => (severity === undefined ? [key] : [])),
  };
}

describe('a rule about tools beside the servers', () => {
  it('leaves for a server what matches the same tools', () => {
    const text = fc.stringMatching(/^[ab_*]{0,6}$/u);
    const tool = fc.stringMatching(/^[ab_]{1,5}$/u);
    const prefix = fc.stringMatching(/^[ab_]{0,4}$/u);
    fc.assert(
      fc.property(text, prefix, tool, (pattern, start, name) => {
        const isRuled = restsOf(pattern, start).some((rest) => matchesGlob(rest, name));
        expect(isRuled).toBe(matchesGlob(pattern, start + name));
      }),
      { numRuns: 5_000 },
    );
  });

  const local = { type: 'local', command: ['x'] };
  const mcp = { 'my-mcp-foo': local, 'my-mcp-bar': local, 'My Db': local };

  it.each([
    [
      'for several servers',
      { tools: { 'my-mcp*': false } },
      { 'my-mcp-foo': { exclude: ['*'] }, 'my-mcp-bar': { exclude: ['*'] } },
    ],
    [
      'for one by its name',
      { tools: { 'my-mcp-foo': false } },
      { 'my-mcp-foo': { exclude: ['*'] } },
    ],
    [
      'for one with a name that is spelled differently',
      { permission: { My_Db_drop: 'deny', 'My_Db_q*': 'ask' } },
      { My_Db: { exclude: ['drop'], permissions: { ask: ['q*'] } } },
    ],
    [
      'more than once',
      { tools: { 'my-mcp-foo_a': false, 'my-mcp-foo_b': false } },
      { 'my-mcp-foo': { exclude: ['a', 'b'] } },
    ],
    [
      'until a later rule allows all',
      { permission: { '*': 'deny', 'my-mcp-*': 'allow' } },
      { My_Db: { exclude: ['*'] } },
    ],
    [
      'as one word',
      { permission: 'ask' },
      Object.fromEntries(
        ['my-mcp-foo', 'my-mcp-bar', 'My_Db'].map((name) => [
          name,
          { permissions: { ask: ['*'] } },
        ]),
      ),
    ],
  ])('applies as in opencode: %s', async (_what, rules, tools) => {
    expect(await rulesIn({ mcp, ...rules })).toEqual({
      tools,
      permissions: undefined,
      reported: [],
    });
  });

  it('is reported in opencode where it has an exception, or is for one agent', async () => {
    const agent = { plan: { tools: { 'my-mcp-foo_x': false, write: false } } };
    const tools = { 'my-mcp-bar*': false, 'my-mcp-bar_read': true, 'my-mcp-foo_y': true };
    const { reported } = await rulesIn({ mcp, tools, agent });
    expect(reported).toEqual(['tools.my-mcp-bar_read', 'agent.plan.tools.my-mcp-foo_x']);
  });

  it('applies as in docker-agent, where only tools of named toolsets have a prefix', async () => {
    const text = `
permissions:
  allow: ["gh_read"]
  deny: ["gh_drop*", "wri?e", "shell:cmd=sudo*", "gh_push:branch=main"]
  ask: ["gh_push"]
agents:
  root:
    toolsets:
      - { type: mcp, name: gh, command: gh-mcp }
      - { type: mcp, command: other-mcp }
`;
    expect(await rulesIn(text)).toEqual({
      tools: {
        gh: { exclude: ['drop*'], permissions: { ask: ['push'] } },
        'other-mcp': { exclude: ['gh_drop*', 'wri*e'], permissions: { ask: ['gh_push'] } },
      },
      permissions: undefined,
      reported: ['permissions.deny.3'],
    });
  });

  it('applies to every server as in Gemini CLI, with or without its prefix', async () => {
    const mcpServers = { 'my db': { httpUrl: 'https://a.test/', excludeTools: ['a'] } };
    const excludeTools = ['drop', 'my_db__put', 'run_shell_command(rm -rf)'];
    const { tools, reported } = await rulesIn({ mcpServers, excludeTools });
    expect(tools).toEqual({
      my_db: { exclude: ['a', 'drop', 'my_db__put', 'put', 'run_shell_command'] },
    });
    expect(reported).toEqual([]);
  });

  it('applies to a server whose name is spelled differently in permissions', async () => {
    const mcpServers = {
      'my db': { command: 'a' },
      'my.kb': { command: 'b' },
      c: { command: 'c' },
    };
    const deny = ['mcp__my_db__drop', 'mcp__my_kb', 'mcp__c__x', 'Bash(rm:*)'];
    const { permissions } = await rulesIn({ mcpServers, permissions: { deny, allow: ['mcp__c'] } });
    expect(permissions).toEqual({
      deny: [
        'mcp__my_db__drop',
        { server: 'my_db', tool: 'drop' },
        'mcp__my_kb__*',
        { server: 'my.kb', tool: '*' },
        'mcp__c__x',
      ],
    });
  });
});

describe('a limit beside the servers that is not imported', () => {
  const servers = { a: { command: 'a' } };

  it.each([
    [{ mcpServers: servers, deniedMcpServers: [{ serverName: 'a' }] }, 'deniedMcpServers'],
    [{ mcpServers: servers, allowedMcpServers: [{ serverName: 'a' }] }, 'allowedMcpServers'],
    [
      { mcpServers: servers, mcpSettings: { allowedDomains: ['a.test'] } },
      'mcpSettings.allowedDomains',
    ],
    [
      {
        context_servers: servers,
        agent: { profiles: { p: { context_servers: { a: { tools: { x: false, y: true } } } } } },
      },
      'agent.profiles.p.context_servers.a.tools.x',
    ],
    [
      {
        context_servers: servers,
        agent: {
          tool_permissions: {
            tools: { 'mcp:a:x': { default: 'deny' }, terminal: { default: 'deny' } },
          },
        },
      },
      'agent.tool_permissions.tools.mcp:a:x',
    ],
  ])('is reported: %j', async (settings, key) => {
    expect((await rulesIn(settings)).reported).toEqual([key]);
  });

  it('is not reported where it limits nothing', async () => {
    const settings = { mcpServers: servers, deniedMcpServers: [] };
    expect((await rulesIn(settings)).reported).toEqual([]);
  });
});
