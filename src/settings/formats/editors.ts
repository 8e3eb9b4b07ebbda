/** The settings of editors: VS Code, Zed and CodeBuddy. */

import {
  type Fault,
  memberOf,
  membersOf,
  placedAt,
  type TreeMember,
  type TreeNode,
  type TreePath,
} from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import { convertEntry, type ForeignEntry, type KeyRule } from './entry-draft.ts';
import {
  callAllowance,
  drop,
  kept,
  keyRules,
  leave,
  negated,
  nested,
  ofTheEditor,
  protection,
  remoteLaunch,
  seconds,
  textAt,
  textOf,
  toolList,
  unless,
  variables,
} from './key-rules.ts';
import { headersProgram, logIn } from './log-in-rules.ts';

const vscodeRules = keyRules({
  // Its `http` also falls back to SSE, as an entry of ours without a type does.
  type: (member, draft) => {
    if (textOf(member.node) !== 'http') draft.put('type', member.node, member);
  },
  ...kept('command', 'args', 'env', 'envFile', 'cwd', 'url', 'headers'),
  oauth: logIn,
  dev: ofTheEditor,
  gallery: drop,
  version: drop,
  sandboxEnabled: protection,
  sandbox: drop,
});

type ObjectNode = Extract<TreeNode, { kind: 'object' }>;

/** VS Code: `servers` and `inputs`, in `mcp.json` or within `mcp` of its settings. */
export function convertVscode(root: TreeNode): Conversion {
  const top = memberOf(root, 'servers') === undefined ? memberOf(root, 'mcp') : undefined;
  const holder = top?.node ?? root;
  const path = top === undefined ? ['servers'] : ['mcp', 'servers'];
  const faults: Fault[] = [];
  const servers = membersOf(memberOf(holder, 'servers')?.node).map((member) =>
    convertEntry({ ...member, written: [...path, member.name] }, 'editor', vscodeRules, faults),
  );
  const inputs = memberOf(holder, 'inputs');
  return { format: 'vscode', servers, ...(inputs && { inputs }), faults };
}

// Absent variables are written as null.
const parts = nested(keyRules({ path: 'command', args: 'args', env: unless(null, variables) }));

/** The program itself, or in older settings an object of `path`, `args` and `env`. */
const command: KeyRule = (member, draft) => {
  if (member.node.kind === 'object') parts(member, draft);
  else draft.put('command', member.node, member);
};

const zedRules = keyRules({
  command,
  ...kept('args', 'env', 'url', 'headers', 'enabled'),
  timeout: seconds('timeoutMs'),
  source: drop,
  oauth: logIn,
  remote: remoteLaunch,
  settings: leave(
    'extension settings are not imported; pass the server what it needs in "args" or "env"',
  ),
});

/** Zed: `context_servers` of its settings. */
export function convertZed(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  const servers = membersOf(memberOf(root, 'context_servers')?.node).flatMap((member) => {
    const written = ['context_servers', member.name];
    if (!isOfExtension(member))
      return [convertEntry({ ...member, written }, 'literal', zedRules, faults)];
    const message =
      'a Zed extension provides the command of this server; write an entry with "command" and "args"';
    faults.push({ line: member.line, path: written, message });
    return [];
  });
  return { format: 'zed', servers, faults };
}

function isOfExtension({ node }: TreeMember): boolean {
  if (node.kind !== 'object') return false;
  const has = (key: string): boolean => memberOf(node, key) !== undefined;
  if (textAt(node, 'source') === 'extension') return true;
  return !has('command') && !has('url') && (has('settings') || has('enabled'));
}

const codebuddyRules = keyRules({
  name: drop,
  transport: 'type',
  ...kept('command', 'args', 'env', 'cwd', 'url', 'headers', 'description', 'enabled'),
  disabled: negated,
  oauth: logIn,
  headersHelper: headersProgram,
  autoApprove: callAllowance,
  disabledTools: toolList('exclude'),
});

export const codebuddySetting = 'codebuddy.mcp.servers';
export const codebuddyDisabledTools = 'codebuddy.mcp.disabledTools';

/** CodeBuddy: `servers`, or `codebuddy.mcp.servers` in the editor's settings, beside the tools that are disabled there. */
export function convertCodebuddy(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  const list = memberOf(root, 'servers') ?? memberOf(root, codebuddySetting);
  const entries = list === undefined ? [] : namedEntries(list, [list.name], faults);
  const servers = entries.map((entry) => {
    const disabled = disabledTools(root, entry.name);
    const { node } = entry;
    if (node.kind !== 'object') return entry;
    const whole: ForeignEntry = { ...entry, node: forTransport(node, disabled) };
    return convertEntry(whole, 'editor', codebuddyRules, faults);
  });
  const all = memberOf(root, codebuddyDisabledTools);
  const unused = membersOf(all?.node).filter((it) => entries.every(({ name }) => name !== it.name));
  const message = 'this file has no such server; exclude its tools where it is declared';
  for (const { name, line } of unused)
    faults.push({ line, path: [codebuddyDisabledTools, name], message });
  return { format: 'codebuddy', servers, faults };
}

/** The tools of one server that a setting beside the servers disables. */
function disabledTools(root: TreeNode, server: string): readonly TreeMember[] {
  const tools = memberOf(memberOf(root, codebuddyDisabledTools)?.node ?? root, server);
  if (tools === undefined) return [];
  return [{ ...tools, name: 'disabledTools', written: [codebuddyDisabledTools, server] }];
}

/** Servers of a map, or of a list of objects with names. */
export function namedEntries(
  { node }: TreeMember,
  path: TreePath,
  faults: Fault[],
): readonly ForeignEntry[] {
  if (node.kind !== 'array')
    // `concat` makes lists of just this length, and each is kept as long as its entry.
    return membersOf(node).map((member) => placedAt(member, path.concat(member.name)));
  return node.items.flatMap((item, index): readonly ForeignEntry[] => {
    const { line } = item;
    const written = [...path, index];
    const name = textAt(item, 'name');
    if (item.kind === 'object' && name !== undefined) return [{ name, line, written, node: item }];
    const message =
      memberOf(item, 'uses') === undefined
        ? 'a server in this list has no "name"; add one'
        : 'this server is in the hub of Continue; write its "name" and "command" or "url" here';
    faults.push({ line, path: written, message });
    return [];
  });
}

/** Removes the keys of the other transport, which may be present and are ignored. */
function forTransport(node: ObjectNode, added: readonly TreeMember[]): ObjectNode {
  const transport = textAt(node, 'transport') ?? 'stdio';
  const [required, unused] =
    transport === 'stdio'
      ? ['command', ['url', 'headers', 'headersHelper', 'oauth']]
      : ['url', ['command', 'args', 'env', 'cwd']];
  // Without the key that its transport requires, the whole entry is shown and refused.
  const isWhole = memberOf(node, required) !== undefined;
  const members = node.members.filter(({ name }) => !isWhole || !unused.includes(name));
  return { ...node, members: [...members, ...added] };
}
