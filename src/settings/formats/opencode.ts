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
import { convertEntry, type ForeignEntry, type KeyRule } from './entry-draft.ts';
import { commandLine, drop, kept, keyRules, negated, nested, textAt } from './key-rules.ts';
import { logInAt } from './log-in-rules.ts';
import { restsOf, spelledServer, type ToolRule, withToolRules } from './tool-rules.ts';

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
  const toolRules = rulesAt(root, []);
  const prefixOf = ({ name }: ForeignEntry): string => `${spelledServer(name)}_`;
  const servers = entries.map((entry) => {
    const whole = withToolRules(entry, toolRules, [prefixOf(entry)], faults);
    return convertEntry(whole, 'opencode', rules, faults);
  });
  faults.push(...rulesOfAgents(root, entries.map(prefixOf)));
  return { format: 'opencode', servers, faults };
}

function isSwitch({ node }: TreeMember): boolean {
  return (
    node.kind === 'object' && node.members.length === 1 && memberOf(node, 'enabled') !== undefined
  );
}

const verdicts = new Map<unknown, ToolRule['verdict']>([
  [true, 'allow'],
  [false, 'deny'],
  ['allow', 'allow'],
  ['ask', 'ask'],
  ['deny', 'deny'],
]);

/** `"db_drop*": false`, or `"deny"` as a permission; a permission alone is for all tools. */
function rulesAt(holder: TreeNode, path: TreePath): readonly ToolRule[] {
  return ['tools', 'permission'].flatMap((key) => {
    const member = memberOf(holder, key);
    if (member === undefined) return [];
    const { node } = member;
    const whole: TreeMember = { ...member, name: '*', written: [...path, key] };
    const parts = node.kind === 'object' ? node.members : [whole];
    return parts.flatMap((part): readonly ToolRule[] => {
      const from = { ...part, written: part.written ?? [...path, key, part.name] };
      const verdict = part.node.kind === 'scalar' ? verdicts.get(part.node.value) : undefined;
      return verdict === undefined ? [] : [{ pattern: part.name, verdict, from }];
    });
  });
}

/** Reports what a single agent may not do with these servers. */
function rulesOfAgents(root: TreeNode, prefixes: readonly string[]): readonly Fault[] {
  const ofAgents = membersOf(memberOf(root, 'agent')?.node).flatMap(({ name, node }) =>
    rulesAt(node, ['agent', name]),
  );
  return ofAgents.flatMap(
    ({ pattern, verdict, from: { line, written = [] } }): readonly Fault[] => {
      const isMeant = prefixes.some((prefix) => restsOf(pattern, prefix).length > 0);
      return verdict === 'allow' || !isMeant
        ? []
        : [{ line, path: written, message: agentMessage }];
    },
  );
}

const agentMessage =
  'rules of a single agent are not imported; set "tools": { "exclude": [...] } of the server to hide them from all';
