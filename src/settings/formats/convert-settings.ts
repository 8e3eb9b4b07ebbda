/**
 * Detects which program's settings a document holds, by its content and never by its
 * file name, and converts them to our format.
 */

import { matchesGlob } from '../../policies/text/glob.ts';
import { isServerName, legibleServerName } from '../../policies/text/name-rule.ts';
import {
  type Fault,
  memberOf,
  membersOf,
  type TreeMember,
  type TreeNode,
  type TreePath,
  writtenPath,
} from '../settings-tree.ts';
import { convertCrush, convertGoose, isCrush, isGoose } from './agents.ts';
import { convertCodex } from './codex.ts';
import type { Conversion, ConversionContext, FormatName } from './conversion.ts';
import { convertDockerAgent } from './docker-agent.ts';
import {
  codebuddyDisabledTools,
  codebuddySetting,
  convertCodebuddy,
  convertVscode,
  convertZed,
} from './editors.ts';
import { textAt, textOf } from './key-rules.ts';
import { convertMcpServers, listKeys } from './mcp-servers.ts';
import { convertOpencode } from './opencode.ts';

interface Format {
  /** Completes "settings of …" in a message. */
  readonly program: string;
  /** Finds the member that identifies this format; undefined = it is another format. */
  readonly sign: (root: TreeNode) => TreeMember | undefined;
  readonly convert: (root: TreeNode, context: ConversionContext) => Conversion;
  /** Parts beside the servers that are only reported: paths of patterns, each with the next step. */
  readonly unread?: Readonly<Record<string, string>>;
}

const toolsOfAgent =
  'rules of the agent for tools are not imported; set "tools": { "exclude": [...] } of the server';
const listOfServers = 'this list is not imported; add its servers to';

const formats: Readonly<Record<FormatName, Format>> = {
  mcpServers: {
    program: 'mcp-troupe, Claude, Cursor, Windsurf, Gemini CLI or Qwen Code',
    sign: (root) => memberOf(root, 'mcpServers') ?? claudeProjects(root),
    convert: convertMcpServers,
    unread: {
      deniedMcpServers: `${listOfServers} "mcp": { "excluded": [...] }`,
      allowedMcpServers: `${listOfServers} "mcp": { "allowed": [...] }`,
      imports:
        'files of other programs are not followed; import each, as in troupe import --from cursor',
      'mcpSettings/allowedDomains':
        'domains are not limited by this list; write "mcp": { "allowed": [{ "url": "https://HOST/*" }] }',
    },
  },
  vscode: { program: 'VS Code', sign: serversOf, convert: convertVscode },
  codex: {
    program: 'Codex',
    sign: (root) => objectAt(root, 'mcp_servers'),
    convert: convertCodex,
  },
  opencode: {
    program: 'opencode',
    sign: opencodeSign,
    convert: convertOpencode,
  },
  crush: {
    program: 'Crush',
    sign: (root) => {
      const mcp = objectAt(root, 'mcp');
      return mcp !== undefined && isCrush(root, mcp.node) ? mcp : undefined;
    },
    convert: convertCrush,
  },
  goose: {
    program: 'Goose',
    sign: (root) => {
      const extensions = objectAt(root, 'extensions');
      return extensions !== undefined && isGoose(extensions.node) ? extensions : undefined;
    },
    convert: convertGoose,
  },
  zed: {
    program: 'Zed',
    sign: (root) => objectAt(root, 'context_servers'),
    convert: convertZed,
    unread: {
      'agent/profiles/*/context_servers/*/tools/*': toolsOfAgent,
      'agent/tool_permissions/tools/mcp:*': toolsOfAgent,
    },
  },
  codebuddy: {
    program: 'CodeBuddy',
    sign: (root) => {
      const list = memberOf(root, 'servers');
      return list?.node.kind === 'array' ? list : memberOf(root, codebuddySetting);
    },
    convert: convertCodebuddy,
  },
  'docker-agent': { program: 'docker-agent', sign: dockerAgentSign, convert: convertDockerAgent },
};

/** Keys that hold servers or lists of some program. With a duplicate, a reviewer may read the wrong one. */
const decidingKeys: ReadonlySet<string> = new Set([
  'mcpServers',
  'mcp',
  'servers',
  'inputs',
  'projects',
  'mcp_servers',
  'context_servers',
  'extensions',
  'mcps',
  'agents',
  'toolsets',
  'tools',
  'permission',
  'permissions',
  'excludeTools',
  'deniedMcpServers',
  'allowedMcpServers',
  codebuddySetting,
  codebuddyDisabledTools,
  ...listKeys,
]);

/**
 * Converts the settings in a tree; undefined for an unknown format, and a fault when the tree is
 * invalid as a whole or two formats match.
 */
export function convertSettings(
  root: TreeNode,
  context: ConversionContext,
): Conversion | { readonly fault: Fault } | undefined {
  const wrong = documentFault(root, context);
  if (wrong !== undefined) return { fault: wrong };
  const found = Object.values(formats).flatMap((format) => {
    const sign = format.sign(root);
    return sign === undefined ? [] : [{ format, sign }];
  });
  const [first, second] = found;
  if (first === undefined) return undefined;
  if (second === undefined) {
    const conversion = first.format.convert(root, context);
    if (context.isOwn === true) return conversion;
    return withUnread(first.format, root, withValidNames(conversion));
  }
  const places = found
    .map(({ format, sign }) => `${format.program} ("${sign.name}", line ${sign.line})`)
    .join(' and of ');
  const message = `this file has the settings of ${places}; keep one of them`;
  return { fault: { line: second.sign.line, path: [second.sign.name], message } };
}

function documentFault(root: TreeNode, { isOwn }: ConversionContext): Fault | undefined {
  const { line } = root;
  const notObject = 'the settings must be an object; write { "mcpServers": {} }';
  if (root.kind !== 'object') return { line, path: [], message: notObject };
  const repeated = repeatedKey(root, []);
  if (repeated !== undefined) return repeated;
  const servers = memberOf(root, 'mcpServers');
  if (servers === undefined || servers.node.kind === 'object') return undefined;
  // Continue has a list.
  const { node } = servers;
  const isList = node.kind === 'array' && node.items.some(({ kind }) => kind === 'object');
  if (isList && isOwn !== true) return undefined;
  const message = '"mcpServers" must be an object; write { "name": { "command": "npx" } }';
  return { line: servers.line, path: ['mcpServers'], message };
}

/** Finds the first duplicate of such a key: at the top, in a section `mcp`, or in a project of Claude Code. */
function repeatedKey(node: TreeNode, path: TreePath): Fault | undefined {
  const lines = new Map<string, number>();
  for (const { name, line, node: content } of membersOf(node)) {
    const here = [...path, name];
    const isProject = path.length === 1 && path[0] === 'projects';
    if (!isProject && !decidingKeys.has(name)) continue;
    const earlier = lines.get(name);
    if (earlier !== undefined)
      return { line, path: here, message: `the key is already on line ${earlier}; join the two` };
    lines.set(name, line);
    const isHolder = isProject || (path.length === 0 && (name === 'mcp' || name === 'projects'));
    const within = isHolder ? repeatedKey(content, here) : undefined;
    if (within !== undefined) return within;
  }
  return undefined;
}

/** Reports the parts that are not read. */
function withUnread({ unread = {} }: Format, root: TreeNode, conversion: Conversion): Conversion {
  const faults = Object.entries(unread).flatMap(([path, message]) =>
    membersAt(root, path.split('/')).map(
      ([written, { line }]): Fault => ({ line, path: written, message }),
    ),
  );
  return { ...conversion, faults: [...conversion.faults, ...faults] };
}

/** Finds what is false, and what holds something, by a path of patterns. */
function membersAt(
  node: TreeNode,
  [key = '', ...rest]: readonly string[],
): readonly (readonly [TreePath, TreeMember])[] {
  const found = membersOf(node).filter(({ name }) => matchesGlob(key, name));
  if (rest.length > 0)
    return found.flatMap(({ name, node: inner }) =>
      membersAt(inner, rest).map(([path, member]) => [[name, ...path], member] as const),
    );
  const isFilled = ({ node: { ...value } }: TreeMember): boolean => {
    if (value.kind === 'scalar') return value.value === false;
    return (value.kind === 'array' ? value.items : value.members).length > 0;
  };
  return found.filter(isFilled).map((member) => [[member.name], member] as const);
}

/** Changes names that are not valid here, also in the lists beside the servers. */
function withValidNames(conversion: Conversion): Conversion {
  const { servers, mcp } = conversion;
  const taken = new Set(servers.map(({ name }) => name));
  const names = new Map<string, string>();
  for (const { name } of servers) {
    const valid = legibleServerName(name);
    // Without a letter or digit it would say nothing, and a taken one would mean another server.
    if (isServerName(name) || taken.has(valid) || !/[A-Za-z0-9]/u.test(name)) continue;
    if (name === '__proto__') continue;
    names.set(name, valid);
    taken.add(valid);
  }
  if (names.size === 0) return conversion;
  const placed = (server: TreeMember): TreePath =>
    writtenPath(server, ['mcpServers', server.name], []);
  const changed = servers.filter(({ name }) => names.has(name));
  return {
    ...conversion,
    servers: servers.map((server) => {
      const name = names.get(server.name);
      return name === undefined ? server : { ...server, name, written: placed(server) };
    }),
    ...(mcp && { mcp: { ...mcp, node: renamedIn(mcp.node, names) } }),
    renamed: changed.map((server) => ({
      line: server.line,
      path: placed(server),
      message: `this name is not valid here; it was changed to "${names.get(server.name)}"`,
      severity: 'warning',
    })),
  };
}

/** Changes the names in the lists of a section `mcp`. Rules already have the valid ones. */
function renamedIn(mcp: TreeNode, names: ReadonlyMap<string, string>): TreeNode {
  if (mcp.kind !== 'object') return mcp;
  const members = mcp.members.map((member): TreeMember => {
    const { node } = member;
    if (node.kind !== 'array') return member;
    const items = node.items.map((item): TreeNode => {
      const name = names.get(textOf(item) ?? '');
      return name === undefined ? item : { kind: 'scalar', line: item.line, value: name };
    });
    return { ...member, node: { ...node, items } };
  });
  return { ...mcp, members };
}

function objectAt(root: TreeNode, key: string): TreeMember | undefined {
  const member = memberOf(root, key);
  return member?.node.kind === 'object' ? member : undefined;
}

/** `servers` at the top or within `mcp`, if they look like servers. */
function serversOf(root: TreeNode): TreeMember | undefined {
  const top = objectAt(root, 'servers');
  // An empty one is enough if nothing else identifies the text.
  if (top !== undefined && isServerMap(top.node)) return top;
  if (top?.node.kind === 'object' && top.node.members.length === 0)
    return memberOf(root, 'mcpServers') === undefined ? top : undefined;
  const mcp = objectAt(root, 'mcp');
  const inner = mcp === undefined ? undefined : objectAt(mcp.node, 'servers');
  return inner !== undefined && isServerMap(inner.node) ? mcp : undefined;
}

const vscodeTypes: readonly string[] = ['stdio', 'http', 'sse'];

function isServerMap(node: TreeNode): boolean {
  return membersOf(node).some(({ node: server }) => {
    const type = memberOf(server, 'type');
    if (type !== undefined) return vscodeTypes.includes(textOf(type.node) ?? '');
    return memberOf(server, 'command') !== undefined || memberOf(server, 'url') !== undefined;
  });
}

const opencodeTypes: readonly string[] = ['local', 'remote'];

function opencodeSign(root: TreeNode): TreeMember | undefined {
  const mcp = objectAt(root, 'mcp');
  if (mcp === undefined) return undefined;
  const isTyped = (holder: TreeNode): boolean =>
    membersOf(holder).some(({ node }) => opencodeTypes.includes(textAt(node, 'type') ?? ''));
  const servers = objectAt(mcp.node, 'servers');
  if (isTyped(mcp.node) || (servers !== undefined && isTyped(servers.node))) return mcp;
  const schema = textAt(root, '$schema') ?? '';
  return schema.startsWith('https://opencode.ai/') ? mcp : undefined;
}

function dockerAgentSign(root: TreeNode): TreeMember | undefined {
  const holdsMcp = (holder: TreeNode): boolean => {
    const list = memberOf(holder, 'toolsets')?.node;
    return list?.kind === 'array' && list.items.some((item) => textAt(item, 'type') === 'mcp');
  };
  const agents = objectAt(root, 'agents');
  if (membersOf(agents?.node).some(({ node }) => holdsMcp(node))) return agents;
  if (holdsMcp(root)) return memberOf(root, 'toolsets');
  return objectAt(root, 'mcps');
}

/** Finds the servers of single projects, which may be the only ones in Claude Code's settings. */
function claudeProjects(root: TreeNode): TreeMember | undefined {
  const projects = objectAt(root, 'projects');
  const hasServers = membersOf(projects?.node).some(({ node }) => objectAt(node, 'mcpServers'));
  return hasServers ? projects : undefined;
}
