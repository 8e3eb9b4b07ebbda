/** Where other programs keep their MCP servers, for the user and in a project. */

import path from 'node:path';

export const programNames = [
  'claude-desktop',
  'claude-code',
  'vscode',
  'cursor',
  'windsurf',
  'gemini',
  'qwen',
  'codex',
  'opencode',
  'zed',
  'codebuddy',
  'docker-agent',
  'oh-my-pi',
] as const;

export type ProgramName = (typeof programNames)[number];

export interface PlaceFacts {
  readonly platform: NodeJS.Platform;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly projectRoot: string;
}

/** All files that may hold a program's servers, the user's first; most do not exist. */
export function placesOf(program: ProgramName, facts: PlaceFacts): readonly string[] {
  const { home, env, projectRoot } = facts;
  // A relative folder would be in the project, and its files would count as the user's own.
  const folderIn = (variable: string, usual: string): string => {
    const folder = env[variable] ?? '';
    return path.isAbsolute(folder) ? folder : usual;
  };
  const config = folderIn('XDG_CONFIG_HOME', path.join(home, '.config'));
  const inHome = (...parts: readonly string[]): string => path.join(home, ...parts);
  const inProject = (...parts: readonly string[]): string => path.join(projectRoot, ...parts);
  const inApplications = (...parts: readonly string[]): string =>
    path.join(applicationsOf(facts, config), ...parts);
  switch (program) {
    case 'claude-desktop':
      return [inApplications('Claude', 'claude_desktop_config.json')];
    case 'claude-code':
      return [
        path.join(folderIn('CLAUDE_CONFIG_DIR', home), '.claude.json'),
        inProject('.mcp.json'),
      ];
    case 'vscode':
      return [inApplications('Code', 'User', 'mcp.json'), inProject('.vscode', 'mcp.json')];
    case 'windsurf':
      return [inHome('.codeium', 'windsurf', 'mcp_config.json')];
    case 'cursor':
      return [inHome('.cursor', 'mcp.json'), inProject('.cursor', 'mcp.json')];
    case 'gemini':
    case 'qwen':
      return [inHome(`.${program}`, 'settings.json'), inProject(`.${program}`, 'settings.json')];
    case 'codex':
      return [
        path.join(folderIn('CODEX_HOME', inHome('.codex')), 'config.toml'),
        inProject('.codex', 'config.toml'),
      ];
    case 'opencode':
      return [
        ...twice(config, 'opencode', 'opencode'),
        ...twice(projectRoot, 'opencode'),
        ...twice(projectRoot, '.opencode', 'opencode'),
      ];
    case 'zed':
      return [
        path.join(
          facts.platform === 'win32' ? inApplications('Zed') : path.join(config, 'zed'),
          'settings.json',
        ),
        inProject('.zed', 'settings.json'),
      ];
    case 'codebuddy':
      return [inHome('.codebuddy', 'mcp.json'), inProject('.codebuddy', 'mcp.json')];
    case 'docker-agent':
      return ['agent', 'docker-agent', 'cagent'].flatMap((name) =>
        ['yaml', 'yml'].map((suffix) => inProject(`${name}.${suffix}`)),
      );
    case 'oh-my-pi':
      return [inHome('.omp', 'agent', 'mcp.json'), inProject('.omp', 'mcp.json')];
  }
}

/** Where desktop programs keep their settings. */
function applicationsOf({ platform, home, env }: PlaceFacts, config: string): string {
  if (platform === 'darwin') return path.join(home, 'Library', 'Application Support');
  if (platform === 'win32') return env['APPDATA'] ?? path.join(home, 'AppData', 'Roaming');
  return config;
}

function twice(folder: string, ...parts: readonly string[]): readonly string[] {
  return ['.json', '.jsonc'].map((suffix) => `${path.join(folder, ...parts)}${suffix}`);
}
