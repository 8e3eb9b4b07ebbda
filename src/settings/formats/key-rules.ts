/** Rules for keys of entries that several programs have in common. */

import { memberOf, membersOf, scalar, type TreeNode, writtenText } from '../settings-tree.ts';
import { type KeyRule, type KeyRules, unknownKey } from './entry-draft.ts';

/** Builds the rules of a program. A text is the name of ours that the key gets. */
export function keyRules(rules: Readonly<Record<string, string | KeyRule>>): KeyRules {
  return new Map(
    Object.entries(rules).map(([key, rule]) => [key, typeof rule === 'string' ? keep(rule) : rule]),
  );
}

function keep(key: string): KeyRule {
  if (key === 'env' || key === 'headers') return textsByName(key);
  return (member, draft) => draft.put(key, member.node, member);
}

/** Variables of the environment. */
export const variables: KeyRule = textsByName('env');

/** Keys with the same name and meaning in both programs. */
export function kept(...keys: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(keys.map((key) => [key, key]));
}

/** Does not convert the key, for a reason that ends with the next step. */
export const leave =
  (message: string): KeyRule =>
  (member, draft) =>
    draft.leave(member, message);

/** Does not convert the key either, but only warns, because nothing is lost without it. */
export const remark =
  (message: string): KeyRule =>
  (member, draft) =>
    draft.leave(member, message, 'warning');

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
  draft.put('enabled', isTruth ? scalar(node.line, !node.value) : node, member);
};

/** Converts seconds to milliseconds. Anything but a number is unchanged, and the entry's schema refuses it. */
export const seconds =
  (key: string): KeyRule =>
  (member, draft) => {
    const { node } = member;
    const isNumber = node.kind === 'scalar' && typeof node.value === 'number';
    const value = isNumber ? scalar(node.line, Math.round(node.value * 1_000)) : node;
    draft.put(key, value, member);
  };

/** One of the two lists of tool names. */
export const toolList =
  (list: 'include' | 'exclude'): KeyRule =>
  (member, draft) =>
    draft.putInto('tools', list, member.node, member);

const approvalMessage =
  'per-call approval settings are not imported; set "mcp": { "permissions": { "ask": [...] } }';
export const callApproval = leave(approvalMessage);
/** Tools that need no approval: nothing here asks about them, unless the user has it so. */
export const callAllowance: KeyRule = (member, draft) => {
  const isEmpty = member.node.kind === 'array' && member.node.items.length === 0;
  if (!isEmpty) draft.leave(member, approvalMessage, 'warning');
};
export const remoteLaunch = leave(
  'remote launch is not supported; start the server on its own host and set "url"',
);
export const alwaysLoaded = remark('tool lists are never deferred; no action needed');
export const ofTheEditor = remark('this concerns only the other program; no action needed');

export const instructions = remark(
  'instructions for the model are not imported; give them to the agent itself',
);

/** Texts by name; a number or a boolean is passed on as the text that is written. */
function textsByName(key: 'env' | 'headers'): KeyRule {
  return (member, draft) => {
    const parts = membersOf(member.node);
    const { node: whole } = member;
    draft.put(key, whole.kind === 'object' ? { ...whole, members: [] } : whole, member);
    for (const part of parts) {
      const { name, node } = part;
      const text = writtenText(node);
      const from = draft.placed(member, part);
      if (node.kind === 'scalar' && node.value === null)
        draft.leave(
          from,
          'a server gets only the variables it is given, so none can be unset; remove it',
        );
      else draft.putInto(key, name, text === undefined ? node : scalar(node.line, text), from);
    }
  };
}

/** Converts a list or object of texts in which null is a mistake. */
export const writtenTexts: KeyRule = (member, draft) => {
  const { name, node } = member;
  const members = membersOf(node).map((part) => {
    const text = writtenText(part.node);
    return text === undefined ? part : { ...part, node: scalar(part.node.line, text) };
  });
  draft.put(name, node.kind === 'object' ? { ...node, members } : node, member);
};

/** The program, or a list of the program and its arguments. */
export const commandLine: KeyRule = (member, draft) => {
  const { node } = member;
  if (node.kind !== 'array') {
    draft.put('command', node, member);
    return;
  }
  const [program, ...rest] = node.items;
  if (program === undefined) return;
  draft.put('command', program, draft.placed(member, { ...member, line: program.line }, 0));
  if (rest.length > 0)
    draft.put('args', { kind: 'array', line: rest[0]?.line ?? node.line, items: rest }, member);
};

/** Names of variables to pass on. */
export const passedOn: KeyRule = (member, draft) => {
  if (member.node.kind !== 'array') {
    draft.leave(member, `"${member.name}" must be a list of names; write ["TOKEN"]`);
    return;
  }
  for (const [index, item] of member.node.items.entries()) {
    const name = textOf(item) ?? textAt(item, 'name');
    const from = draft.placed(member, { ...member, line: item.line }, index);
    if (name === undefined || textAt(item, 'source') === 'remote')
      draft.leave(from, 'this variable is not set on this machine; set it in "env"');
    else draft.putReference('env', name, `\${${name}}`, from);
  }
};

/** Applies a rule to any other value: a feature that is off need not be reported. */
export const unless =
  (value: boolean | null, rule: KeyRule): KeyRule =>
  (member, draft) => {
    if (member.node.kind !== 'scalar' || member.node.value !== value) rule(member, draft);
  };

/** Disables a server that would run less protected here, until the user enables it. */
export const protection: KeyRule = unless(false, (member, draft) => {
  draft.leave(
    member,
    'there is no sandbox here, so the server is disabled; to run it without one, import it with troupe import and set "enabled": true there',
  );
  draft.switchOff(member);
});

/** Certificates are always checked; a key that only says so is dropped. */
export const verified: KeyRule = unless(
  true,
  leave(
    'certificates are always checked; write "tls": { "ca": "FILE" } with the authority of the server',
  ),
);

/** Maps values of another program to ours. A map, because a user's text may be any key. */
export function valueMap(values: Readonly<Record<string, string>>): ReadonlyMap<string, string> {
  return new Map(Object.entries(values));
}

export function textOf(node: TreeNode | undefined): string | undefined {
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined;
}

/** The text of an object's key. */
export function textAt(node: TreeNode, key: string): string | undefined {
  return textOf(memberOf(node, key)?.node);
}
