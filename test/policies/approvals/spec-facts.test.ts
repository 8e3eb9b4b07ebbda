import { describe, expect, it } from 'vitest';
import type { ServerSpec, StdioSpec } from '../../../src/domain/server-spec.ts';
import { compareFacts, specFactsOf } from '../../../src/policies/approvals/spec-facts.ts';

const local: StdioSpec = {
  type: 'stdio',
  command: 'node',
  args: ['db.js', '--read-only'],
  env: { KEY: 'one' },
  cwd: '/project',
  era: 'auto',
};
const remote: ServerSpec = {
  type: 'http',
  url: 'https://example.test/mcp?api_key=hunter2&page=1',
  headers: { Authorization: 'Bearer hunter2' },
  era: 'auto',
};

describe('the server facts shown to the user', () => {
  it.each<[string, Partial<StdioSpec>, unknown]>([
    [
      'a changed argument',
      { args: ['db.js', '--write'] },
      [{ field: 'args[1]', before: '--read-only', now: '--write' }],
    ],
    ['a removed argument', { args: ['db.js'] }, [{ field: 'args[1]', before: '--read-only' }]],
    [
      'an added argument',
      { args: ['db.js', '--read-only', 'x'] },
      [{ field: 'args[2]', now: 'x' }],
    ],
    [
      "a variable's changed value",
      { env: { KEY: 'two' } },
      [{ field: 'env.KEY', before: '', now: '' }],
    ],
    ['a changed folder', { cwd: '/' }, [{ field: 'cwd', before: '/project', now: '/' }]],
    [
      'changed value sources without the values themselves',
      {
        values: {
          literal: true,
          envFile: { path: '/project/.env' },
          inputs: {
            scope: 'project',
            definitions: [{ id: 'a', type: 'promptString', password: true, default: 'hunter2' }],
          },
        },
      },
      [
        { field: 'values', now: 'literal' },
        { field: 'envFile', now: '/project/.env' },
        { field: 'inputs.a', now: '' },
      ],
    ],
    ['no change for an empty list of values', { values: {} }, []],
    ['no change for the same server', {}, []],
  ])('report %s', (_what, change, expected) => {
    const now = specFactsOf({ ...local, ...change });
    expect(compareFacts(specFactsOf(local), now)).toEqual(expected);
  });

  it('report a different program behind the command', () => {
    const changes = compareFacts(
      specFactsOf(local, { executable: '/usr/bin/node' }),
      specFactsOf(local, { executable: '/tmp/node' }),
    );
    expect(changes).toEqual([{ field: 'executable', before: '/usr/bin/node', now: '/tmp/node' }]);
  });

  it('report different names in the variables file', () => {
    const changes = compareFacts(
      specFactsOf(local, { envFileNames: ['A'] }),
      specFactsOf(local, { envFileNames: ['A', 'B'] }),
    );
    expect(changes).toEqual([{ field: 'envFileNames', before: 'A', now: 'A, B' }]);
  });

  it('name the changed files of the folder, without their digests', () => {
    const changes = compareFacts(
      specFactsOf(local, { folderFiles: [{ path: '.npmrc', digest: 'a' }] }),
      specFactsOf(local, {
        folderFiles: [
          { path: '.npmrc', digest: 'b' },
          { path: 'package.json', digest: 'c' },
        ],
      }),
    );
    expect(changes).toEqual([
      { field: 'folder/.npmrc', before: '', now: '' },
      { field: 'folder/package.json', now: '' },
    ]);
  });

  it('contain no secret in any field', () => {
    const specs: ServerSpec[] = [
      remote,
      { ...local, args: ['--token', 'hunter2', '--password=hunter2'], env: { A: 'hunter2' } },
      { ...remote, type: 'ws', url: 'wss://me:hunter2@example.test/' },
      { ...remote, proxy: 'http://me:hunter2@proxy.test' },
      { ...remote, proxy: 'http://hunter2@proxy.test' },
      { ...remote, tls: { key: '-----BEGIN PRIVATE KEY-----hunter2', passphrase: 'hunter2' } },
      {
        ...remote,
        oauth: {
          grant: 'workload',
          clientSecret: 'hunter2',
          privateKey: 'hunter2',
          assertion: 'hunter2',
          identity: { issuer: 'https://id', clientSecret: 'hunter2', idToken: 'hunter2' },
        },
      },
    ];
    expect(JSON.stringify(specs.map((spec) => specFactsOf(spec)))).not.toContain('hunter2');
  });

  it('report a changed way to the server', () => {
    const before = { ...remote, proxy: false as const, tls: { ca: '/a.pem', passphrase: 'one' } };
    const now = { ...remote, proxy: 'http://p.test', tls: { ca: '/b.pem', passphrase: 'two' } };
    expect(compareFacts(specFactsOf(before), specFactsOf(now))).toEqual([
      { field: 'proxy', before: 'none', now: 'http://p.test' },
      { field: 'tls.ca', before: '/a.pem', now: '/b.pem' },
      { field: 'tls.passphrase', before: '', now: '' },
    ]);
    expect(compareFacts(specFactsOf(now), specFactsOf(remote))).toHaveLength(3);
  });

  it('report a changed secret without its value', () => {
    const other = { ...remote, url: remote.url.replace('hunter2', 'hunter3') };
    const shown = 'https://example.test/mcp?api_key=[redacted]&page=1';
    expect(compareFacts(specFactsOf(remote), specFactsOf(other))).toEqual([
      { field: 'url', before: shown, now: shown },
    ]);
  });

  it('report another account, another client, and a login that is forbidden', () => {
    const before = { ...remote, oauth: { grant: 'authorization_code', clientId: 'a' } } as const;
    const now = { ...before, account: 'work', oauth: { ...before.oauth, clientId: 'b' } };
    expect(compareFacts(specFactsOf(before), specFactsOf(now))).toEqual([
      { field: 'account', now: 'work' },
      { field: 'oauth.clientId', before: 'a', now: 'b' },
    ]);
    expect(compareFacts(specFactsOf(remote), specFactsOf({ ...remote, oauth: false }))).toEqual([
      { field: 'oauth', now: 'false' },
    ]);
  });

  it('identify an in-process server by its name', () => {
    const facts = specFactsOf({ type: 'memory', server: 'notes', era: 'auto' });
    expect(facts.map(({ field, shown }) => `${field} ${shown}`)).toEqual([
      'type memory',
      'server notes',
      'era auto',
    ]);
  });
});
