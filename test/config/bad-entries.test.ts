import { describe, expect, it } from 'vitest';

import { parseSettings } from '../../src/config/parse-settings.ts';

const origin = { file: '/settings/troupe.json', scope: 'config', projectRoot: '/project' } as const;

/** An entry is on line 4, its first field on line 5. */
function textWith(name: string, ...fields: readonly string[]): string {
  return [
    '{',
    '  "mcpServers": {',
    '    "good": { "command": "node", "args": ["server.js"] },',
    `    ${JSON.stringify(name)}: {`,
    fields.join(',\n'),
    '    }',
    '  }',
    '}',
  ].join('\n');
}

type Row = readonly [
  what: string,
  fields: readonly string[],
  key: string,
  line: number,
  next: string,
];

const command = '"command": "npx"';
const url = '"url": "https://host/mcp"';

const rows: readonly Row[] = [
  // Which kind of server.
  [
    'both command and url',
    [command, url],
    'url',
    6,
    'keep "command" for a local server or "url" for a remote one',
  ],
  [
    'neither command nor url',
    ['"enabled": true'],
    '',
    4,
    'add "command" for a local server or "url" for a remote one',
  ],
  ['an unknown type', [command, '"type": "grpc"'], 'type', 6, 'leave it out'],
  ['a type in capitals', [command, '"type": "STDIO"'], 'type', 6, 'must be "stdio", "http"'],
  ['an address that is no WebSocket', ['"type": "ws"', url], 'url', 6, 'write "wss://host/mcp"'],
  [
    'a WebSocket of another type',
    ['"url": "wss://host/"', '"type": "http"'],
    'type',
    6,
    '"type": "ws"',
  ],
  [
    'an era that SSE has not',
    [url, '"type": "sse"', '"era": "modern"'],
    'era',
    7,
    '"type": "http"',
  ],
  ['a server that only a host has', ['"type": "memory"'], 'type', 5, 'a host hands in'],
  ['an embedded command', ['"type": "memory"', command], 'command', 6, 'takes no "command"'],
  ['an embedded address', ['"type": "memory"', url], 'url', 6, 'takes no "url"'],
  ['embedded headers', ['"type": "memory"', '"headers": {}'], 'headers', 6, 'takes no "headers"'],
  ['a local type with a url', [url, '"type": "stdio"'], 'type', 6, 'write "type": "http"'],
  ['a remote type with a command', [command, '"type": "http"'], 'type', 6, 'write "type": "stdio"'],
  ['headers of a local server', [command, '"headers": {}'], 'headers', 6, 'takes "env"'],
  ['env of a remote server', [url, '"env": {}'], 'env', 6, 'takes "headers"'],
  ['a folder of a remote server', [url, '"cwd": "."'], 'cwd', 6, 'remove it'],

  // Keys.
  ['a misspelt key', [command, '"argz": []'], 'argz', 6, 'did you mean "args"?'],
  [
    'a key in other capitals',
    [command, '"timeoutms": 5'],
    'timeoutms',
    6,
    'did you mean "timeoutMs"?',
  ],
  ['an unknown key', [command, '"autoStart": []'], 'autoStart', 6, 'remove it'],
  [
    'an unknown key of tools',
    [command, '"tools": { "includes": [] }'],
    'tools.includes',
    6,
    'did you mean "include"?',
  ],
  ['a key given twice', [command, '"args": []', '"args": ["x"]'], 'args', 7, 'keep one of the two'],
  [
    'a name given twice in env',
    [command, '"env": {\n"A": "1",\n"A": "2" }'],
    'env.A',
    8,
    'keep one of the two',
  ],
  [
    'a key that vanishes',
    [command, '"env": { "__proto__": "x" }'],
    'env.__proto__',
    6,
    'choose another name',
  ],

  // Types and ranges.
  ['a command that is no text', ['"command": ["npx"]'], 'command', 5, 'write "npx"'],
  ['arguments as one text', [command, '"args": "-y x"'], 'args', 6, 'write ["-y", "package"]'],
  ['no list of arguments', [command, '"args": null'], 'args', 6, 'write ["-y", "package"]'],
  [
    'a number among the arguments',
    [command, '"args": ["--port",\n8080]'],
    'args.1',
    7,
    'in quotes',
  ],
  ['env as a list', [command, '"env": ["A=1"]'], 'env', 6, 'write { "NAME": "value" }'],
  ['a number in env', [command, '"env": { "PORT": 1 }'], 'env.PORT', 6, 'in quotes'],
  ['a folder that is no text', [command, '"cwd": 1'], 'cwd', 6, 'write "."'],
  ['a url that is no text', ['"url": 1'], 'url', 5, 'write "https://host/mcp"'],
  ['headers as a list', [url, '"headers": []'], 'headers', 6, 'write { "X-Key": "value" }'],
  ['enabled in quotes', [command, '"enabled": "false"'], 'enabled', 6, 'without quotes'],
  ['trust in quotes', [command, '"trust": "true"'], 'trust', 6, 'without quotes'],
  ['an unknown startup', [command, '"startup": "later"'], 'startup', 6, '"eager" or "lazy"'],
  ['an unknown era', [command, '"era": "2025"'], 'era', 6, '"auto" or "legacy" or "modern"'],
  ['an unknown restart rule', [command, '"restart": "on"'], 'restart', 6, '"never"'],
  ['an unknown policy', [command, '"policy": "strict"'], 'policy', 6, '"default"'],
  [
    'a handover not supported yet',
    [command, '"handover": "seamless"'],
    'handover',
    6,
    'write "exclusive"',
  ],
  ['a timeout of zero', [command, '"timeoutMs": 0'], 'timeoutMs', 6, 'from 1 to 2147483647'],
  ['a negative timeout', [command, '"timeoutMs": -1'], 'timeoutMs', 6, 'from 1 to 2147483647'],
  [
    'a timeout beyond any timer',
    [command, '"timeoutMs": 2147483648'],
    'timeoutMs',
    6,
    'from 1 to 2147483647',
  ],
  ['an endless timeout', [command, '"timeoutMs": 1e999'], 'timeoutMs', 6, 'from 1 to 2147483647'],
  ['a timeout in quotes', [command, '"timeoutMs": "30"'], 'timeoutMs', 6, 'without quotes'],
  [
    'half a millisecond',
    [command, '"connectTimeoutMs": 0.5'],
    'connectTimeoutMs',
    6,
    'whole number',
  ],
  ['an idle time of zero', [command, '"idleStopMs": 0'], 'idleStopMs', 6, 'from 1 to'],
  ['no attempt at all', [command, '"maxAttempts": 0'], 'maxAttempts', 6, 'from 1 to 1000'],
  [
    'a thousand and one attempts',
    [command, '"maxAttempts": 1001'],
    'maxAttempts',
    6,
    'from 1 to 1000',
  ],
  ['tools as a text', [command, '"tools": "*"'], 'tools', 6, 'write { "include": ["*"]'],
  [
    'one tool in place of a list',
    [command, '"tools": { "exclude": "drop_*" }'],
    'tools.exclude',
    6,
    'write ["read_*"]',
  ],
  [
    'a text for a tool',
    [command, '"tools": { "overrides": { "q": "fast" } }'],
    'tools.overrides.q',
    6,
    'write { "query": { "timeoutMs": 120000 } }',
  ],
  [
    'a bad timeout of a tool',
    [command, '"tools": { "overrides": { "q": { "timeoutMs": 0 } } }'],
    'tools.overrides.q.timeoutMs',
    6,
    'from 1 to',
  ],
  [
    'a description beyond its length',
    [command, `"description": "${'a'.repeat(2_049)}"`],
    'description',
    6,
    'shorten it',
  ],

  // Command and folder.
  ['an empty command', ['"command": ""'], 'command', 5, 'write the program'],
  ['a command of spaces', ['"command": "  "'], 'command', 5, 'write the program'],
  ['spaces around the command', ['"command": " node "'], 'command', 5, 'remove it'],
  ['arguments in the command', ['"command": "npx -y x"'], 'command', 5, 'the rest in "args"'],
  [
    'arguments in the command and apart',
    ['"command": "npx -y", "args": ["x"]'],
    'command',
    5,
    'the rest in "args"',
  ],
  ['options behind a path', ['"command": "/usr/bin/npx -y x"'], 'command', 5, 'the rest in "args"'],
  ['a home folder as in a shell', ['"command": "~/bin/server"'], 'command', 5, 'write ${HOME}'],
  [
    'a variable as in a shell',
    ['"command": "$HOME/bin/server"'],
    'command',
    5,
    'in braces, as in ${HOME}',
  ],
  ['a NUL in the command', ['"command": "no\\u0000de"'], 'command', 5, 'write it without'],
  [
    'half a character in the command',
    ['"command": "no\\ud800de"'],
    'command',
    5,
    'write it without',
  ],
  ['an empty folder', [command, '"cwd": ""'], 'cwd', 6, 'write "."'],
  ['a home folder in cwd', [command, '"cwd": "~/x"'], 'cwd', 6, 'write ${HOME}'],
  [
    'an assignment for a name',
    [command, '"env": {\n"A=B": "x" }'],
    'env.A=B',
    7,
    'write "NAME": "value"',
  ],
  ['an empty name in env', [command, '"env": { "": "x" }'], 'env.', 6, 'write "NAME": "value"'],

  // Address and headers.
  ['a url without a scheme', ['"url": "host/mcp"'], 'url', 5, 'write it whole'],
  ['a url without a host', ['"url": "https://"'], 'url', 5, 'write it whole'],
  ['a port beyond the last', ['"url": "https://host:65536/"'], 'url', 5, 'write it whole'],
  ['a file for a url', ['"url": "file:///etc/passwd"'], 'url', 5, 'begin with http:// or https://'],
  [
    'a script for a url',
    ['"url": "javascript:alert(1)"'],
    'url',
    5,
    'begin with http:// or https://',
  ],
  ['a password in the url', ['"url": "https://me:hunter2@host/"'], 'url', 5, 'put it in "headers"'],
  [
    'a url of 64 KB',
    [`"url": "https://host/${'a'.repeat(65_536)}"`],
    'url',
    5,
    'write "https://host/mcp"',
  ],
  [
    'a line break in a header',
    [url, '"headers": { "X-A": "b\\r\\nX-C: d" }'],
    'headers.X-A',
    6,
    'on one line',
  ],
  [
    'a header no letter of which fits',
    [url, '"headers": { "X-A": "日本" }'],
    'headers.X-A',
    6,
    'no header may have',
  ],
  [
    'a space in the name of a header',
    [url, '"headers": { "X A": "b" }'],
    'headers.X A',
    6,
    'write "X-Key": "value"',
  ],
  [
    'a header of the protocol',
    [url, '"headers": { "mcp-session-id": "1" }'],
    'headers.mcp-session-id',
    6,
    'remove it',
  ],
  [
    'a header in two spellings',
    [url, '"headers": { "X-A": "b",\n"x-a": "c" }'],
    'headers.x-a',
    7,
    'keep one of the two',
  ],
];

describe('a bad entry', () => {
  it.each(rows)(
    'is refused for %s, and says where and what to write',
    (_what, fields, key, line, next) => {
      const { document, problems } = parseSettings(textWith('bad', ...fields), origin);
      const [good, bad] = document?.servers ?? [];

      expect(bad?.desired.invalid).toEqual({
        file: '/settings/troupe.json',
        line,
        key: key === '' ? 'mcpServers.bad' : `mcpServers.bad.${key}`,
        message: expect.stringContaining(next),
      });
      expect(bad?.spec).toBeUndefined();
      expect(good?.desired.invalid).toBeUndefined();
      expect(good?.spec).toBeDefined();
      expect(problems).toEqual([]);
    },
  );

  it.each(['null', '[]', '"npx"', '7'])(
    'is refused when it is %s in place of an object',
    (entry) => {
      const text = `{ "mcpServers": {\n"bad": ${entry},\n"good": { "command": "node" } } }`;
      const [bad, good] = parseSettings(text, origin).document?.servers ?? [];
      expect(bad?.desired.invalid).toMatchObject({
        line: 2,
        key: 'mcpServers.bad',
        message: expect.stringContaining('write { "command": "npx"'),
      });
      expect(good?.desired.invalid).toBeUndefined();
    },
  );

  it.each(['', ' ', '__proto__', 'a/b', 'é', '😀', 'a\nb', '\u202edb', 'a'.repeat(101)])(
    'is refused for its name %j and shown under one that can be typed',
    (name) => {
      const [, bad] = parseSettings(textWith(name, command), origin).document?.servers ?? [];
      expect(bad?.desired.name).toMatch(/^[\w.:-]{1,100}$/);
      expect(bad?.desired.invalid).toMatchObject({
        line: 4,
        message: expect.stringContaining('write 1 to 100 letters'),
      });
    },
  );

  it('is refused under a name that is given twice, naming both lines', () => {
    const text = textWith('good', command);
    const { document } = parseSettings(text, origin);
    expect(document?.servers).toHaveLength(1);
    expect(document?.servers[0]).not.toHaveProperty('spec');
    expect(document?.servers[0]?.desired.invalid).toEqual({
      file: '/settings/troupe.json',
      line: 4,
      key: 'mcpServers.good',
      message: 'the server is already on line 3; rename or remove one of the two',
    });
  });

  it.each([
    ['before', '"a/b": { "command": "x" },\n"a_b": { "command": "node" }', 2],
    ['after', '"a_b": { "command": "node" },\n"a/b": { "command": "x" }', 3],
  ])('of an impossible name does not harm its namesake %s it', (_where, entries, line) => {
    const { document, problems } = parseSettings(`{ "mcpServers": {\n${entries} } }`, origin);
    expect(document?.servers.map(({ desired }) => [desired.name, desired.invalid])).toEqual([
      ['a_b', undefined],
    ]);
    expect(problems).toEqual([expect.objectContaining({ line, key: 'mcpServers.a/b' })]);
  });

  it('never repeats a value, which may be a secret', () => {
    const secret = 'hunter2';
    const entries = [
      [`"command": "npx ${secret}"`],
      [`"command": " ${secret}"`],
      [`"url": "https://me:${secret}@host/"`],
      [`"url": "${secret}"`],
      [command, `"env": { "A": ["${secret}"] }`],
      [url, `"headers": { "A": "${secret}\\n" }`],
    ];
    for (const fields of entries) {
      const [, bad] = parseSettings(textWith('bad', ...fields), origin).document?.servers ?? [];
      expect(bad?.desired.invalid?.message).toBeTypeOf('string');
      expect(JSON.stringify(bad?.desired)).not.toContain(secret);
    }
  });

  it('is a new generation when it is edited and the same when it is laid out anew', () => {
    const generation = (entry: string) =>
      parseSettings(`{ "mcpServers": { "a": ${entry} } }`, origin).document?.servers[0]?.desired
        .generation;
    expect(generation('{ "command": 1, "args": [] }')).toBe(
      generation('{\n"args": [], // none\n"command": 1 }'),
    );
    expect(generation('{ "command": 1 }')).not.toBe(generation('{ "command": 2 }'));
  });

  it.each([
    ['{ "type": "sse", "url": 1 }', 'sse'],
    ['{ "type": "ws", "url": "https://host/" }', 'ws'],
    ['{ "type": "memory", "url": "https://host/" }', 'memory'],
    ['{ "type": "http" }', 'http'],
    ['{ "url": 1 }', 'http'],
    ['{ "type": "stdio", "url": "x" }', 'stdio'],
    ['null', 'stdio'],
  ])('written as %s is shown with the transport %s', (entry, transport) => {
    const text = `{ "mcpServers": { "a": ${entry} } }`;
    expect(parseSettings(text, origin).document?.servers[0]?.desired).toMatchObject({
      transport,
      invalid: {},
    });
  });

  it('that is switched off stays switched off', () => {
    const [, bad] =
      parseSettings(textWith('bad', '"enabled": false'), origin).document?.servers ?? [];
    expect(bad?.desired).toMatchObject({ enabled: false, invalid: {} });
  });
});
