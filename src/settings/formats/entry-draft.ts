/**
 * Converts one entry of another program's settings to an entry of ours. Every key keeps its
 * line and path in the text, and keys without a counterpart are reported.
 */

import { referencesIn } from '../../policies/expand-variables.ts';
import {
  type Fault,
  findFault,
  memberOf,
  type TreeMember,
  type TreeNode,
  type TreePath,
} from '../settings-tree.ts';
import { convertText, type ReferenceStyle } from './references.ts';

/** Converts one key of an entry. */
export type KeyRule = (member: TreeMember, draft: EntryDraft) => void;
export type KeyRules = ReadonlyMap<string, KeyRule>;

/** An entry in another program's form, with its path in the text. */
export interface ForeignEntry extends TreeMember {
  readonly written: TreePath;
  /** A part of our `tools`, from rules beside the servers. */
  readonly ruledTools?: TreeMember;
}

/** Keys whose values are merged when several foreign keys set them. */
const mergedKeys = ['env', 'headers', 'tls', 'oauth', 'tools', 'policy'];

/** Keys of remote servers whose values may hold references. */
const remoteKeys = ['url', 'headers', 'proxy', 'tls', 'oauth'];
const referenceKeys = ['command', 'args', 'env', 'envFile', 'cwd', ...remoteKeys];

// The protocol sets them, so most programs ignore them in settings.
const protocolHeaders: ReadonlySet<string> = new Set(['accept', 'content-type']);

export function isProtocolHeader(name: string): boolean {
  return protocolHeaders.has(name.toLowerCase());
}

const protocolMessage = 'this header is set by the protocol and was left out; remove it';

// A whole value, or a token behind its scheme. In capitals, so that no password looks like it.
const bareVariable = /^(?:\w+ )?\$([A-Z_][A-Z0-9_]*)$/u;

const bareMessage = 'this is passed on as it is written; write ${NAME} for the value of a variable';
/** Keys whose values are objects of strings. */
const namedKeys = ['env', 'headers'];

/** Returns whether a value looks like a variable, but is passed on as text. */
export function isBareVariable(text: string): boolean {
  return bareVariable.test(text);
}

/** An entry of ours under construction. The rules for the foreign keys set its keys. */
export class EntryDraft {
  readonly isKept: (key: string) => boolean;
  readonly #entry: ForeignEntry;
  readonly #style: ReferenceStyle;
  readonly #faults: Fault[] = [];
  readonly #members = new Map<string, TreeMember>();
  /** The first text that is literal in the other program and would be a reference here. */
  #misread: Pick<Fault, 'line' | 'path'> | undefined;
  #hasReferences = false;
  #isSwitchedOff = false;

  /** @param isKept - whether the entry's parser judges a key that has no rule */
  constructor(entry: ForeignEntry, style: ReferenceStyle, isKept: (key: string) => boolean) {
    this.isKept = isKept;
    this.#entry = entry;
    this.#style = style;
  }

  /** Returns a key of the foreign entry; undefined when it is absent. */
  given(key: string): TreeMember | undefined {
    return memberOf(this.#entry.node, key);
  }

  /** Returns the path of a member in the text; a definition may be elsewhere. */
  pathOf({ name, written }: TreeMember): TreePath {
    return written ?? [...this.#entry.written, name];
  }

  /** Gives a part of a member its path in the text. */
  placed(member: TreeMember, part: TreeMember, key: string | number = part.name): TreeMember {
    return { ...part, written: [...this.pathOf(member), key] };
  }

  /** Sets a key of ours. The first value wins; objects of names are merged. */
  put(key: string, node: TreeNode, from: TreeMember): void {
    this.#set(key, this.#converted(node, key, from), from, this.pathOf(from));
  }

  /** Sets one key within `env`, `headers`, `tls`, `oauth`, `tools` or `policy`. */
  putInto(key: string, name: string, node: TreeNode, from: TreeMember): void {
    this.#setWithin(key, this.#converted(this.#within(name, node, from), key, from), name, from);
  }

  /** Sets one key of `env`, `headers` or `oauth` to a string with a reference in our syntax. */
  putReference(
    key: 'env' | 'headers' | 'oauth',
    name: string,
    value: string,
    from: TreeMember,
  ): void {
    this.#hasReferences = true;
    const node: TreeNode = { kind: 'scalar', line: from.line, value };
    this.#setWithin(key, this.#within(name, node, from), name, from);
  }

  /** Disables the server, whatever `enabled` is set to. */
  switchOff(from: TreeMember): void {
    this.#isSwitchedOff = true;
    const node: TreeNode = { kind: 'scalar', line: from.line, value: false };
    const written = this.pathOf(from);
    this.#members.set('enabled', { name: 'enabled', line: from.line, node, written });
  }

  /** Reports that a key is not converted, and what to do. A warning costs nothing that the user asked for. */
  leave(member: TreeMember, message: string, severity?: 'warning'): void {
    const place = { line: member.line, path: this.pathOf(member) };
    this.#faults.push({ ...place, message, ...(severity && { severity }) });
  }

  /** Returns whether the entry needs references, and also has strings that only look like some. */
  get mixesReferences(): boolean {
    return this.#hasReferences && this.#misread !== undefined;
  }

  finish(faults: Fault[]): TreeMember {
    const first = this.#misread;
    if (first !== undefined && !this.#members.has('values') && this.#style === 'literal') {
      const node: TreeNode = { kind: 'scalar', line: first.line, value: 'literal' };
      this.#members.set('values', { name: 'values', line: first.line, node, written: first.path });
    }
    faults.push(...this.#faults);
    const { line } = this.#entry;
    return { ...this.#entry, node: { kind: 'object', line, members: [...this.#members.values()] } };
  }

  #within(name: string, node: TreeNode, from: TreeMember): TreeNode {
    const { line } = from;
    return { kind: 'object', line, members: [{ name, line, node, written: this.pathOf(from) }] };
  }

  /** Sets a part of an object, which is one level up in the text if the part kept its name. */
  #setWithin(key: string, value: TreeNode, name: string, from: TreeMember): void {
    const written = this.pathOf(from);
    this.#set(key, value, from, written.at(-1) === name ? written.slice(0, -1) : written);
  }

  #set(key: string, given: TreeNode, { line }: TreeMember, written: TreePath): void {
    if (key === 'enabled' && this.#isSwitchedOff) return;
    const value = key === 'headers' ? this.#withoutProtocol(given, written) : given;
    const earlier = this.#members.get(key);
    if (earlier === undefined) this.#members.set(key, { name: key, line, node: value, written });
    else if (mergedKeys.includes(key) && earlier.node.kind === 'object' && value.kind === 'object')
      this.#members.set(key, { ...earlier, node: merged(earlier.node, value) });
    else {
      const message = `line ${earlier.line} sets the same and counts; remove one of the two`;
      this.#faults.push({ line, path: written, message });
    }
  }

  #withoutProtocol(headers: TreeNode, path: TreePath): TreeNode {
    if (headers.kind !== 'object') return headers;
    const members = headers.members.filter((header) => {
      if (!isProtocolHeader(header.name)) return true;
      const written = header.written ?? [...path, header.name];
      this.leave({ ...header, written }, protocolMessage, 'warning');
      return false;
    });
    return { ...headers, members };
  }

  /** Converts a value's references to our syntax; lines and paths stay. */
  #converted(node: TreeNode, key: string, from: TreeMember): TreeNode {
    if (!referenceKeys.includes(key)) return node;
    const isWord = key === 'command' || key === 'args';
    const use = remoteKeys.includes(key) ? 'remote' : isWord ? 'word' : 'local';
    const takesCommands = ['env', 'headers', 'proxy', 'tls', 'oauth'].includes(key);
    return withTexts(node, from.line, this.pathOf(from), (text, line, path) => {
      const isMisread = referencesIn(text).length > 0 || (takesCommands && text.startsWith('!'));
      if (this.#style === 'literal' && isMisread) this.#misread ??= { line, path };
      // Its other strings need no change.
      if (this.#style === 'escaped' && !isMisread) return text;
      if (this.#style === 'editor' && namedKeys.includes(key) && isBareVariable(text))
        this.#faults.push({ line, path, message: bareMessage, severity: 'warning' });
      const converted = convertText(text, this.#style, use);
      this.#faults.push(...converted.remarks.map((message) => ({ line, path, message })));
      return converted.text;
    });
  }
}

/**
 * Converts one entry by its program's rules, and adds to `faults` what was not converted.
 *
 * @param isKept - whether the entry's parser judges a key that has no rule
 */
export function convertEntry(
  entry: ForeignEntry,
  style: ReferenceStyle,
  rules: KeyRules,
  faults: Fault[],
  isKept: (key: string) => boolean = () => false,
): TreeMember {
  const { node, ruledTools } = entry;
  // The entry's parser refuses a value that is not an object, or that holds a fault.
  if (node.kind !== 'object' || findFault(node) !== undefined) return entry;
  const drafted = (as: ReferenceStyle): EntryDraft => {
    const draft = new EntryDraft(entry, as, isKept);
    for (const member of node.members) {
      const orElse = isKept(member.name) ? keptKey : unknownKey;
      (rules.get(member.name) ?? orElse)(member, draft);
    }
    if (ruledTools !== undefined) draft.put('tools', ruledTools.node, ruledTools);
    return draft;
  };
  const draft = drafted(style);
  return (draft.mixesReferences ? drafted('escaped') : draft).finish(faults);
}

// A key with one of these words may forbid something, which must not be lost unnoticed.
const prohibition = /allow|block|den(?:y|ied)|disab|exclu|forbid|restrict/iu;

const keptKey: KeyRule = (member, draft) => draft.put(member.name, member.node, member);

/** A key that its program does not document, or has added since. */
export const unknownKey: KeyRule = (member, draft) =>
  draft.leave(
    member,
    'this key is unknown here and was left out; docs/settings.md lists all keys',
    prohibition.test(member.name) ? undefined : 'warning',
  );

/** Replaces every string in a node. */
function withTexts(
  node: TreeNode,
  line: number,
  path: TreePath,
  replace: (text: string, line: number, path: TreePath) => string,
): TreeNode {
  if (node.kind === 'array')
    return {
      ...node,
      items: node.items.map((item, index) => withTexts(item, item.line, [...path, index], replace)),
    };
  if (node.kind === 'scalar') {
    const { value } = node;
    return typeof value === 'string' ? { ...node, value: replace(value, line, path) } : node;
  }
  const members = node.members.map((member) => {
    const written = member.written ?? [...path, member.name];
    return { ...member, node: withTexts(member.node, member.line, written, replace) };
  });
  return { ...node, members };
}

type ObjectNode = Extract<TreeNode, { kind: 'object' }>;

/** Merges two objects; lists of excluded tools are concatenated. */
function merged(first: ObjectNode, second: ObjectNode): TreeNode {
  const members = new Map(first.members.map((member) => [member.name, member]));
  const added: TreeMember[] = [];
  for (const member of second.members) {
    const { name, node } = member;
    const earlier = members.get(name);
    if (earlier?.node.kind === 'object' && node.kind === 'object')
      members.set(name, { ...earlier, node: merged(earlier.node, node) });
    else if (name === 'exclude' && earlier?.node.kind === 'array' && node.kind === 'array') {
      const items = [...earlier.node.items, ...node.items];
      members.set(name, { ...earlier, node: { ...earlier.node, items } });
    }
    // A duplicate key stays: the entry's parser reports it with both lines.
    else added.push(member);
  }
  return { ...first, members: [...members.values(), ...added] };
}
