import { homedir } from 'node:os';
import path from 'node:path';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { placesOf } from '../../src/cli/import/program-places.ts';
import { launchOf } from '../../src/cli/launch.ts';
import { temporaryFolder } from './run-cli.ts';

afterEach(() => vi.unstubAllEnvs());

describe("the user's settings", () => {
  it.each(['XDG_CONFIG_HOME', 'XDG_DATA_HOME'])(
    'are never read from the project when %s is relative',
    (variable) => {
      vi.stubEnv(variable, 'config');
      expect(() => launchOf({}, temporaryFolder(), {})).toThrow(variable);
    },
  );

  it('are never read from the project when MCP_TROUPE_HOME is relative', () => {
    const folder = temporaryFolder();
    expect(() => launchOf({}, folder, { MCP_TROUPE_HOME: 'state' })).toThrow('MCP_TROUPE_HOME');
    expect(launchOf({}, folder, { MCP_TROUPE_HOME: '~/state' }).userSettings).toBe(
      path.join(homedir(), 'state', 'troupe.json'),
    );
  });

  it('are read from a --state-dir that is relative to the working directory', () => {
    const folder = temporaryFolder();
    expect(launchOf({ stateDir: 'state' }, folder, {}).userSettings).toBe(
      path.join(folder, 'state', 'troupe.json'),
    );
  });

  it.each([
    ['claude-code', 'CLAUDE_CONFIG_DIR'],
    ['codex', 'CODEX_HOME'],
    ['opencode', 'XDG_CONFIG_HOME'],
  ] as const)(
    'from %s are never read from the project when %s is relative',
    (program, variable) => {
      const facts = { platform: 'linux', home: '/home/me', projectRoot: '/project' } as const;
      const places = placesOf(program, { ...facts, env: { [variable]: 'config' } });
      expect(places.every((file) => path.isAbsolute(file))).toBe(true);
      expect(places[0]).toMatch(/^\/home\/me\//u);
    },
  );
});
