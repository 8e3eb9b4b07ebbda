/** Codex: tables `[mcp_servers.NAME]` of its `config.toml`. */

import { type Fault, memberOf, membersOf, type TreeNode } from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import type { KeyRule } from './entry-draft.ts';
import {
  callApproval,
  convertEntry,
  drop,
  keep,
  kept,
  leave,
  logIn,
  seconds,
  textOf,
  toolList,
} from './key-rules.ts';

/** Names of variables to pass on. */
const passedOn: KeyRule = (member, draft) => {
  if (member.node.kind !== 'array') {
    draft.leave(member, '"env_vars" must be a list of names; write ["TOKEN"]');
    return;
  }
  for (const [index, item] of member.node.items.entries()) {
    const written = draft.at('env_vars', index);
    const name = textOf(item) ?? textOf(memberOf(item, 'name')?.node);
    const from = { ...member, line: item.line };
    if (name === undefined || textOf(memberOf(item, 'source')?.node) === 'remote')
      draft.leave(from, 'this variable does not come from here; set it in "env"', written);
    else draft.putReference('env', name, `\${${name}}`, from, written);
  }
};

const bearer: KeyRule = (member, draft) => {
  const name = textOf(member.node);
  if (name === undefined) draft.putInto('headers', 'Authorization', member.node, member);
  else draft.putReference('headers', 'Authorization', `Bearer \${${name}}`, member);
};

const headersFromVariables: KeyRule = (member, draft) => {
  for (const header of membersOf(member.node)) {
    const written = draft.at(member.name, header.name);
    const name = textOf(header.node);
    if (name === undefined) draft.putInto('headers', header.name, header.node, header, written);
    else draft.putReference('headers', header.name, `\${${name}}`, header, written);
  }
};

const rules = new Map<string, KeyRule>([
  ...kept('command', 'args', 'env', 'cwd', 'url', 'enabled', 'required'),
  ['env_vars', passedOn],
  ['http_headers', keep('headers')],
  ['env_http_headers', headersFromVariables],
  ['bearer_token_env_var', bearer],
  [
    'bearer_token',
    leave(
      'Codex takes no token here either; put it into a variable and name that in "bearer_token_env_var"',
    ),
  ],
  ['startup_timeout_sec', seconds('connectTimeoutMs')],
  ['startup_timeout_ms', keep('connectTimeoutMs')],
  ['tool_timeout_sec', seconds('timeoutMs')],
  ['enabled_tools', toolList('include')],
  ['disabled_tools', toolList('exclude')],
  ['scopes', logIn],
  ['oauth', logIn],
  ['oauth_resource', logIn],
  ['default_tools_approval_mode', callApproval],
  ['tools', callApproval],
  [
    'supports_parallel_tool_calls',
    leave('calls to a server always run concurrently; no action needed'),
  ],
  [
    'experimental_environment',
    leave('remote launch is not supported; start the server on its own host and set "url"'),
  ],
  ['name', drop],
]);

export function convertCodex(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  const servers = membersOf(memberOf(root, 'mcp_servers')?.node).map(({ name, line, node }) => {
    const own = node.kind === 'object' ? inOrder(node) : node;
    const entry = { name, line, path: ['mcp_servers', name], node: own };
    // Codex expands nothing; it refers to variables by name only.
    return convertEntry(entry, 'literal', rules, faults);
  });
  return { format: 'codex', servers, faults };
}

/** Seconds win over milliseconds there, wherever they stand. */
function inOrder(node: Extract<TreeNode, { kind: 'object' }>): TreeNode {
  const isLate = (name: string): boolean => name === 'startup_timeout_ms';
  return {
    ...node,
    members: [...node.members].sort(
      (one, other) => Number(isLate(one.name)) - Number(isLate(other.name)),
    ),
  };
}
