/**
 * Tables of the settings. Keys, defaults and the effect of a change come from the
 * code: each key is set in a sample, which is compared with the sample without it.
 */

import type { DesiredServer } from '../../src/domain/settings.ts';
import { settingsDigestOf } from '../../src/policies/fingerprint.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';
import { privilegedKeys, type ServerEntry } from '../../src/settings/entry/schema.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';
import { code, table } from './markdown.ts';

/** A default in words, and as a value if it has one. */
interface Default {
  readonly words: string;
  readonly value?: unknown;
}

export interface KeyWords {
  readonly takes: string;
  readonly byDefault: Default;
  readonly meaning: string;
  /** Values that an editor may offer. */
  readonly examples?: readonly unknown[];
  /** A value that differs from the default; undefined = cannot be set by itself. */
  readonly example: unknown;
}

const shown = (value: unknown): string => code(JSON.stringify(value));
const none: Default = { words: '' };
export const always = (value: unknown): Default => ({ words: shown(value), value });
export const byPolicy = (value: unknown): Default => ({
  words: `of the policy (${shown(value)} in \`default\`)`,
  value,
});

export const serverKeys: Readonly<Record<keyof ServerEntry, KeyWords>> = {
  type: {
    takes: '`"stdio"`, `"http"` (`"streamable-http"` is the same), `"sse"` or `"ws"`',
    byDefault: { words: 'follows from `command` or `url`' },
    meaning:
      'What carries the session: a process, Streamable HTTP, the HTTP with SSE of 2024, or a WebSocket. Left out, an `https:` address that refuses Streamable HTTP with 400, 404 or 405 is tried once with SSE. Servers that a host provides itself have `"memory"`.',
    example: undefined,
  },
  command: {
    takes: 'text',
    byDefault: none,
    meaning:
      'The program of a local server, without arguments and without a shell. Relative paths (`./x`, `../x`) begin [here](#where-a-server-starts).',
    examples: ['npx', 'node', 'uvx'],
    example: 'other',
  },
  args: {
    takes: 'list of strings',
    byDefault: always([]),
    meaning: 'Arguments of the program, passed unchanged.',
    examples: [['-y', '@my-org/db@1.2.3']],
    example: ['x'],
  },
  env: {
    takes: 'strings, or [commands](values.md#commands), by name',
    byDefault: always({}),
    meaning:
      'Environment variables to pass to the process, besides a short list that every server gets.',
    examples: [{ TOKEN: '${TOKEN}' }],
    example: { X: '1' },
  },
  envFile: {
    takes: 'text: a file',
    byDefault: none,
    meaning:
      'File of more variables of the process, read at each start; `env` wins over it: [values.md](values.md#files-of-variables).',
    examples: ['.env'],
    example: '.env',
  },
  cwd: {
    takes: 'text: a folder that exists',
    byDefault: { words: 'follows from the scope', value: '.' },
    meaning: 'Working folder of the process: [where a server starts](#where-a-server-starts).',
    example: 'x',
  },
  url: {
    takes: 'text: an `http:` or `https:` address, or a `ws:` or `wss:` one',
    byDefault: none,
    meaning: 'Address of a remote server. No user name or password in it.',
    examples: ['https://api.example.com/mcp'],
    example: 'https://other.example/mcp',
  },
  headers: {
    takes: 'strings, or [commands](values.md#commands), by name',
    byDefault: always({}),
    meaning: 'Headers of every request, except those that the protocol sets itself.',
    examples: [{ Authorization: 'Bearer ${TOKEN}' }],
    example: { 'X-Key': '1' },
  },
  proxy: {
    takes: 'text: an `http:` or `https:` address, a [command](values.md#commands), or false',
    byDefault: { words: 'the proxy of the environment' },
    meaning:
      'The proxy of a remote server; false: none. See [proxies and certificates](#proxies-and-certificates).',
    examples: ['http://proxy.example.com:3128', false],
    example: false,
  },
  tls: {
    takes:
      '`{ "ca": …, "cert": …, "key": …, "passphrase": … }`: strings or [commands](values.md#commands)',
    byDefault: { words: "Node's authorities, and no client certificate" },
    meaning:
      'Files of authorities to trust besides those of Node, and of the client certificate. See [proxies and certificates](#proxies-and-certificates).',
    examples: [{ ca: 'certificates/ca.pem' }],
    example: { ca: 'ca.pem' },
  },
  headersCommand: {
    takes: 'a program and its arguments, as a list or a string without a shell',
    byDefault: none,
    meaning:
      'A program that prints a JSON object of headers, which replace those of `headers` with the same names: [values.md](values.md#headers-from-a-program).',
    examples: [['print-headers', '--for', 'db']],
    example: ['print-headers'],
  },
  oauth: {
    takes: 'an object ([below](#login)), or false',
    byDefault: { words: "as the server's metadata says" },
    meaning: 'How to log in to a remote server. False: never.',
    examples: [{ clientId: '${CLIENT_ID}', scopes: ['read'] }, false],
    example: { clientId: 'x' },
  },
  account: {
    takes: 'text: a name of 1 to 100 letters, digits, `_ . @ + -`',
    byDefault: { words: 'the only account' },
    meaning:
      'Your account at the server, if you have several. Servers with the same address and account share a login.',
    examples: ['work'],
    example: 'work',
  },
  values: {
    takes: '`"expand"` or `"literal"`',
    byDefault: always('expand'),
    meaning: 'Literal: strings of the entry are never references or commands.',
    example: 'literal',
  },
  era: {
    takes: '`"auto"`, `"legacy"` or `"modern"`',
    byDefault: always('auto'),
    meaning: 'Which generation of the protocol to speak; `auto` asks the server once.',
    example: 'legacy',
  },
  enabled: {
    takes: 'true or false',
    byDefault: always(true),
    meaning: 'False: the server is shown as `disabled` and never started.',
    example: false,
  },
  startup: {
    takes: '`"eager"` or `"lazy"`',
    byDefault: always('eager'),
    meaning: 'Lazy: starts with the first call.',
    example: 'lazy',
  },
  limits: {
    takes: '`{ "perMinute": N, "perClientPerMinute": N }`, 1 to 10,000',
    byDefault: { words: 'absent: no limit' },
    meaning: 'How often the server may be called: [calls.md](calls.md#limits).',
    example: { perMinute: 60 },
  },
  trust: {
    takes: 'true or false',
    byDefault: always(false),
    meaning: 'Whether hints of this server, such as `readOnlyHint`, are trusted.',
    example: true,
  },
  description: {
    takes: 'text, at most 2,048 characters',
    byDefault: none,
    meaning: 'A text for users.',
    example: 'x',
  },
  handover: {
    takes: '`"exclusive"` or `"seamless"`',
    byDefault: always('exclusive'),
    meaning:
      'How a new generation takes over. Exclusive: the old one is closed first. Seamless: it serves until the new one is ready.',
    example: 'seamless',
  },
  tools: {
    takes:
      '`{ "include": […], "exclude": […], "overrides": { "NAME": { "enabled": …, "timeoutMs": …, "limits": … } }, "permissions": { "deny": […] } }`',
    byDefault: { words: 'all tools' },
    meaning: 'Which tools are shown; names may hold `*`, and `exclude` and `"enabled": false` win.',
    examples: [{ include: ['*'], exclude: ['drop_*'] }],
    example: { include: ['read_*'] },
  },
  policy: {
    takes: 'a preset, or an object of overrides',
    byDefault: { words: 'that of `mcp.policy`' },
    meaning: 'Its deadlines, limits and rules: [policies.md](policies.md).',
    examples: ['claudeCode', { restart: { maxAttempts: 3 } }],
    example: { call: { timeoutMs: 1 } },
  },
  timeoutMs: {
    takes: 'milliseconds',
    byDefault: byPolicy(defaultPolicy.call.timeoutMs),
    meaning: 'Deadline of one call, including waits.',
    example: 1,
  },
  connectTimeoutMs: {
    takes: 'milliseconds',
    byDefault: byPolicy(defaultPolicy.connect.localTimeoutMs),
    meaning:
      'From the start permit to a finished handshake. Without this key, a server that `npx`, `uvx`, `docker run` or another package runner starts has `connect.firstRunTimeoutMs` until its tools have been listed once.',
    example: 1,
  },
  idleStopMs: {
    takes: 'milliseconds or null',
    byDefault: byPolicy(defaultPolicy.idle.stopMs),
    meaning:
      'Ready and without a call for this long, the server is stopped until the next one; the count begins within a second of the last call. Null = never.',
    example: 1,
  },
  sharing: {
    takes: '`"project"`, `"always"` or `"client"`',
    byDefault: byPolicy(defaultPolicy.connect.sharing),
    meaning:
      'Which clients of a troupe share the process of this local server: those with the same project, all, or none ([library.md](library.md#several-clients)).',
    example: 'client',
  },
  restart: {
    takes: '`"auto"`, `"never"`, `"failure"`, `"always"` or `"remote"`',
    byDefault: byPolicy(defaultPolicy.restart.on),
    meaning:
      'When a lost session is reopened. `auto`: local servers after a failure, remote ones always; `remote`: remote servers only; `never`: a failed start is not retried either.',
    example: 'never',
  },
  maxAttempts: {
    takes: '1 to 1,000',
    byDefault: byPolicy(defaultPolicy.restart.maxAttempts),
    meaning: 'Attempts of one start, including the first, and of one outage.',
    example: 1,
  },
  required: {
    takes: 'true or false',
    byDefault: byPolicy(defaultPolicy.startup.required),
    meaning:
      'Whether `required()` of the library fails without the server. A required server starts even when it is lazy.',
    example: true,
  },
  startupTimeoutMs: {
    takes: 'milliseconds',
    byDefault: byPolicy(defaultPolicy.startup.timeoutMs),
    meaning: 'How long `required()` waits for the server. Its start continues after that.',
    example: 1,
  },
}; // prettier-ignore

export function serverKeyTable(): string {
  const privileged: ReadonlySet<string> = new Set(privilegedKeys);
  return table(
    ['key', 'takes', 'default', 'a change', 'in a gated file', 'means'],
    Object.entries(serverKeys).map(([key, words]) => [
      code(key),
      words.takes,
      words.byDefault.words,
      effectOf(key, words.example),
      privileged.has(key) ? 'ignored' : 'counts',
      words.meaning,
    ]),
  );
}

const remoteKeys: readonly string[] = [
  'url',
  'headers',
  'headersCommand',
  'proxy',
  'tls',
  'oauth',
  'account',
];

/** Compares a sample entry with and without the key, as a pass would. */
function effectOf(key: string, example: unknown): string {
  if (example === undefined) return '';
  const isRemote = remoteKeys.includes(key);
  const base = isRemote ? { url: 'https://host.example/mcp' } : { command: 'program' };
  const before = desiredOf(base);
  const after = desiredOf({ ...base, [key]: example });
  if (before.generation !== after.generation) return 'new generation';
  if (settingsDigestOf(before) !== settingsDigestOf(after)) return 'in place';
  return before.enabled === after.enabled ? 'nothing' : 'starts or ends it';
}

function desiredOf(entry: Readonly<Record<string, unknown>>): DesiredServer {
  const text = JSON.stringify({ mcpServers: { db: entry } });
  const { document } = parseSettings(text, { file: 'x', scope: 'config', projectRoot: '/project' });
  const desired = document?.servers[0]?.desired;
  if (desired === undefined || desired.invalid !== undefined) {
    throw new Error(`the sample is refused: ${desired?.invalid?.message ?? text}`);
  }
  return desired;
}
