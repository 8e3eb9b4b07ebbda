import { describe, expect, it } from 'vitest';
import type { ApprovalValue } from '../../../src/domain/host/approval.ts';
import type { HttpSpec, StdioSpec } from '../../../src/domain/server-spec.ts';
import {
  approvalValueLine,
  approvalValuesOf,
  disguisedHost,
} from '../../../src/policies/approvals/values.ts';

const local: StdioSpec = {
  type: 'stdio',
  command: 'srv',
  args: [],
  env: {},
  cwd: '/p',
  era: 'auto',
};
const remote: HttpSpec = { type: 'http', url: 'https://a.test/', headers: {}, era: 'auto' };

describe("a server's values", () => {
  it('include each value source once', () => {
    const spec: StdioSpec = {
      ...local,
      command: '${BIN}/srv',
      args: ['plain', '--key=${KEY:-none}${KEY}'],
      env: { A: '${input:a} ${keychain:s/me}', B: 'text', C: '${broken:-${x}}' },
      cwd: '${DIR}',
      values: {
        envFile: { path: '${DIR}/.env' },
        commands: [{ key: 'env.D', words: ['gh', 'auth', 'token'] }],
      },
    };
    const environment = (reference: string) => ({ kind: 'environment', reference });
    expect(approvalValuesOf(spec, 'project')).toEqual([
      {
        field: 'env.A',
        text: '${input:a} ${keychain:s/me}',
        from: [
          { kind: 'input', reference: '${input:a}' },
          { kind: 'keychain', reference: '${keychain:s/me}' },
        ],
      },
      { field: 'env.B', text: 'text' },
      { field: 'env.C', text: '${broken:-${x}}' },
      { field: 'env.D', from: [{ kind: 'command', reference: 'gh auth token' }] },
      { field: 'command', text: '${BIN}/srv', from: [environment('${BIN}')] },
      { field: 'args[1]', text: '--key=${KEY:-none}${KEY}', from: [environment('${KEY}')] },
      { field: 'cwd', text: '${DIR}', from: [environment('${DIR}')] },
      { field: 'envFile', text: '${DIR}/.env', from: [environment('${DIR}')] },
    ]);
  });

  it('include the proxy and certificates of a remote server', () => {
    const tls = { ca: '/p/ca.pem', cert: '${CERT}', within: '/p' };
    const spec: HttpSpec = { ...remote, proxy: 'http://me:pw@proxy.test', tls };
    expect(approvalValuesOf(spec, 'project')).toEqual([
      { field: 'proxy', text: 'http://me:pw@proxy.test' },
      { field: 'tls.ca', text: '/p/ca.pem' },
      {
        field: 'tls.cert',
        text: '${CERT}',
        from: [{ kind: 'environment', reference: '${CERT}' }],
      },
    ]);
    expect(approvalValuesOf({ ...remote, proxy: false }, 'project')).toEqual([
      { field: 'proxy', text: 'none' },
    ]);
    expect(JSON.stringify(approvalValuesOf(spec, 'user'))).not.toContain('pw@');
  });

  it('list the whole login of a folder as it is written', () => {
    const spec: HttpSpec = {
      ...remote,
      account: 'work',
      oauth: {
        grant: 'enterprise',
        clientId: '${ID}',
        clientSecret: 'written',
        issuer: 'https://login.test',
        identity: { issuer: 'https://id.test', idToken: '${TOKEN}' },
        scopes: ['read'],
        callbackPort: 8080,
        dpop: true,
      },
      values: { commands: [{ key: 'oauth.identity.clientId', words: ['id'] }] },
    };
    const environment = (reference: string) => ({
      from: [{ kind: 'environment', reference } as const],
    });
    const named: readonly ApprovalValue[] = [
      { field: 'oauth.grant', text: 'enterprise' },
      { field: 'oauth.clientId', text: '${ID}', ...environment('${ID}') },
      { field: 'oauth.clientSecret', text: 'written' },
      { field: 'oauth.issuer', text: 'https://login.test' },
      { field: 'oauth.identity.issuer', text: 'https://id.test' },
      { field: 'oauth.identity.idToken', text: '${TOKEN}', ...environment('${TOKEN}') },
      { field: 'oauth.scopes[0]', text: 'read' },
      { field: 'oauth.callbackPort', text: '8080' },
      { field: 'oauth.dpop', text: 'true' },
      { field: 'oauth.identity.clientId', from: [{ kind: 'command', reference: 'id' }] },
    ];
    expect(approvalValuesOf(spec, 'project')).toEqual(named);
    const own = named.map(({ field, ...one }) =>
      field === 'oauth.clientSecret' ? { field } : { field, ...one },
    );
    expect(approvalValuesOf(spec, 'user')).toEqual(own);
    expect(named.map(approvalValueLine)[1]).toEqual([
      'login',
      'clientId from ${ID} (your environment)',
    ]);
    expect(named.map(approvalValueLine).slice(-1)).toEqual([
      ['login', 'identity.clientId from id (output of a command)'],
    ]);
    expect(approvalValuesOf({ ...remote, oauth: false }, 'project')).toEqual([
      { field: 'oauth', text: 'false' },
    ]);
  });

  it.each([
    [{ field: 'url', text: 'https://a.test/' }, ['setting', 'url is "https://a.test/"']],
    [{ field: 'env.TOKEN' }, ['variable', 'TOKEN is set to a text that is not shown']],
  ])('are shown in words: %j', (value, words) => {
    expect(approvalValueLine(value)).toEqual(words);
  });

  it('contain no references in literal settings', () => {
    const headers = { 'X-Literal': '${KEY}' };
    const spec: HttpSpec = {
      ...remote,
      url: 'https://a.test/${X}',
      headers,
      values: { literal: true },
    };
    expect(approvalValuesOf(spec, 'project')).toEqual([
      { field: 'headers.X-Literal', text: '${KEY}' },
    ]);
    expect(approvalValuesOf(spec, 'user')).toEqual([{ field: 'headers.X-Literal' }]);
  });

  it('include only references and security-relevant values for the user’s own settings', () => {
    const env = { KEY: '${KEY}', URL: 'x://${U}:pw@y', PIN: '1234', HOME: './h', ODD: '${1}' };
    expect(approvalValuesOf({ ...local, env }, 'user')).toEqual([
      { field: 'env.KEY', text: '${KEY}', from: [{ kind: 'environment', reference: '${KEY}' }] },
      { field: 'env.URL', from: [{ kind: 'environment', reference: '${U}' }] },
      { field: 'env.PIN' },
      { field: 'env.HOME', text: './h' },
      { field: 'env.ODD' },
    ]);
    const headers = { Authorization: 'Bearer x' };
    expect(approvalValuesOf({ ...remote, headers }, 'user')).toEqual([
      { field: 'headers.Authorization' },
    ]);
  });

  it('are empty for an in-process server', () => {
    expect(approvalValuesOf({ type: 'memory', server: 'x', era: 'auto' }, 'api')).toEqual([]);
  });

  it('include references in a URL', () => {
    expect(approvalValuesOf({ ...remote, url: 'https://a.test/${KEY}' }, 'project')).toEqual([
      {
        field: 'url',
        text: 'https://a.test/${KEY}',
        from: [{ kind: 'environment', reference: '${KEY}' }],
      },
    ]);
  });
});

describe('a disguised host', () => {
  it.each([
    ['https://api.gith\u0443b.com/mcp', 'api.xn--githb-hze.com'],
    ['http://2130706433/', '127.0.0.1'],
    ['http://0x7f.1:80/x', '127.0.0.1'],
    ['https://github.com@evil.test/x', 'evil.test'],
    ['https:\\\\evil.test\u3002example/', 'evil.test.example'],
    ['https://ex\tample.test/', 'example.test'],
  ])('is detected in %j', (url, host) => {
    expect(disguisedHost(url)?.host).toBe(host);
  });

  it.each([
    'https://api.github.com/mcp',
    'HTTPS://API.GitHub.com:8443/mcp?x=@y',
    'http://127.0.0.1:80/',
    'http://[::1]:80/${KEY}',
    'wss://a.test',
    'https://${HOST}.test/',
    'no address',
    'https://',
  ])('is not detected in %j', (url) => {
    expect(disguisedHost(url)).toBeUndefined();
  });
});
