import { describe, expect, it } from 'vitest';
import { createSettingsReader } from '../../../actors/settings/last-good-settings.ts';

const file = '/me/troupe.json';
const misspelt = '{ "mcp": { "alowed": ["a"] }, "mcpServers": { "a": { "command": "x" } } }';

function readerOf(texts: string[]) {
  return createSettingsReader({
    files: [{ file, scope: 'config' }],
    projectRoot: '/project',
    readFile: () => Promise.resolve({ text: texts.shift() ?? '' }),
    checkFolder: () => Promise.resolve(undefined),
  });
}

describe('a settings file with a misspelt limit', () => {
  it('reports that none of it is used if it was never valid', async () => {
    const { settings } = await readerOf([misspelt]).read(0);
    expect(settings.servers).toEqual([]);
    expect(settings.problems.map(({ message }) => message)).toEqual([
      'unknown key; did you mean "allowed"? (nothing of this file is used until it is fixed)',
    ]);
  });

  it('reports that its last good content stays in force if it was valid before', async () => {
    const reader = readerOf([misspelt.replace('alowed', 'allowed'), misspelt]);
    await reader.read(0);
    const { settings } = await reader.read(1);
    expect(settings.servers.map(({ name }) => name)).toEqual(['a']);
    expect(settings.problems[0]?.message).toContain('the last good content of this file stays');
  });
});

describe('servers added by a host', () => {
  it('are read alone when only they change, and query Docker only if needed', async () => {
    const asked: string[] = [];
    const wanted =
      '{ "mcp": { "dockerGateway": true }, "mcpServers": { "a": { "command": "x" } } }';
    const reader = createSettingsReader({
      files: [{ file, scope: 'config' }],
      projectRoot: '/project',
      readFile: (path) => {
        asked.push(path);
        return Promise.resolve({ text: wanted });
      },
      checkFolder: () => Promise.resolve(undefined),
      docker: {
        variables: [],
        finding: () => {
          asked.push('docker');
          return Promise.resolve({ isThere: true });
        },
        checkAgain: () => {},
        settled: () => Promise.resolve(false),
        listen: () => {},
        dispose: () => {},
      },
    });
    let told = 0;
    reader.listen(() => {
      told += 1;
    });
    const namesAfter = async (added: object, scope: 'all' | 'added') => {
      reader.setAdded(new Map(Object.entries(added)));
      const { settings } = await reader.read(0, scope);
      return settings.servers.map(({ name }) => name);
    };
    // Who was added under the gateway's own name is meant.
    const taken = { b: { command: 'y' }, MCP_DOCKER: { command: 'z' } };
    expect(await namesAfter(taken, 'all')).toEqual(['a', 'b', 'MCP_DOCKER']);
    expect(asked).toEqual([file]);
    expect(await namesAfter({ b: { command: 'y' } }, 'added')).toEqual(['a', 'MCP_DOCKER', 'b']);
    expect(await namesAfter({}, 'added')).toEqual(['a', 'MCP_DOCKER']);
    expect(asked).toEqual([file, 'docker']);
    await reader.read(0);
    expect(asked).toEqual([file, 'docker', file, 'docker']);
    expect(told).toBe(3);
  });
});

describe('settings that cannot be merged', () => {
  it('cause one problem and leave running servers unchanged', async () => {
    let isBroken = false;
    const wanted =
      '{ "mcp": { "dockerGateway": true }, "mcpServers": { "a": { "command": "x" } } }';
    const reader = createSettingsReader({
      files: [{ file, scope: 'config' }],
      projectRoot: '/project',
      readFile: () => Promise.resolve({ text: wanted }),
      checkFolder: () => Promise.resolve(undefined),
      docker: {
        variables: [],
        finding: () =>
          isBroken ? Promise.reject(new Error('boom')) : Promise.resolve({ isThere: true }),
        checkAgain: () => {},
        settled: () => Promise.resolve(false),
        listen: () => {},
        dispose: () => {},
      },
    });
    const before = await reader.read(0);
    expect(before.settings.servers.map(({ name }) => name)).toEqual(['a', 'MCP_DOCKER']);
    isBroken = true;
    for (const now of [1, 2]) {
      const { settings, specs } = await reader.read(now);
      expect(settings.servers).toEqual(before.settings.servers);
      expect(specs).toEqual(before.specs);
      expect(settings.problems.map(({ message }) => message)).toEqual([
        'the settings could not be merged (Error: boom); please report this',
      ]);
    }
    isBroken = false;
    expect((await reader.read(3)).settings.problems).toEqual([]);
  });
});

describe('a reading that begins during another', () => {
  it('finds the settings that the other one is still parsing', async () => {
    const entries = Array.from({ length: 300 }, (_, index) => [`s${index}`, { command: 'x' }]);
    const reader = createSettingsReader({ files: [], projectRoot: '/project' });
    reader.setOverlay({ mcpServers: Object.fromEntries(entries) as object });
    const readings = await Promise.all([reader.read(0), reader.read(0)]);
    expect(readings.map(({ settings }) => settings.servers.length)).toEqual([300, 300]);
  });
});
