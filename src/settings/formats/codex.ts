/** Codex: tables `[mcp_servers.NAME]` of its `config.toml`. */

import { type Fault, memberOf, membersOf, type TreeNode } from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import { convertEntry, type KeyRule } from './entry-draft.ts';
import {
  callApproval,
  drop,
  kept,
  keyRules,
  leave,
  passedOn,
  remark,
  remoteLaunch,
  seconds,
  textOf,
  toolList,
} from './key-rules.ts';
import { codexLogInRules } from './log-in-rules.ts';

const headersFromVariables: KeyRule = (member, draft) => {
  for (const header of membersOf(member.node)) {
    const from = draft.placed(member, header);
    const name = textOf(header.node);
    if (name === undefined) draft.putInto('headers', header.name, header.node, from);
    else draft.putReference('headers', header.name, `\${${name}}`, from);
  }
};

/** Codex prefers the seconds where both are given. */
const startupMilliseconds: KeyRule = (member, draft) => {
  const preferred = draft.given('startup_timeout_sec');
  if (preferred === undefined) draft.put('connectTimeoutMs', member.node, member);
  else
    draft.leave(member, `line ${preferred.line} sets the same and counts; remove one of the two`);
};

const rules = keyRules({
  ...kept('command', 'args', 'env', 'cwd', 'url', 'enabled', 'required'),
  env_vars: passedOn,
  http_headers: 'headers',
  env_http_headers: headersFromVariables,
  bearer_token: leave(
    'Codex does not read a token from its settings either; put it into a variable and set "bearer_token_env_var" to its name',
  ),
  startup_timeout_sec: seconds('connectTimeoutMs'),
  startup_timeout_ms: startupMilliseconds,
  tool_timeout_sec: seconds('timeoutMs'),
  enabled_tools: toolList('include'),
  disabled_tools: toolList('exclude'),
  ...codexLogInRules,
  default_tools_approval_mode: callApproval,
  tools: callApproval,
  supports_parallel_tool_calls: remark(
    'calls to a server always run concurrently; no action needed',
  ),
  experimental_environment: remoteLaunch,
  name: drop,
});

export function convertCodex(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  // Codex expands nothing; it refers to variables by name only.
  const servers = membersOf(memberOf(root, 'mcp_servers')?.node).map((member) =>
    convertEntry(
      { ...member, written: ['mcp_servers', member.name], node: withCallback(member.node, root) },
      'literal',
      rules,
      faults,
    ),
  );
  return { format: 'codex', servers, faults };
}

/** Adds the callback that Codex has for all servers to a remote one that has a client. */
function withCallback(node: TreeNode, root: TreeNode): TreeNode {
  if (node.kind !== 'object' || memberOf(node, 'oauth') === undefined) return node;
  const added = ['mcp_oauth_callback_port', 'mcp_oauth_callback_url'].flatMap((key) => {
    const member = memberOf(root, key);
    return member === undefined ? [] : [{ ...member, written: [key] }];
  });
  return { ...node, members: [...node.members, ...added] };
}
