/**
 * The programs that share the form `mcpServers`, and what tells their files apart: the place of
 * the file, top-level keys, and keys of entries.
 */

import { memberOf, membersOf, type TreeMember, type TreeNode } from '../settings-tree.ts';
import type { ConversionContext } from './conversion.ts';
import type { ReferenceStyle } from './references.ts';

export interface Program {
  /** Its names in `troupe import --from`. */
  readonly names: readonly string[];
  readonly place: RegExp;
  /** Top-level keys that only it uses. */
  readonly topKeys: readonly string[];
  /** Keys of entries that only it uses. */
  readonly entryKeys: readonly string[];
  readonly style: ReferenceStyle;
  /** The unit of `timeout`. Absent: milliseconds. */
  readonly timeout?: 'seconds';
  /** A command with its arguments may be one string. */
  readonly splitsCommand?: true;
}

/** The order matters: the first sign decides. */
const programs: readonly Program[] = [
  {
    names: ['gemini', 'qwen'],
    place: /[/\\]\.(?:gemini|qwen)[/\\]settings\.json$/u,
    topKeys: [
      'security',
      'general',
      'ui',
      'selectedAuthType',
      'contextFileName',
      'allowMCPServers',
      'excludeMCPServers',
      '$version',
    ],
    entryKeys: [
      'httpUrl',
      'includeTools',
      'excludeTools',
      'authProviderType',
      'discoveryTimeoutMs',
      'versionNegotiation',
    ],
    style: 'gemini',
  },
  {
    names: ['cline', 'roo', 'codebuddy'],
    place: /(?:mcp_settings|[/\\]\.(?:roo|kilocode|codebuddy)[/\\]mcp)\.json$/u,
    topKeys: [],
    entryKeys: ['watchPaths', 'transportType'],
    style: 'editor',
    timeout: 'seconds',
  },
  {
    names: ['librechat'],
    place: /librechat[^/\\]*\.ya?ml$/u,
    topKeys: ['endpoints', 'modelSpecs', 'fileConfig', 'registration'],
    entryKeys: [
      'chatMenu',
      'customUserVars',
      'iconPath',
      'initTimeout',
      'requiresOAuth',
      'serverInstructions',
    ],
    style: 'editor',
  },
  {
    names: ['mcporter'],
    place: /mcporter\.jsonc?$/u,
    topKeys: ['imports'],
    entryKeys: ['baseUrl', 'base_url', 'tokenCacheDir', 'bearerTokenEnv', 'allowedTools'],
    style: 'editor',
    splitsCommand: true,
  },
  {
    // Nothing but their places tells these apart.
    names: [
      'claude-desktop',
      'claude-code',
      'cursor',
      'windsurf',
      'continue',
      'copilot',
      'kiro',
      'oh-my-pi',
    ],
    place:
      /(?:claude_desktop_config|mcp_config|mcp-config|[/\\]\.claude|[/\\]\.(?:cursor|omp|github)[/\\]mcp|[/\\]\.omp[/\\]agent[/\\]mcp|[/\\]\.kiro[/\\]settings[/\\]mcp)\.json$|[/\\]\.continue[/\\]/u,
    topKeys: [],
    entryKeys: [],
    style: 'editor',
  },
];

/**
 * Finds the program that a file plainly belongs to; undefined for ours, and for any that several may share.
 *
 * @param isOurs - whether an entry is known not to hint at one
 */
export function programOf(
  root: TreeNode,
  context: ConversionContext,
  isOurs: (entry: TreeMember) => boolean,
): Program | undefined {
  const { program, file = '', isOwn = false } = context;
  const named = programs.find(
    ({ names, place }) => names.includes(program ?? '') || place.test(file),
  );
  if (named !== undefined || program !== undefined || isOwn) return named;
  const entries = membersOf(memberOf(root, 'mcpServers')?.node).filter((entry) => !isOurs(entry));
  const holds = (each: Program): boolean =>
    each.topKeys.some((key) => memberOf(root, key) !== undefined) ||
    entries.some((entry) => hasKeyOf(each, entry));
  return programs.find(holds) ?? (entries.some(isOfGemini) ? programs[0] : undefined);
}

/** Returns whether an entry alone makes its file another program's. */
export function isOfSomeProgram(entry: TreeMember): boolean {
  return isOfGemini(entry) || programs.some((each) => hasKeyOf(each, entry));
}

function hasKeyOf({ entryKeys }: Program, { node }: TreeMember): boolean {
  return entryKeys.some((key) => memberOf(node, key) !== undefined);
}

/** Only Gemini CLI and Qwen Code have these keys and also replace `$NAME`. */
function isOfGemini({ node }: TreeMember): boolean {
  const has = (key: string): boolean => memberOf(node, key) !== undefined;
  if (!has('timeout') && !has('trust')) return false;
  return ['env', 'headers'].some((key) =>
    membersOf(memberOf(node, key)?.node).some(
      ({ node: { ...value } }) =>
        value.kind === 'scalar' && /\$[A-Za-z_]\w*/u.test(String(value.value)),
    ),
  );
}
