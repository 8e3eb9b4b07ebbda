/** Rules for keys of entries that several programs have in common. */

import type { Fault, TreeMember, TreeNode, TreePath } from '../settings-tree.ts';
import { EntryDraft, type KeyRule, type KeyRules } from './entry-draft.ts';
import type { ReferenceStyle } from './references.ts';

/** The same key, or the same thing under our name. */
export const keep =
  (key?: string): KeyRule =>
  (member, draft) =>
    draft.put(key ?? member.name, member.node, member);

/** Keys that mean the same there and here. */
export function kept(...keys: readonly string[]): readonly (readonly [string, KeyRule])[] {
  return keys.map((key) => [key, keep()] as const);
}

/** Not taken over, for a reason that ends with what to do. */
export const leave =
  (message: string): KeyRule =>
  (member, draft) =>
    draft.leave(member, message);

/** Has no meaning here. */
export const drop: KeyRule = () => undefined;

/** `disabled: true` as `enabled: false`. */
export const negated: KeyRule = (member, draft) => {
  const { node } = member;
  const isTruth = node.kind === 'scalar' && typeof node.value === 'boolean';
  draft.put('enabled', isTruth ? { ...node, value: !node.value } : node, member);
};

/** A number of seconds as milliseconds. */
export const seconds =
  (key: string): KeyRule =>
  (member, draft) =>
    draft.put(key, scaled(member.node, 1_000), member);

/** One of the two lists of tool names. */
export const toolList =
  (list: 'include' | 'exclude'): KeyRule =>
  (member, draft) =>
    draft.putInto('tools', list, member.node, member);

export const logInMessage =
  'log-in is not taken over; troupe explain SERVER shows what the server demands when it connects';
export const logIn = leave(logInMessage);
export const callApproval = leave(
  'per-call approval settings are not imported; set "mcp": { "permissions": { "ask": [...] } }',
);
export const ofTheEditor = leave('this concerns only the other program; no action needed');

/** The rule for any value but false: a feature that is switched off need not be reported. */
export const unlessFalse =
  (rule: KeyRule): KeyRule =>
  (member, draft) => {
    if (member.node.kind !== 'scalar' || member.node.value !== false) rule(member, draft);
  };

/** A key that its program does not document, or has added since. */
export const unknownKeyMessage =
  'this key is unknown here and was left out; docs/settings.md lists all keys';
export const unknownKey: KeyRule = leave(unknownKeyMessage);

/** A server in its program's form, with its place in the text. */
interface ForeignEntry {
  readonly name: string;
  readonly line: number;
  readonly path: TreePath;
  readonly node: TreeNode;
}

/** Converts one entry by the rules of its program, and adds to `faults` what was not taken over. */
export function convertEntry(
  { name, line, path, node }: ForeignEntry,
  style: ReferenceStyle,
  rules: KeyRules,
  faults: Fault[],
): TreeMember {
  const draft = new EntryDraft(name, line, path, style);
  draft.take(node, rules, unknownKey);
  const server = draft.finish();
  faults.push(...draft.faults);
  return server;
}

/** A server that would run less protected here stays switched off until the user enables it. */
export const protection: KeyRule = unlessFalse((member, draft) => {
  draft.leave(
    member,
    'there is no sandbox here, so the server is switched off; write "enabled": true to run it without',
  );
  draft.override('enabled', scalar(member.line, false), member);
});

export function scalar(line: number, value: string | number | boolean | null): TreeNode {
  return { kind: 'scalar', line, value };
}

/** Multiplies a number and rounds it; anything else stays as it is, and the entry's schema refuses it. */
function scaled(node: TreeNode, factor: number): TreeNode {
  return node.kind === 'scalar' && typeof node.value === 'number'
    ? { ...node, value: Math.round(node.value * factor) }
    : node;
}

export function textOf(node: TreeNode | undefined): string | undefined {
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
}
