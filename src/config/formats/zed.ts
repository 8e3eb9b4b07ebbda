/** Zed: `context_servers` of its settings. */

import { memberOf, type TreeMember, type TreeNode } from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import { EntryDraft, type KeyRule } from './entry-draft.ts';
import {
  drop,
  keep,
  leave,
  logIn,
  membersOf,
  seconds,
  textOf,
  unknownKey,
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
  ['args', keep()],
  ['env', keep()],
  ['url', keep()],
  ['headers', keep()],
  ['enabled', keep()],
  ['timeout', seconds('timeoutMs')],
  ['source', drop],
  ['oauth', logIn],
  [
    'remote',
    leave('servers always start on this machine; start it where it is and give its "url"'),
  ],
  [
    'settings',
    leave(
      'settings of an extension are not taken over; give the server what it needs in "args" or "env"',
    ),
  ],
]);

export function convertZed(root: TreeNode): Conversion {
  const known = membersOf(memberOf(root, 'context_servers')?.node).map((member) => {
    const draft = new EntryDraft(
      member.name,
      member.line,
      ['context_servers', member.name],
      'literal',
    );
    if (isOfExtension(member)) {
      draft.remark(
        member.line,
        draft.at(),
        'the command of this server is known to an extension of Zed alone; write it into an entry of its own, with "command" and "args"',
      );
      return { draft };
    }
    draft.take(member.node, rules, unknownKey);
    return {
      draft,
      server: draft.finish(),
    };
  });
  return {
    format: 'zed',
    servers: known.flatMap(({ server }) => server ?? []),
    faults: known.flatMap(({ draft }) => draft.faults),
  };
}

function isOfExtension({ node }: TreeMember): boolean {
  if (node.kind !== 'object') return false;
  const has = (key: string): boolean => memberOf(node, key) !== undefined;
  if (textOf(memberOf(node, 'source')?.node) === 'extension') return true;
  return !has('command') && !has('url') && (has('settings') || has('enabled'));
}
