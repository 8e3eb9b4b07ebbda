/** CodeBuddy: a list `servers`, in a file of its own or as `codebuddy.mcp.servers` in the editor's settings. */

import {
  type Fault,
  memberOf,
  type TreeMember,
  type TreeNode,
  type TreePath,
} from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import type { KeyRule } from './entry-draft.ts';
import { callApproval, convertEntry, drop, keep, kept, negated, textOf } from './key-rules.ts';

export const codebuddySetting = 'codebuddy.mcp.servers';

const rules = new Map<string, KeyRule>([
  ['name', drop],
  ['transport', keep('type')],
  ...kept('command', 'args', 'env', 'cwd', 'url', 'headers', 'description', 'enabled'),
  ['disabled', negated],
  ['autoApprove', callApproval],
]);

export function convertCodebuddy(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  const list = memberOf(root, 'servers') ?? memberOf(root, codebuddySetting);
  const items = list?.node.kind === 'array' ? list.node.items : [];
  const servers = items.flatMap((item, index): readonly TreeMember[] => {
    const path: TreePath = [list?.name ?? 'servers', index];
    const name = textOf(memberOf(item, 'name')?.node);
    if (item.kind !== 'object' || name === undefined) {
      faults.push({
        line: item.line,
        path,
        message: 'a server of the list has no "name"; give it one',
      });
      return [];
    }
    const entry = { name, line: item.line, path, node: forTransport(item) };
    return [convertEntry(entry, 'editor', rules, faults)];
  });
  return { format: 'codebuddy', servers, faults };
}

/** The transport decides there: keys of the other one may be present and are ignored. */
function forTransport(node: Extract<TreeNode, { kind: 'object' }>): TreeNode {
  const transport = textOf(memberOf(node, 'transport')?.node) ?? 'stdio';
  const unused = transport === 'stdio' ? ['url', 'headers'] : ['command', 'args', 'env', 'cwd'];
  const others = transport === 'stdio' ? ['command'] : ['url'];
  // Without the keys that its transport needs, the whole entry is shown and refused.
  if (!others.every((key) => memberOf(node, key) !== undefined)) return node;
  return { ...node, members: node.members.filter(({ name }) => !unused.includes(name)) };
}
