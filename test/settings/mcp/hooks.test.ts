import { describe, expect, it } from 'vitest';
import { entries, layer, merged } from '../layer.ts';

const check = { name: 'check', command: ['check-call', '--strict'] };
const scan = { name: 'scan', command: ['scan'], tools: ['mcp__db__*'], timeoutMs: 500 };
const of = (scope: Parameters<typeof layer>[0], hooks: unknown) =>
  layer(scope, entries({ db: 'srv' }, { hooks }));

describe('"hooks" in settings', () => {
  it('are absent by default and if the lists are empty', () => {
    expect(merged([layer('user', entries({ db: 'srv' }))])).not.toHaveProperty('hooks');
    expect(merged([of('user', { before: [] })])).not.toHaveProperty('hooks');
  });

  it('of all own files add up, those of the lower layer first, each with its place', () => {
    const { hooks } = merged([
      of('user', { before: [check] }),
      of('config', { before: [scan], after: [scan] }),
    ]);
    expect(hooks).toMatchObject({
      before: [
        { ...check, source: { key: 'mcp.hooks', scope: 'user' } },
        { ...scan, source: { key: 'mcp.hooks', scope: 'config' } },
      ],
      after: [scan],
    });
    expect(hooks?.before[0]?.source.file).toMatch(/user/u);
  });

  it.each(['project', 'workspace', 'local', 'plugin'] as const)(
    'are ignored in a %s file',
    (scope) => {
      const layers = [of('user', { before: [check] }), of(scope, { before: [scan] })];
      expect(merged(layers).hooks?.before).toMatchObject([check]);
      expect(layers[1]?.problems[0]?.message).toContain('ignored');
    },
  );

  it.each([
    ['are not an object', [check], 'mcp.hooks', 'write { "before"'],
    ['have another list', { befor: [check] }, 'mcp.hooks.befor', 'did you mean "before"?'],
    ['are no list', { before: check }, 'mcp.hooks.before', 'write { "before"'],
    [
      'hold another thing than a hook',
      { before: ['check'] },
      'mcp.hooks.before.0',
      'with a name and a command',
    ],
    ['have no name', { before: [{ command: ['x'] }] }, 'mcp.hooks.before.0.name', 'write "check"'],
    ['have no command', { after: [{ name: 'x' }] }, 'mcp.hooks.after.0.command', 'a program'],
    [
      'have an empty command',
      { after: [{ name: 'x', command: [] }] },
      'mcp.hooks.after.0.command.0',
      'a program',
    ],
    [
      'have a command line',
      { after: [{ name: 'x', command: 'x --y' }] },
      'mcp.hooks.after.0.command',
      'a program',
    ],
    [
      'name no tools',
      { after: [{ ...scan, tools: [] }] },
      'mcp.hooks.after.0.tools',
      'leave it out',
    ],
    [
      'take too long',
      { after: [{ ...scan, timeoutMs: 600_001 }] },
      'mcp.hooks.after.0.timeoutMs',
      'from 1 to 600000',
    ],
    [
      'have an unknown key',
      { after: [{ ...scan, tool: ['x'] }] },
      'mcp.hooks.after.0.tool',
      'did you mean "tools"?',
    ],
    [
      'are too many',
      { after: Array.from({ length: 21 }, () => scan) },
      'mcp.hooks.after',
      'at most 20',
    ],
  ])(
    'make their file unusable if they %s, because calls would go unchecked',
    (_words, hooks, key, message) => {
      const { document, problems } = of('user', hooks);
      expect(document).toBeUndefined();
      expect(problems).toMatchObject([{ key, message: expect.stringContaining(message) }]);
    },
  );

  it('make their file unusable if their key is misspelt', () => {
    const { document } = layer('user', entries({ db: 'srv' }, { hook: { before: [check] } }));
    expect(document).toBeUndefined();
  });
});
