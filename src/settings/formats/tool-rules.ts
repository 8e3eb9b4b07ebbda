/**
 * Rules about tools that a program keeps beside its servers. They name a tool as the program shows
 * it to a model: `SERVER_TOOL` in opencode and docker-agent, `mcp__SERVER__TOOL` in others.
 */

import { matchesGlob } from '../../policies/text/glob.ts';
import { legibleServerName } from '../../policies/text/name-rule.ts';
import {
  type Fault,
  memberOf,
  membersOf,
  scalar,
  type TreeMember,
  type TreeNode,
  type TreePath,
} from '../settings-tree.ts';
import type { ForeignEntry } from './entry-draft.ts';
import { textOf } from './key-rules.ts';

export interface ToolRule {
  /** A tool's name; `*` stands for any characters. */
  readonly pattern: string;
  readonly verdict: 'allow' | 'ask' | 'deny';
  /** The rule, with its path in the text. */
  readonly from: TreeMember;
}

/** Programs spell a server this way in the names of its tools. */
export function spelledServer(name: string): string {
  return name.replaceAll(/[^\w-]/gu, '_');
}

/**
 * Returns what a pattern leaves for the tools of a server, whose names have this prefix: `my*` leaves
 * `*` for the prefix `mydb_`, and `*_drop` leaves both `*_drop` and `drop`.
 */
export function restsOf(pattern: string, prefix: string): readonly string[] {
  const plain = pattern.replaceAll(/\*+/gu, '*');
  const [head = '', ...others] = plain.split('*');
  // Most patterns are about other tools.
  if (!prefix.startsWith(head) && !head.startsWith(prefix)) return [];
  if (others.length === 0) return plain.length > prefix.length ? [plain.slice(prefix.length)] : [];
  // Each place is one that a part of the prefix may have led to; a star may also stand for nothing.
  const reached = (place: number): readonly number[] =>
    plain[place] === '*' ? [place, place + 1] : [place];
  let places = new Set(reached(0));
  for (const char of prefix) {
    const next = [...places].flatMap((place) => {
      if (plain[place] === '*') return reached(place);
      return plain[place] === char ? reached(place + 1) : [];
    });
    places = new Set(next);
  }
  // What follows a star is matched by the star, too.
  return [...places]
    .filter((place) => place < plain.length && plain[place - 1] !== '*')
    .map((place) => plain.slice(place));
}

/** Rules with one verdict: the patterns in a list, with its path in the text. */
export function rulesOfList(
  list: TreeMember | undefined,
  path: TreePath,
  verdict: ToolRule['verdict'],
): readonly ToolRule[] {
  if (list?.node.kind !== 'array') return [];
  return list.node.items.flatMap((node, index): readonly ToolRule[] => {
    const pattern = textOf(node);
    const from = { name: list.name, line: node.line, node, written: [...path, index] };
    return pattern === undefined ? [] : [{ pattern, verdict, from }];
  });
}

/**
 * Adds to an entry which of its tools the rules hide and which they ask about. A later rule that
 * allows all tools of the server ends the earlier ones.
 *
 * @param prefixes - how the names of the server's tools may begin
 */
export function withToolRules(
  entry: ForeignEntry,
  rules: readonly ToolRule[],
  prefixes: readonly string[],
  faults: Fault[],
): ForeignEntry {
  let applied: (ToolRule & { readonly rest: string })[] = [];
  for (const rule of rules) {
    const { pattern, verdict, from } = rule;
    // A server alone stands for all of its tools.
    const rests = prefixes.flatMap((prefix) =>
      prefix === `${pattern}_` ? ['*'] : restsOf(pattern, prefix),
    );
    if (verdict !== 'allow') applied.push(...rests.map((rest) => ({ ...rule, rest })));
    else if (rests.includes('*')) applied = [];
    else if (rests.some((rest) => applied.some((it) => matchesGlob(it.rest, rest))))
      faults.push({ line: from.line, path: from.written ?? [], message: exceptionMessage });
  }
  const [first] = applied;
  if (first === undefined) return entry;
  const listOf = (name: string, verdict: ToolRule['verdict']): readonly TreeMember[] => {
    const lines = new Map(
      applied.flatMap((it) => (it.verdict === verdict ? [[it.rest, it.from.line] as const] : [])),
    );
    const items = [...lines].map(([rest, at]) => scalar(at, rest));
    const [{ line } = first.from] = items;
    return items.length === 0 ? [] : [{ name, line, node: { kind: 'array', line, items } }];
  };
  const { line } = first.from;
  const asked = listOf('ask', 'ask');
  const permissions: TreeNode = { kind: 'object', line, members: asked };
  const members = [
    ...listOf('exclude', 'deny'),
    ...(asked.length === 0 ? [] : [{ name: 'permissions', line, node: permissions }]),
  ];
  const ruledTools: TreeMember = { ...first.from, node: { ...permissions, members } };
  return { ...entry, ruledTools };
}

const exceptionMessage =
  'exceptions from the rules above are not imported; list the allowed tools of the server in "tools": { "include": [...] }';

/**
 * The `ask` and `deny` rules for MCP tools in `permissions` of Claude Code, Qwen Code and CodeBuddy.
 * `allow` is not imported.
 */
export function permissionsIn(root: TreeNode, servers: readonly string[]): TreeMember | undefined {
  const permissions = memberOf(root, 'permissions');
  const members = membersOf(permissions?.node).flatMap((list): readonly TreeMember[] => {
    if (!['ask', 'deny'].includes(list.name) || list.node.kind !== 'array') return [];
    const items = list.node.items.flatMap((item) => {
      const rule = textOf(item);
      if (rule?.startsWith('mcp__') !== true) return [];
      // A server alone stands for all of its tools.
      const pattern = /^mcp__.+__/u.test(rule) ? rule : `${rule}__*`;
      return [scalar(item.line, pattern), ...objectRules(pattern, item.line, servers)];
    });
    const written = ['permissions', list.name];
    return items.length === 0 ? [] : [{ ...list, node: { ...list.node, items }, written }];
  });
  if (permissions === undefined || members.length === 0) return undefined;
  const { line } = permissions.node;
  return { ...permissions, node: { kind: 'object', line, members }, written: ['permissions'] };
}

/** Returns the rules for servers whose names are spelled differently in names of tools. */
function objectRules(pattern: string, line: number, servers: readonly string[]): TreeNode[] {
  return servers.flatMap((name) => {
    const spelled = spelledServer(name);
    if (spelled === name) return [];
    const rests = [name, spelled].flatMap((it) => restsOf(pattern, `mcp__${it}__`));
    return rests.map((tool): TreeNode => {
      const fields = { server: legibleServerName(name), tool };
      const members = Object.entries(fields).map(([key, text]) => ({
        name: key,
        line,
        node: scalar(line, text),
      }));
      return { kind: 'object', line, members };
    });
  });
}
