/** The keys of entries in `mcpServers` that are not ours, or have other values than ours. */

import { serverEntryKeys } from '../entry/schema.ts';
import { membersOf, scalar, type TreeNode } from '../settings-tree.ts';
import type { EntryDraft, KeyRule, KeyRules } from './entry-draft.ts';
import {
  alwaysLoaded,
  callAllowance,
  commandLine,
  drop,
  instructions,
  kept,
  keyRules,
  leave,
  negated,
  nested,
  ofTheEditor,
  protection,
  remark,
  seconds,
  textOf,
  toolList,
  valueMap,
  verified,
  writtenTexts,
} from './key-rules.ts';
import { logInRules } from './log-in-rules.ts';
import type { Program } from './programs.ts';

// Below this, some programs mean seconds and others milliseconds.
const leastTimeoutMs = 1_000;

// The longest that Cline and its descendants take, one hour.
const mostSeconds = 3_600;

const keysOfCline = ['alwaysAllow', 'watchPaths', 'transportType'];

/** Whether a number is in seconds, as in Cline; undefined = the entry does not tell. */
function isInSeconds(
  value: number,
  draft: EntryDraft,
  program: Program | undefined,
): boolean | undefined {
  if (value > mostSeconds) return false;
  if (program !== undefined) return program.timeout === 'seconds';
  const isOfCline =
    keysOfCline.some((key) => draft.given(key) !== undefined) ||
    textOf(draft.given('type')?.node) === 'streamableHttp';
  if (isOfCline) return true;
  // Cline has this key, and others that count milliseconds have it too.
  const isOpen = value < leastTimeoutMs || draft.given('autoApprove') !== undefined;
  return isOpen ? undefined : false;
}

const timeoutOf =
  (program: Program | undefined): KeyRule =>
  (member, draft) => {
    const value = member.node.kind === 'scalar' ? member.node.value : undefined;
    const inSeconds = typeof value === 'number' && isInSeconds(value, draft, program);
    if (inSeconds === undefined)
      draft.leave(
        member,
        'a small number means seconds in some programs and milliseconds in others; write "timeoutMs" in milliseconds',
      );
    else if (inSeconds) seconds('timeoutMs')(member, draft);
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

/** Parameters in parentheses may follow a tool's name; only the name counts. */
export function plainToolName(name: string): string {
  return name.replace(/\(.*\)$/su, '');
}

const toolNames =
  (list: 'include' | 'exclude'): KeyRule =>
  (member, draft) => {
    const { node } = member;
    if (node.kind !== 'array') return toolList(list)(member, draft);
    const items = node.items.map((item) => {
      const name = textOf(item);
      return name === undefined ? item : scalar(item.line, plainToolName(name));
    });
    return toolList(list)({ ...member, node: { ...node, items } }, draft);
  };

/** Qwen Code's limit for a connection and its lists, within its bounds. */
const discoveryTimeout: KeyRule = (member, draft) => {
  const { line, node } = member;
  const value = node.kind === 'scalar' ? node.value : undefined;
  const clamped =
    typeof value === 'number' ? scalar(line, Math.min(Math.max(value, 100), 300_000)) : node;
  draft.put('connectTimeoutMs', clamped, member);
  const limit = { name: 'listTimeoutMs', line, node: clamped, written: draft.pathOf(member) };
  draft.putInto('policy', 'connect', { kind: 'object', line, members: [limit] }, member);
};

/** Starts a server with its first call. */
const lazyIf =
  (wanted: boolean): KeyRule =>
  (member, draft) => {
    const { line, node } = member;
    if (node.kind !== 'scalar' || typeof node.value !== 'boolean')
      draft.put('startup', node, member);
    else if (node.value === wanted) draft.put('startup', scalar(line, 'lazy'), member);
  };

/** A whole command line may be one string; one with quotes is refused by the entry's parser. */
const splitCommand: KeyRule = (member, draft) => {
  const text = textOf(member.node)?.trim() ?? '';
  const isLine = draft.given('args') === undefined && /\s/u.test(text) && !/["'\\]/u.test(text);
  const items = text.split(/\s+/u).map((word) => scalar(member.line, word));
  const node: TreeNode = isLine ? { kind: 'array', line: member.line, items } : member.node;
  commandLine({ ...member, node }, draft);
};

/** A list of names where ours is an object. */
const tools: KeyRule = (member, draft) => {
  if (member.node.kind === 'array') toolList('include')(member, draft);
  else draft.put('tools', member.node, member);
};

const envPolicy: KeyRule = (member, draft) => {
  if (textOf(member.node) === 'literal')
    draft.put('values', scalar(member.line, 'literal'), member);
};

/** Keys of other programs. Some are also ours, with other values. */
const rules = keyRules({
  type: transport,
  tools,
  url,
  command: commandLine,
  ...kept('env', 'headers'),
  startup: lazyIf(false),
  transport,
  transportType: transport,
  disabled: negated,
  timeout: timeoutOf(undefined),
  request_timeout_ms: 'timeoutMs',
  httpUrl,
  serverUrl: 'url',
  server_url: 'url',
  baseUrl: 'url',
  base_url: 'url',
  environment: 'env',
  workingDirectory: 'cwd',
  working_dir: 'cwd',
  includeTools: toolNames('include'),
  excludeTools: toolNames('exclude'),
  discoveryTimeoutMs: discoveryTimeout,
  versionNegotiation: 'era',
  lazy: lazyIf(true),
  initTimeout: 'connectTimeoutMs',
  connectionTimeout: 'connectTimeoutMs',
  allowedTools: toolList('include'),
  blockedTools: toolList('exclude'),
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
  alwaysAllow: callAllowance,
  autoApprove: callAllowance,
  alwaysLoad: alwaysLoaded,
  tcp: leave('this transport is not supported; set "url" to an address of the server'),
  sandboxEnabled: protection,
  sandbox: drop,
  dev: ofTheEditor,
  icon: ofTheEditor,
  iconPath: ofTheEditor,
  faviconUrl: ofTheEditor,
  chatMenu: ofTheEditor,
  stderr: ofTheEditor,
  logging: ofTheEditor,
  lifecycle: ofTheEditor,
  name: drop,
  extensionName: drop,
  // A login needs no key: the server demands it.
  requiresOAuth: drop,
  serverInstructions: instructions,
  customUserVars: leave(
    'each user of LibreChat sets these; put the values into variables and write ${NAME}',
  ),
  watchPaths: remark(
    'a server is not restarted when files change; run troupe restart SERVER after a change',
  ),
});

const withoutRules = (...keys: readonly string[]): KeyRules =>
  new Map([...rules].filter(([key]) => !keys.includes(key)));

// Other values of our own keys. In our files they are mistakes, as the editors' schema says.
const hostRules = withoutRules('command', 'env', 'headers', 'startup');
const ownRules: KeyRules = new Map([
  ...hostRules,
  ['env', writtenTexts],
  ['headers', writtenTexts],
]);

/** The rules for entries of one program; of a file of ours, if it can be no other. */
export function rulesFor(
  program: Program | undefined,
  isOwn: boolean,
  isHostObject: boolean,
): KeyRules {
  if (program === undefined && isHostObject) return hostRules;
  if (program === undefined) return isOwn ? ownRules : rules;
  const command = program.splitsCommand === true ? splitCommand : commandLine;
  return new Map([...rules, ['timeout', timeoutOf(program)], ['command', command]]);
}

/** Supported keys of other programs. */
export const foreignEntryKeys: readonly string[] = [...rules.keys()].filter(
  (key) => !serverEntryKeys.includes(key),
);

/** Supported values of `type` from other programs. */
export const foreignTypes: readonly string[] = [...transportWords.keys(), 'local', 'remote'];
