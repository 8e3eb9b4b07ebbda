import { generateKeyPairSync } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';
import type { HostHeaders } from '../../../actors/values/headers.ts';
import {
  createValueSource,
  headersOnly,
  logInOnly,
  type ValuePorts,
} from '../../../actors/values/source.ts';
import { type HttpEndpoint, resolveSpec } from '../../../actors/values/target.ts';
import type { RemoteSpec } from '../../../src/domain/server-spec.ts';
import type { Scope } from '../../../src/domain/settings.ts';
import { redact } from '../../../src/policies/text/redact.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import { parseSettings } from '../../../src/settings/parse-settings.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

function folder(): string {
  const made = mkdtempSync(path.join(tmpdir(), 'troupe-log-in-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const inputs = [{ id: 'secret', type: 'promptString', password: true }];

function specOf(entry: object, projectRoot = '/', scope: Scope = 'config'): RemoteSpec {
  const settings = { mcpServers: { db: { url: 'https://host/mcp', ...entry } }, inputs };
  const origin = { file: path.join(projectRoot, 'x.json'), scope, projectRoot };
  const server = parseSettings(JSON.stringify(settings), origin).document?.servers[0];
  if (server?.spec === undefined) throw new Error(server?.desired.invalid?.message);
  if (server.spec.type === 'stdio' || server.spec.type === 'memory') throw new Error('not remote');
  return server.spec;
}

const sourceOf = (ports: Partial<ValuePorts> = {}) =>
  createValueSource({
    clock: realClock,
    env: process.env,
    projectRoot: '/',
    ask: undefined,
    processes: undefined,
    ...ports,
  });

const node = (script: string) => [process.execPath, '-e', script];

async function endpointOf(
  spec: RemoteSpec,
  env: Record<string, string> = {},
  ports: Partial<ValuePorts> = {},
): Promise<{ endpoint: HttpEndpoint; secrets: readonly string[] }> {
  const values = await sourceOf({ env: { ...process.env, ...env }, ...ports }).find(spec, 'db');
  const resolved = resolveSpec(spec, env, { values });
  if (!('endpoint' in resolved)) throw new Error('not remote');
  return resolved;
}

const pem = (type: 'ec' | 'rsa' | 'ed25519', namedCurve = 'P-256'): string => {
  const format = { type: 'pkcs8', format: 'pem' } as const;
  const made =
    type === 'ec'
      ? generateKeyPairSync('ec', { namedCurve })
      : type === 'rsa'
        ? generateKeyPairSync('rsa', { modulusLength: 2_048 })
        : generateKeyPairSync('ed25519');
  return made.privateKey.export(format).toString();
};

describe('a login', () => {
  it('resolves every kind of value and redacts its secrets', async () => {
    const spec = specOf({
      account: 'work',
      oauth: {
        clientId: '${CLIENT}',
        clientSecret: { command: node('console.log("secret-of-command")') },
        scopes: ['${SCOPE}', 'write'],
        issuer: 'https://${TENANT}.example.com',
        callbackPort: 8080,
        dpop: true,
      },
    });
    const env = { CLIENT: 'client-id', SCOPE: 'read', TENANT: 'acme' };
    const { endpoint, secrets } = await endpointOf(spec, env);
    expect(endpoint).toMatchObject({
      account: 'work',
      oauth: {
        grant: 'authorization_code',
        clientId: 'client-id',
        clientSecret: 'secret-of-command',
        scopes: ['read', 'write'],
        issuer: 'https://acme.example.com',
        callbackPort: 8080,
        dpop: true,
      },
    });
    expect(redact('secret-of-command', secrets)).toBe('[redacted]');
  });

  it.each(['clientSecret', 'assertion', 'idToken'])('hides a literal %s', async (key) => {
    const oauth = {
      clientSecret: { clientId: 'x', clientSecret: 'hunter2-literal' },
      assertion: { grant: 'workload', assertion: 'hunter2-literal' },
      idToken: {
        grant: 'enterprise',
        clientId: 'x',
        identity: { issuer: 'https://id', clientId: 'x', idToken: 'hunter2-literal' },
      },
    }[key];
    const { secrets } = await endpointOf(specOf({ oauth }));
    expect(redact('a hunter2-literal', secrets)).toBe('a [redacted]');
  });

  it('asks for an input once', async () => {
    const asked: string[] = [];
    const ask: ValuePorts['ask'] = ({ id }) => {
      asked.push(id);
      return Promise.resolve('typed-secret');
    };
    const spec = specOf({ oauth: { clientId: 'x', clientSecret: '${input:secret}' } });
    const { endpoint, secrets } = await endpointOf(spec, {}, { ask });
    expect(asked).toEqual(['secret']);
    expect(endpoint.oauth).toMatchObject({ clientSecret: 'typed-secret' });
    expect(secrets).toContain('typed-secret');
  });

  it('is passed on when it is forbidden', async () => {
    const { endpoint } = await endpointOf(specOf({ oauth: false }));
    expect(endpoint.oauth).toBe(false);
    const { endpoint: plain } = await endpointOf(specOf({}));
    expect(plain).not.toHaveProperty('oauth');
    expect(plain).not.toHaveProperty('account');
  });

  it.each([
    ['http://id.example.com', 'must begin with https://'],
    ['https://me:hunter2@id.example.com', 'must not hold a user name or password'],
    ['id.example.com', 'is not a valid URL'],
    ['', 'is empty'],
  ])('refuses an issuer behind a variable: %s', async (ISSUER, message) => {
    const error: unknown = await endpointOf(specOf({ oauth: { issuer: '${ISSUER}' } }), {
      ISSUER,
    }).catch((reason: unknown) => reason);
    expect(String(error)).toContain('"oauth.issuer"');
    expect(String(error)).toContain(message);
    expect(String(error)).not.toContain('hunter2');
  });

  it('names the key that needs a missing variable', async () => {
    const spec = specOf({ oauth: { clientId: 'x', clientSecret: '${NOT_SET_ANYWHERE}' } });
    await expect(endpointOf(spec)).rejects.toThrow(
      'The variable NOT_SET_ANYWHERE, which "oauth.clientSecret" needs, is not set.',
    );
  });
});

describe('the callback of a login', () => {
  it.each([
    [{ callbackPort: 80 }, { callbackPort: 80, redirectUri: 'http://localhost:80/callback' }],
    [
      { redirectUri: 'http://127.0.0.1:7777/oauth/callback' },
      { callbackPort: 7777, redirectUri: 'http://127.0.0.1:7777/oauth/callback' },
    ],
    [
      { redirectUri: 'https://proxy.example/cb', callbackPort: 5 },
      { redirectUri: 'https://proxy.example/cb', callbackPort: 5 },
    ],
    [{ redirectUri: 'http://localhost/cb' }, { redirectUri: 'http://localhost/cb' }],
    [{}, {}],
  ])('is completed: %j', async (oauth, expected) => {
    const { endpoint } = await endpointOf(specOf({ oauth }));
    expect(endpoint.oauth).toEqual({ grant: 'authorization_code', dpop: false, ...expected });
  });
});

describe("a client's key", () => {
  const withKey = (oauth: object, KEY: string) =>
    endpointOf(specOf({ oauth: { clientId: 'x', privateKey: '${KEY}', ...oauth } }), { KEY });

  it.each([
    ['ec', 'P-256', 'ES256'],
    ['ec', 'P-384', 'ES384'],
    ['ec', 'P-521', 'ES512'],
    ['rsa', '', 'RS256'],
    ['ed25519', '', 'EdDSA'],
  ] as const)('signs with the usual algorithm: %s %s', async (type, curve, algorithm) => {
    const key = pem(type, curve);
    const { endpoint, secrets } = await withKey({}, key.replaceAll('\n', '\\n'));
    expect(endpoint.oauth).toMatchObject({ key: { privateKey: key, algorithm } });
    const [, line = ''] = key.split('\n');
    expect(redact(line, secrets)).toBe('[redacted]');
  });

  it('may be a JWK, with its id and algorithm', async () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
    const jwk = { ...privateKey.export({ format: 'jwk' }), kid: 'k2', alg: 'PS256' };
    const { endpoint, secrets } = await withKey({}, JSON.stringify(jwk));
    const text = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
    expect(endpoint.oauth).toMatchObject({
      key: { privateKey: text, algorithm: 'PS256', keyId: 'k2' },
    });
    expect(redact(String(jwk.d), secrets)).toBe('[redacted]');
    await expect(withKey({}, JSON.stringify({ ...jwk, alg: 'hunter2' }))).rejects.toThrow(
      'cannot sign with the algorithm that it names; set "algorithm" to RS256 or',
    );
  });

  it('signs with another algorithm that it can', async () => {
    const { endpoint } = await withKey({ algorithm: 'PS384' }, pem('rsa'));
    expect(endpoint.oauth).toMatchObject({ key: { algorithm: 'PS384' } });
  });

  it.each([
    ['not a key', {}, 'is not a private key, in PEM'],
    [pem('ec'), { algorithm: 'RS256' }, 'cannot sign with RS256; set "algorithm" to ES256'],
    [pem('ec', 'secp256k1'), {}, 'cannot sign; use an EC key'],
    [
      generateKeyPairSync('x25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      {},
      'cannot sign; use an EC key',
    ],
  ])('is refused without being shown (case %#)', async (key, oauth, message) => {
    const error: unknown = await withKey(oauth, key).catch((reason: unknown) => reason);
    expect(String(error)).toContain(`"oauth.privateKey" ${message}`);
    const [, line = 'not a key'] = key.split('\n');
    expect(String(error)).not.toContain(line);
  });

  it('is read from a file each time', async () => {
    const root = folder();
    const file = path.join(root, 'key.pem');
    const spec = specOf({ oauth: { clientId: 'x', keyFile: '${KEYS}/key.pem' } });
    const source = sourceOf({ env: { KEYS: root } });
    for (const key of [pem('ec'), pem('ec')]) {
      writeFileSync(file, key);
      const values = await source.find(spec, 'db');
      const resolved = resolveSpec(spec, { KEYS: root }, { values });
      expect(resolved).toMatchObject({ endpoint: { oauth: { key: { privateKey: key } } } });
    }
  });
});

describe('a file with a token', () => {
  const oauth = { grant: 'workload', assertionFile: 'token' };

  it('loses its last line end', async () => {
    const root = folder();
    writeFileSync(path.join(root, 'token'), 'token-of-file\n');
    const { endpoint, secrets } = await endpointOf(specOf({ oauth }, root, 'project'));
    expect(endpoint.oauth).toMatchObject({ assertion: 'token-of-file' });
    expect(redact('token-of-file', secrets)).toBe('[redacted]');
  });

  it.each([
    ['is missing', () => {}, 'does not exist'],
    ['is a folder', (file: string) => mkdirSync(file), 'is not a file'],
    [
      'is too large',
      (file: string) => writeFileSync(file, 'x'.repeat(70_000)),
      'is larger than 64 KB',
    ],
  ])('is reported when it %s', async (_, make, message) => {
    const root = folder();
    make(path.join(root, 'token'));
    await expect(endpointOf(specOf({ oauth }, root))).rejects.toThrow(
      `The file "${root}/token", which "oauth.assertionFile" names, ${message}`,
    );
  });

  it("never leaves a project's folder", async () => {
    const [root, other] = [folder(), folder()];
    writeFileSync(path.join(other, 'hosts'), 'of the user');
    symlinkSync(path.join(other, 'hosts'), path.join(root, 'token'));
    const message = 'leads out of the project folder';
    await expect(endpointOf(specOf({ oauth }, root, 'project'))).rejects.toThrow(message);
    const far = { grant: 'workload', assertionFile: path.join(other, 'hosts') };
    await expect(endpointOf(specOf({ oauth: far }, root, 'project'))).rejects.toThrow(message);
    const { endpoint } = await endpointOf(specOf({ oauth: far }, root));
    expect(endpoint.oauth).toMatchObject({ assertion: 'of the user' });
  });
});

describe('headers from a program', () => {
  const printing = (text: string) => specOf({ headersCommand: node(`console.log(${text})`) });

  it('replace written ones in whatever case, and are secret', async () => {
    const spec = specOf({
      headers: { authorization: 'old', 'X-Kept': 'yes' },
      headersCommand: node('console.log(JSON.stringify({ Authorization: "Bearer from-program" }))'),
    });
    const { endpoint, secrets } = await endpointOf(spec);
    expect(endpoint.headers).toEqual({ 'X-Kept': 'yes', Authorization: 'Bearer from-program' });
    expect(redact('from-program', secrets)).toBe('[redacted]');
  });

  it('may depend on the server', async () => {
    const script = `const { MCP_TROUPE_SERVER_NAME: a, CLAUDE_CODE_MCP_SERVER_URL: b } = process.env;
      console.log(JSON.stringify({ a, b }))`;
    const spec = specOf({ url: 'https://${HOST}/mcp', headersCommand: node(script) });
    const { endpoint } = await endpointOf(spec, { HOST: 'h.example' });
    expect(endpoint.headers).toEqual({ a: 'db', b: 'https://h.example/mcp' });
  });

  it.each([
    ['"hunter2"', 'printed something that is not an object of header strings'],
    ['"[]"', 'printed something that is not an object of header strings'],
    ['\'{"A":1}\'', 'printed something that is not an object of header strings'],
    ['\'{"Host":"hunter2"}\'', 'printed the header "Host", which the protocol sets itself'],
    ['\'{"A b":"hunter2"}\'', 'The header "A b" has a name or value that HTTP does not allow'],
    ['""', 'printed nothing'],
  ])('are refused without being shown: %s', async (text, message) => {
    const error: unknown = await endpointOf(printing(text)).catch((reason: unknown) => reason);
    expect(String(error)).toContain(message);
    expect(String(error)).not.toContain('hunter2');
  });
});

describe('headers from the host', () => {
  const withHost = (hostHeaders: HostHeaders, clock: ValuePorts['clock'] = realClock) => {
    const source = sourceOf({ hostHeaders, clock });
    const spec = specOf({ headers: { 'X-A': '1', 'X-B': '1' } });
    return { source, spec };
  };

  it('replace written ones, and are secret', async () => {
    const asked: unknown[] = [];
    const { source, spec } = withHost((about) => {
      asked.push(about);
      return Promise.resolve({ 'x-b': 'of-the-host' });
    });
    expect(source.isNeededFor(spec)).toBe(true);
    expect(source.isNeededFor({ type: 'memory', server: 'x', era: 'auto' })).toBe(false);
    const resolved = resolveSpec(spec, {}, { values: await source.find(spec, 'db', 'refused') });
    expect(asked).toEqual([{ server: 'db', url: 'https://host/mcp', reason: 'refused' }]);
    expect(resolved).toMatchObject({ endpoint: { headers: { 'X-A': '1', 'x-b': 'of-the-host' } } });
    expect(resolved.secrets).toContain('of-the-host');
  });

  it('may be none', async () => {
    const { source, spec } = withHost(() => Promise.resolve(undefined));
    expect((await source.find(spec, 'db')).headers).toEqual({});
  });

  it.each([
    [() => Promise.reject(new Error('hunter2')), 'failed for "db"'],
    [() => Promise.resolve({ A: 5 }), 'returned something that is not an object'],
  ])('are refused without being shown (case %#)', async (ask, message) => {
    const { source, spec } = withHost(ask);
    const error: unknown = await source.find(spec, 'db').catch((reason: unknown) => reason);
    expect(String(error)).toContain(`The host's function "headers" ${message}`);
    expect(String(error)).not.toContain('hunter2');
  });

  it('must arrive within ten seconds', async () => {
    const clock = new VirtualClock();
    const { source, spec } = withHost(() => new Promise(() => {}), clock);
    const failed = expect(source.find(spec, 'db')).rejects.toThrow('within 10 seconds');
    await clock.advanceAndSettle(10_000);
    await failed;
  });
});

describe("a session's login", () => {
  it('is found without the rest of the entry', async () => {
    const spec = specOf({
      headersCommand: node('process.exit(1)'),
      headers: { A: '${NOT_SET_ANYWHERE}' },
      proxy: { command: node('process.exit(1)') },
      tls: { ca: '${NOT_SET_ANYWHERE}' },
      oauth: { grant: 'workload', assertion: { command: node('console.log("token")') } },
    });
    const part = logInOnly(spec);
    const resolved = resolveSpec(part, {}, { values: await sourceOf().find(part, 'db') });
    expect(resolved).toMatchObject({ endpoint: { headers: {}, oauth: { assertion: 'token' } } });
    expect(logInOnly(specOf({ oauth: false }))).not.toHaveProperty('values');
  });
});

describe("a session's headers", () => {
  it('are found without the rest of the entry', async () => {
    const spec = specOf({
      headers: { A: { command: node('console.log("a")') } },
      proxy: '${NOT_SET_ANYWHERE}',
      tls: { ca: { command: node('process.exit(1)') } },
      oauth: { clientId: 'x', clientSecret: { command: node('process.exit(1)') } },
    });
    await expect(sourceOf().find(spec, 'db')).rejects.toThrow(/oauth\.clientSecret|tls\.ca/u);
    const part = headersOnly(spec);
    const resolved = resolveSpec(part, {}, { values: await sourceOf().find(part, 'db') });
    expect(resolved).toMatchObject({ endpoint: { headers: { A: 'a' } } });
  });
});
