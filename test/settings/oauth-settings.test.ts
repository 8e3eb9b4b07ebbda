import { describe, expect, it } from 'vitest';
import type { Scope } from '../../src/domain/settings.ts';
import { approvalFingerprint } from '../../src/policies/fingerprint.ts';
import { mergeSettings } from '../../src/settings/merge-settings.ts';
import { parseSettings } from '../../src/settings/parse-settings.ts';

function parsed(entry: object, scope: Scope = 'config', more: object = {}) {
  const settings = { mcpServers: { db: { url: 'https://host/mcp', ...entry } }, ...more };
  return parseSettings(JSON.stringify(settings), {
    file: '/x.json',
    scope,
    projectRoot: '/project',
  });
}

const serverOf = (entry: object, scope: Scope = 'config', more: object = {}) =>
  parsed(entry, scope, more).document?.servers[0];

const specOf = (entry: object, scope?: Scope) => serverOf(entry, scope)?.spec;

describe('the login of a remote server', () => {
  it('is absent by default, and the generation is that of earlier releases', () => {
    expect(specOf({})).toEqual({
      type: 'http',
      url: 'https://host/mcp',
      headers: {},
      era: 'auto',
      fallback: 'sse',
    });
    expect(serverOf({})?.desired.generation).toBe(
      '6f68e905bab489c042651cad7e5a58c4e9729f4efe6093d23dbfd27cc084aca4',
    );
  });

  it('has a default grant, plain scopes, and no values from commands', () => {
    const oauth = {
      clientId: '${ID}',
      clientSecret: { command: ['op', 'read', 'x'] },
      privateKey: undefined,
      scopes: 'read  write',
      callbackPort: 8080,
      dpop: false,
    };
    expect(specOf({ oauth, account: 'work' })).toMatchObject({
      account: 'work',
      oauth: {
        grant: 'authorization_code',
        clientId: '${ID}',
        scopes: ['read', 'write'],
        callbackPort: 8080,
      },
      values: { commands: [{ key: 'oauth.clientSecret', words: ['op', 'read', 'x'] }] },
    });
    expect(specOf({ oauth })).not.toHaveProperty('oauth.clientSecret');
    expect(specOf({ oauth })).not.toHaveProperty('oauth.dpop');
    expect(specOf({ oauth: { scopes: [] } })).toMatchObject({ oauth: { scopes: [] } });
    expect(specOf({ oauth: false })).toMatchObject({ oauth: false });
  });

  it('has an identity for an enterprise', () => {
    const identity = { issuer: 'https://id', clientId: 'x', idToken: '!idp token' };
    expect(specOf({ oauth: { grant: 'enterprise', clientId: 'y', identity } })).toMatchObject({
      oauth: {
        grant: 'enterprise',
        clientId: 'y',
        identity: { issuer: 'https://id', clientId: 'x' },
      },
      values: { commands: [{ key: 'oauth.identity.idToken', words: ['idp', 'token'] }] },
    });
  });

  it.each(['http', 'sse', 'ws'])('belongs to every remote transport: %s', (type) => {
    const url = type === 'ws' ? 'wss://host' : 'https://host';
    expect(specOf({ type, url, oauth: { clientId: 'x' } })).toMatchObject({
      type,
      oauth: { clientId: 'x' },
    });
  });

  it("confines a folder's files to the folder", () => {
    const oauth = { grant: 'workload', assertionFile: 'token' };
    expect(specOf({ oauth }, 'project')).toMatchObject({
      oauth: { assertionFile: { path: '/project/token', within: '/project' } },
    });
    expect(specOf({ oauth })).toMatchObject({
      oauth: { assertionFile: { path: '/token' } },
    });
    expect(specOf({ oauth })).not.toHaveProperty('oauth.assertionFile.within');
    const open = { grant: 'workload', assertionFile: '${HOME}/token' };
    expect(specOf({ oauth: open })).toMatchObject({
      oauth: { assertionFile: { path: '${HOME}/token' } },
    });
  });

  it.each([
    [{ oauth: { clientId: '!op read x' } }, 'may not run a command'],
    [{ oauth: { clientId: 'x', clientSecret: '${keychain:a/b}' } }, 'may not read your keychain'],
    [{ headersCommand: ['x'] }, 'may not run a program for headers'],
  ])('%j is rejected in a file of a folder', (entry, message) => {
    expect(serverOf(entry, 'project')?.desired.invalid?.message).toContain(message);
  });

  it.each([
    ['http://id.example', 'must begin with https://'],
    ['https://me:secret@id.example', 'must not hold a user name or password'],
    ['https://id.example/#top', 'must not have a fragment'],
  ])('does not take its issuer from %s', (issuer, message) => {
    expect(serverOf({ oauth: { issuer } })?.desired.invalid).toMatchObject({
      key: 'mcpServers.db.oauth.issuer',
      message: expect.stringContaining(message) as string,
    });
  });

  it('needs consent for commands', () => {
    const entry = { headersCommand: 'print-headers --for db' };
    const invalid = (more: object) =>
      mergeSettings([parsed(entry, 'config', more)]).settings.servers[0]?.invalid;
    expect(invalid({})?.message).toContain('programs that print headers are not allowed');
    expect(invalid({})?.key).toBe('mcpServers.db.headersCommand');
    expect(invalid({ mcp: { commandValues: true } })).toBeUndefined();
    expect(specOf(entry)).toMatchObject({
      values: { commands: [{ key: 'headersCommand', words: ['print-headers', '--for', 'db'] }] },
    });
  });

  it('takes texts literally in a literal entry', () => {
    const oauth = { clientId: '${ID}', clientSecret: '!x', issuer: 'https://id/${x}' };
    expect(specOf({ values: 'literal', oauth })).toMatchObject({
      oauth: { clientId: '${ID}', clientSecret: '!x' },
      values: { literal: true },
    });
  });

  it.each([
    [{}, { oauth: false }],
    [{}, { account: 'work' }],
    [{ oauth: { clientId: 'a' } }, { oauth: { clientId: 'b' } }],
    [{ oauth: { issuer: 'https://a' } }, { oauth: { issuer: 'https://b' } }],
    [{ oauth: { metadataUrl: 'https://a' } }, { oauth: { metadataUrl: 'https://b' } }],
    [{ oauth: { scopes: 'a' } }, { oauth: { scopes: 'a b' } }],
    [{ account: 'work' }, { account: 'home' }],
    [{ headersCommand: ['a'] }, { headersCommand: ['b'] }],
  ])('%j and %j are two generations and need two approvals', (one, other) => {
    const [first, second] = [serverOf(one)?.desired, serverOf(other)?.desired];
    if (first === undefined || second === undefined) throw new Error('no server');
    expect(first.generation).not.toBe(second.generation);
    expect(approvalFingerprint(first)).not.toBe(approvalFingerprint(second));
  });
});
