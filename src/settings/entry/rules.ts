/**
 * Rules for an entry of `mcpServers` whose fields are valid by themselves. Messages
 * never repeat a value, because it may be a secret.
 */

import { headerNames } from '../../protocol/headers.ts';
import { firstOf, type TreePath } from '../settings-tree.ts';
import type { ServerEntry } from './schema.ts';

export interface BrokenRule {
  readonly path: TreePath;
  readonly message: string;
}

type Rule = (entry: ServerEntry) => BrokenRule | undefined;

/** Returns the first rule that an entry breaks; undefined = none. */
export function brokenRuleOf(entry: ServerEntry): BrokenRule | undefined {
  return firstOf(rules, (rule) => rule(entry));
}

const broken = (key: string, message: string): BrokenRule => ({ path: [key], message });

const isSupported: Rule = ({ type, era }) => {
  if (type === 'sse' && era === 'modern')
    return broken('era', 'SSE does not support "era": "modern"; write "type": "http"');
  return undefined;
};

const isLocalOrRemote: Rule = ({ type, command, url }) => {
  if (type === 'memory') return undefined;
  if (command !== undefined && url !== undefined)
    return broken(
      'url',
      '"command" and "url" exclude each other; keep "command" for a local server or "url" for a remote one',
    );
  if (command === undefined && url === undefined) {
    const message =
      'the server has neither "command" nor "url"; add "command" for a local server or "url" for a remote one';
    return { path: [], message };
  }
  if (type === 'stdio' && url !== undefined)
    return broken('type', '"type": "stdio" needs a "command"; write "type": "http" for a "url"');
  if (type !== undefined && type !== 'stdio' && command !== undefined)
    return broken('type', `"type": "${type}" needs a "url"; write "type": "stdio" for a "command"`);
  return undefined;
};

const localKeys = ['args', 'env', 'envFile', 'cwd'] as const;
const remoteKeys = ['headers', 'headersCommand', 'proxy', 'tls', 'oauth', 'account'] as const;
const notEmbedded = ['command', 'url', ...localKeys, ...remoteKeys, 'values'] as const;

const hasFittingFields: Rule = (entry) => {
  const given = (keys: readonly (keyof ServerEntry)[]) =>
    keys.find((key) => entry[key] !== undefined);
  if (entry.type === 'memory') {
    const key = given(notEmbedded);
    const message = `"type": "memory" takes no "${key}"; remove it, because the host provides the server`;
    return key && broken(key, message);
  }
  const isLocal = entry.command !== undefined;
  const key = given(isLocal ? remoteKeys : localKeys);
  const message = isLocal
    ? `"${key}" goes with "url" only; a local server takes "env"`
    : `"${key}" goes with "command" only; remove it, a remote server takes "headers"`;
  return key && broken(key, message);
};

const hasPlainCommand: Rule = ({ command, args }) => {
  if (command === undefined) return undefined;
  if (command.trim() === '')
    return broken('command', '"command" is empty; write the program, as in "npx"');
  if (command !== command.trim())
    return broken('command', '"command" begins or ends with a space; remove it');
  if (holdsArguments(command, args ?? []))
    return broken(
      'command',
      '"command" holds arguments; split it: the program in "command", the rest in "args", as in "command": "npx", "args": ["-y", "package"]',
    );
  return shellShorthand('command', command);
};

/**
 * Returns whether a command is a whole command line. A path may contain spaces, but a program
 * name rarely does. A path followed by an option is a command line too, unless `args` is set.
 */
function holdsArguments(command: string, args: readonly string[]): boolean {
  const [first = ''] = command.split(/\s/, 1);
  if (first === command) return false;
  return !/[\\/]/.test(first) || (args.length === 0 && /\s--?\w/.test(command));
}

function shellShorthand(key: string, value: string): BrokenRule | undefined {
  if (value.startsWith('~'))
    return broken(key, `"${key}" begins with "~", which only a shell expands; write \${HOME}`);
  if (/^\$\w/.test(value))
    return broken(
      key,
      `"${key}" names a variable as a shell would; put it in braces, as in \${HOME}`,
    );
  return undefined;
}

const hasPlainFolder: Rule = ({ cwd }) => {
  if (cwd === undefined) return undefined;
  if (cwd.trim() === '')
    return broken('cwd', '"cwd" is empty; write "." for the project or leave it out');
  return shellShorthand('cwd', cwd);
};

const hasPossibleEnv: Rule = ({ env = {} }) => {
  const name = Object.keys(env).find((key) => key === '' || key.includes('='));
  if (name === undefined) return undefined;
  return {
    path: ['env', name],
    message: 'a name in "env" is empty or holds "="; write "NAME": "value"',
  };
};

const hasUsableUrl: Rule = ({ type, url, values }) => {
  if (url === undefined) return undefined;
  const isLiteral = values === 'literal';
  const parsed = parseUrl(url, isLiteral);
  // The scheme and host come from a reference, which is checked when it is resolved.
  if (parsed === undefined && url.startsWith('${') && !isLiteral) return undefined;
  if (parsed === undefined)
    return broken('url', '"url" is not an address; write it whole, as in "https://host/mcp"');
  const wrong = schemeFault(parsed.protocol, type);
  if (wrong !== undefined) return wrong;
  if (parsed.username !== '' || parsed.password !== '')
    return broken('url', '"url" holds a user name or password; put it in "headers"');
  return undefined;
};

function schemeFault(scheme: string, type: ServerEntry['type']): BrokenRule | undefined {
  const isWs = scheme === 'ws:' || scheme === 'wss:';
  if (type === 'ws' && !isWs)
    return broken(
      'url',
      '"url" of a WebSocket must begin with ws:// or wss://; write "wss://host/mcp"',
    );
  if (isWs && type !== 'ws' && type !== undefined)
    return broken('type', `an address that begins with ${scheme}// needs "type": "ws"`);
  if (!isWs && scheme !== 'http:' && scheme !== 'https:')
    return broken('url', '"url" must begin with http:// or https://; write "https://host/mcp"');
  return undefined;
}

const hasUsableProxy: Rule = ({ proxy, values }) => {
  if (typeof proxy !== 'string') return undefined;
  const isLiteral = values === 'literal';
  // The value of a reference or a command is checked when it is known.
  if (!isLiteral && /^(?:!|\$\{)/u.test(proxy)) return undefined;
  const scheme = parseUrl(proxy, isLiteral)?.protocol;
  if (scheme === 'http:' || scheme === 'https:') return undefined;
  const what = scheme?.startsWith('socks')
    ? 'SOCKS proxies are not supported'
    : '"proxy" must begin with http:// or https://';
  return broken('proxy', `${what}; write "http://proxy.example.com:3128", or false for none`);
};

const hasWholeTls: Rule = ({ tls }) => {
  if (tls === undefined) return undefined;
  const fault = (key: string, message: string): BrokenRule => ({ path: ['tls', key], message });
  for (const key of ['ca', 'cert', 'key'] as const) {
    const value = tls[key];
    if (typeof value !== 'string') continue;
    if (value.trim() === '') return fault(key, `"${key}" is empty; name a file or remove it`);
    const shorthand = shellShorthand(key, value);
    if (shorthand !== undefined) return fault(key, shorthand.message);
  }
  if (tls.cert !== undefined) return undefined;
  const alone = (['key', 'passphrase'] as const).find((key) => tls[key] !== undefined);
  const message = `"${alone}" belongs to a client certificate; add "cert", the file of the certificate`;
  return alone && fault(alone, message);
};

/** Parses an address with each `${VAR}` replaced by a word or a number. */
export function parseUrl(url: string, isLiteral: boolean): URL | undefined {
  if (isLiteral) return URL.canParse(url) ? new URL(url) : undefined;
  for (const value of ['x', '1']) {
    const filled = url.replaceAll(/\$\{[^}]*\}/g, value);
    if (URL.canParse(filled)) return new URL(filled);
  }
  return undefined;
}

// The protocol sets these itself; other values would break the session.
export const reservedHeaders: ReadonlySet<string> = new Set([
  'accept',
  'connection',
  'content-length',
  'content-type',
  'host',
  'last-event-id',
  headerNames.protocolVersion,
  headerNames.session,
  'sec-websocket-extensions',
  'sec-websocket-key',
  'sec-websocket-protocol',
  'sec-websocket-version',
  'transfer-encoding',
  'upgrade',
]);

const hasPossibleHeaders: Rule = ({ headers = {} }) => {
  const seen = new Set<string>();
  for (const [name, value] of Object.entries(headers)) {
    const message = headerFault(name, typeof value === 'string' ? value : '', seen);
    if (message !== undefined) return { path: ['headers', name], message };
    seen.add(name.toLowerCase());
  }
  return undefined;
};

function headerFault(name: string, value: string, seen: ReadonlySet<string>): string | undefined {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name))
    return 'a name in "headers" holds a character no header may have; write "X-Key": "value"';
  if (reservedHeaders.has(name.toLowerCase()))
    return 'this header is set by the protocol; remove it';
  if (seen.has(name.toLowerCase()))
    return 'this header is given twice, in capitals and small letters; keep one of the two';
  if (!/^[\t\u0020-\u007e\u0080-\u00ff]*$/.test(value))
    return 'a value in "headers" holds a line break or a character no header may have; write it on one line';
  return undefined;
}

const rules: readonly Rule[] = [
  isSupported,
  isLocalOrRemote,
  hasFittingFields,
  hasPlainCommand,
  hasPlainFolder,
  hasPossibleEnv,
  hasUsableUrl,
  hasPossibleHeaders,
  hasUsableProxy,
  hasWholeTls,
];
