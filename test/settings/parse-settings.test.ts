import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprintOf } from '../../src/policies/fingerprint.ts';
import { defaultPolicy } from '../../src/policies/presets/default-policy.ts';
import { overridePolicy } from '../../src/policies/presets/override-policy.ts';
import {
  foldersOf,
  type ParsedDocument,
  parseSettings,
  refuseFolders,
} from '../../src/settings/parse-settings.ts';

const origin = {
  file: '/project/settings.json',
  scope: 'config',
  projectRoot: '/project',
} as const;
const inProject = {
  file: '/project/.mcp.json',
  scope: 'project',
  projectRoot: '/project',
} as const;

function documentOf(
  text: string,
  from: Parameters<typeof parseSettings>[1] = origin,
): ParsedDocument {
  const { document } = parseSettings(text, from);
  if (document === undefined) throw new Error('the text gave no document');
  return document;
}

const serverOf = (entry: string, from?: Parameters<typeof parseSettings>[1]) =>
  documentOf(`{ "mcpServers": { "db": ${entry} } }`, from).servers[0];

describe('a settings file', () => {
  it('parses a complete local server', () => {
    const text = `{ // mine
  "mcpServers": {
    "db": {
      "type": "stdio", "command": "npx", "args": ["-y", "@my-org/db@1.2.3"],
      "env": { "DB_URL": "\${DB_URL}" }, "cwd": "data", "era": "legacy",
      "enabled": false, "startup": "lazy", "trust": true, "description": "the database",
      "handover": "exclusive", "policy": "default",
      "timeoutMs": 1000, "connectTimeoutMs": 2000, "idleStopMs": 300000, "restart": "never", "maxAttempts": 2,
      "tools": { "include": ["a*"], "exclude": ["drop_*"], "overrides": { "query": { "timeoutMs": 120000 }, "x": {} } },
    },
  },
  "mcp": { "allowed": ["db"], "excluded": [], "policy": "default", "slots": { "local": 1 }, "startupGateMs": 0 },
}`;
    const { document, problems } = parseSettings(text, origin);
    expect(problems).toEqual([]);
    expect(document?.mcp).toEqual({
      allowed: ['db'],
      excluded: [],
      policy: { preset: 'default', overrides: {} },
      slots: { local: 1 },
      startupGateMs: 0,
    });
    const [server] = document?.servers ?? [];
    const spec = {
      type: 'stdio',
      command: 'npx',
      args: ['-y', '@my-org/db@1.2.3'],
      env: { DB_URL: '${DB_URL}' },
      cwd: '/project/data',
      era: 'legacy',
    } as const;
    expect(server?.spec).toEqual(spec);
    expect(server?.desired).toEqual({
      name: 'db',
      generation: fingerprintOf(spec),
      transport: 'stdio',
      mayDownload: true,
      enabled: false,
      startup: 'lazy',
      trust: true,
      description: 'the database',
      tools: {
        include: ['a*'],
        exclude: ['drop_*'],
        overrides: [{ tool: 'query', timeoutMs: 120_000 }, { tool: 'x' }],
      },
      policy: overridePolicy(defaultPolicy, {
        startup: { mode: 'lazy', maxAttempts: 2 },
        connect: { localTimeoutMs: 2_000, firstRunTimeoutMs: 2_000, remoteTimeoutMs: 2_000 },
        restart: { on: 'never', maxAttempts: 2 },
        idle: { stopMs: 300_000 },
        call: { timeoutMs: 1_000 },
      }),
      source: { file: '/project/settings.json', key: 'mcpServers.db', line: 3, scope: 'config' },
      gated: false,
    });
  });

  it('removes control and hidden characters from a description', () => {
    const server = serverOf('{ "command": "npx", "description": "a\\u001b[2Jb\\u202ec" }');
    expect(server?.desired.description).toBe('abc');
  });

  it('applies defaults to missing keys', () => {
    const server = serverOf('{ "url": "https://api.example.com/mcp" }');
    expect(server?.spec).toEqual({
      type: 'http',
      url: 'https://api.example.com/mcp',
      headers: {},
      era: 'auto',
      fallback: 'sse',
    });
    expect(server?.desired).toMatchObject({
      transport: 'http',
      enabled: true,
      startup: 'eager',
      trust: false,
      tools: { include: ['*'], exclude: [] },
      policy: defaultPolicy,
    });
  });

  it.each([
    ['{ "url": "https://host/" }', { type: 'http', fallback: 'sse' }],
    ['{ "url": "https://host/", "era": "legacy" }', { type: 'http', fallback: 'sse' }],
    ['{ "url": "https://host/", "era": "modern" }', { type: 'http', fallback: undefined }],
    ['{ "url": "https://host/", "type": "http" }', { type: 'http', fallback: undefined }],
    [
      '{ "url": "https://host/", "type": "streamable-http" }',
      { type: 'http', fallback: undefined },
    ],
    ['{ "url": "https://host/", "type": "sse" }', { type: 'sse', fallback: undefined }],
    ['{ "url": "wss://host/", "type": "ws" }', { type: 'ws', fallback: undefined }],
    ['{ "url": "ws://host/" }', { type: 'ws', fallback: undefined }],
  ])('determines the transport of %s', (entry, { type, fallback }) => {
    const server = serverOf(entry);
    expect(server?.desired.invalid).toBeUndefined();
    expect(server?.desired.transport).toBe(type);
    expect(server?.spec).toMatchObject({ type, ...(fallback === undefined ? {} : { fallback }) });
    expect(server?.spec && 'fallback' in server.spec).toBe(fallback !== undefined);
  });

  it.each([
    ['a byte order mark', '\ufeff{ "mcpServers": { "db": { "command": "node" } } }'],
    ['Windows line endings', '{\r\n"mcpServers": {\r\n"db": { "command": "node" }\r\n}\r\n}'],
    ['comments', '{ /* a */ "mcpServers": { // b\n "db": { "command": "node" } } }'],
    ['trailing commas', '{ "mcpServers": { "db": { "command": "node", "args": [], }, }, }'],
  ])('may contain %s', (_what, text) => {
    const { document, problems } = parseSettings(text, origin);
    expect(problems).toEqual([]);
    expect(document?.servers[0]?.spec).toMatchObject({ command: 'node' });
  });

  it('counts lines correctly with any line ending', () => {
    const lineOf = (text: string) => documentOf(text).servers[0]?.desired.source.line;
    expect(lineOf('{\r\n"mcpServers": {\r\n"db": {} } }')).toBe(3);
    expect(lineOf('{\n"mcpServers": {\n"db": {} } }')).toBe(3);
  });

  it.each([
    ['npx', 'npx'],
    ['./bin/server', '/project/bin/server'],
    ['../server', '/server'],
    ['/opt/My Tools/server', '/opt/My Tools/server'],
    ['${HOME}/bin/server', '${HOME}/bin/server'],
  ])('parses the command %s as %s', (written, meant) => {
    expect(serverOf(`{ "command": "${written}" }`)?.spec).toMatchObject({ command: meant });
  });

  it.each([
    ['.', '/project'],
    ['sub/dir', '/project/sub/dir'],
    ['/abs', '/abs'],
    ['${DATA}/x', '${DATA}/x'],
  ])('parses the folder %s as %s', (written, meant) => {
    const server = serverOf(`{ "command": "npx", "cwd": "${written}" }`);
    expect(server?.spec).toMatchObject({ cwd: meant });
  });

  it('starts servers in the project folder without "cwd"', () => {
    expect(serverOf('{ "command": "npx" }')?.spec).toMatchObject({ cwd: '/project' });
    expect(serverOf('{ "command": "npx" }')?.desired.generation).toBe(
      serverOf('{ "command": "npx", "cwd": ".", "args": [], "type": "stdio" }')?.desired.generation,
    );
  });

  it.each([
    'https://${HOST}/mcp',
    'https://host:${PORT}/mcp',
    'https://api.${DOMAIN}/mcp',
    '${BASE}/mcp',
    'http://[::1]:3000/mcp',
    'https://xn--bcher-kva.example/#part',
  ])('accepts the URL %s', (url) => {
    expect(serverOf(`{ "url": "${url}" }`)?.desired.invalid).toBeUndefined();
  });

  it('accepts "streamable-http" as "http"', () => {
    const other = serverOf('{ "type": "streamable-http", "url": "https://host/" }');
    expect(other?.spec).toEqual(serverOf('{ "type": "http", "url": "https://host/" }')?.spec);
  });

  it('yields the same servers in any layout and key order', () => {
    const entry = fc.record(
      {
        args: fc.array(fc.string()),
        env: fc.dictionary(fc.stringMatching(/^[A-Z]{1,5}$/), fc.stringMatching(/^["-~][ -~]*$/)),
        startup: fc.constantFrom('eager', 'lazy'),
        timeoutMs: fc.integer({ min: 1, max: 1_000_000 }),
      },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(entry, fc.constantFrom(0, 2, '\t'), (fields, indent) => {
        const forwards = { command: 'node', ...fields };
        const backwards = Object.fromEntries(Object.entries(forwards).toReversed());
        const meaning = (value: unknown) => {
          const text = JSON.stringify({ mcpServers: { db: value } }, null, indent);
          const server = documentOf(text).servers[0];
          return { spec: server?.spec, desired: { ...server?.desired, source: null } };
        };
        expect(meaning(backwards)).toEqual(meaning(forwards));
      }),
    );
  });

  it('returns a document or a problem for any text and never throws', () => {
    const whole = '{ "mcpServers": { "db": { "command": "node", "args": ["x"] } }, "mcp": {} }';
    const cutOrMixed = fc.oneof(
      fc.string(),
      fc.jsonValue().map((value) => JSON.stringify(value)),
      fc.jsonValue().map((value) => JSON.stringify({ mcpServers: { a: value }, mcp: value })),
      fc.nat(whole.length).map((length) => whole.slice(0, length)),
    );
    fc.assert(
      fc.property(cutOrMixed, (text) => {
        const { document, problems } = parseSettings(text, origin);
        expect(document !== undefined || problems.length > 0).toBe(true);
      }),
    );
  });
});

describe("a folder's settings", () => {
  const entry = '{ "command": "npx",\n"trust": true, "timeoutMs": 5, "restart": "never" }';

  it('require approval and cannot set trust or numbers', () => {
    expect(serverOf(entry, inProject)?.desired).toMatchObject({
      gated: true,
      trust: false,
      policy: defaultPolicy,
    });
  });

  it('report where each ignored key belongs', () => {
    const text = `{ "mcpServers": { "db": ${entry} }, "mcp": { "slots": { "local": 9 } } }`;
    const { problems } = parseSettings(text, inProject);
    expect(problems.map(({ line, key }) => [line, key])).toEqual([
      [2, 'mcp.slots'],
      [2, 'mcpServers.db.trust'],
      [2, 'mcpServers.db.timeoutMs'],
      [2, 'mcpServers.db.restart'],
    ]);
    for (const { file, message } of problems) {
      expect(file).toBe('/project/.mcp.json');
      expect(message).toContain('set it in settings of your own');
    }
  });

  it.each(['project', 'workspace', 'local'] as const)(
    'require approval in the scope %s',
    (scope) => {
      const server = serverOf('{ "command": "npx" }', { ...inProject, scope });
      expect(server?.desired.gated).toBe(true);
    },
  );

  it.each(['managed', 'user', 'config', 'api'] as const)(
    'require no approval in the scope %s',
    (scope) => {
      const server = serverOf('{ "command": "npx" }', { ...inProject, scope });
      expect(server?.desired.gated).toBe(false);
    },
  );
});

describe("the host's settings", () => {
  const host = { file: 'host settings', scope: 'api', projectRoot: '/project' } as const;

  it('have no file and no line numbers', () => {
    expect(serverOf('{ "command": "npx" }', host)?.desired.source).toEqual({
      key: 'mcpServers.db',
      scope: 'api',
    });
    expect(serverOf('{}', host)?.desired.invalid).toEqual({
      file: 'host settings',
      key: 'mcpServers.db',
      message: expect.any(String),
    });
  });
});

describe("an entry's working folder", () => {
  const text = `{ "mcpServers": {
    "a": { "command": "npx",
           "cwd": "gone" },
    "b": { "command": "npx", "cwd": "gone" },
    "c": { "command": "npx", "cwd": "here" },
    "d": { "command": "npx", "cwd": "\${DATA}" },
    "e": { "command": "npx" } } }`;

  it('is listed once, and only if it contains no references', () => {
    expect(foldersOf(documentOf(text))).toEqual(['/project/gone', '/project/here']);
  });

  it('invalidates only its own servers when it is missing', () => {
    const { servers } = refuseFolders(
      documentOf(text),
      new Map([['/project/gone', 'missing']] as const),
    );
    expect(servers.map(({ desired, spec }) => [desired.name, spec === undefined])).toEqual([
      ['a', true],
      ['b', true],
      ['c', false],
      ['d', false],
      ['e', false],
    ]);
    expect(servers[0]?.desired.invalid).toEqual({
      file: '/project/settings.json',
      line: 3,
      key: 'mcpServers.a.cwd',
      message: 'folder /project/gone does not exist; create it or change "cwd"',
    });
  });

  it.each([
    ['notFolder', '/project/gone is not a folder; set "cwd" to the path of a folder'],
    ['unreachable', 'cannot read folder /project/gone; grant access or change "cwd"'],
  ] as const)('has a separate message when it is %s', (fault, message) => {
    const { servers } = refuseFolders(documentOf(text), new Map([['/project/gone', fault]]));
    expect(servers[1]?.desired.invalid).toMatchObject({ key: 'mcpServers.b.cwd', message });
  });

  it('warns of a misspelt key at the top and still uses the servers of the file', () => {
    const misspelt =
      '{ "mcpServer": {}, "inputz": [], "theme": 1, "mcpServers": { "db": { "command": "db" } } }';
    const parse = (file: string) =>
      parseSettings(misspelt, { file, scope: 'config', projectRoot: '/project' });
    const { document, problems } = parse('/project/troupe.json');
    expect(document?.servers.map(({ desired }) => desired.name)).toEqual(['db']);
    expect(problems.map(({ message }) => message)).toEqual([
      'unknown key; did you mean "mcpServers"?',
      'unknown key; did you mean "inputs"?',
    ]);
    // Another host's file may have a key that is close to a short one of ours.
    expect(parse('/home/.host.json').problems).toHaveLength(1);
  });
});
