/** Mistakes in a whole text: at which line and key, and what the message says next. */

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
  ['white space', ' \n ', 1, undefined, 'write at least {}'],
  ['a comment alone', '// later', 1, undefined, 'fix it'],
  ['null', 'null', 1, undefined, 'write { "mcpServers": {} }'],
  ['a list', '\n[]', 2, undefined, 'write { "mcpServers": {} }'],
  ['a text', '"x"', 1, undefined, 'write { "mcpServers": {} }'],
  ['a number', '7', 1, undefined, 'write { "mcpServers": {} }'],
  ['cut off', '{\n"mcpServers": {\n"a":', 3, undefined, 'fix it here or just above'],
  ['without a comma', '{\n"a": 1\n"b": 2 }', 3, undefined, 'comma expected'],
  ['with a second text behind it', '{}\n{}', 2, undefined, 'fix it'],
  ['with two byte order marks', '\ufeff\ufeff{}', 1, undefined, 'fix it'],
  ['with a NUL', '{\n\0}', 2, undefined, 'save it as UTF-8'],
  ['nested too deeply', `\n${nested(257)}`, 2, undefined, 'flatten it'],
  ['nested beyond any stack', `\n${'['.repeat(200_000)}`, 2, undefined, 'flatten it'],
  ['longer than a megabyte', `{}${' '.repeat(1_000_000)}`, 1, undefined, 'split them'],
  ['servers in a list', '{\n"mcpServers": [] }', 2, 'mcpServers', 'write { "name"'],
  ['servers twice', '{ "mcpServers": {},\n"mcpServers": {} }', 2, 'mcpServers', 'join the two'],
  ['limits twice', '{ "mcp": {},\n"mcp": {} }', 2, 'mcp', 'join the two'],
  ['limits in a list', '{\n"mcp": [] }', 2, 'mcp', 'write { "excluded": [] }'],
  ['one name for a list', '{ "mcp": {\n"allowed": "db" } }', 2, 'mcp.allowed', 'write ["db"]'],
  [
    'an empty name in a list',
    '{ "mcp": { "allowed": ["db",\n""] } }',
    2,
    'mcp.allowed.1',
    'write ["db"]',
  ],
  ['null in a list', '{ "mcp": { "excluded": [null] } }', 1, 'mcp.excluded.0', 'write ["db"]'],
  [
    'a list twice',
    '{ "mcp": { "excluded": [],\n"excluded": ["a"] } }',
    2,
    'mcp.excluded',
    'keep one of the two',
  ],
  [
    'a misspelt limit',
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
  ['servers misspelt', '{\n"mcp-server": {} }', 2, 'mcp-server', 'did you mean "mcpServers"?'],
  ['an unknown key of mcp', '{ "mcp": {\n"colour": 1 } }', 2, 'mcp.colour', 'remove it'],
  ['a misspelt key of mcp', '{ "mcp": {\n"slot": {} } }', 2, 'mcp.slot', 'did you mean "slots"?'],
  [
    'slots as a number',
    '{ "mcp": {\n"slots": 3 } }',
    2,
    'mcp.slots',
    'write { "local": 3, "remote": 20 }',
  ],
  ['no slot', '{ "mcp": { "slots": {\n"local": 0 } } }', 2, 'mcp.slots.local', 'from 1 to 1000'],
  [
    'an unknown slot',
    '{ "mcp": { "slots": {\n"both": 1 } } }',
    2,
    'mcp.slots.both',
    'write { "local": 3',
  ],
  [
    'a gate in quotes',
    '{ "mcp": {\n"startupGateMs": "250" } }',
    2,
    'mcp.startupGateMs',
    'write 250',
  ],
  [
    'a gate of an hour',
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
    'a preset with a slip of the pen',
    '{ "mcp": { "policy": "ClaudCode" } }',
    1,
    'mcp.policy',
    'did you mean "claudeCode"?',
  ],
  [
    'a number of the policy that cannot be meant',
    '{ "mcp": { "policy": {\n"restart": {\n"maxAttempts": -1 } } } }',
    3,
    'mcp.policy.restart.maxAttempts',
    'from 0 to 1000, without quotes, or null for no limit',
  ],
];
