/**
 * Detects which program's settings a text holds, by its content and never by its
 * file name, and converts them to our format.
 */

import {
  type Fault,
  memberOf,
  membersOf,
  type TreeMember,
  type TreeNode,
} from '../settings-tree.ts';
import { convertCodex } from './codex.ts';
import type { Conversion, ConversionContext, FormatName } from './conversion.ts';
import { convertDockerAgent } from './docker-agent.ts';
import { codebuddySetting, convertCodebuddy, convertVscode, convertZed } from './editors.ts';
import { textAt, textOf } from './key-rules.ts';
import { convertMcpServers } from './mcp-servers.ts';
import { convertOpencode } from './opencode.ts';

interface Format {
  /** Completes "settings of …" in a message. */
  readonly program: string;
  /** Finds the member that identifies this format; undefined = it is another format. */
  readonly sign: (root: TreeNode) => TreeMember | undefined;
  readonly convert: (root: TreeNode, context: ConversionContext) => Conversion;
}

const formats: Readonly<Record<FormatName, Format>> = {
  mcpServers: {
    program: 'mcp-troupe, Claude, Cursor, Windsurf, Gemini CLI or Qwen Code',
    sign: (root) => memberOf(root, 'mcpServers') ?? claudeProjects(root),
    convert: convertMcpServers,
  },
  vscode: { program: 'VS Code', sign: serversOf, convert: convertVscode },
  codex: {
    program: 'Codex',
    sign: (root) => objectAt(root, 'mcp_servers'),
    convert: convertCodex,
  },
  opencode: { program: 'opencode', sign: opencodeSign, convert: convertOpencode },
  zed: {
    program: 'Zed',
    sign: (root) => objectAt(root, 'context_servers'),
    convert: convertZed,
  },
  codebuddy: {
    program: 'CodeBuddy',
    sign: (root) =>
      ['servers', codebuddySetting]
        .map((key) => memberOf(root, key))
        .find((member) => member?.node.kind === 'array'),
    convert: convertCodebuddy,
  },
  'docker-agent': { program: 'docker-agent', sign: dockerAgentSign, convert: convertDockerAgent },
};

/** Converts the settings in a tree; undefined for an unknown format, and a fault when two formats match. */
export function convertSettings(
  root: TreeNode,
  context: ConversionContext,
): Conversion | { readonly fault: Fault } | undefined {
  const found = Object.values(formats).flatMap((format) => {
    const sign = format.sign(root);
    return sign === undefined ? [] : [{ format, sign }];
  });
  const [first, second] = found;
  if (first === undefined) return undefined;
  if (second === undefined) return first.format.convert(root, context);
  const places = found
    .map(({ format, sign }) => `${format.program} ("${sign.name}", line ${sign.line})`)
    .join(' and of ');
  const message = `this file has the settings of ${places}; keep one of them`;
  return { fault: { line: second.sign.line, path: [second.sign.name], message } };
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
