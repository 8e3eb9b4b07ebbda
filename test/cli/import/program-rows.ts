/**
 * The settings of other programs that are fixtures. Each follows the examples of the page that it
 * names: the same keys and forms, with names and values of our own.
 */

import type { ProgramName } from '../../../src/cli/import/program-places.ts';

export interface ProgramRow {
  /** The name of a file in `test/fixtures/settings`. */
  readonly fixture: string;
  readonly program: ProgramName;
  /** Where the program keeps the file: below the home folder, or else in the project. */
  readonly place: string;
  readonly source: string;
}

const github = 'https://github.com';

const row = (fixture: string, program: ProgramName, place: string, source: string): ProgramRow => ({
  fixture,
  program,
  place,
  source,
});

const gemini = `${github}/google-gemini/gemini-cli/blob/main/docs/tools/mcp-server.md`;
const qwen = `${github}/QwenLM/qwen-code/blob/main/docs/users/features/mcp.md`;
const cline = `${github}/cline/cline/blob/main/docs/mcp/configuring-mcp-servers.mdx`;
const roo = `${github}/RooCodeInc/Roo-Code-Docs/blob/main/docs/features/mcp/using-mcp-in-roo.mdx`;
const mcporter = `${github}/steipete/mcporter/blob/main/docs/config.md`;
const dockerAgent = `${github}/docker/docker-agent/blob/main/docs/tools/mcp/index.md`;
const codex = `${github}/openai/codex/blob/main/codex-rs/config/src/mcp_types.rs`;
const ohMyPi = `${github}/can1357/oh-my-pi/blob/main/packages/coding-agent/src/mcp/types.ts`;
const codebuddy = `${github}/olasunkanmi-SE/codebuddy`;
const claudeDesktop = 'https://modelcontextprotocol.io/docs/develop/connect-local-servers';
const user = '~/.config/Code/User';

export const programRows: readonly ProgramRow[] = [
  row('gemini', 'gemini', '~/.gemini/settings.json', gemini),
  row('gemini-plain', 'gemini', '.gemini/settings.json', gemini),
  row('gemini-headers', 'gemini', '~/.gemini/settings.json', gemini),
  row('qwen', 'qwen', '~/.qwen/settings.json', qwen),
  row('qwen-timeouts', 'qwen', '~/.qwen/settings.json', qwen),
  row(
    'cline',
    'cline',
    `${user}/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json`,
    cline,
  ),
  row('roo', 'roo', '.roo/mcp.json', roo),
  row(
    'continue',
    'continue',
    '~/.continue/config.yaml',
    `${github}/continuedev/continue/blob/main/docs/customize/deep-dives/mcp.mdx`,
  ),
  row(
    'goose',
    'goose',
    '~/.config/goose/config.yaml',
    `${github}/block/goose/blob/main/documentation/docs/guides/config-files.md`,
  ),
  row('crush', 'crush', 'crush.json', `${github}/charmbracelet/crush/blob/main/README.md`),
  row('mcporter', 'mcporter', 'config/mcporter.json', mcporter),
  row('mcporter-forms', 'mcporter', '~/.mcporter/mcporter.json', mcporter),
  row(
    'librechat',
    'librechat',
    'librechat.yaml',
    'https://www.librechat.ai/docs/configuration/librechat_yaml/object_structure/mcp_servers',
  ),
  row(
    'copilot',
    'copilot',
    '~/.copilot/mcp-config.json',
    'https://docs.github.com/en/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers',
  ),
  row('kiro', 'kiro', '.kiro/settings/mcp.json', 'https://kiro.dev/docs/mcp/configuration'),
  row(
    'claude-desktop',
    'claude-desktop',
    '~/.config/Claude/claude_desktop_config.json',
    claudeDesktop,
  ),
  row(
    'claude-desktop-names',
    'claude-desktop',
    '~/.config/Claude/claude_desktop_config.json',
    claudeDesktop,
  ),
  row('claude-code', 'claude-code', '~/.claude.json', 'https://code.claude.com/docs/en/mcp'),
  row('cursor', 'cursor', '.cursor/mcp.json', 'https://cursor.com/docs/mcp'),
  row(
    'vscode',
    'vscode',
    '.vscode/mcp.json',
    `${github}/microsoft/vscode-docs/blob/main/docs/copilot/reference/mcp-configuration.md`,
  ),
  row(
    'windsurf',
    'windsurf',
    '~/.codeium/windsurf/mcp_config.json',
    'https://docs.windsurf.com/windsurf/cascade/mcp',
  ),
  row('zed', 'zed', '~/.config/zed/settings.json', 'https://zed.dev/docs/ai/mcp'),
  row('codex', 'codex', '~/.codex/config.toml', codex),
  row('codex-literal', 'codex', '~/.codex/config.toml', codex),
  row(
    'opencode',
    'opencode',
    'opencode.json',
    `${github}/anomalyco/opencode/blob/dev/packages/web/src/content/docs/mcp-servers.mdx`,
  ),
  row('codebuddy', 'codebuddy', '.codebuddy/mcp.json', codebuddy),
  row('codebuddy-object', 'codebuddy', '~/.codebuddy/mcp.json', codebuddy),
  row('docker-agent', 'docker-agent', 'agent.yaml', dockerAgent),
  row('docker-agent-dollar', 'docker-agent', 'agent.yaml', dockerAgent),
  row('oh-my-pi', 'oh-my-pi', '.omp/mcp.json', ohMyPi),
  row('oh-my-pi-lazy', 'oh-my-pi', '.omp/mcp.json', ohMyPi),
];
