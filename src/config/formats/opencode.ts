/** opencode: a map `mcp` of servers, or `mcp.servers` in its second version. */

import {
  type Fault,
  memberOf,
  membersOf,
  type TreeMember,
  type TreeNode,
  type TreePath,
} from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import { EntryDraft, type KeyRule } from './entry-draft.ts';
import {
  drop,
  keep,
  kept,
  logIn,
  negated,
  scalar,
  textOf,
  unknownKey,
  unknownKeyMessage,
  unlessFalse,
} from './key-rules.ts';

/** The program and its arguments in one list. */
const command: KeyRule = (member, draft) => {
  const { node } = member;
  if (node.kind !== 'array') {
    draft.put('command', node, member);
    return;
  }
  const [program, ...rest] = node.items;
  if (program === undefined) return;
  draft.put('command', program, { ...member, line: program.line }, draft.at('command', 0));
  if (rest.length > 0)
    draft.put('args', { kind: 'array', line: rest[0]?.line ?? node.line, items: rest }, member);
};

/** A single number is the deadline of the tool list; the second version has one per phase. */
const timeout: KeyRule = (member, draft) => {
  if (member.node.kind !== 'object') {
    const limit = {
      name: 'listTimeoutMs',
      line: member.line,
      node: member.node,
      written: draft.at('timeout'),
    };
    draft.putInto(
      'policy',
      'connect',
      { kind: 'object', line: member.line, members: [limit] },
      member,
    );
    return;
  }
  for (const part of member.node.members) {
    const written = draft.at('timeout', part.name);
    if (part.name === 'startup') draft.put('connectTimeoutMs', part.node, part, written);
    else if (part.name === 'request') draft.put('timeoutMs', part.node, part, written);
    else draft.leave(part, unknownKeyMessage, written);
  }
};

const rules = new Map<string, KeyRule>([
  ['type', drop],
  ['command', command],
  ['environment', keep('env')],
  ...kept('cwd', 'url', 'headers', 'enabled'),
  ['disabled', negated],
  ['timeout', timeout],
  ['oauth', unlessFalse(logIn)],
]);

export function convertOpencode(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  const mcp = memberOf(root, 'mcp')?.node;
  const second = memberOf(mcp ?? root, 'servers');
  const isSecond =
    second !== undefined && textOf(memberOf(second.node, 'type')?.node) === undefined;
  const path: TreePath = isSecond ? ['mcp', 'servers'] : ['mcp'];
  const drafts = membersOf(isSecond ? second.node : mcp).flatMap((member) => {
    const draft = new EntryDraft(member.name, member.line, [...path, member.name], 'opencode');
    if (isSwitch(member)) {
      draft.remark(
        member.line,
        draft.at(),
        'this only enables or disables a server your organization provides; add "command" or "url" to define it here',
      );
      faults.push(...draft.faults);
      return [];
    }
    draft.take(member.node, rules, unknownKey);
    return { draft };
  });
  hideTools(
    memberOf(root, 'tools'),
    drafts.map(({ draft }) => draft),
  );
  const servers = drafts.map(({ draft }) => draft.finish());
  return {
    format: 'opencode',
    servers,
    faults: [...faults, ...drafts.flatMap(({ draft }) => draft.faults)],
  };
}

function isSwitch({ node }: TreeMember): boolean {
  return (
    node.kind === 'object' && node.members.length === 1 && memberOf(node, 'enabled') !== undefined
  );
}

/** `"db_drop*": false` hides tools of the server `db`; names of tools begin with that of their server. */
function hideTools(tools: TreeMember | undefined, drafts: readonly EntryDraft[]): void {
  for (const { name: pattern, line, node } of membersOf(tools?.node)) {
    const owner = drafts
      .filter(({ name }) => pattern.startsWith(`${name}_`) || pattern.replace(/\*+$/u, '') === name)
      .toSorted((one, other) => other.name.length - one.name.length)[0];
    if (owner === undefined || node.kind !== 'scalar' || node.value !== false) continue;
    const rest = pattern.startsWith(`${owner.name}_`) ? pattern.slice(owner.name.length + 1) : '*';
    const list: TreeNode = { kind: 'array', line, items: [scalar(line, rest)] };
    owner.putInto('tools', 'exclude', list, { name: pattern, line, node }, ['tools', pattern]);
  }
}
