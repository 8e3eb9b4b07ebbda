/**
 * docker-agent: the agents' toolsets of type `mcp`, and definitions under `mcps` that
 * they refer to. Its lifecycle profiles are presets of ours.
 */

import {
  type Fault,
  memberOf,
  membersOf,
  scalar,
  type TreeMember,
  type TreeNode,
} from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import { convertEntry, type EntryDraft, type ForeignEntry, type KeyRule } from './entry-draft.ts';
import {
  alwaysLoaded,
  drop,
  instructions,
  kept,
  keyRules,
  leave,
  nested,
  ofTheEditor,
  remark,
  textAt,
  textOf,
  toolList,
  unless,
  valueMap,
} from './key-rules.ts';
import { logInAt } from './log-in-rules.ts';
import { rulesOfList, type ToolRule, withToolRules } from './tool-rules.ts';

/** A complete toolset with its place and a suggested name. */
interface Toolset extends ForeignEntry {
  readonly agent?: string;
  readonly node: Extract<TreeNode, { kind: 'object' }>;
}

const ref: KeyRule = (member, draft) => {
  const name = /^docker:(.+)$/u.exec(textOf(member.node) ?? '')?.[1];
  if (name === undefined) return;
  const { line } = member;
  const args = ['mcp', 'gateway', 'run', `--servers=${name}`].map((word) => scalar(line, word));
  draft.put('command', scalar(line, 'docker'), member);
  draft.put('args', { kind: 'array', line, items: args }, member);
};

// Values of docker-agent, with ours.
const transports = valueMap({ streamable: 'http', 'streamable-http': 'http', sse: 'sse' });
const restarts = valueMap({ never: 'never', on_failure: 'failure', always: 'always' });
const presets = valueMap({
  resilient: 'dockerResilient',
  strict: 'dockerStrict',
  'best-effort': 'dockerBestEffort',
});

const remote = nested(
  keyRules({
    ...kept('url', 'headers'),
    transport_type: (part, draft) => {
      const type = transports.get(textOf(part.node) ?? '');
      draft.put('type', type === undefined ? part.node : scalar(part.line, type), part);
    },
    // Its clients are registered with this address unless the settings name another.
    oauth: logInAt((oauth) => {
      const port = memberOf(oauth, 'callbackPort')?.node;
      if (port?.kind !== 'scalar' || memberOf(oauth, 'callbackRedirectURL') !== undefined)
        return undefined;
      return `http://127.0.0.1:${port.value}/callback`;
    }),
  }),
);

const lifecycle = nested(
  keyRules({
    profile: (part, draft) => {
      const preset = translated(presets, part, draft);
      if (preset !== undefined) draft.putInto('policy', 'preset', preset, part);
    },
    required: 'required',
    // There it is the deadline for connecting, and a required server has no other.
    startup_timeout: duration('connectTimeoutMs', 'startupTimeoutMs'),
    call_timeout: duration('timeoutMs'),
    restart: (part, draft) => {
      const rule = translated(restarts, part, draft);
      if (rule !== undefined) draft.put('restart', rule, part);
    },
    max_restarts: maxRestarts,
    backoff,
  }),
);

/** Finds our value for one of docker-agent; reports a fault when there is none. */
function translated(
  values: ReadonlyMap<string, string>,
  part: TreeMember,
  draft: EntryDraft,
): TreeNode | undefined {
  const ours = values.get(textOf(part.node) ?? '');
  if (ours !== undefined) return scalar(part.line, ours);
  draft.leave(part, `unknown value; write one of ${[...values.keys()].join(', ')}`);
  return undefined;
}

function duration(...keys: readonly string[]): KeyRule {
  return (part, draft) => {
    const ms = milliseconds(part.node);
    if (ms === undefined) draft.leave(part, 'this is not a duration; write 30s or 500ms');
    else for (const key of keys) draft.put(key, scalar(part.line, ms), part);
  };
}

function maxRestarts(part: TreeMember, draft: EntryDraft): void {
  const { line, node } = part;
  const count = node.kind === 'scalar' ? node.value : undefined;
  // Zero is its default; a negative number means no limit.
  if (count === 0) return;
  const limit = typeof count === 'number' && count < 0 ? scalar(line, null) : node;
  putRestart(part, draft, { maxAttempts: limit });
}

/** Three of its four numbers are our `delays`; the fourth is our `jitter`. */
function backoff(part: TreeMember, draft: EntryDraft): void {
  const { line } = part;
  const field = (name: string): TreeNode | undefined => memberOf(part.node, name)?.node;
  const delays = objectOf(part, draft, {
    initialMs: scalar(line, milliseconds(field('initial')) ?? 1_000),
    factor: field('multiplier') ?? scalar(line, 2),
    maxMs: scalar(line, milliseconds(field('max')) ?? 32_000),
  });
  putRestart(part, draft, { delays }, memberOf(part.node, 'jitter'));
}

function putRestart(
  part: TreeMember,
  draft: EntryDraft,
  fields: Readonly<Record<string, TreeNode>>,
  jitter?: TreeMember,
): void {
  const { line, members } = objectOf(part, draft, fields);
  const all = jitter === undefined ? members : [...members, draft.placed(part, jitter)];
  draft.putInto('policy', 'restart', { kind: 'object', line, members: all }, part);
}

/** Builds an object whose keys all come from one part of the text. */
function objectOf(
  part: TreeMember,
  draft: EntryDraft,
  fields: Readonly<Record<string, TreeNode>>,
): Extract<TreeNode, { kind: 'object' }> {
  const { line } = part;
  const written = draft.pathOf(part);
  const members = Object.entries(fields).map(([name, node]) => ({ name, line, node, written }));
  return { kind: 'object', line, members };
}

const rules = keyRules({
  type: drop,
  name: drop,
  ref,
  ...kept('command', 'args', 'env', 'description'),
  working_dir: 'cwd',
  remote,
  tools: toolList('include'),
  lifecycle,
  instruction: instructions,
  defer: alwaysLoaded,
  version: leave(
    'programs are not installed automatically; install it and check that it is on PATH',
  ),
  config: leave(
    'Docker keeps the settings of servers in its catalogue; set them there: docker mcp config write',
  ),
  allow_private_ips: unless(
    false,
    remark('the address of a server in the settings may be private; no action needed'),
  ),
  toon: ofTheEditor,
  model: ofTheEditor,
});

export function convertDockerAgent(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  const definitions = new Map(definitionsOf(root).map((it) => [it.name, it]));
  const used = new Set<string>();
  const toolsets = toolsetsOf(root, faults).flatMap((toolset): readonly Toolset[] => {
    const name = textAt(toolset.node, 'ref');
    if (name === undefined || name.startsWith('docker:')) return [toolset];
    const definition = definitions.get(name);
    if (definition === undefined) {
      const { line } = memberOf(toolset.node, 'ref') ?? toolset;
      const message = '"mcps" has no such name; write one of its names, or docker:NAME';
      faults.push({ line, path: [...toolset.written, 'ref'], message });
      return [];
    }
    used.add(name);
    return [withDefinition(toolset, definition)];
  });
  const unused = [...definitions.values()].filter(({ name }) => !used.has(name));
  const toolRules = rulesIn(root, faults);
  const servers = named([...unused, ...toolsets]).map((toolset) => {
    // Only tools of a toolset with a name of its own begin with it.
    const own = ['name', 'ref'].flatMap((key) => textAt(toolset.node, key) ?? []);
    const prefixes = own.map((name) => `${name}_`);
    const isNamed = textAt(toolset.node, 'name') !== undefined;
    const whole = withToolRules(toolset, toolRules, isNamed ? prefixes : ['', ...prefixes], faults);
    return convertEntry(whole, 'dockerAgent', rules, faults);
  });
  return { format: 'docker-agent', servers, faults };
}

/** What `permissions` deny or ask about. An argument's value may follow a tool's name. */
function rulesIn(root: TreeNode, faults: Fault[]): readonly ToolRule[] {
  const lists = membersOf(memberOf(root, 'permissions')?.node).flatMap((list) => {
    const { name } = list;
    return name === 'ask' || name === 'deny' ? rulesOfList(list, ['permissions', name], name) : [];
  });
  return lists.flatMap((rule): readonly ToolRule[] => {
    const { line, written = [] } = rule.from;
    // Other wildcards become a star, which forbids no less.
    const pattern = rule.pattern.replaceAll(/\[[^\]]*\]|\?/gu, '*');
    if (!pattern.includes(':')) return [{ ...rule, pattern }];
    if (!pattern.startsWith('shell:'))
      faults.push({ line, path: written, message: argumentMessage });
    return [];
  });
}

const argumentMessage =
  'rules for arguments are not imported; if this is a tool of a server, add it to "tools": { "exclude": [...] } of that server';

function definitionsOf(root: TreeNode): readonly Toolset[] {
  return membersOf(memberOf(root, 'mcps')?.node).flatMap(({ name, line, node }) =>
    node.kind === 'object' ? [{ name, line, written: ['mcps', name], node }] : [],
  );
}

function toolsetsOf(root: TreeNode, faults: Fault[]): readonly Toolset[] {
  const ofAgents = membersOf(memberOf(root, 'agents')?.node).flatMap(({ name, node }) =>
    listOf(node, ['agents', name], faults, name),
  );
  return [...ofAgents, ...listOf(root, [], faults)];
}

const languageServerMessage =
  'this is a language server, which speaks LSP, not MCP, and is not run; docker-agent goes on running it, or use an MCP server that wraps it';

function listOf(
  holder: TreeNode,
  path: readonly string[],
  faults: Fault[],
  agent?: string,
): readonly Toolset[] {
  const list = memberOf(holder, 'toolsets')?.node;
  if (list?.kind !== 'array') return [];
  return list.items.flatMap((node, index) => {
    const type = textAt(node, 'type');
    if (type === 'lsp') {
      const { line } = memberOf(node, 'type') ?? node;
      faults.push({
        line,
        path: [...path, 'toolsets', index, 'type'],
        message: languageServerMessage,
      });
    }
    if (node.kind !== 'object' || type !== 'mcp') return [];
    const written = [...path, 'toolsets', index];
    return [{ name: nameFor(node), line: node.line, written, node, ...(agent && { agent }) }];
  });
}

/** Completes a toolset with the definition that it refers to; its own keys win. */
function withDefinition(toolset: Toolset, definition: Toolset): Toolset {
  const own = toolset.node.members.filter(({ name }) => name !== 'ref' && name !== 'type');
  const rest = definition.node.members
    .filter(({ name }) => !own.some((it) => it.name === name))
    .map((member) => ({ ...member, written: [...definition.written, member.name] }));
  // Alone, the reference is the definition itself, and two of them are one server.
  if (own.length === 0) return definition;
  return { ...toolset, node: { ...toolset.node, members: [...rest, ...own] } };
}

/** Suggests a name for a toolset: its own, or one from the catalogue, program or host. */
function nameFor(node: TreeNode): string {
  const text = (key: string): string | undefined => textAt(node, key);
  const url = textOf(memberOf(memberOf(node, 'remote')?.node ?? node, 'url')?.node);
  const given = text('name') ?? text('ref')?.replace(/^docker:/u, '');
  if (given !== undefined) return given;
  if (url !== undefined) return /^[\w+]+:\/\/([\w.-]+)/u.exec(url)?.[1] ?? 'remote';
  const program = text('command')?.split(/[\\/]/u).at(-1);
  return program === undefined || program === '' ? 'server' : program;
}

/** Gives each toolset a unique name; equal toolsets become one server. */
function named(toolsets: readonly Toolset[]): readonly Toolset[] {
  const taken = new Map<string, Toolset>();
  for (const toolset of toolsets) {
    const candidates = [toolset.name, `${toolset.agent ?? 'agent'}-${toolset.name}`];
    for (let number = 2; ; number += 1) {
      const name = candidates.shift() ?? `${toolset.name}-${number}`;
      const earlier = taken.get(name);
      if (earlier !== undefined && isSame(earlier.node, toolset.node)) break;
      if (earlier !== undefined) continue;
      taken.set(name, { ...toolset, name });
      break;
    }
  }
  return [...taken.values()];
}

function isSame(one: TreeNode, other: TreeNode): boolean {
  const plain = (node: TreeNode): string =>
    JSON.stringify(node, (key, value: unknown) => (key === 'line' ? undefined : value));
  return plain(one) === plain(other);
}

/** A duration of Go: `1m30s`, `500ms`. */
function milliseconds(node: TreeNode | undefined): number | undefined {
  const text = textOf(node);
  if (text === undefined || !/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/u.test(text)) return undefined;
  const units = new Map(Object.entries({ ms: 1, s: 1_000, m: 60_000, h: 3_600_000 }));
  let sum = 0;
  for (const [, count = '', unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/gu))
    sum += Number(count) * (units.get(unit) ?? 0);
  return Math.round(sum);
}
