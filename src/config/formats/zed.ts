/** Zed: `context_servers` of its settings. */

import {
  type Fault,
  memberOf,
  membersOf,
  type TreeMember,
  type TreeNode,
} from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import type { KeyRule } from './entry-draft.ts';
import {
  convertEntry,
  drop,
  kept,
  leave,
  logIn,
  seconds,
  textOf,
  unknownKeyMessage,
} from './key-rules.ts';

/** Once an object of `path`, `args` and `env`, now the program itself. */
const command: KeyRule = (member, draft) => {
  if (member.node.kind !== 'object') {
    draft.put('command', member.node, member);
    return;
  }
  for (const part of member.node.members) {
    const written = draft.at('command', part.name);
    const key = part.name === 'path' ? 'command' : part.name;
    if (key === 'command' || key === 'args' || key === 'env') {
      // Absent variables are written as null.
      if (part.node.kind !== 'scalar' || part.node.value !== null)
        draft.put(key, part.node, part, written);
    } else draft.leave(part, unknownKeyMessage, written);
  }
};

const rules = new Map<string, KeyRule>([
  ['command', command],
  ...kept('args', 'env', 'url', 'headers', 'enabled'),
  ['timeout', seconds('timeoutMs')],
  ['source', drop],
  ['oauth', logIn],
  [
    'remote',
    leave('remote launch is not supported; start the server on its own host and set "url"'),
  ],
  [
    'settings',
    leave(
      'settings of an extension are not taken over; give the server what it needs in "args" or "env"',
    ),
  ],
]);

export function convertZed(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  const servers = membersOf(memberOf(root, 'context_servers')?.node).flatMap((member) => {
    const path = ['context_servers', member.name];
    if (!isOfExtension(member))
      return [convertEntry({ ...member, path }, 'literal', rules, faults)];
    const message =
      'only an extension of Zed knows the command of this server; write an entry with "command" and "args"';
    faults.push({ line: member.line, path, message });
    return [];
  });
  return { format: 'zed', servers, faults };
}

function isOfExtension({ node }: TreeMember): boolean {
  if (node.kind !== 'object') return false;
  const has = (key: string): boolean => memberOf(node, key) !== undefined;
  if (textOf(memberOf(node, 'source')?.node) === 'extension') return true;
  return !has('command') && !has('url') && (has('settings') || has('enabled'));
}
