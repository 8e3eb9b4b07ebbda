/**
 * docker-agent: the agents' toolsets of type `mcp`, and definitions under `mcps` that
 * they refer to. Its lifecycle profiles are presets of ours.
 */

import {
  type Fault,
  memberOf,
  membersOf,
  type TreeMember,
  type TreeNode,
  type TreePath,
} from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import type { EntryDraft, KeyRule } from './entry-draft.ts';
import {
  convertEntry,
  drop,
  keep,
  kept,
  leave,
  logIn,
  logInMessage,
  ofTheEditor,
  scalar,
  textOf,
  toolList,
  unknownKeyMessage,
  unlessFalse,
} from './key-rules.ts';

/** A complete toolset with its place and a suggested name. */
interface Toolset {
  readonly name: string;
  readonly agent?: string;
  readonly line: number;
  readonly path: TreePath;
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

const transports: ReadonlyMap<string, string> = new Map([
  ['streamable', 'http'],
  ['streamable-http', 'http'],
  ['sse', 'sse'],
]);

const remote: KeyRule = (member, draft) => {
  for (const part of membersOf(member.node)) {
    const written = draft.placeOf(member, part.name);
    if (part.name === 'url' || part.name === 'headers')
      draft.put(part.name, part.node, part, written);
    else if (part.name === 'transport_type') {
      const type = transports.get(textOf(part.node) ?? '');
      draft.put('type', type === undefined ? part.node : scalar(part.line, type), part, written);
    } else if (part.name === 'oauth') draft.leave(part, logInMessage, written);
    else draft.leave(part, unknownKeyMessage, written);
  }
};

const presets: ReadonlyMap<string, string> = new Map([
  ['resilient', 'dockerResilient'],
  ['strict', 'dockerStrict'],
  ['best-effort', 'dockerBestEffort'],
]);
const restarts: ReadonlyMap<string, string> = new Map([
  ['never', 'never'],
  ['on_failure', 'failure'],
  ['always', 'always'],
]);

type LifecycleRule = (part: TreeMember, draft: EntryDraft, written: TreePath) => void;

/** Finds our word for a value; notes a fault when there is none. */
function translated(
  words: ReadonlyMap<string, string>,
  part: TreeMember,
  draft: EntryDraft,
  written: TreePath,
): TreeNode | undefined {
  const ours = words.get(textOf(part.node) ?? '');
  if (ours !== undefined) return scalar(part.line, ours);
  draft.leave(part, `unknown value; write one of ${[...words.keys()].join(', ')}`, written);
  return undefined;
}

const duration =
  (key: string): LifecycleRule =>
  (part, draft, written) => {
    const ms = milliseconds(part.node);
    if (ms === undefined)
      draft.leave(part, 'this is not a duration; write it as 30s or 500ms', written);
    else draft.put(key, scalar(part.line, ms), part, written);
  };

const lifecycleRules: ReadonlyMap<string, LifecycleRule> = new Map<string, LifecycleRule>([
  ['profile', profile],
  ['required', (part, draft, written) => draft.put('required', part.node, part, written)],
  ['startup_timeout', duration('startupTimeoutMs')],
  ['call_timeout', duration('timeoutMs')],
  ['restart', restart],
  ['max_restarts', maxRestarts],
  ['backoff', backoff],
]);

function profile(part: TreeMember, draft: EntryDraft, written: TreePath): void {
  const preset = translated(presets, part, draft, written);
  if (preset !== undefined) draft.putInto('policy', 'preset', preset, part, written);
}

function restart(part: TreeMember, draft: EntryDraft, written: TreePath): void {
  const rule = translated(restarts, part, draft, written);
  if (rule !== undefined) draft.put('restart', rule, part, written);
}

function maxRestarts(part: TreeMember, draft: EntryDraft, written: TreePath): void {
  const { line, node } = part;
  const count = node.kind === 'scalar' ? node.value : undefined;
  // Zero is its default; a negative number means no limit.
  if (count === 0) return;
  const limit = typeof count === 'number' && count < 0 ? scalar(line, null) : node;
  const members = [{ name: 'maxAttempts', line, node: limit, written }];
  draft.putInto('policy', 'restart', objectOf(line, members), part, written);
}

/** Its four numbers are two of our fields; `delays` needs three of them. */
function backoff(part: TreeMember, draft: EntryDraft, written: TreePath): void {
  const field = (name: string): TreeMember | undefined => memberOf(part.node, name);
  const initialMs = milliseconds(field('initial')?.node) ?? 1_000;
  const maxMs = milliseconds(field('max')?.node) ?? 32_000;
  const factor = field('multiplier')?.node;
  const { line } = part;
  const delays = objectOf(line, [
    { name: 'initialMs', line, node: scalar(line, initialMs), written },
    { name: 'factor', line, node: factor ?? scalar(line, 2), written },
    { name: 'maxMs', line, node: scalar(line, maxMs), written },
  ]);
  const jitter = field('jitter');
  const members: TreeMember[] = [{ name: 'delays', line, node: delays, written }];
  if (jitter !== undefined) members.push({ ...jitter, written: [...written, 'jitter'] });
  draft.putInto('policy', 'restart', objectOf(line, members), part, written);
}

const lifecycle: KeyRule = (member, draft) => {
  for (const part of membersOf(member.node)) {
    const written = draft.placeOf(member, part.name);
    const rule = lifecycleRules.get(part.name);
    if (rule === undefined) draft.leave(part, unknownKeyMessage, written);
    else rule(part, draft, written);
  }
};

const rules = new Map<string, KeyRule>([
  ['type', drop],
  ['name', drop],
  ['ref', ref],
  ...kept('command', 'args', 'env', 'description'),
  ['working_dir', keep('cwd')],
  ['remote', remote],
  ['tools', toolList('include')],
  ['lifecycle', lifecycle],
  [
    'instruction',
    leave('instructions for the model are not kept here; give them to the agent itself'),
  ],
  ['defer', leave('tool lists are never deferred; no action needed')],
  ['version', leave('no program is installed here; install it and see that it is on PATH')],
  [
    'config',
    leave(
      "settings of a server of Docker's catalogue stay with Docker; set them there: docker mcp config write",
    ),
  ],
  ['allow_private_ips', unlessFalse(logIn)],
  ['toon', ofTheEditor],
  ['model', ofTheEditor],
]);

export function convertDockerAgent(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  const definitions = new Map(definitionsOf(root).map((it) => [it.name, it]));
  const used = new Set<string>();
  const toolsets = toolsetsOf(root).flatMap((toolset): readonly Toolset[] => {
    const name = textOf(memberOf(toolset.node, 'ref')?.node);
    if (name === undefined || name.startsWith('docker:')) return [toolset];
    const definition = definitions.get(name);
    if (definition === undefined) {
      const { line } = memberOf(toolset.node, 'ref') ?? toolset;
      faults.push({
        line,
        path: [...toolset.path, 'ref'],
        message: 'there is no such name under "mcps"; write one that is there, or docker:NAME',
      });
      return [];
    }
    used.add(name);
    return [withDefinition(toolset, definition)];
  });
  const unused = [...definitions.values()].filter(({ name }) => !used.has(name));
  const servers = named([...unused, ...toolsets]).map((toolset) =>
    convertEntry(toolset, 'dockerAgent', rules, faults),
  );
  return { format: 'docker-agent', servers, faults };
}

function definitionsOf(root: TreeNode): readonly Toolset[] {
  return membersOf(memberOf(root, 'mcps')?.node).flatMap(({ name, line, node }) =>
    node.kind === 'object' ? [{ name, line, path: ['mcps', name], node }] : [],
  );
}

function toolsetsOf(root: TreeNode): readonly Toolset[] {
  const ofAgents = membersOf(memberOf(root, 'agents')?.node).flatMap(({ name, node }) =>
    listOf(node, ['agents', name], name),
  );
  return [...ofAgents, ...listOf(root, [])];
}

function listOf(holder: TreeNode, path: TreePath, agent?: string): readonly Toolset[] {
  const list = memberOf(holder, 'toolsets')?.node;
  if (list?.kind !== 'array') return [];
  return list.items.flatMap((node, index) => {
    if (node.kind !== 'object' || textOf(memberOf(node, 'type')?.node) !== 'mcp') return [];
    const here = { name: nameFor(node), line: node.line, path: [...path, 'toolsets', index], node };
    return [agent === undefined ? here : { ...here, agent }];
  });
}

/** Completes a toolset with the definition that it refers to; its own keys win. */
function withDefinition(toolset: Toolset, definition: Toolset): Toolset {
  const own = toolset.node.members.filter(({ name }) => name !== 'ref' && name !== 'type');
  const rest = definition.node.members
    .filter(({ name }) => !own.some((it) => it.name === name))
    .map((member) => ({ ...member, written: [...definition.path, member.name] }));
  // Alone, the reference is the definition itself, and two of them are one server.
  if (own.length === 0) return definition;
  return { ...toolset, node: { ...toolset.node, members: [...rest, ...own] } };
}

/** Suggests a name for a toolset: its own, or one from the catalogue, program or host. */
function nameFor(node: TreeNode): string {
  const text = (key: string): string | undefined => textOf(memberOf(node, key)?.node);
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
  const units = new Map([
    ['ms', 1],
    ['s', 1_000],
    ['m', 60_000],
    ['h', 3_600_000],
  ]);
  let sum = 0;
  for (const [, count = '', unit = ''] of text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/gu))
    sum += Number(count) * (units.get(unit) ?? 0);
  return Math.round(sum);
}

function objectOf(line: number, members: readonly TreeMember[]): TreeNode {
  return { kind: 'object', line, members };
}
