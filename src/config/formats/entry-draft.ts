/**
 * An entry of ours while it is converted from another program's: every key keeps its
 * line and path in the text, and keys without a counterpart are reported.
 */

import { referencesIn } from '../../policies/expand-variables.ts';
import {
  type Fault,
  findFault,
  type TreeMember,
  type TreeNode,
  type TreePath,
} from '../settings-tree.ts';
import { convertText, type FolderMeaning, type ReferenceStyle } from './references.ts';

/** Converts one key of an entry. */
export type KeyRule = (member: TreeMember, draft: EntryDraft) => void;
export type KeyRules = ReadonlyMap<string, KeyRule>;

/** Keys whose values are merged when several foreign keys set them. */
const joined: ReadonlySet<string> = new Set(['env', 'headers', 'tools', 'policy']);

export class EntryDraft {
  readonly name: string;
  readonly line: number;
  readonly faults: Fault[] = [];
  readonly #written: TreePath;
  readonly style: ReferenceStyle;
  readonly #members = new Map<string, TreeMember>();
  readonly #final = new Set<string>();
  /** A value that cannot be an entry is passed on unchanged; the entry parser refuses it. */
  #asIs: TreeNode | undefined;
  #folder: FolderMeaning = 'isProject';
  /** Texts that are literal there and would be references here. */
  readonly #misread: { readonly line: number; readonly path: TreePath }[] = [];
  #refers = false;

  constructor(name: string, line: number, written: TreePath, style: ReferenceStyle) {
    this.name = name;
    this.line = line;
    this.#written = written;
    this.style = style;
  }

  /** Converts the keys of a foreign entry one by one; `orElse` handles keys without a rule. */
  take(node: TreeNode, rules: KeyRules, orElse: KeyRule): void {
    if (node.kind !== 'object' || findFault(node) !== undefined) {
      this.#asIs = node;
      return;
    }
    const cwd = node.members.find(({ name }) => /^(?:cwd|working_?[dD]ir(?:ectory)?)$/u.test(name));
    this.#folder = cwd === undefined || isProjectFolder(cwd.node) ? 'isProject' : 'isOther';
    for (const member of node.members) (rules.get(member.name) ?? orElse)(member, this);
  }

  /** The path of a key of this entry in the text. */
  at(...below: TreePath): TreePath {
    return [...this.#written, ...below];
  }

  /** The path of a member in the text, or of something below it; a definition may be elsewhere. */
  placeOf(member: TreeMember, ...below: TreePath): TreePath {
    return [...(member.written ?? this.at(member.name)), ...below];
  }

  /** Sets a key of ours. The first value wins; lists of names are joined. */
  put(key: string, node: TreeNode, from: TreeMember, written: TreePath = this.placeOf(from)): void {
    this.#set(key, this.#referencesOf(node, key, from.line, written), from, written);
  }

  #set(key: string, value: TreeNode, from: TreeMember, written: TreePath): void {
    if (this.#final.has(key)) return;
    const earlier = this.#members.get(key);
    const member = { name: key, line: from.line, node: value, written };
    if (earlier === undefined) this.#members.set(key, member);
    else if (joined.has(key) && earlier.node.kind === 'object' && value.kind === 'object')
      this.#members.set(key, { ...earlier, node: join(earlier.node, value) });
    else
      this.remark(
        from.line,
        written,
        `line ${earlier.line} sets the same and counts; remove one of the two`,
      );
  }

  /** Sets one key within `env`, `headers`, `tools` or `policy`. */
  putInto(
    key: string,
    name: string,
    node: TreeNode,
    from: TreeMember,
    written: TreePath = this.placeOf(from),
  ): void {
    const value = this.#referencesOf(
      within(name, node, from.line, written),
      key,
      from.line,
      written,
    );
    this.#set(key, value, from, holderOf(name, written));
  }

  /** Sets one key of `env` or `headers` to a text with a reference in our syntax. */
  putReference(
    key: 'env' | 'headers',
    name: string,
    text: string,
    from: TreeMember,
    written: TreePath = this.placeOf(from),
  ): void {
    this.#refers = true;
    const node: TreeNode = { kind: 'scalar', line: from.line, value: text };
    this.#set(key, within(name, node, from.line, written), from, holderOf(name, written));
  }

  /** Sets a key of ours and ignores every earlier or later value. */
  override(key: string, node: TreeNode, from: TreeMember): void {
    this.#final.add(key);
    this.#members.set(key, { name: key, line: from.line, node, written: this.placeOf(from) });
  }

  remark(line: number, path: TreePath, message: string): void {
    this.faults.push({ line, path, message });
  }

  /** Reports that a key is not converted, and what to do. */
  leave(member: TreeMember, message: string, written: TreePath = this.placeOf(member)): void {
    this.remark(member.line, written, message);
  }

  finish(): TreeMember {
    const [first] = this.#misread;
    if (first !== undefined && this.#refers) {
      for (const { line, path } of this.#misread) this.remark(line, path, misreadMessage);
    } else if (first !== undefined && !this.#members.has('values')) {
      const node: TreeNode = { kind: 'scalar', line: first.line, value: 'literal' };
      this.#members.set('values', { name: 'values', line: first.line, node, written: first.path });
    }
    const members = [...this.#members.values()];
    const node = this.#asIs ?? { kind: 'object', line: this.line, members };
    return { name: this.name, line: this.line, node, written: this.#written };
  }

  /** Converts a value's references to our syntax; lines and paths stay. */
  #referencesOf(node: TreeNode, key: string, line: number, written: TreePath): TreeNode {
    if (!referenceKeys.has(key)) return node;
    const folder = key === 'url' || key === 'headers' ? 'isOther' : this.#folder;
    const meaning = key === 'cwd' || key === 'envFile' ? 'isProject' : folder;
    const takesCommands = key === 'env' || key === 'headers';
    return withTexts(node, line, written, (text, at, path) => {
      const isMisread = referencesIn(text).length > 0 || (takesCommands && text.startsWith('!'));
      if (this.style === 'literal' && isMisread) this.#misread.push({ line: at, path });
      const converted = convertText(text, this.style, meaning);
      for (const message of converted.remarks) this.remark(at, path, message);
      return converted.text;
    });
  }
}

const misreadMessage =
  'this is plain text there and would be a reference here; put the text into a variable and write ${NAME}';

const referenceKeys: ReadonlySet<string> = new Set([
  'command',
  'args',
  'env',
  'envFile',
  'cwd',
  'url',
  'headers',
]);

/** Replaces every text in a node. */
function withTexts(
  node: TreeNode,
  line: number,
  path: TreePath,
  replace: (text: string, line: number, path: TreePath) => string,
): TreeNode {
  if (node.kind === 'scalar')
    return typeof node.value === 'string'
      ? { ...node, value: replace(node.value, line, path) }
      : node;
  if (node.kind === 'array')
    return {
      ...node,
      items: node.items.map((item, index) => withTexts(item, item.line, [...path, index], replace)),
    };
  const members = node.members.map((member) => {
    const written = member.written ?? [...path, member.name];
    return { ...member, node: withTexts(member.node, member.line, written, replace) };
  });
  return { ...node, members };
}

function within(name: string, node: TreeNode, line: number, written: TreePath): TreeNode {
  return { kind: 'object', line, members: [{ name, line, node, written }] };
}

/** The path of the object that a part was put into: one level up if the part kept its name. */
function holderOf(name: string, written: TreePath): TreePath {
  return written.at(-1) === name ? written.slice(0, -1) : written;
}

function join(
  first: Extract<TreeNode, { kind: 'object' }>,
  second: Extract<TreeNode, { kind: 'object' }>,
): TreeNode {
  const taken = new Map(first.members.map((member) => [member.name, member]));
  const added: TreeMember[] = [];
  for (const member of second.members) {
    const earlier = taken.get(member.name);
    if (earlier?.node.kind === 'object' && member.node.kind === 'object')
      taken.set(member.name, { ...earlier, node: join(earlier.node, member.node) });
    else if (
      member.name === 'exclude' &&
      earlier?.node.kind === 'array' &&
      member.node.kind === 'array'
    )
      taken.set(member.name, {
        ...earlier,
        node: { ...earlier.node, items: [...earlier.node.items, ...member.node.items] },
      });
    // A duplicate key stays: the entry's parser reports it with both lines.
    else added.push(member);
  }
  return { ...first, members: [...taken.values(), ...added] };
}

function isProjectFolder(node: TreeNode): boolean {
  return (
    node.kind === 'scalar' &&
    ['.', './', '${workspaceFolder}', '${workspaceRoot}'].includes(String(node.value))
  );
}
