/**
 * `mcpServers`: our own form, and that of Claude Desktop and Claude Code, Cursor,
 * Windsurf, Gemini CLI, Qwen Code, oh-my-pi and many others. An entry of ours is
 * unchanged; an entry with a foreign key or value is converted.
 */

import { serverEntryKeys } from '../entry/schema.ts';
import type { McpSection } from '../mcp-section.ts';
import {
  type Fault,
  memberOf,
  membersOf,
  type TreeMember,
  type TreeNode,
  type TreePath,
} from '../settings-tree.ts';
import type { Conversion, ConversionContext } from './conversion.ts';
import { convertEntry, type KeyRule } from './entry-draft.ts';
import {
  alwaysLoaded,
  callApproval,
  drop,
  keyRules,
  leave,
  negated,
  nested,
  ofTheEditor,
  protection,
  scalar,
  seconds,
  textAt,
  textOf,
  toolList,
  valueMap,
  verified,
} from './key-rules.ts';
import { foreignOAuthKeys, logInRules } from './log-in-rules.ts';
import type { ReferenceStyle } from './references.ts';

// Below this, some programs mean seconds and others milliseconds.
const leastTimeoutMs = 1_000;

const timeout: KeyRule = (member, draft) => {
  const value = member.node.kind === 'scalar' ? member.node.value : undefined;
  if (typeof value === 'number' && value < leastTimeoutMs)
    draft.leave(
      member,
      'a number below 1000 means seconds in some programs and milliseconds in others; write "timeoutMs" in milliseconds',
    );
  else draft.put('timeoutMs', member.node, member);
};

const httpUrl: KeyRule = (member, draft) => {
  draft.put('url', member.node, member);
  draft.put('type', scalar(member.line, 'http'), member);
};

/** With both keys, Gemini CLI uses `httpUrl` and ignores `url`, its key for SSE. */
const url: KeyRule = (member, draft) => {
  if (draft.given('httpUrl') === undefined) draft.put('url', member.node, member);
  else draft.leave(member, '"httpUrl" counts where both are given; remove "url"');
};

const transportWords = valueMap({
  streamableHttp: 'http',
  streamable_http: 'http',
  streamableHTTP: 'http',
  websocket: 'ws',
});

const transport: KeyRule = (member, draft) => {
  const word = textOf(member.node) ?? '';
  // Both only repeat what "command" and "url" say.
  if (word === 'local' || word === 'remote') return;
  const ours = transportWords.get(word);
  draft.put('type', ours === undefined ? member.node : scalar(member.line, ours), member);
};

/** How Continue writes the way to a server. */
const requestOptions: KeyRule = nested(
  keyRules({
    headers: 'headers',
    proxy: 'proxy',
    caBundlePath: (member, draft) => {
      // A list has no counterpart, because one file may hold several authorities.
      if (textOf(member.node) === undefined)
        draft.leave(member, 'only one file is taken; join the files and write "tls": { "ca": … }');
      else draft.putInto('tls', 'ca', member.node, member);
    },
    clientCertificate: (member, draft) => {
      for (const part of membersOf(member.node))
        draft.putInto('tls', part.name, part.node, draft.placed(member, part));
    },
    noProxy: leave('set the variable NO_PROXY, or "proxy": false for the server'),
    verifySsl: verified,
    timeout: seconds('timeoutMs'),
  }),
);

/** A list of names where ours is an object. */
const tools: KeyRule = (member, draft) => {
  if (member.node.kind === 'array') toolList('include')(member, draft);
  else draft.put('tools', member.node, member);
};

const envPolicy: KeyRule = (member, draft) => {
  if (textOf(member.node) === 'literal')
    draft.put('values', scalar(member.line, 'literal'), member);
};

/** Keys of other programs. `type`, `tools`, `url` and `oauth` are also ours, with other values. */
const rules = keyRules({
  type: transport,
  tools,
  url,
  transport,
  transportType: transport,
  disabled: negated,
  timeout,
  request_timeout_ms: 'timeoutMs',
  httpUrl,
  serverUrl: 'url',
  server_url: 'url',
  baseUrl: 'url',
  base_url: 'url',
  environment: 'env',
  workingDirectory: 'cwd',
  working_dir: 'cwd',
  includeTools: toolList('include'),
  excludeTools: toolList('exclude'),
  enabledTools: toolList('include'),
  disabledTools: toolList('exclude'),
  envPolicy,
  // Redirects to another origin are always refused here.
  headerPolicy: drop,
  requestIdFormat: leave(
    'request ids are always sequential numbers; open an issue if the server rejects them',
  ),
  requestOptions,
  rejectUnauthorized: verified,
  verifySsl: verified,
  sslVerify: verified,
  ...logInRules,
  alwaysAllow: callApproval,
  autoApprove: callApproval,
  alwaysLoad: alwaysLoaded,
  tcp: leave('this transport is not supported; set "url" to an address of the server'),
  sandboxEnabled: protection,
  sandbox: drop,
  dev: ofTheEditor,
  icon: ofTheEditor,
  extensionName: drop,
});

/** Supported keys of other programs. */
export const foreignEntryKeys: readonly string[] = [...rules.keys()].filter(
  (key) => !serverEntryKeys.includes(key),
);

/** Supported values of `type` from other programs. */
export const foreignTypes: readonly string[] = [...transportWords.keys(), 'local', 'remote'];

const foreignWord =
  /\$\{(?:env:|userHome\}|workspace\w*\}|cwd\}|\/\}|pathSeparator\}|file:|command:|config:)/u;

export function convertMcpServers(root: TreeNode, context: ConversionContext): Conversion {
  const style = styleOf(root, context.program);
  const faults: Fault[] = [];
  const convertAll = (holder: TreeNode, path: TreePath): readonly TreeMember[] =>
    membersOf(memberOf(holder, 'mcpServers')?.node).map((member) => {
      const entry = { ...member, written: [...path, 'mcpServers', member.name] };
      const own = isLiteral(member) ? 'literal' : style;
      if (!isForeign(member, own)) return entry;
      // An unknown key stays; the entry parser refuses it.
      return convertEntry(entry, own, rules, faults, (field, draft) =>
        draft.put(field.name, field.node, field),
      );
    });
  const everywhere = convertAll(root, []);
  // Claude Code keeps servers of single projects.
  const projects = memberOf(root, 'projects')?.node;
  const project = projects && memberOf(projects, context.projectRoot);
  const here = project === undefined ? [] : convertAll(project.node, ['projects', project.name]);
  const servers = [
    ...everywhere.filter(({ name }) => !here.some((it) => it.name === name)),
    ...here,
  ];
  const mcp = withoutNameless(listsOf(root, project?.node), faults);
  const inputs = memberOf(root, 'inputs');
  return { format: 'mcpServers', servers, ...(mcp && { mcp }), ...(inputs && { inputs }), faults };
}

/** Whether its texts are literal, in our syntax or in oh-my-pi's. */
function isLiteral({ node }: TreeMember): boolean {
  return ['values', 'envPolicy'].some((key) => textAt(node, key) === 'literal');
}

/** Returns whether an entry has a foreign key or value. */
function isForeign({ node }: TreeMember, style: ReferenceStyle): boolean {
  if (node.kind !== 'object') return false;
  return node.members.some(({ name, node: value }) => {
    if (!serverEntryKeys.includes(name)) return rules.has(name);
    if (name === 'tools') return value.kind === 'array';
    if (name === 'oauth' && foreignOAuthKeys.some((key) => memberOf(value, key) !== undefined))
      return true;
    if (name === 'type') return foreignTypes.includes(textOf(value) ?? '');
    return holdsText(value, (text) => isForeignText(text, style));
  });
}

function isForeignText(text: string, style: ReferenceStyle): boolean {
  if (style === 'gemini' && /\$[A-Za-z_]/u.test(text)) return true;
  return style !== 'literal' && foreignWord.test(text);
}

/** Top-level keys and entry keys that only Gemini CLI and Qwen Code use. */
const geminiWords = [
  'security',
  'general',
  'ui',
  'selectedAuthType',
  'contextFileName',
  'allowMCPServers',
  'excludeMCPServers',
  '$version',
];
const geminiEntryWords = ['httpUrl', 'includeTools', 'excludeTools', 'authProviderType'];

/** The program's reference syntax. */
function styleOf(root: TreeNode, program: string | undefined): ReferenceStyle {
  if (program === 'gemini' || program === 'qwen') return 'gemini';
  if (program !== undefined) return 'editor';
  const entries = membersOf(memberOf(root, 'mcpServers')?.node);
  const holds = (words: readonly string[], ofEntry: readonly string[]): boolean =>
    words.some((word) => memberOf(root, word) !== undefined) ||
    entries.some(({ node }) => ofEntry.some((word) => memberOf(node, word) !== undefined));
  return holds(geminiWords, geminiEntryWords) ? 'gemini' : 'editor';
}

/** Lists that some programs keep outside `mcp`. All but the last only narrow; the last is ignored in a folder's files. */
const listWords: readonly (readonly [key: string, list: keyof McpSection])[] = [
  ['allowMCPServers', 'allowed'],
  ['excludeMCPServers', 'excluded'],
  ['disabledServers', 'disabledServers'],
  ['disabledMcpServers', 'disabledServers'],
  ['enabledServers', 'enabledServers'],
];

/** Their keys. */
export const listKeys: readonly string[] = listWords.map(([key]) => key);

function listsOf(root: TreeNode, project: TreeNode | undefined): TreeMember | undefined {
  const own = memberOf(root, 'mcp');
  const added = listWords.flatMap(([key, list]) =>
    [memberOf(root, key), project && memberOf(project, key)].flatMap((member) =>
      member === undefined ? [] : [{ ...member, name: list, written: [key] as TreePath }],
    ),
  );
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
