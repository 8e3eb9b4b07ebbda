import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { placeOfThisProcess } from '../../../actors/processes/process-table.ts';
import { credentialKey } from '../../../actors/stores/credentials-record.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { deferred } from '../../support/deferred.ts';
import { turn } from '../../support/turn.ts';
import {
  changesOf,
  credential,
  hostInMemory,
  id,
  key,
  keychain,
  passTime,
  secrets,
  storing,
  useStores,
} from './credential-bench.ts';

const bench = useStores();
const modeOf = (file: string): number => statSync(file).mode & 0o777;

/** All that is stored in the state folder, as text. */
function storedText(): string {
  const names = readdirSync(bench.folder());
  return names.map((name) => name + readFileSync(path.join(bench.folder(), name), 'utf8')).join();
}

describe('a file with a credential', () => {
  it('is private, in a private folder, and named by its key', async () => {
    mkdirSync(bench.folder(), { recursive: true, mode: 0o755 });
    await bench.open().store.update(key, storing());
    expect(modeOf(bench.folder())).toBe(0o700);
    expect(modeOf(bench.file())).toBe(0o600);
    expect(readdirSync(bench.folder()).toSorted()).toEqual([`${key}.json`, 'changes'].toSorted());
  });

  it.each([
    ['open to other users', () => chmodSync(bench.file(), 0o644), 'was not private'],
    ['no JSON', () => writeFileSync(bench.file(), '{"ACCESS-SECRET'), 'was damaged'],
    [
      'not in the expected form',
      () => writeFileSync(bench.file(), '{"version":1,"generation":1,"content":"ACCESS-SECRET"}'),
      'was damaged',
    ],
  ])('is set aside and reported if it is %s', async (_name, damage, message) => {
    const { store, messages, problems } = bench.open();
    await store.update(key, storing());
    damage();
    expect(await store.read(key)).toBeUndefined();
    expect(messages()).toEqual([expect.stringContaining(message)]);
    for (const secret of secrets) expect(messages().join()).not.toContain(secret);
    expect(modeOf(problems()[0]?.file ?? '')).toBe(0o600);
    await store.update(key, storing('new'));
    expect((await store.read(key))?.tokens.accessToken).toBe('ACCESS-SECRETnew');
  });

  it('is set aside if it is a link or belongs to another credential', async () => {
    const { store, messages } = bench.open();
    await store.update(key, storing());
    const other = credentialKey({ ...id, account: 'other' });
    const third = credentialKey({ ...id, account: 'third' });
    copyFileSync(bench.file(), path.join(bench.folder(), `${other}.json`));
    symlinkSync(bench.file(), path.join(bench.folder(), `${third}.json`));
    expect(await store.read(other)).toBeUndefined();
    expect(await store.read(third)).toBeUndefined();
    expect(messages()).toEqual([
      expect.stringContaining('belongs to another server or account'),
      expect.stringContaining('is a link'),
    ]);
    expect(await store.read(key)).toBeDefined();
  });

  it('of a newer version is neither read nor replaced', async () => {
    const { store, messages } = bench.open();
    await store.update(key, storing());
    const newer = JSON.stringify({ version: 2, tokens: 'ACCESS-SECRET' });
    writeFileSync(bench.file(), newer);
    let hasBegun = false;
    const update = store.update(key, () => {
      hasBegun = true;
      return Promise.resolve(credential());
    });
    await expect(update).rejects.toThrow('was written by a newer version');
    await expect(store.read(key)).rejects.toThrow('was written by a newer version');
    expect(hasBegun).toBe(false);
    expect(readFileSync(bench.file(), 'utf8')).toBe(newer);
    expect(messages()).toEqual([expect.stringContaining('newer version')]);
    expect(await store.list()).toEqual([]);
  });

  it('is completed from the draft of a process that was killed', async () => {
    const { store } = bench.open();
    await store.update(key, storing('1'));
    const old = readFileSync(bench.file(), 'utf8');
    await store.update(key, storing('2'));
    const draft = (name: string, text: string): void =>
      writeFileSync(`${bench.file()}.${name}.tmp`, text, { mode: 0o600 });
    draft('complete', readFileSync(bench.file(), 'utf8'));
    draft('incomplete', readFileSync(bench.file(), 'utf8').slice(0, 100));
    draft('outdated', old);
    writeFileSync(bench.file(), old);
    const seen: unknown[] = [];
    await store.update(key, (current) => {
      seen.push(current?.tokens.accessToken, current?.generation);
      return Promise.resolve(undefined);
    });
    expect(seen).toEqual(['ACCESS-SECRET2', 2]);
    expect((await store.read(key))?.generation).toBe(2);
    expect(readdirSync(bench.folder()).filter((name) => name.endsWith('.tmp'))).toEqual([]);
  });

  it('is not asked for before the folder proves writable', async () => {
    writeFileSync(bench.stateDir(), '');
    const { store } = bench.open();
    let hasBegun = false;
    const update = store.update(key, () => {
      hasBegun = true;
      return Promise.resolve(credential());
    });
    await expect(update).rejects.toThrow(/^logins cannot be saved in .*; make room or let/u);
    expect(hasBegun).toBe(false);
  });
});

describe("a credential's lock", () => {
  const lockOf = (place: object): void => {
    mkdirSync(bench.folder(), { recursive: true, mode: 0o700 });
    const token = '00000000-0000-4000-8000-000000000000';
    const holder = { token, pid: process.pid, start: '1', place };
    writeFileSync(path.join(bench.folder(), `${key}.lock`), JSON.stringify(holder));
  };

  it('is taken over at once from a process that has ended', async () => {
    lockOf(placeOfThisProcess());
    const clock = new VirtualClock({ wallMs: Date.now() });
    const { store } = bench.open({ clock });
    await passTime(clock, store.update(key, storing()));
    expect(clock.now()).toBeLessThan(1_000);
  });

  it('is taken over from another container when no change takes that long', async () => {
    lockOf({ ...placeOfThisProcess(), namespace: 'pid:[1]' });
    const clock = new VirtualClock({ wallMs: Date.now() });
    const { store } = bench.open({ clock });
    await passTime(clock, store.update(key, storing()));
    expect(clock.now()).toBeGreaterThan(40_000);
    expect(clock.now()).toBeLessThan(50_000);
  });

  it('is never taken from a living process', async () => {
    const clock = new VirtualClock({ wallMs: Date.now() });
    const [holder, other] = [bench.open(), bench.open({ clock })];
    const begun = deferred();
    const gate = deferred();
    const held = holder.store.update(key, async () => {
      begun.resolve();
      await gate.promise;
      return credential('held');
    });
    await begun.promise;
    const waiting = passTime(clock, other.store.update(key, storing('other')));
    await expect(waiting).rejects.toMatchObject({ code: 'ELOCKED' });
    expect(clock.now()).toBeGreaterThan(80_000);
    gate.resolve();
    expect((await held)?.generation).toBe(1);
  });

  it('is waited for by the changes of one process no longer than by others', async () => {
    const clock = new VirtualClock();
    const { store } = bench.open({ clock });
    const begun = deferred();
    const never = store.update(key, () => {
      begun.resolve();
      return new Promise(() => {});
    });
    const waiting = store.update(key, () => new Promise(() => {}));
    const last = store.update(key, () => new Promise(() => {}));
    const hopeless = store.update(key, () => new Promise(() => {}));
    await begun.promise;
    const outcomes = Promise.allSettled([never, waiting, last, hopeless]);
    await passTime(clock, outcomes);
    const codes = (await outcomes).map(
      (one) => 'reason' in one && (one.reason as { code: string }).code,
    );
    expect(codes).toEqual(['ETIMEDOUT', 'ETIMEDOUT', 'ETIMEDOUT', 'ELOCKED']);
  });
});

describe('a sealed credential', () => {
  it('leaves no secret in any file and only a key in the keychain', async () => {
    const { entries, opened, load } = keychain();
    await bench.open({ keyring: load }).store.update(key, storing());
    for (const secret of secrets) expect(storedText()).not.toContain(secret);
    // Windows allows 2,560 bytes.
    expect([...entries]).toEqual([
      ['mcp-troupe/credentials', expect.stringMatching(/^[\da-f]{64}$/u)],
    ]);
    // The kernel's keyring would forget the key.
    expect(opened[0]).toContainEqual({ linux: { store: 'secret-service' } });
  });

  it('is read by all processes, even if all create the key at once', async () => {
    const { entries, load } = keychain();
    const stores = Array.from({ length: 5 }, () => bench.open({ keyring: load }).store);
    const keys = stores.map((_, at) => credentialKey({ ...id, account: `${at}` }));
    await Promise.all(
      stores.map((store, at) =>
        store.update(keys[at] ?? '', () =>
          Promise.resolve(credential('', { id: { ...id, account: `${at}` } })),
        ),
      ),
    );
    const reader = bench.open({ keyring: load }).store;
    expect(entries.size).toBe(1);
    for (const one of keys) expect(await reader.read(one)).toMatchObject({ generation: 1 });
  });

  it.each([
    ['is not installed', () => Promise.reject(new Error('MODULE_NOT_FOUND'))],
    ['refuses', keychain(() => Promise.reject(new Error('no bus'))).load],
  ])('is in a private file if the keychain %s', async (_name, load) => {
    const { store, messages } = bench.open({ keyring: load });
    await store.update(key, storing());
    expect(await store.read(key)).toMatchObject({ generation: 1 });
    expect(readFileSync(bench.file(), 'utf8')).toContain('REFRESH-SECRET');
    expect(modeOf(bench.file())).toBe(0o600);
    expect(messages()).toEqual([]);
  });

  it('is in a private file if the keychain does not answer within ten seconds', async () => {
    const clock = new VirtualClock({ wallMs: Date.now() });
    const { load } = keychain(() => new Promise(() => {}));
    const { store } = bench.open({ keyring: load, clock });
    await passTime(clock, store.update(key, storing()));
    expect(clock.now()).toBeGreaterThan(9_999);
    await passTime(clock, store.update(key, storing('2')));
    expect(clock.now()).toBeLessThan(12_000);
    expect(readFileSync(bench.file(), 'utf8')).toContain('REFRESH-SECRET2');
  });

  it('is an error behind a locked keychain, can be replaced, and is reported once unlocked', async () => {
    const clock = new VirtualClock({ wallMs: Date.now() });
    const lock = deferred();
    let isLocked = false;
    const { load } = keychain(() => (isLocked ? lock.promise : Promise.resolve()));
    await bench.open({ keyring: load }).store.update(key, storing());
    isLocked = true;
    const locked = bench.open({ keyring: load, clock });
    const changes = changesOf(locked);
    await expect(passTime(clock, locked.store.read(key))).rejects.toThrow('unlock the keychain');
    expect(locked.messages()).toEqual([expect.stringContaining('unlock the keychain')]);
    const seen: unknown[] = [];
    await passTime(
      clock,
      locked.store.update(key, (current) => {
        seen.push(current);
        return Promise.resolve(undefined);
      }),
    );
    expect(seen).toEqual([undefined]);
    lock.resolve();
    expect(await changes.next(1)).toEqual([key]);
    expect(await locked.store.read(key)).toMatchObject({ generation: 1 });
    expect(locked.messages()).toEqual([]);
    expect(await bench.open().store.list()).toHaveLength(1);
  });

  it('is void without its key or in another record', async () => {
    const { entries, load } = keychain();
    const { store, messages } = bench.open({ keyring: load });
    await store.update(key, storing());
    const record = readFileSync(bench.file(), 'utf8');
    writeFileSync(bench.file(), record.replace('https://issuer.example', 'https://evil.example'));
    expect(await store.read(key)).toBeUndefined();
    expect(messages()).toEqual([expect.stringContaining('does not match its seal')]);
    writeFileSync(bench.file(), record);
    expect(await store.read(key)).toBeDefined();
    entries.set('mcp-troupe/credentials', 'f'.repeat(64));
    const later = bench.open({ keyring: load });
    expect(await later.store.read(key)).toBeUndefined();
    expect(later.messages()).toEqual([expect.stringContaining('no longer in the keychain')]);
    await later.store.update(key, storing('new'));
    // The first store reloads the key that replaced its own.
    expect((await store.read(key))?.tokens.accessToken).toBe('ACCESS-SECRETnew');
  });
});

describe("a credential in the host's store", () => {
  it('leaves no secret in the state folder', async () => {
    const { values, host } = hostInMemory();
    await bench.open({ host }).store.update(key, storing());
    for (const secret of secrets) expect(storedText()).not.toContain(secret);
    expect(values.get(key)).toContain('REFRESH-SECRET');
  });

  it('is current after the record of its save was lost, and deleted after its removal was', async () => {
    const { values, host } = hostInMemory();
    const { store } = bench.open({ host });
    await store.update(key, storing('1'));
    const record = readFileSync(bench.file(), 'utf8');
    await store.update(key, storing('2'));
    writeFileSync(bench.file(), record);
    expect(await store.read(key)).toMatchObject({ ...credential('2'), generation: 2 });
    const value = values.get(key) ?? '';
    await store.update(key, () => Promise.resolve(null));
    values.set(key, value);
    expect(await store.read(key)).toBeUndefined();
    await store.update(key, () => Promise.resolve(null));
    expect(values.size).toBe(0);
  });

  it('is reported when it is damaged or belongs to another key', async () => {
    const { values, host } = hostInMemory();
    const { store, messages } = bench.open({ host });
    await store.update(key, storing());
    const other = credentialKey({ ...id, account: 'other' });
    values.set(other, values.get(key) ?? '');
    expect(await store.read(other)).toBeUndefined();
    values.set(key, 'REFRESH-SECRET');
    expect(await store.read(key)).toBeUndefined();
    expect(messages()).toHaveLength(2);
    expect(messages().join()).not.toContain('SECRET');
  });

  it('is an error without secrets if the host fails', async () => {
    const { host } = hostInMemory();
    const fail = (): never => {
      throw new Error('cannot store REFRESH-SECRET');
    };
    const reading = bench.open({ host: { ...host, get: fail } }).store.read(key);
    await expect(reading).rejects.toThrow(
      /^the host's credential store cannot read a login: it failed/u,
    );
    const saving = bench.open({ host: { ...host, set: fail } }).store.update(key, storing());
    await expect(saving).rejects.toMatchObject({
      code: 'EIO',
      message: expect.not.stringContaining('SECRET') as string,
    });
  });

  it('is an error if the host does not answer within ten seconds', async () => {
    const clock = new VirtualClock();
    const { host } = hostInMemory();
    const { store } = bench.open({ clock, host: { ...host, get: () => new Promise(() => {}) } });
    const reading = passTime(clock, store.read(key));
    await expect(reading).rejects.toThrow('did not answer within 10 seconds');
  });

  it('is reported when the host received it from elsewhere', async () => {
    const { values, host } = hostInMemory();
    const far = bench.open({ host: { ...host, listen: () => () => {} }, stateDir: undefined });
    const near = bench.open({ host });
    await near.store.read(key);
    const changes = changesOf(near);
    await far.store.update(key, storing('far'));
    expect(await changes.next(1)).toEqual([key]);
    expect(values.size).toBe(1);
    await turn();
    expect(changes.changes).toEqual([key]);
  });
});
