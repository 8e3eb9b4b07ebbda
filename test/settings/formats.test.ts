import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { expandVariables } from '../../src/policies/expand-variables.ts';
import { convertSettings } from '../../src/settings/formats/convert-settings.ts';
import { readAnyTree } from '../../src/settings/formats/settings-language.ts';
import { readTomlTree } from '../../src/settings/formats/toml-tree.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { parseSettings, parseSettingsFile } from '../../src/settings/parse-settings.ts';
import {
  type TreeMember,
  type TreeNode,
  valueOf,
  writtenPath,
} from '../../src/settings/settings-tree.ts';
import { expectedOf, programFiles, readProgramFile } from '../support/program-files.ts';

/** Every key of an entry with the line and the key that it comes from. */
function provenance(server: TreeMember): Readonly<Record<string, string>> {
  const members = server.node.kind === 'object' ? server.node.members : [];
  return Object.fromEntries(
    members.map(({ name, line }) => [
      name,
      `${line} ${writtenPath(server, ['mcpServers', server.name], [name]).join('.')}`,
    ]),
  );
}

async function conversionOf(text: string) {
  const tree = await readAnyTree({ file: '/home/me/settings', text });
  if ('fault' in tree) throw new Error(tree.fault.message);
  const conversion = convertSettings(tree.root, { projectRoot: '/project' });
  if (conversion === undefined || 'fault' in conversion) throw new Error('it is not recognised');
  return conversion;
}

describe("another program's settings", () => {
  it.each(programFiles)("convert with each part's position: %s", async (name) => {
    const { format, servers, mcp, inputs, faults } = await conversionOf(readProgramFile(name));
    const expected = {
      format,
      servers: servers.map((server) => ({
        name: server.name,
        from: `${server.line} ${writtenPath(server, ['mcpServers', server.name], []).join('.')}`,
        entry: valueOf(server.node),
        keys: provenance(server),
      })),
      ...(mcp === undefined ? {} : { mcp: valueOf(mcp.node) }),
      ...(inputs === undefined ? {} : { inputs: valueOf(inputs.node) }),
      notConverted: faults.map(
        ({ line, path, message }) => `${line} ${path.join('.')}: ${message}`,
      ),
    };
    await expect(`${JSON.stringify(expected, null, 2)}\n`).toMatchFileSnapshot(expectedOf(name));
  });
});

const origin = { file: '/project/settings', scope: 'config', projectRoot: '/project' } as const;

describe("another program's settings file", () => {
  it.each(programFiles)(
    'parses as a layer and reports every problem with a position and a remedy: %s',
    async (name) => {
      const text = readProgramFile(name);
      const lineCount = text.split('\n').length;
      const { document, problems } = await parseSettingsFile(text, origin);
      const servers = document?.servers ?? [];
      expect(servers.filter(({ spec }) => spec !== undefined)).not.toEqual([]);
      for (const { desired } of servers) {
        const { line = 0, key } = desired.source;
        expect(line).toBeGreaterThan(0);
        expect(text.split('\n')[line - 1]).toContain(key.split('.').at(-1)?.replace(/^\d+$/u, ''));
      }
      for (const { file, line = 0, key, message } of [
        ...problems,
        ...servers.flatMap(({ desired }) => desired.invalid ?? []),
      ]) {
        expect({ file, inFile: line >= 1 && line <= lineCount, key: typeof key }).toEqual({
          file: origin.file,
          inFile: true,
          key: 'string',
        });
        expect(message).toMatch(/; |\?$/u);
      }
    },
  );

  it('may name the way to a server, as Continue does', async () => {
    const requestOptions = {
      timeout: 30,
      proxy: 'http://${env:PROXY}:3128',
      caBundlePath: 'ca.pem',
      clientCertificate: { cert: 'c.pem', key: 'k.pem', passphrase: 'p' },
      headers: { 'X-Key': 'x' },
      noProxy: ['localhost'],
      verifySsl: false,
    };
    const entry = { url: 'https://a.test/', requestOptions, rejectUnauthorized: true };
    const more = { url: 'https://b.test/', requestOptions: { caBundlePath: ['a', 'b'] } };
    const { servers, faults } = await conversionOf(
      JSON.stringify({ mcpServers: { a: entry, b: more } }),
    );
    expect(servers.map(({ node }) => valueOf(node))).toEqual([
      {
        url: 'https://a.test/',
        timeoutMs: 30_000,
        proxy: 'http://${PROXY}:3128',
        tls: { ca: 'ca.pem', cert: 'c.pem', key: 'k.pem', passphrase: 'p' },
        headers: { 'X-Key': 'x' },
      },
      { url: 'https://b.test/' },
    ]);
    expect(faults.map(({ path }) => path.join('.'))).toEqual([
      'mcpServers.a.requestOptions.noProxy',
      'mcpServers.a.requestOptions.verifySsl',
      'mcpServers.b.requestOptions.caBundlePath',
    ]);
  });

  it.each([
    ['of Cline by a key', '/a.json', { alwaysAllow: ['x'], timeout: 3600 }, 3_600_000],
    ['of Cline by its type', '/a.json', { type: 'streamableHttp', timeout: 60 }, 60_000],
    ['of Roo by its place', '/p/.roo/mcp.json', { timeout: 300 }, 300_000],
    ['beyond an hour', '/p/.roo/mcp.json', { timeout: 30_000 }, 30_000],
    ['of Gemini by its place', '/p/.gemini/settings.json', { timeout: 500 }, 500],
    ['of nobody', '/a.json', { timeout: 1_500 }, 1_500],
    ['of nobody, too small to tell', '/a.json', { timeout: 500 }, undefined],
    ['of one of several', '/a.json', { autoApprove: [], timeout: 3_600 }, undefined],
  ])('may count in seconds: %s', (_what, file, keys, expected) => {
    const entry = { url: 'https://a.test/mcp', ...keys };
    const text = JSON.stringify({ mcpServers: { a: entry } });
    const { document, problems } = parseSettings(text, { ...origin, file });
    const { call } = document?.servers[0]?.policy.overrides ?? {};
    expect(call?.timeoutMs).toBe(expected);
    expect(problems.some(({ key }) => key?.endsWith('.timeout'))).toBe(expected === undefined);
  });

  it.each([
    ['a key of the program', '/p/.cursor/mcp.json', { novelty: 1 }, 'warning'],
    ['a misspelling of ours', '/p/.cursor/mcp.json', { timeoutMS: 1 }, 'warning'],
    ['a prohibition', '/p/.cursor/mcp.json', { forbiddenTools: ['x'] }, 'error'],
    ['a key beside one of another program', '/a.json', { disabled: false, novelty: 1 }, 'warning'],
    ['a misspelling there', '/a.json', { disabled: false, timeoutMS: 1 }, 'refused'],
    ['a key in a file that may be ours', '/a.json', { novelty: 1 }, 'refused'],
    ['the same in a file of ours', '/p/troupe.json', { disabled: false, novelty: 1 }, 'refused'],
  ])('may have an unknown key: %s', (_what, file, keys, expected) => {
    const text = JSON.stringify({ mcpServers: { a: { command: 'a', ...keys } } });
    const { document, problems } = parseSettings(text, { ...origin, file });
    const refusal = document?.servers[0]?.desired.invalid;
    const [problem] = problems;
    expect(refusal === undefined ? (problem?.severity ?? 'error') : 'refused').toBe(expected);
    expect((refusal ?? problem)?.key).toBe(`mcpServers.a.${Object.keys(keys).at(-1)}`);
  });

  it('keeps a server whose name would become that of another', () => {
    const text = JSON.stringify({ mcpServers: { 'a b': { command: 'x' }, a_b: { command: 'y' } } });
    const { document, problems } = parseSettings(text, origin);
    expect(document?.servers.map(({ spec }) => spec)).toMatchObject([{ command: 'y' }]);
    expect(problems).toMatchObject([
      { key: 'mcpServers.a b', message: expect.stringContaining('cannot be used') },
    ]);
  });

  it('applies its limits and requires approval for its servers in a project folder', async () => {
    const inFolder = { ...origin, scope: 'project' } as const;
    const { document, problems } = await parseSettingsFile(readProgramFile('qwen'), inFolder);
    expect(document?.mcp).toEqual({ allowed: ['one', 'two'], excluded: ['two'] });
    expect(document?.servers[0]?.desired).toMatchObject({ name: 'one', gated: true, trust: false });
    expect(problems).toContainEqual({
      file: origin.file,
      line: 6,
      key: 'mcpServers.one.timeout',
      message: expect.stringContaining('"timeoutMs" is ignored in a project file'),
      severity: 'warning',
    });
  });

  it("applies enabled and disabled lists, but a folder's file may only disable", async () => {
    const text =
      '{ "mcpServers": { "a": { "command": "a", "enabled": false } },\n"enabledServers": ["a"],\n"disabledServers": ["b"] }';
    const own = await parseSettingsFile(text, origin);
    expect(own.document?.mcp).toEqual({ disabledServers: ['b'], enabledServers: ['a'] });
    expect(mergeSettings([own]).settings.servers).toMatchObject([{ name: 'a', enabled: true }]);

    const ofFolder = await parseSettingsFile(text, { ...origin, scope: 'project' });
    expect(mergeSettings([ofFolder]).settings.servers).toMatchObject([{ enabled: false }]);
    expect(ofFolder.problems).toEqual([
      {
        file: origin.file,
        line: 2,
        key: 'enabledServers',
        message: '"enabledServers" is ignored in a project file; set it in settings of your own',
        severity: 'warning',
      },
    ]);
  });

  it.each([
    ['from Codex', '[mcp_servers.a]\ncommand = "a"\nargs = ["${X}"]\n'],
    ['from Codex, like a command', '[mcp_servers.a]\ncommand = "a"\nenv = { T = "!x" }\n'],
    [
      'from Zed',
      '{ "context_servers": { "a": { "command": "a", "env": { "T": "${keychain:a/b}" } } } }',
    ],
    [
      'from oh-my-pi',
      '{ "mcpServers": { "a": { "command": "a", "args": ["${env:X}"], "envPolicy": "literal" } } }',
    ],
    [
      "from our format with another program's key",
      '{ "mcpServers": { "a": { "command": "a", "args": ["${env:X}", "${X}"], "values": "literal", "disabled": false } } }',
    ],
  ])('keeps a literal string: %s', async (_what, text) => {
    const [word = ''] = /"[^"]*[$!][^"]*"/u.exec(text) ?? [];
    const parsed = await parseSettingsFile(text, origin);
    const spec = parsed.document?.servers[0]?.spec;
    expect(parsed.problems).toEqual([]);
    expect(spec).toMatchObject({ values: { literal: true } });
    expect(JSON.stringify(spec)).toContain(word);
  });

  it('keeps a literal string in an entry that also refers to variables', async () => {
    const text =
      '[mcp_servers.a]\ncommand = "a"\nenv_vars = ["T"]\nargs = ["${X}", "$X"]\nenv = { U = "!pass" }\n';
    const { document, problems } = await parseSettingsFile(text, origin);
    const spec = document?.servers[0]?.spec;
    if (spec?.type !== 'stdio') throw new Error('it is no local server');
    const texts = [...spec.args, ...Object.values(spec.env)];
    expect(texts.map((each) => expandVariables(each, { T: 't', X: 'x' }))).toMatchObject([
      { value: '${X}' },
      { value: '$X' },
      { value: 't' },
      { value: '!pass' },
    ]);
    expect(problems).toEqual([]);
  });

  it("reports an invalid value under the file's own key", async () => {
    const text = '[mcp_servers.docs]\ncommand = "npx"\n\ntool_timeout_sec = "soon"\n';
    const { document } = await parseSettingsFile(text, origin);
    expect(document?.servers[0]?.desired.invalid).toEqual({
      file: origin.file,
      line: 4,
      key: 'mcp_servers.docs.tool_timeout_sec',
      message: expect.stringContaining('whole number of milliseconds'),
    });
  });

  it('refuses an entry with a duplicate key', async () => {
    const text = '{ "servers": { "a": {\n"command": "one",\n"command": "two" } } }';
    const { document } = await parseSettingsFile(text, origin);
    expect(document?.servers[0]?.desired.invalid).toMatchObject({
      line: 3,
      key: 'servers.a.command',
      message: expect.stringContaining('keep one of the two'),
    });
  });

  it.each([
    ['{ "mcpServers": {},\n"servers": { "a": { "command": "x" } } }', 2, 'servers'],
    ['{ "mcp_servers": {},\n"context_servers": {} }', 2, 'context_servers'],
    ['{ "mcpServers": {},\n"mcp": { "a": { "type": "local", "command": ["x"] } } }', 2, 'mcp'],
    ['mcpServers: {}\nservers:\n  - name: a\n    command: x\n', 2, 'servers'],
  ])('is rejected when two formats match: %j', async (text, line, key) => {
    expect(await parseSettingsFile(text, origin)).toEqual({
      problems: [
        { file: origin.file, line, key, message: expect.stringContaining('keep one of them') },
      ],
    });
  });

  it.each([
    ['[mcp_servers.a]\ncommand = \n', 2, 'not valid TOML'],
    ['a: 1\nb: [1\n', 3, 'not valid YAML'],
    ['a: 1\n---\nb: 2\n', 2, 'keep one'],
    ['agents: *unknown\n', 1, 'write the value itself'],
    [`a: 1\nb: ${'['.repeat(10_000)}${']'.repeat(10_000)}\n`, 2, 'flatten it'],
    [`a: ${'- '.repeat(1_000)}x\n`, 1, 'not valid YAML'],
    [`${'- '.repeat(10_000)}x\n`, 1, 'flatten it'],
    [`${'- '.repeat(300)}x\n`, 1, 'flatten it'],
    [`a = 1\nb = ${'['.repeat(10_000)}${']'.repeat(10_000)}\n`, 2, 'flatten it'],
    [`a = ${'{ a = '.repeat(10_000)}1${' }'.repeat(10_000)}\n`, 1, 'flatten it'],
    [`${'a.'.repeat(10_000)}a = 1\n`, 1, 'flatten it'],
    [`${'a.'.repeat(300)}a = 1\n`, 1, 'flatten it'],
    ['[mcp_servers.a]\ncommand = "x', 2, 'not valid TOML'],
    ['[mcp_servers.a]\ncommand = "x"\ncommand = "y"\n', 3, 'not valid TOML'],
    ['[mcp_servers.a]\n[mcp_servers.a]\n', 2, 'not valid TOML'],
    ['mcpServers:\n  a:\n    command: "x', 3, 'not valid YAML'],
    ['mcpServers:\n\ta: {}\n', 2, 'write spaces'],
    ['mcpServers:\n  a:\n \tcommand: x\n', 3, 'write spaces'],
    ['# later\n\n# perhaps\n', 1, 'write at least {}'],
    ['# nothing\n---\n', 2, 'must be an object'],
  ])('reports the line of a syntax error: %#', async (text, line, next) => {
    const { document, problems } = await parseSettingsFile(text, origin);
    expect(document).toBeUndefined();
    expect(problems).toEqual([{ file: origin.file, line, message: expect.stringContaining(next) }]);
  });

  it.each([
    [
      '{ "mcpServers": {},\n"disabledServers": ["a"],\n"disabledServers": [] }',
      3,
      'disabledServers',
    ],
    [
      '{ "mcpServers": {},\n"excludeMCPServers": ["a"],\n"excludeMCPServers": [] }',
      3,
      'excludeMCPServers',
    ],
    ['{ "codebuddy.mcp.servers": [],\n"codebuddy.mcp.servers": [] }', 2, 'codebuddy.mcp.servers'],
    ['{ "mcp": { "servers": { "a": { "command": "x" } },\n"servers": {} } }', 2, 'mcp.servers'],
    [
      '{ "mcp": { "inputs": [],\n"inputs": [], "servers": { "a": { "command": "x" } } } }',
      2,
      'mcp.inputs',
    ],
    [
      '{ "projects": { "/project": { "mcpServers": {},\n"mcpServers": {} } } }',
      2,
      'projects./project.mcpServers',
    ],
    [
      '{ "projects": { "/project": {},\n"/project": { "mcpServers": {} } } }',
      2,
      'projects./project',
    ],
    [
      '{ "mcp": { "a": { "type": "local", "command": ["x"] } }, "tools": { "a*": false },\n"tools": {} }',
      2,
      'tools',
    ],
    ['mcps:\n  a: {}\nmcps:\n  a: {}\n', 3, 'mcps'],
  ])('is rejected for a duplicate key that holds servers: %j', async (text, line, key) => {
    const { document, problems } = await parseSettingsFile(text, origin);
    expect(document).toBeUndefined();
    expect(problems).toEqual([
      { file: origin.file, line, key, message: expect.stringContaining('join the two') },
    ]);
  });

  it('is rejected when nested aliases multiply its size', async () => {
    const lines = Array.from({ length: 30 }, (_, index) => {
      const twice = index === 0 ? '[x, x]' : `[*a${index - 1}, *a${index - 1}]`;
      return `a${index}: &a${index} ${twice}`;
    });
    const { problems } = await parseSettingsFile(`${lines.join('\n')}\n`, origin);
    expect(problems).toEqual([
      expect.objectContaining({ message: expect.stringContaining('split it') }),
    ]);
  });

  it('returns a document or a problem for any text and never throws', async () => {
    const texts = programFiles.map(readProgramFile);
    const cut = fc
      .tuple(fc.constantFrom(...texts), fc.nat(4_000), fc.nat(200), fc.string({ maxLength: 5 }))
      .map(
        ([text, at, length, put]) =>
          text.slice(0, at % text.length) + put + text.slice((at % text.length) + length),
      );
    await fc.assert(
      fc.asyncProperty(cut, async (text) => {
        const { document, problems } = await parseSettingsFile(text, origin);
        expect(document !== undefined || problems.length > 0).toBe(true);
        for (const { message } of problems) expect(message).not.toBe('');
      }),
      { numRuns: 1_000 },
    );
  });

  it('never throws for any value at any path', () => {
    const value = fc.jsonValue();
    const key = fc.constantFrom(
      'command',
      'args',
      'env',
      'url',
      'type',
      'timeout',
      'remote',
      'lifecycle',
      'ref',
      'name',
      'transport',
      'env_vars',
      'tools',
      'enabled',
      'disabled',
      'cwd',
      'headers',
      'httpUrl',
      '__proto__',
    );
    const entry = fc.oneof(value, fc.dictionary(key, value));
    const holder = fc.constantFrom(
      (given: unknown) => ({
        mcpServers: { a: given },
        mcp: given,
        projects: { '/project': given },
      }),
      (given: unknown) => ({ servers: { a: given, b: { command: 'x' } }, inputs: given }),
      (given: unknown) => ({ servers: [given, { name: 'a', ...Object(given) }] }),
      (given: unknown) => ({ mcp_servers: { a: given } }),
      (given: unknown) => ({ context_servers: { a: given } }),
      (given: unknown) => ({ mcp: { a: given, b: { type: 'local' } }, tools: given }),
      (given: unknown) => ({
        mcps: { a: given },
        agents: { b: { toolsets: [given, { type: 'mcp', ...Object(given) }] } },
      }),
    );
    fc.assert(
      fc.property(entry, holder, (given, hold) => {
        const { document, problems } = parseSettings(JSON.stringify(hold(given)), origin);
        expect(document !== undefined || problems.length > 0).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });
});

/** The line of every node, by its path as JSON. */
function linesBelow(node: TreeNode, path: readonly (string | number)[] = []): Map<string, number> {
  const parts =
    node.kind === 'object'
      ? node.members.map((member) => [member.name, member.line, member.node] as const)
      : (node.kind === 'array' ? node.items : []).map((item, at) => [at, item.line, item] as const);
  return new Map(
    parts.flatMap(([name, line, inner]) => {
      const here = [...path, name];
      return [[JSON.stringify(here), line] as const, ...linesBelow(inner, here)];
    }),
  );
}

function tomlLines(text: string): Map<string, number> {
  const reading = readTomlTree(text);
  if ('fault' in reading) throw new Error(reading.fault.message);
  return linesBelow(reading.root);
}

describe('TOML line numbers', () => {
  it('match the keys, with any text in between', () => {
    const name = fc.stringMatching(/^[a-z][a-z-]{0,5}$/u);
    const scalar = fc.oneof(
      fc.string().map((text) => JSON.stringify(text)),
      fc.integer().map(String),
      fc.constantFrom(
        "'a # b'",
        '"""\n[x]\ny = \\""" 1 """',
        "'''\n[z]\n'''",
        '[ 1, # ]\n "]", [ ] ]',
        '{ a = { b = "}" } }',
      ),
    );
    const pair = fc.tuple(name, scalar);
    const table = fc.tuple(
      name,
      fc.boolean(),
      fc.uniqueArray(pair, { selector: ([key]) => key, maxLength: 4 }),
    );
    const tables = fc.uniqueArray(table, { selector: ([key]) => key, maxLength: 5 });
    fc.assert(
      fc.property(tables, (all) => {
        const expected = new Map<string, number>();
        let text = '';
        const line = () => text.split('\n').length;
        for (const [head, isList, pairs] of all) {
          text += `\n  # [not.one]\n`;
          expected.set(JSON.stringify(isList ? [head, 0] : [head]), line());
          text += isList ? `[[ ${head} ]] # x\n` : `["${head}"]\n`;
          for (const [key, value] of pairs) {
            expected.set(JSON.stringify(isList ? [head, 0, key] : [head, key]), line());
            text += `${key} = ${value}\n`;
          }
        }
        const lines = tomlLines(text);
        for (const [path, at] of expected) expect([path, lines.get(path)]).toEqual([path, at]);
      }),
    );
  });

  it('are correct below dotted headers and keys and in arrays of tables', () => {
    const text = [
      'a.b = 1',
      '[x."y.z"]',
      'k.l.m = 2',
      '[[t]]',
      'n = 1',
      '[[t]]',
      'n = 2',
      '[t.u]',
      'v = 3',
    ].join('\n');
    expect(Object.fromEntries(tomlLines(text))).toEqual({
      '["a"]': 1,
      '["a","b"]': 1,
      '["x"]': 2,
      '["x","y.z"]': 2,
      '["x","y.z","k"]': 3,
      '["x","y.z","k","l"]': 3,
      '["x","y.z","k","l","m"]': 3,
      '["t"]': 4,
      '["t",0]': 4,
      '["t",0,"n"]': 5,
      '["t",1]': 6,
      '["t",1,"n"]': 7,
      '["t",1,"u"]': 8,
      '["t",1,"u","v"]': 9,
    });
  });
});
