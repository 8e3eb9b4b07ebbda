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
  'cline',
  'roo',
  'continue',
  'goose',
  'crush',
  'mcporter',
  'librechat',
  'copilot',
  'kiro',
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
  return places[program](foldersOf(facts));
}

interface Folders {
  readonly isWindows: boolean;
  readonly config: string;
  readonly inHome: (...parts: readonly string[]) => string;
  readonly inProject: (...parts: readonly string[]) => string;
  /** Where desktop programs keep their settings. */
  readonly inApplications: (...parts: readonly string[]) => string;
  /** The folder that a variable names, or else the usual one. */
  readonly folderIn: (variable: string, usual: string) => string;
}

function foldersOf(facts: PlaceFacts): Folders {
  const { platform, home, env, projectRoot } = facts;
  // A relative folder would be in the project, and its files would count as the user's own.
  const folderIn = (variable: string, usual: string): string => {
    const folder = env[variable] ?? '';
    return path.isAbsolute(folder) ? folder : usual;
  };
  const config = folderIn('XDG_CONFIG_HOME', path.join(home, '.config'));
  const applications = applicationsOf(facts, config);
  return {
    isWindows: platform === 'win32',
    config,
    inHome: (...parts) => path.join(home, ...parts),
    inProject: (...parts) => path.join(projectRoot, ...parts),
    inApplications: (...parts) => path.join(applications, ...parts),
    folderIn,
  };
}

/** Files of an extension of VS Code. */
const ofExtension =
  (id: string, file: string) =>
  ({ inApplications }: Folders): string =>
    inApplications('Code', 'User', 'globalStorage', id, 'settings', file);

/** The same file in the home folder and in the project. */
const inBoth =
  (...parts: readonly string[]) =>
  ({ inHome, inProject }: Folders): readonly string[] => [inHome(...parts), inProject(...parts)];

const places: Readonly<Record<ProgramName, (folders: Folders) => readonly string[]>> = {
  'claude-desktop': ({ inApplications }) => [
    inApplications('Claude', 'claude_desktop_config.json'),
  ],
  'claude-code': ({ folderIn, inHome, inProject }) => [
    path.join(folderIn('CLAUDE_CONFIG_DIR', inHome()), '.claude.json'),
    inProject('.mcp.json'),
  ],
  vscode: ({ inApplications, inProject }) => [
    inApplications('Code', 'User', 'mcp.json'),
    inProject('.vscode', 'mcp.json'),
  ],
  windsurf: ({ inHome }) => [inHome('.codeium', 'windsurf', 'mcp_config.json')],
  cursor: inBoth('.cursor', 'mcp.json'),
  gemini: inBoth('.gemini', 'settings.json'),
  qwen: inBoth('.qwen', 'settings.json'),
  codex: ({ folderIn, inHome, inProject }) => [
    path.join(folderIn('CODEX_HOME', inHome('.codex')), 'config.toml'),
    inProject('.codex', 'config.toml'),
  ],
  opencode: ({ config, inProject }) => [
    ...twice(config, 'opencode', 'opencode'),
    ...twice(inProject(), 'opencode'),
    ...twice(inProject(), '.opencode', 'opencode'),
  ],
  zed: ({ isWindows, inApplications, config, inProject }) => [
    path.join(isWindows ? inApplications('Zed') : path.join(config, 'zed'), 'settings.json'),
    inProject('.zed', 'settings.json'),
  ],
  codebuddy: inBoth('.codebuddy', 'mcp.json'),
  'docker-agent': ({ inProject }) =>
    ['agent', 'docker-agent', 'cagent'].flatMap((name) =>
      ['yaml', 'yml'].map((suffix) => inProject(`${name}.${suffix}`)),
    ),
  'oh-my-pi': ({ inHome, inProject }) => [
    inHome('.omp', 'agent', 'mcp.json'),
    inProject('.omp', 'mcp.json'),
  ],
  cline: (folders) => [ofExtension('saoudrizwan.claude-dev', 'cline_mcp_settings.json')(folders)],
  roo: (folders) => [
    ofExtension('rooveterinaryinc.roo-cline', 'mcp_settings.json')(folders),
    folders.inProject('.roo', 'mcp.json'),
  ],
  continue: ({ inHome, inProject }) => [
    inHome('.continue', 'config.yaml'),
    inProject('.continue', 'mcpServers', 'mcp.json'),
  ],
  goose: ({ isWindows, inApplications, config }) => [
    isWindows
      ? inApplications('Block', 'goose', 'config', 'config.yaml')
      : path.join(config, 'goose', 'config.yaml'),
  ],
  crush: ({ config, inProject }) => [
    path.join(config, 'crush', 'crush.json'),
    inProject('crush.json'),
    inProject('.crush.json'),
  ],
  mcporter: ({ inHome, inProject }) => [
    inHome('.mcporter', 'mcporter.json'),
    inProject('config', 'mcporter.json'),
  ],
  librechat: ({ inProject }) => [inProject('librechat.yaml')],
  copilot: ({ inHome, inProject }) => [
    inHome('.copilot', 'mcp-config.json'),
    inProject('.github', 'mcp.json'),
  ],
  kiro: inBoth('.kiro', 'settings', 'mcp.json'),
};

/** Where desktop programs keep their settings. */
function applicationsOf({ platform, home, env }: PlaceFacts, config: string): string {
  if (platform === 'darwin') return path.join(home, 'Library', 'Application Support');
  if (platform === 'win32') return env['APPDATA'] ?? path.join(home, 'AppData', 'Roaming');
  return config;
}

function twice(folder: string, ...parts: readonly string[]): readonly string[] {
  return ['.json', '.jsonc'].map((suffix) => `${path.join(folder, ...parts)}${suffix}`);
}
