/** opencode: a map `mcp` of servers, or `mcp.servers` in its second version. */

import {
  type Fault,
  memberOf,
  membersOf,
  type TreeMember,
  type TreeNode,
} from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import { convertEntry, type KeyRule } from './entry-draft.ts';
import {
  approvalMessage,
  commandLine,
  drop,
  kept,
  keyRules,
  negated,
  nested,
  scalar,
  textAt,
  textOf,
  toolList,
} from './key-rules.ts';
import { logInAt } from './log-in-rules.ts';

const phases = nested(keyRules({ startup: 'connectTimeoutMs', request: 'timeoutMs' }));

/** A single number is the deadline of the tool list; the second version has one per phase. */
const timeout: KeyRule = (member, draft) => {
  const { line, node } = member;
  if (node.kind === 'object') phases(member, draft);
  else {
    const limit = { name: 'listTimeoutMs', line, node, written: draft.pathOf(member) };
    draft.putInto('policy', 'connect', { kind: 'object', line, members: [limit] }, member);
  }
};

const rules = keyRules({
  type: drop,
  command: commandLine,
  environment: 'env',
  ...kept('cwd', 'url', 'headers', 'enabled'),
  disabled: negated,
  timeout,
  // Clients are registered with the one address that opencode listens on.
  oauth: logInAt((oauth) =>
    memberOf(oauth, 'clientId') === undefined || memberOf(oauth, 'redirectUri') !== undefined
      ? undefined
      : 'http://127.0.0.1:19876/mcp/oauth/callback',
  ),
  // Added below, from the list `tools` beside the servers.
  hiddenTools: toolList('exclude'),
});

export function convertOpencode(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  const mcp = memberOf(root, 'mcp')?.node;
  const second = memberOf(mcp ?? root, 'servers');
  const isSecond = second !== undefined && textAt(second.node, 'type') === undefined;
  const path = isSecond ? ['mcp', 'servers'] : ['mcp'];
  const entries = membersOf(isSecond ? second.node : mcp).flatMap((member) => {
    const written = [...path, member.name];
    if (!isSwitch(member)) return [{ ...member, written }];
    const message =
      'this only enables or disables a server that your organization provides; add "command" or "url" to define it here';
    faults.push({ line: member.line, path: written, message });
    return [];
  });
  const names = entries.map(({ name }) => name);
  const hidden = ['tools', 'permission'].flatMap((key) =>
    membersOf(memberOf(root, key)?.node).flatMap((it) => hiddenBy(key, it, names)),
  );
  faults.push(...askedAbout(root, names));
  const servers = entries.map((entry) => {
    const { name, node } = entry;
    const added = hidden.flatMap(({ server, member }) => (server === name ? [member] : []));
    const whole = node.kind === 'object' ? { ...node, members: [...node.members, ...added] } : node;
    return convertEntry({ ...entry, node: whole }, 'opencode', rules, faults);
  });
  return { format: 'opencode', servers, faults };
}

function isSwitch({ node }: TreeMember): boolean {
  return (
    node.kind === 'object' && node.members.length === 1 && memberOf(node, 'enabled') !== undefined
  );
}

/** `"db_drop*": false`, or `"deny"` as a permission, hides tools of the server `db`. */
function hiddenBy(key: string, { name, line, node }: TreeMember, servers: readonly string[]) {
  const server = serverOf(name, servers);
  const isHidden = node.kind === 'scalar' && [false, 'deny'].some((word) => node.value === word);
  if (server === undefined || !isHidden) return [];
  const rest = name.startsWith(`${server}_`) ? name.slice(server.length + 1) : '*';
  const list: TreeNode = { kind: 'array', line, items: [scalar(line, rest)] };
  return [{ server, member: { name: 'hiddenTools', line, node: list, written: [key, name] } }];
}

/** Names of tools begin with their server's name. */
function serverOf(pattern: string, servers: readonly string[]): string | undefined {
  return servers
    .filter((name) => pattern.startsWith(`${name}_`) || pattern.replace(/\*+$/u, '') === name)
    .toSorted((one, other) => other.length - one.length)[0];
}

/** Reports permissions that ask about tools of these servers. */
function askedAbout(root: TreeNode, servers: readonly string[]): readonly Fault[] {
  return membersOf(memberOf(root, 'permission')?.node).flatMap(({ name, line, node }) =>
    textOf(node) === 'ask' && serverOf(name, servers) !== undefined
      ? [{ line, path: ['permission', name], message: approvalMessage }]
      : [],
  );
}
