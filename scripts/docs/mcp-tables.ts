/** What the page about settings says about each key of `mcp`. */

import { type McpSection, mcpFields } from '../../src/settings/mcp-section.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { isRestartRequired } from '../../src/settings/restart-required.ts';
import { code, table } from './markdown.ts';
import { always, byPolicy, type KeyWords } from './settings-tables.ts';

const noSettings = mergeSettings([]).settings;
const gatedLists = 'narrows';
const gatedNumbers = 'ignored';

export const mcpKeys: Readonly<
  Record<keyof McpSection, Omit<KeyWords, 'example'> & { readonly gated: string }>
> = {
  allowed: {
    takes: 'list of names or [rules](#lists)',
    byDefault: { words: 'absent: all' },
    gated: gatedLists,
    meaning:
      'Only these servers may connect; `[]` = none. The last of your own files that has one counts.',
  },
  excluded: {
    takes: 'list of names or [rules](#lists)',
    byDefault: always([]),
    gated: gatedLists,
    meaning: 'These servers may not connect. The lists of all files add up.',
  },
  disabledServers: {
    takes: 'list of names',
    byDefault: always([]),
    gated: gatedLists,
    meaning:
      'These servers are disabled, whatever their entries and `enabledServers` say. The lists of all files add up.',
  },
  enabledServers: {
    takes: 'list of names',
    byDefault: always([]),
    gated: gatedNumbers,
    meaning:
      'These servers are enabled although their entries say `"enabled": false`, for entries in files that you cannot edit.',
  },
  slots: {
    takes: '`{ "local": 1 to 1,000 or "auto", "remote": 1 to 1,000 or "auto" }`',
    byDefault: byPolicy(noSettings.slots),
    gated: gatedNumbers,
    meaning:
      'How many servers of each kind may start at once. `"auto"` = eight local ones for each processor core, 200 remote ones, and slow starts do not hold up the others.',
  },
  startupGateMs: {
    takes: '0 to 60,000 milliseconds',
    byDefault: byPolicy(noSettings.startupGateMs),
    gated: gatedNumbers,
    meaning:
      'How long `ready()` and the first table wait for servers. Their starts continue after that.',
  },
  policy: {
    takes: 'a preset, or an object of overrides',
    byDefault: always('default'),
    gated: gatedNumbers,
    meaning:
      'The numbers and rules for all servers: [policies.md](policies.md). Later files override earlier ones field by field.',
  },
  permissions: {
    takes: '`{ "allow": […], "ask": […], "deny": […] }`',
    byDefault: { words: 'absent: no rules' },
    gated: '`ask` and `deny` count, `allow` is ignored',
    meaning:
      'Which calls of tools may go out: [calls.md](calls.md#permissions). The lists of all files add up.',
  },
  limits: {
    takes: '`{ "perMinute": N, "perClientPerMinute": N }`, 1 to 10,000',
    byDefault: { words: 'absent: no limit' },
    gated: gatedNumbers,
    meaning:
      'How often all servers together may be called: [calls.md](calls.md#limits). The last of your own files that has the key counts.',
  },
  views: {
    takes: 'object of [views](views.md#settings) by name',
    byDefault: { words: 'absent: none' },
    gated: gatedNumbers,
    meaning:
      'What clients may see and do: [views.md](views.md). Of two views with one name, that of the later file counts.',
  },
  hooks: {
    takes:
      '`{ "before": [{ "name": …, "command": […], "tools": […], "timeoutMs": … }], "after": […] }`',
    byDefault: { words: 'absent: none' },
    gated: gatedNumbers,
    meaning:
      'Programs that see each tool call before it is sent, or its result: [calls.md](calls.md#hooks). The lists of all your own files add up.',
  },
  ledger: {
    takes: 'true, false or `{ "arguments": "digest" or "full", "maxBytes": N, "files": N }`',
    byDefault: always(false),
    gated: gatedNumbers,
    meaning:
      'Whether calls are recorded in the state folder: [calls.md](calls.md#the-ledger). The last of your own files that has the key counts.',
  },
  commandValues: {
    takes: 'true or false',
    byDefault: always(false),
    gated: gatedNumbers,
    meaning:
      'Whether programs may be run for values: [values.md](values.md#commands). The last of your own files that has the key counts.',
  },
  projectServers: {
    takes: 'true or false',
    byDefault: always(true),
    gated: gatedNumbers,
    meaning:
      'Whether servers of gated files, which the project folder brings, may connect. A server of your own with the same name does so in any case. The last of your own files that has the key counts.',
  },
  dockerGateway: {
    takes: 'true, false or `"auto"`',
    byDefault: always(false),
    gated: gatedNumbers,
    meaning:
      "Docker's MCP gateway as a server, `MCP_DOCKER` ([below](#dockers-mcp-gateway)). `auto`: where Docker has one, without a problem where it has none. The last of your own files that has the key counts.",
  },
  background: {
    takes: 'true or false',
    byDefault: always(true),
    gated: gatedNumbers,
    meaning:
      'Whether `serve`, `call` and other commands start a troupe in the background, which they share: [gateway.md](gateway.md#the-troupe-in-the-background). The last of your own files that has the key counts.',
  },
}; // prettier-ignore

export function mcpKeyTable(): string {
  return table(
    ['key', 'takes', 'default', 'a change', 'in a gated file', 'means'],
    Object.entries(mcpKeys).map(([key, { takes, byDefault, gated, meaning }]) => [
      code(key),
      takes,
      byDefault.words,
      isRestartRequired(mcpFields[key as keyof McpSection]) ? 'next start' : 'at once',
      gated,
      meaning,
    ]),
  );
}
