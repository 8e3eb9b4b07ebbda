/** Rules for keys of entries that several programs have in common. */

import { memberOf, membersOf, type TreeNode } from '../settings-tree.ts';
import { type KeyRule, type KeyRules, unknownKey } from './entry-draft.ts';

/** Builds the rules of a program. A text is the name of ours that the key gets. */
export function keyRules(rules: Readonly<Record<string, string | KeyRule>>): KeyRules {
  return new Map(
    Object.entries(rules).map(([key, rule]) => [key, typeof rule === 'string' ? keep(rule) : rule]),
  );
}

const keep =
  (key: string): KeyRule =>
  (member, draft) =>
    draft.put(key, member.node, member);

/** Keys with the same name and meaning in both programs. */
export function kept(...keys: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(keys.map((key) => [key, key]));
}

/** Does not convert the key, for a reason that ends with the next step. */
export const leave =
  (message: string): KeyRule =>
  (member, draft) =>
    draft.leave(member, message);

/** Ignores a key that has no meaning here. */
export const drop: KeyRule = () => undefined;

/** Applies rules to the keys of an object. */
export const nested =
  (rules: KeyRules): KeyRule =>
  (member, draft) => {
    for (const part of membersOf(member.node))
      (rules.get(part.name) ?? unknownKey)(draft.placed(member, part), draft);
  };

/** `disabled: true` as `enabled: false`. */
export const negated: KeyRule = (member, draft) => {
  const { node } = member;
  const isTruth = node.kind === 'scalar' && typeof node.value === 'boolean';
  draft.put('enabled', isTruth ? { ...node, value: !node.value } : node, member);
};

/** Converts seconds to milliseconds. Anything but a number is unchanged, and the entry's schema refuses it. */
export const seconds =
  (key: string): KeyRule =>
  (member, draft) => {
    const { node } = member;
    const isNumber = node.kind === 'scalar' && typeof node.value === 'number';
    const value = isNumber ? { ...node, value: Math.round(node.value * 1_000) } : node;
    draft.put(key, value, member);
  };

/** One of the two lists of tool names. */
export const toolList =
  (list: 'include' | 'exclude'): KeyRule =>
  (member, draft) =>
    draft.putInto('tools', list, member.node, member);

export const callApproval = leave(
  'per-call approval settings are not imported; set "mcp": { "permissions": { "ask": [...] } }',
);
export const remoteLaunch = leave(
  'remote launch is not supported; start the server on its own host and set "url"',
);
export const alwaysLoaded = leave('tool lists are never deferred; no action needed');
export const ofTheEditor = leave('this concerns only the other program; no action needed');

/** Applies a rule to any value but false: a feature that is off need not be reported. */
export const unlessFalse =
  (rule: KeyRule): KeyRule =>
  (member, draft) => {
    if (member.node.kind !== 'scalar' || member.node.value !== false) rule(member, draft);
  };

/** Disables a server that would run less protected here, until the user enables it. */
export const protection: KeyRule = unlessFalse((member, draft) => {
  draft.leave(
    member,
    'there is no sandbox here, so the server is disabled; set "enabled": true to run it without one',
  );
  draft.switchOff(member);
});

/** Certificates are always checked; a key that only says so is dropped. */
export const verified: KeyRule = (member, draft) => {
  if (member.node.kind === 'scalar' && member.node.value === true) return;
  draft.leave(
    member,
    'certificates are always checked; write "tls": { "ca": "FILE" } with the authority of the server',
  );
};

/** Maps values of another program to ours. A map, because a user's text may be any key. */
export function valueMap(values: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(values));
}

export function scalar(line: number, value: string | number | boolean | null): TreeNode {
  return { kind: 'scalar', line, value };
}

export function textOf(node: TreeNode | undefined): string | undefined {
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
}

/** The text of an object's key. */
export function textAt(node: TreeNode, key: string): string | undefined {
  return textOf(memberOf(node, key)?.node);
}
