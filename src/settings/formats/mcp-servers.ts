/**
 * `mcpServers`: our own form, and that of Claude Desktop and Claude Code, Cursor,
 * Windsurf, Gemini CLI, Qwen Code, oh-my-pi and many others. An entry of ours is
 * unchanged; an entry with a foreign key or value is converted.
 */

import { closestName } from '../../policies/text/closest-name.ts';
import { serverEntryKeys } from '../entry/schema.ts';
import type { McpSection } from '../mcp-section.ts';
import {
  type EntryText,
  entryOf,
  type Fault,
  memberOf,
  membersOf,
  type TreeMember,
  type TreeNode,
  type TreePath,
  writtenText,
} from '../settings-tree.ts';
import type { Conversion, ConversionContext } from './conversion.ts';
import { namedEntries } from './editors.ts';
import {
  convertEntry,
  type ForeignEntry,
  isBareVariable,
  isProtocolHeader,
} from './entry-draft.ts';
import { textAt, textOf } from './key-rules.ts';
import { foreignOAuthKeys } from './log-in-rules.ts';
import { foreignEntryKeys, foreignTypes, plainToolName, rulesFor } from './mcp-servers-rules.ts';
import { isOfSomeProgram, type Program, programOf } from './programs.ts';
import type { ReferenceStyle } from './references.ts';
import {
  permissionsIn,
  rulesOfList,
  spelledServer,
  type ToolRule,
  withToolRules,
} from './tool-rules.ts';

const foreignWord =
  /\$(?:env:|\{(?:\{|env:|userHome\}|workspace\w*\}|cwd\}|\/\}|pathSeparator\}|file:|command:|config:))/u;

export function convertMcpServers(root: TreeNode, context: ConversionContext): Conversion {
  const faults: Fault[] = [];
  const program = programOf(root, context, isOurs);
  const excluded = program?.style === 'gemini' ? toolsOfAllServers(root) : [];
  const convertAll = (holder: TreeNode, path: TreePath): readonly TreeMember[] => {
    const member = memberOf(holder, 'mcpServers');
    if (member === undefined) return [];
    const named = namedEntries(member, [...path, 'mcpServers'], faults);
    const entries =
      excluded.length === 0
        ? named
        : named.map((entry) => withToolRules(entry, excluded, prefixesOf(entry), faults));
    const isOwn = context.isOwn === true;
    const isList = member.node.kind === 'array';
    const isTheirs =
      program !== undefined ||
      isList ||
      (!isOwn && entries.some((entry) => !isOurs(entry) && hasForeignKey(entry)));
    return entries.map((entry) => {
      if (program === undefined && isOurs(entry)) return entry;
      isPlain = false;
      const isHostObject = context.isHostObject === true;
      return converted(entry, { program, isTheirs, isOwn, isHostObject }, faults);
    });
  };
  let isPlain = program === undefined;
  const everywhere = convertAll(root, []);
  // Claude Code keeps servers of single projects.
  const projects = memberOf(root, 'projects')?.node;
  const project = projects && memberOf(projects, context.projectRoot);
  const here = project === undefined ? [] : convertAll(project.node, ['projects', project.name]);
  const servers = [
    ...everywhere.filter(({ name }) => !here.some((it) => it.name === name)),
    ...here,
  ];
  const lists = listsOf(
    root,
    project?.node,
    context.isOwn === true
      ? undefined
      : permissionsIn(
          root,
          servers.map(({ name }) => name),
        ),
  );
  const mcp = withoutNameless(lists, faults);
  const inputs = memberOf(root, 'inputs');
  const given = { ...(mcp && { mcp }), ...(inputs && { inputs }) };
  return { format: 'mcpServers', servers, isPlain: isPlain && here.length === 0, ...given, faults };
}

// Of ten thousand entries one was edited.
const oursByText = new WeakMap<EntryText, boolean>();

/** Whether nothing in an entry hints at another program. Checked for known documents without a tree. */
export function isOurs(entry: TreeMember): boolean {
  const text = entryOf(entry);
  if (text === undefined) return false;
  const known = oursByText.get(text);
  if (known !== undefined) return known;
  const members = membersOf(entry.node);
  const is =
    members.every(({ name }) => serverEntryKeys.includes(name)) &&
    !members.some((member) => hasTheirValue(member) || hasBareText(member)) &&
    !isForeign(entry, isLiteral(entry) ? 'literal' : 'editor') &&
    !isOfSomeProgram(entry);
  oursByText.set(text, is);
  return is;
}

interface Origin {
  readonly program: Program | undefined;
  /** Whether the file is plainly another program's. */
  readonly isTheirs: boolean;
  /** Whether it can only be ours. */
  readonly isOwn: boolean;
  readonly isHostObject: boolean;
}

function converted(
  entry: ForeignEntry,
  { program, isTheirs, isOwn, isHostObject }: Origin,
  faults: Fault[],
): TreeMember {
  const style = isLiteral(entry) ? 'literal' : (program?.style ?? 'editor');
  const isUsual =
    !isForeign(entry, style) &&
    (isOwn || !membersOf(entry.node).some(hasTheirValue)) &&
    (isHostObject || !membersOf(entry.node).some(hasBareText));
  const isKnown = membersOf(entry.node).every(({ name }) => serverEntryKeys.includes(name));
  // An entry of ours is unchanged.
  if (program === undefined && isUsual && (isKnown || !isTheirs)) return entry;
  // An unknown key stays in a file that may be ours; the entry's parser refuses it.
  const isKept = (key: string): boolean =>
    !isTheirs ||
    serverEntryKeys.includes(key) ||
    (program === undefined && closestName(key, serverEntryKeys) !== undefined);
  return convertEntry(entry, style, rulesFor(program, isOwn, isHostObject), faults, isKept);
}

/** Whether its strings are literal, in our syntax or in oh-my-pi's. */
function isLiteral({ node }: TreeMember): boolean {
  return ['values', 'envPolicy'].some((key) => textAt(node, key) === 'literal');
}

function hasForeignKey({ node }: TreeMember): boolean {
  return membersOf(node).some(({ name }) => foreignEntryKeys.includes(name));
}

/** Returns whether a key of ours has a value that only other programs take. */
function hasTheirValue({ name, node }: TreeMember): boolean {
  if (name === 'command') return node.kind === 'array';
  return name === 'startup' && writtenText(node) !== undefined;
}

/** Returns whether a string in an object is written as a number or a truth value. */
function hasBareText({ name, node }: TreeMember): boolean {
  const isNamed = name === 'env' || name === 'headers';
  return isNamed && membersOf(node).some((part) => writtenText(part.node) !== undefined);
}

/** Returns whether an entry has a foreign key, or a foreign value that ours may have too. */
function isForeign(entry: TreeMember, style: ReferenceStyle): boolean {
  const isForeignText = (text: string): boolean => style !== 'literal' && foreignWord.test(text);
  return (
    hasForeignKey(entry) ||
    membersOf(entry.node).some(({ name, node }) => {
      if (name === 'tools') return node.kind === 'array';
      if (name === 'type') return foreignTypes.includes(textOf(node) ?? '');
      const hasForeignPart = membersOf(node).some((part) => isForeignPart(name, part, style));
      return hasForeignPart || holdsText(node, isForeignText);
    })
  );
}

function isForeignPart(key: string, { name, node }: TreeMember, style: ReferenceStyle): boolean {
  if (key === 'oauth') return foreignOAuthKeys.includes(name);
  if (key === 'headers' && isProtocolHeader(name)) return true;
  const isNamed = key === 'env' || key === 'headers';
  return isNamed && style !== 'literal' && isBareVariable(textOf(node) ?? '');
}

/** Gemini CLI and Qwen Code also exclude tools by name alone, whatever their server. */
function toolsOfAllServers(root: TreeNode): readonly ToolRule[] {
  const tools = memberOf(root, 'tools')?.node;
  return [
    ...rulesOfList(memberOf(root, 'excludeTools'), ['excludeTools'], 'deny'),
    ...rulesOfList(tools && memberOf(tools, 'exclude'), ['tools', 'exclude'], 'deny'),
  ].map((rule) => ({ ...rule, pattern: plainToolName(rule.pattern) }));
}

/** How names of its tools may begin there; none is needed. */
function prefixesOf({ name }: ForeignEntry): readonly string[] {
  const spelled = spelledServer(name);
  return ['', `${spelled}__`, `mcp__${spelled}__`, `mcp_${spelled}_`];
}

/** Lists that some programs keep outside `mcp`. All but the last only narrow; the last is ignored in a folder's files. */
const listWords: readonly (readonly [key: string, list: keyof McpSection])[] = [
  ['allowMCPServers', 'allowed'],
  ['excludeMCPServers', 'excluded'],
  ['disabledServers', 'disabledServers'],
  ['disabledMcpServers', 'disabledServers'],
  ['disabledMcpjsonServers', 'disabledServers'],
  ['enabledServers', 'enabledServers'],
];

/** Their keys. */
export const listKeys: readonly string[] = listWords.map(([key]) => key);

function listsOf(
  root: TreeNode,
  project: TreeNode | undefined,
  rules: TreeMember | undefined,
): TreeMember | undefined {
  const own = memberOf(root, 'mcp');
  const lists = listWords.flatMap(([key, list]) =>
    [memberOf(root, key), project && memberOf(project, key)].flatMap((member) =>
      member === undefined ? [] : [{ ...member, name: list, written: [key] as TreePath }],
    ),
  );
  const added: readonly TreeMember[] = rules === undefined ? lists : [...lists, rules];
  const [first] = added;
  if (first === undefined) return own;
  if (own !== undefined && own.node.kind !== 'object') return own;
  const members = [...membersOf(own?.node)];
  for (const member of added) {
    const index = members.findIndex(({ name }) => name === member.name);
    const earlier = members[index];
    if (earlier === undefined) members.push(member);
    else members[index] = narrower(earlier, member);
  }
  const line = own?.line ?? first.line;
  return { name: 'mcp', line, node: { kind: 'object', line, members } };
}

/** Gemini CLI takes one server without a name, as a command line. */
function withoutNameless(mcp: TreeMember | undefined, faults: Fault[]): TreeMember | undefined {
  const nameless = mcp && memberOf(mcp.node, 'serverCommand');
  if (nameless === undefined || mcp?.node.kind !== 'object') return mcp;
  const message = 'this server has no name; add it to "mcpServers", with "command" and "args"';
  faults.push({ line: nameless.line, path: ['mcp', 'serverCommand'], message });
  return {
    ...mcp,
    node: { ...mcp.node, members: mcp.node.members.filter((it) => it !== nameless) },
  };
}

/** Joins two lists: names add up, but allowed names must be in both. */
function narrower(one: TreeMember, other: TreeMember): TreeMember {
  const [list, more] = [one.node, other.node];
  if (list.kind !== 'array' || more.kind !== 'array') return list.kind === 'array' ? other : one;
  const names = new Set(more.items.map((item) => textOf(item)));
  const items =
    one.name === 'allowed'
      ? list.items.filter((item) => names.has(textOf(item)))
      : [...list.items, ...more.items];
  return { ...one, node: { ...list, items } };
}

function holdsText(node: TreeNode, test: (text: string) => boolean): boolean {
  if (node.kind === 'scalar') return typeof node.value === 'string' && test(node.value);
  if (node.kind === 'array') return node.items.some((item) => holdsText(item, test));
  return node.members.some((member) => holdsText(member.node, test));
}
