/** Mistakes in a whole text: their line and key, and what the message says next. */

import { maxSettingsBytes } from '../../src/settings/settings-bytes.ts';

type BadText = readonly [
  what: string,
  text: string,
  line: number,
  key: string | undefined,
  next: string,
];

export const nested = (depth: number) =>
  `{ "x": ${'['.repeat(depth - 1)}${']'.repeat(depth - 1)} }`;

/** Nothing of these is used. */
export const badTexts: readonly BadText[] = [
  ['empty', '', 1, undefined, 'write at least {}'],
  ['only white space', ' \n ', 1, undefined, 'write at least {}'],
  ['only a comment', '// later', 1, undefined, 'fix it'],
  ['null', 'null', 1, undefined, 'write { "mcpServers": {} }'],
  ['an array', '\n[]', 2, undefined, 'write { "mcpServers": {} }'],
  ['a string', '"x"', 1, undefined, 'write { "mcpServers": {} }'],
  ['a number', '7', 1, undefined, 'write { "mcpServers": {} }'],
  ['cut off', '{\n"mcpServers": {\n"a":', 3, undefined, 'fix it here or just above'],
  ['without a comma', '{\n"a": 1\n"b": 2 }', 3, undefined, 'comma expected'],
  ['followed by a second document', '{}\n{}', 2, undefined, 'fix it'],
  ['with two byte order marks', '\ufeff\ufeff{}', 1, undefined, 'fix it'],
  ['with a NUL', '{\n\0}', 2, undefined, 'save it as UTF-8'],
  ['nested too deeply', `\n${nested(257)}`, 2, undefined, 'flatten it'],
  ['nested beyond any call stack', `\n${'['.repeat(200_000)}`, 2, undefined, 'flatten it'],
  ['longer than allowed', `{}${' '.repeat(maxSettingsBytes)}`, 1, undefined, 'split them'],
  [
    'an object with an array of servers',
    '{\n"mcpServers": [] }',
    2,
    'mcpServers',
    'write { "name"',
  ],
  [
    'an object with duplicate servers',
    '{ "mcpServers": {},\n"mcpServers": {} }',
    2,
    'mcpServers',
    'join the two',
  ],
  ['an object with duplicate limits', '{ "mcp": {},\n"mcp": {} }', 2, 'mcp', 'join the two'],
  ['an object with an array of limits', '{\n"mcp": [] }', 2, 'mcp', 'write { "excluded": [] }'],
  [
    'an object with a name instead of an array',
    '{ "mcp": {\n"allowed": "db" } }',
    2,
    'mcp.allowed',
    'write ["db"]',
  ],
  [
    'an object with an empty name in an array',
    '{ "mcp": { "allowed": ["db",\n""] } }',
    2,
    'mcp.allowed.1',
    'write ["db"]',
  ],
  [
    'an object with null in an array',
    '{ "mcp": { "excluded": [null] } }',
    1,
    'mcp.excluded.0',
    'write ["db"]',
  ],
  [
    'an object with a duplicate array',
    '{ "mcp": { "excluded": [],\n"excluded": ["a"] } }',
    2,
    'mcp.excluded',
    'keep one of the two',
  ],
  [
    'an object with a misspelled limit',
    '{ "mcp": {\n"exclude": ["a"] } }',
    2,
    'mcp.exclude',
    'did you mean "excluded"?',
  ],
];

/** Of these, all else is used. */
export const harmlessMistakes: readonly BadText[] = [
  [
    'servers under another name',
    '{\n"servers": { "a": { "host": "x" } } }',
    2,
    'servers',
    'did you mean "mcpServers"?',
  ],
  [
    'a misspelled servers key',
    '{\n"mcp-server": {} }',
    2,
    'mcp-server',
    'did you mean "mcpServers"?',
  ],
  [
    'a server at the top level',
    '{ "theme": "dark",\n"db": { "command": "npx" } }',
    2,
    'db',
    'move it below "mcpServers"',
  ],
  ['an unknown key in mcp', '{ "mcp": {\n"colour": 1 } }', 2, 'mcp.colour', 'remove it'],
  ['a misspelled key in mcp', '{ "mcp": {\n"slot": {} } }', 2, 'mcp.slot', 'did you mean "slots"?'],
  [
    'slots as a number',
    '{ "mcp": {\n"slots": 3 } }',
    2,
    'mcp.slots',
    'write { "local": 3, "remote": 20 }',
  ],
  ['zero slots', '{ "mcp": { "slots": {\n"local": 0 } } }', 2, 'mcp.slots.local', 'from 1 to 1000'],
  [
    'an unknown slot',
    '{ "mcp": { "slots": {\n"both": 1 } } }',
    2,
    'mcp.slots.both',
    'write one of local, remote',
  ],
  [
    'an unknown limit',
    '{ "mcp": { "limits": {\n"perHour": 1 } } }',
    2,
    'mcp.limits.perHour',
    'write one of perMinute, perClientPerMinute',
  ],
  [
    'a quoted startup gate',
    '{ "mcp": {\n"startupGateMs": "250" } }',
    2,
    'mcp.startupGateMs',
    'write 250',
  ],
  [
    'a startup gate of an hour',
    '{ "mcp": { "startupGateMs": 3600000 } }',
    1,
    'mcp.startupGateMs',
    'from 0 to 60000',
  ],
  [
    'an unknown preset',
    '{ "mcp": { "policy": "strict" } }',
    1,
    'mcp.policy',
    'must be one of "default"',
  ],
  [
    'a misspelled preset',
    '{ "mcp": { "policy": "ClaudCode" } }',
    1,
    'mcp.policy',
    'did you mean "claudeCode"?',
  ],
  [
    'a policy number out of range',
    '{ "mcp": { "policy": {\n"restart": {\n"maxAttempts": -1 } } } }',
    3,
    'mcp.policy.restart.maxAttempts',
    'from 0 to 1000, without quotes, or null for no limit',
  ],
];
