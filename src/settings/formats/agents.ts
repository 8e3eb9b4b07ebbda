/** The settings of two agents for terminals: Goose and Crush. */

import { type Fault, memberOf, membersOf, scalar, type TreeNode } from '../settings-tree.ts';
import type { Conversion } from './conversion.ts';
import { convertEntry } from './entry-draft.ts';
import {
  drop,
  kept,
  keyRules,
  leave,
  negated,
  ofTheEditor,
  passedOn,
  seconds,
  textAt,
  textOf,
  toolList,
  valueMap,
  variables,
} from './key-rules.ts';
import { logIn } from './log-in-rules.ts';

const gooseTypes = valueMap({ stdio: 'stdio', sse: 'sse', streamable_http: 'http' });
// Extensions that are part of Goose.
const builtInTypes: readonly string[] = ['builtin', 'platform', 'frontend', 'inline_python'];

const gooseRules = keyRules({
  type: (member, draft) => {
    const type = gooseTypes.get(textOf(member.node) ?? '');
    draft.put('type', type === undefined ? member.node : scalar(member.line, type), member);
  },
  cmd: 'command',
  uri: 'url',
  ...kept('args', 'cwd', 'headers', 'description', 'enabled'),
  envs: (member, draft) => {
    if (draft.given('uri') === undefined) variables(member, draft);
    else if (membersOf(member.node).length > 0)
      draft.leave(member, 'a remote server has no environment; write the values into "headers"');
  },
  // For a remote server, these only name what its headers refer to.
  env_keys: (member, draft) => {
    if (draft.given('uri') === undefined) passedOn(member, draft);
  },
  timeout: seconds('timeoutMs'),
  available_tools: (member, draft) => {
    // An empty list means all tools.
    if (member.node.kind !== 'array' || member.node.items.length > 0)
      toolList('include')(member, draft);
  },
  socket: leave('Unix sockets are not supported; set "url" to an address of the server'),
  name: drop,
  display_name: drop,
  bundled: drop,
});

/** Whether a map holds Goose's extensions. */
export function isGoose(extensions: TreeNode): boolean {
  return membersOf(extensions).some(({ node }) => {
    const type = textAt(node, 'type') ?? '';
    return gooseTypes.has(type) || builtInTypes.includes(type);
  });
}

/** Goose: `extensions` of its `config.yaml`. It replaces variables in headers and nowhere else. */
export function convertGoose(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  const servers = membersOf(memberOf(root, 'extensions')?.node).flatMap((member) => {
    const written = ['extensions', member.name];
    if (!builtInTypes.includes(textAt(member.node, 'type') ?? '')) {
      const style = memberOf(member.node, 'uri') === undefined ? 'literal' : 'gemini';
      return [convertEntry({ ...member, written }, style, gooseRules, faults)];
    }
    const message = 'this extension is a part of Goose and no server; no action needed';
    faults.push({ line: member.line, path: written, message, severity: 'warning' });
    return [];
  });
  return { format: 'goose', servers, faults };
}

const crushRules = keyRules({
  ...kept('type', 'command', 'args', 'env', 'cwd', 'url', 'headers'),
  disabled: negated,
  disabled_tools: toolList('exclude'),
  enabled_tools: toolList('include'),
  // Of a connection, not of a call.
  timeout: seconds('connectTimeoutMs'),
  oauth: logIn,
  channels: ofTheEditor,
});

const crushTypes: readonly string[] = ['stdio', 'http', 'sse'];

/** Whether a section `mcp` holds Crush's servers. */
export function isCrush(root: TreeNode, mcp: TreeNode): boolean {
  const schema = textAt(root, '$schema') ?? '';
  return (
    schema.startsWith('https://charm.land/') ||
    membersOf(mcp).some(({ node }) => crushTypes.includes(textAt(node, 'type') ?? ''))
  );
}

/** Crush: a map `mcp` of servers. */
export function convertCrush(root: TreeNode): Conversion {
  const faults: Fault[] = [];
  const servers = membersOf(memberOf(root, 'mcp')?.node).map((member) =>
    convertEntry({ ...member, written: ['mcp', member.name] }, 'crush', crushRules, faults),
  );
  return { format: 'crush', servers, faults };
}
