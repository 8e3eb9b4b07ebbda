import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { afterEach, describe, expect, it } from 'vitest';
import { compiledProgram } from '../../support/compiled-program.ts';
import { deferred } from '../../support/deferred.ts';
import { credential, key, useStores } from './credential-bench.ts';

const bench = useStores();
const program = compiledProgram('test/fixtures/hosts/refreshing-host.ts');

const children: ChildProcessWithoutNullStreams[] = [];
const servers: Server[] = [];
afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

/**
 * An issuer that rotates refresh tokens and revokes the whole family when one is used twice. A
 * forgiving one answers a repeated request again until the new token is used, because the first
 * answer may have been lost.
 */
async function issuer({ isForgiving = false } = {}) {
  let valid = 'refresh-0';
  let previous = '';
  let isRevoked = false;
  let redemptionCount = 0;
  const gate = deferred();
  const redeem = (token: string): object => {
    const isRepeated = isForgiving && token === previous;
    if (token !== valid && !isRepeated) isRevoked = true;
    if (isRevoked) return { error: 'invalid_grant' };
    redemptionCount += 1;
    if (!isRepeated) previous = token;
    valid = `refresh-${redemptionCount}`;
    return { access: `access-${redemptionCount}`, refresh: valid };
  };
  const server = createServer((request, response) => {
    let token = '';
    request.on('data', (text) => (token += String(text)));
    request.on('end', () => {
      void gate.promise.then(() => response.end(JSON.stringify(redeem(token))));
    });
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    answer: gate.resolve,
    facts: () => ({ redemptionCount, isRevoked, valid }),
  };
}

/** Starts a process; `lines.next()` is what it says next. */
async function host(url: string, dieAt = '') {
  const words = [...program.words, bench.stateDir(), key, url, dieAt];
  const child = spawn(process.execPath, words, { stdio: 'pipe' });
  children.push(child);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const says = async (): Promise<unknown> => (await lines.next()).value;
  const exit = once(child, 'exit');
  expect(await says()).toBe('ready');
  return { says, exit, begin: () => child.stdin.write('go\n') };
}

/** Stores a credential whose access token has expired. */
async function expire() {
  const { store } = bench.open();
  const tokens = { accessToken: 'access-0', refreshToken: 'refresh-0', tokenType: 'Bearer' };
  const expired = credential('', { tokens: { ...tokens, expiresAtMs: 1 } });
  await store.update(key, () => Promise.resolve(expired));
  return store;
}

describe('an expired credential', () => {
  it('is redeemed exactly once by twelve processes, which all get the new token', async () => {
    const store = await expire();
    const { url, answer, facts } = await issuer();
    const hosts = await Promise.all(Array.from({ length: 12 }, () => host(url)));
    for (const { begin } of hosts) begin();
    expect(await Promise.all(hosts.map(({ says }) => says()))).toEqual(hosts.map(() => 'asking'));
    answer();
    expect(await Promise.all(hosts.map(({ says }) => says()))).toEqual(
      hosts.map(() => 'token access-1'),
    );
    expect(facts()).toEqual({ redemptionCount: 1, isRevoked: false, valid: 'refresh-1' });
    expect(await store.read(key)).toMatchObject({
      generation: 2,
      tokens: { refreshToken: 'refresh-1' },
    });
    await Promise.all(hosts.map(({ exit }) => exit));
    expect(readdirSync(bench.folder()).toSorted()).toEqual([`${key}.json`, 'changes'].toSorted());
  });

  it.each([
    // The answer died with the process: only an issuer that allows a repetition can help.
    { dieAt: 'answered', isForgiving: true, token: 'access-2', redemptionCount: 2 },
    { dieAt: 'draft', isForgiving: false, token: 'access-1', redemptionCount: 1 },
    { dieAt: 'saved', isForgiving: false, token: 'access-1', redemptionCount: 1 },
  ])(
    'is renewed within five seconds after the process that renews it was killed ($dieAt)',
    async ({ dieAt, isForgiving, token, redemptionCount }) => {
      const store = await expire();
      const { url, answer, facts } = await issuer({ isForgiving });
      const [victim, next] = await Promise.all([host(url, dieAt), host(url)]);
      victim.begin();
      expect(await victim.says()).toBe('asking');
      answer();
      expect(await victim.exit).toEqual([null, 'SIGKILL']);
      expect(readdirSync(bench.folder())).toContain(`${key}.lock`);
      const startedAt = performance.now();
      next.begin();
      expect(await next.says()).toBe('asking');
      expect(await next.says()).toBe(`token ${token}`);
      expect(performance.now() - startedAt).toBeLessThan(5_000);
      expect(facts()).toMatchObject({ redemptionCount, isRevoked: false });
      const stored = await store.read(key);
      expect(stored?.tokens.refreshToken).toBe(facts().valid);
    },
  );
});
