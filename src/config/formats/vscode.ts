/** VS Code: `servers` and `inputs`, in `mcp.json` or within `mcp` of its settings. */

import { type Fault, memberOf, membersOf, type TreeNode, type TreePath } from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import type { KeyRule } from './entry-draft.ts';
import {
  convertEntry,
  drop,
  kept,
  logIn,
  ofTheEditor,
  protection,
  scalar,
  textOf,
} from './key-rules.ts';

/** VS Code's `http` means "Streamable HTTP, falling back to SSE", which an entry without a type means here. */
const type: KeyRule = (member, draft) => {
  const word = textOf(member.node);
  if (word !== 'http') draft.put('type', member.node, member);
};

const env: KeyRule = (member, draft) => {
  if (member.node.kind !== 'object') {
    draft.put('env', member.node, member);
    return;
  }
  for (const variable of member.node.members) {
    const written = draft.at('env', variable.name);
    const { node } = variable;
    const value = node.kind === 'scalar' ? node.value : undefined;
    if (value === null)
      draft.leave(
        variable,
        'variables cannot be unset; a server gets only the variables it is given',
        written,
      );
    else
      draft.putInto(
        'env',
        variable.name,
        typeof value === 'number' ? scalar(node.line, String(value)) : node,
        variable,
        written,
      );
  }
};

const rules = new Map<string, KeyRule>([
  ['type', type],
  ...kept('command', 'args', 'cwd', 'url', 'headers', 'envFile'),
  ['env', env],
  ['oauth', logIn],
  ['dev', ofTheEditor],
  ['gallery', drop],
  ['version', drop],
  ['sandboxEnabled', protection],
  ['sandbox', drop],
]);

export function convertVscode(root: TreeNode): Conversion {
  const top = memberOf(root, 'servers') === undefined ? memberOf(root, 'mcp') : undefined;
  const holder = top?.node ?? root;
  const path: TreePath = top === undefined ? [] : ['mcp'];
  const faults: Fault[] = [];
  const servers = membersOf(memberOf(holder, 'servers')?.node).map((member) =>
    convertEntry({ ...member, path: [...path, 'servers', member.name] }, 'editor', rules, faults),
  );
  const inputs = memberOf(holder, 'inputs');
  return { format: 'vscode', servers, ...(inputs === undefined ? {} : { inputs }), faults };
}
