import { describe, expect, it } from 'vitest';
import type { Scope } from '../../src/domain/settings.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';

const parsed = (settings: unknown, scope: Scope = 'config') =>
  parseSettings(JSON.stringify(settings), { file: '/x.json', scope, projectRoot: '/project' });

const serverOf = (entry: object, more: object = {}, scope: Scope = 'config') =>
  parsed({ mcpServers: { db: { command: 'node', ...entry } }, ...more }, scope).document
    ?.servers[0];

const faultOf = (entry: object, more: object = {}, scope: Scope = 'config') =>
  serverOf(entry, more, scope)?.desired.invalid;

const token = {
  id: 'token',
  type: 'promptString',
  description: 'A\u001b[31m token',
  password: true,
};
const inputs = [
  token,
  { id: 'zone', type: 'pickString', options: ['a', { label: 'B', value: 'b' }], default: 'a' },
  { id: 'cmd', type: 'command', command: 'ext.token', args: { x: 1 } },
];

describe('values in settings', () => {
  it("include only those of their document's inputs that they refer to", () => {
    const server = serverOf({ env: { A: '${input:token}', B: '${input:zone}' } }, { inputs });
    expect(server?.spec).toMatchObject({
      env: { A: '${input:token}', B: '${input:zone}' },
      values: {
        inputs: {
          file: '/x.json',
          scope: 'config',
          definitions: [
            { id: 'token', type: 'promptString', description: 'A token', password: true },
            {
              id: 'zone',
              type: 'pickString',
              default: 'a',
              password: false,
              options: [
                { label: 'a', value: 'a' },
                { label: 'B', value: 'b' },
              ],
            },
          ],
        },
      },
    });
    expect(serverOf({}, { inputs })?.spec).not.toHaveProperty('values');
  });

  it('include inputs from VS Code settings too', () => {
    const { document } = parsed({
      servers: { db: { command: 'x', args: ['${input:token}'] } },
      inputs,
    });
    expect(document?.servers[0]?.spec).toMatchObject({
      values: { inputs: { definitions: [{ id: 'token' }] } },
    });
  });

  it('change the generation when an input changes, but not its description', () => {
    const generationOf = (input: object) =>
      serverOf({ args: ['${input:token}'] }, { inputs: [{ ...token, ...input }] })?.desired
        .generation;
    expect(generationOf({ description: 'other' })).toBe(generationOf({}));
    expect(generationOf({ default: 'other' })).not.toBe(generationOf({}));
  });

  it.each([
    [{ env: { A: '${input:unknown}' } }, 'mcpServers.db.env.A', 'there is no input "unknown"'],
    [{ args: ['${input:}'] }, 'mcpServers.db.args.0', 'has no input name'],
    [{ cwd: '${keychain:x}' }, 'mcpServers.db.cwd', 'has no keychain entry'],
    [{ env: { A: '${A:-${B}}' } }, 'mcpServers.db.env.A', 'cannot contain another in its default'],
    [{ env: { A: '!' } }, 'mcpServers.db.env.A', 'the command is empty or needs a shell'],
    [{ env: { A: '!op read | head' } }, 'mcpServers.db.env.A', 'needs a shell'],
    [{ env: { A: { command: [''] } } }, 'mcpServers.db.env.A', 'the command is empty'],
    [{ env: { A: { command: 'x' } } }, 'mcpServers.db.env.A', 'a value from a command'],
    [{ env: { A: null } }, 'mcpServers.db.env.A', 'must be text in quotes'],
    [{ envFile: ' ' }, 'mcpServers.db.envFile', 'is empty'],
    [{ envFile: '~/x' }, 'mcpServers.db.envFile', 'only a shell expands'],
    [
      { values: 'literal', env: { A: { command: ['x'] } } },
      'mcpServers.db.env.A',
      'with "values": "literal" no command',
    ],
  ])('%j are rejected with their position', (entry, key, message) => {
    const fault = faultOf(entry);
    expect(fault?.key).toBe(key);
    expect(fault?.message).toContain(message);
  });

  it.each([
    [{ env: { A: '${keychain:s/a}' } }, 'may not read your keychain'],
    [{ env: { A: '!op read x' } }, 'may not run a command'],
    [{ env: { A: { command: ['op'] } } }, 'may not run a command'],
    [{ env: { A: '${input:cmd}' } }, 'is a command, which a project file may not run'],
  ])("%j are rejected in a folder's file", (entry, message) => {
    expect(faultOf(entry, { inputs }, 'project')?.message).toContain(message);
    const mine = mergeSettings([
      parsed({
        mcpServers: { db: { command: 'x', ...entry } },
        inputs,
        mcp: { commandValues: true },
      }),
    ]);
    expect(mine.settings.servers[0]?.invalid).toBeUndefined();
  });

  it("restrict a folder's variables file to that folder", () => {
    expect(serverOf({ envFile: '.env' }, {}, 'project')?.spec).toMatchObject({
      values: { envFile: { path: '/project/.env', within: '/project' } },
    });
    expect(serverOf({ envFile: '${HOME}/.env' })?.spec).toMatchObject({
      values: { envFile: { path: '${HOME}/.env' } },
    });
  });

  it('are unchanged where they are literal', () => {
    const server = serverOf({
      values: 'literal',
      env: { A: '!x', B: '${input:unknown}' },
      cwd: '${HOME}',
      envFile: '${HOME}',
    });
    expect(server?.desired.invalid).toBeUndefined();
    expect(server?.spec).toMatchObject({
      env: { A: '!x', B: '${input:unknown}' },
      cwd: '/${HOME}',
      values: { literal: true, envFile: { path: '/${HOME}' } },
    });
    const url = (values: string) =>
      parsed({ mcpServers: { db: { url: '${URL}', values } } }).document?.servers[0]?.desired
        .invalid;
    expect(url('expand')).toBeUndefined();
    expect(url('literal')?.message).toContain('is not an address');
  });
});

describe('value commands', () => {
  it('get the path of the project as part of one word, whatever is in it', () => {
    const file = { file: '/x.json', scope: 'user', projectRoot: "/my project's (a)" } as const;
    const env = { A: '!cat ${workspaceFolder}/t', B: { command: ['cat', '${workspaceFolder}'] } };
    const local = { command: 'node', env, args: ['${workspaceFolder}'] };
    const far = { url: 'http://localhost', headersCommand: 'print ${workspaceFolder}/t x' };
    const settings = JSON.stringify({ mcpServers: { local, far } });
    const { servers = [] } = parseSettings(settings, file).document ?? {};
    expect(servers.map(({ spec }) => spec && 'values' in spec && spec.values?.commands)).toEqual([
      [
        { key: 'env.A', words: ['cat', "/my project's (a)/t"] },
        { key: 'env.B', words: ['cat', "/my project's (a)"] },
      ],
      [{ key: 'headersCommand', words: ['print', "/my project's (a)/t", 'x'] }],
    ]);
  });

  const commands = {
    mcpServers: { db: { command: 'x', env: { B: '!op read  x', A: { command: ['y', 'z'] } } } },
  };

  it("need consent in the last of the user's own settings", () => {
    const consent = (value: boolean, scope: Scope = 'config') =>
      parsed({ mcp: { commandValues: value } }, scope);
    const invalid = (...more: ReturnType<typeof parsed>[]) =>
      mergeSettings([parsed(commands), ...more]).settings.servers[0]?.invalid?.message;
    expect(invalid()).toContain('values from commands are not allowed');
    expect(invalid(consent(true))).toBeUndefined();
    expect(invalid(consent(true), consent(false))).toContain(
      'values from commands are not allowed',
    );
    expect(invalid(consent(true, 'project'))).toContain('values from commands are not allowed');
    expect(mergeSettings([parsed(commands)]).specs.size).toBe(0);
  });

  it('become argument lists in key order, without a shell', () => {
    expect(
      mergeSettings([parsed({ ...commands, mcp: { commandValues: true } })])
        .specs.values()
        .next().value,
    ).toMatchObject({
      env: {},
      values: {
        commands: [
          { key: 'env.A', words: ['y', 'z'] },
          { key: 'env.B', words: ['op', 'read', 'x'] },
        ],
      },
    });
  });
});

describe('the input list', () => {
  it.each([
    [{}, 'inputs', 'must be a list'],
    [
      Array.from({ length: 101 }, (_, index) => ({ ...token, id: `i${index}` })),
      'inputs',
      'at most 100',
    ],
    [['x'], 'inputs.0', 'must be an object'],
    [[{ ...token, id: '' }], 'inputs.0.id', '"id" must be'],
    [[{ ...token, type: 'other' }], 'inputs.0.type', '"type" must be'],
    [[{ ...token, password: 'yes' }], 'inputs.0.password', 'true or false'],
    [[{ id: 'x', type: 'pickString' }], 'inputs.0.options', '"options" must be'],
    [[{ id: 'x', type: 'command' }], 'inputs.0.command', '"command" must be text'],
    [[token, token], 'inputs.1.id', 'another input has this id'],
  ])('is rejected with the reason: %#', (list, key, message) => {
    const { problems, document } = parsed({ inputs: list, mcpServers: {} });
    expect(problems[0]?.key).toBe(key);
    expect(problems[0]?.message).toContain(message);
    expect(document).toBeDefined();
  });

  it('omits both of two inputs with the same id', () => {
    expect(faultOf({ args: ['${input:token}'] }, { inputs: [token, token] })?.message).toContain(
      'there is no input',
    );
  });
});

describe('the way to a remote server', () => {
  const remote = (entry: object, scope: Scope = 'config', file = '/home/me/troupe.json') =>
    parseSettings(
      JSON.stringify({
        mcp: { commandValues: true },
        mcpServers: { api: { url: 'https://a.test/', ...entry } },
      }),
      { file, scope, projectRoot: '/project' },
    ).document?.servers[0];

  it('has files in the folder of the settings file, unless a path or a text is given', () => {
    const pem = '-----BEGIN CERTIFICATE-----';
    expect(remote({ tls: { ca: 'ca.pem', cert: '../c.pem', key: '/k.pem' } })?.spec).toMatchObject({
      tls: { ca: '/home/me/ca.pem', cert: '/home/c.pem', key: '/k.pem' },
    });
    expect(remote({ tls: { ca: pem, cert: '${DIR}/c', passphrase: 'p' } })?.spec).toMatchObject({
      tls: { ca: pem, cert: '${DIR}/c', passphrase: 'p' },
    });
    expect(remote({ tls: { ca: 'ca.pem' } }, 'api', 'host settings')?.spec).toMatchObject({
      tls: { ca: '/project/ca.pem' },
    });
    const literal = remote({ tls: { ca: '${X}' }, values: 'literal' })?.spec;
    expect(literal).toMatchObject({ tls: { ca: '/home/me/${X}' } });
  });

  it("keeps a project's files in the project", () => {
    const spec = remote({ tls: { ca: 'ca.pem' } }, 'project', '/project/troupe.json')?.spec;
    expect(spec).toMatchObject({ tls: { ca: '/project/ca.pem', within: '/project' } });
  });

  it('may come from commands and references', () => {
    const server = remote({
      proxy: '!op read proxy',
      tls: { cert: '${keychain:a/b}', passphrase: { command: ['op', 'read', 'x'] } },
    });
    expect(server?.spec).toMatchObject({
      tls: { cert: '${keychain:a/b}' },
      values: {
        commands: [
          { key: 'proxy', words: ['op', 'read', 'proxy'] },
          { key: 'tls.passphrase', words: ['op', 'read', 'x'] },
        ],
      },
    });
    expect(server?.withoutConsent).toBeDefined();
    for (const entry of [{ proxy: '!op x' }, { tls: { ca: '${keychain:a/b}' } }])
      expect(remote(entry, 'project')?.desired.invalid?.message).toMatch(/may not (?:run|read)/u);
  });

  it.each([
    { proxy: 'http://p.test' },
    { proxy: false },
    { proxy: '!op x' },
    { tls: { ca: 'ca.pem' } },
    { tls: { cert: 'c.pem' } },
    { tls: { cert: 'c.pem', passphrase: 'a' } },
  ])('makes another generation: %j', (entry) => {
    expect(remote(entry)?.desired.generation).not.toBe(remote({})?.desired.generation);
    expect(remote(entry)?.desired.generation).toBe(remote(entry)?.desired.generation);
  });
});
