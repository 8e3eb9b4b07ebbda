import { describe, expect, it } from 'vitest';
import type { CredentialStorePorts } from '../../../actors/stores/credentials.ts';
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

/** Returns what stores on one place have in common. */
const backends: readonly {
  readonly name: string;
  readonly isShared: boolean;
  readonly place: () => Partial<CredentialStorePorts>;
}[] = [
  { name: 'private files', isShared: true, place: () => ({}) },
  {
    name: 'files sealed by the keychain',
    isShared: true,
    place: () => ({ keyring: keychain().load }),
  },
  { name: 'memory', isShared: false, place: () => ({ stateDir: undefined }) },
  {
    name: "the host's store",
    isShared: true,
    place: () => ({ host: hostInMemory().host }),
  },
  {
    name: "the host's store without a state folder",
    isShared: false,
    place: () => ({ host: hostInMemory().host, stateDir: undefined }),
  },
];

describe.each(backends)('credentials in $name', ({ place, isShared }) => {
  it('are read as they were stored, with the number of the write', async () => {
    const { store, messages } = bench.open(place());
    expect(await store.read(key)).toBeUndefined();
    const stored = await store.update(key, storing());
    expect(stored).toEqual({ ...credential(), generation: 1 });
    expect(await store.read(key)).toEqual(stored);
    expect(await store.update(key, storing('2'))).toEqual({ ...credential('2'), generation: 2 });
    expect(messages()).toEqual([]);
  });

  it('stay as they are when a change returns nothing', async () => {
    const { store } = bench.open(place());
    await store.update(key, storing());
    const seen: unknown[] = [];
    const after = await store.update(key, (current) => {
      seen.push(current);
      return Promise.resolve(undefined);
    });
    expect(seen).toEqual([{ ...credential(), generation: 1 }]);
    expect(after).toEqual({ ...credential(), generation: 1 });
  });

  it('are found by their keys alone', async () => {
    const { store } = bench.open(place());
    const other = credentialKey({ ...id, account: 'work' });
    // Only a host itself knows what it holds.
    const isCertain = place().host === undefined;
    expect(await Promise.all([store.mayHold(key), store.mayHold(other)])).toEqual([
      !isCertain,
      !isCertain,
    ]);
    await store.update(key, storing());
    expect(await Promise.all([store.mayHold(key), store.mayHold(other)])).toEqual([
      true,
      !isCertain,
    ]);
  });

  it('are counted on after they were deleted', async () => {
    const { store } = bench.open(place());
    await store.update(key, storing());
    expect(await store.update(key, () => Promise.resolve(null))).toBeUndefined();
    expect(await store.read(key)).toBeUndefined();
    expect(await store.list()).toEqual([]);
    expect(await store.update(key, () => Promise.resolve(null))).toBeUndefined();
    expect((await store.update(key, storing('new')))?.generation).toBe(3);
  });

  it('are listed without secrets', async () => {
    const { store } = bench.open(place());
    const other = { ...id, account: 'work' };
    await store.update(key, storing());
    await store.update(credentialKey(other), () =>
      Promise.resolve(credential('', { id: other, tokens: { accessToken: 'a', tokenType: 'b' } })),
    );
    const list = await store.list();
    const { issuer } = credential();
    const first = {
      key,
      id,
      issuer,
      scope: 'read write',
      isRenewable: true,
      expiresAtMs: 1_800_000_000_000,
    };
    expect(list).toHaveLength(2);
    expect(list).toContainEqual(first);
    expect(list).toContainEqual({ key: credentialKey(other), id: other, issuer });
  });

  it('change once at a time, each change from what the one before stored', async () => {
    const { store } = bench.open(place());
    const seen: unknown[] = [];
    const gate = deferred();
    const first = store.update(key, async () => {
      await gate.promise;
      return credential('first');
    });
    const others = [1, 2, 3].map(() =>
      store.update(key, (current) => {
        seen.push(current?.tokens.accessToken);
        return Promise.resolve(undefined);
      }),
    );
    await turn();
    expect(seen).toEqual([]);
    gate.resolve();
    await Promise.all([first, ...others]);
    expect(seen).toEqual(Array.from({ length: 3 }, () => 'ACCESS-SECRETfirst'));
  });

  it('survive a change that fails', async () => {
    const { store } = bench.open(place());
    await store.update(key, storing());
    const failing = store.update(key, () => Promise.reject(new Error('the issuer is down')));
    await expect(failing).rejects.toThrow('the issuer is down');
    expect((await store.update(key, storing('next')))?.generation).toBe(2);
  });

  it('are stored under their own key only', async () => {
    const { store } = bench.open(place());
    const foreign = credential('', { id: { ...id, resource: 'https://evil.example/' } });
    await expect(store.update(key, () => Promise.resolve(foreign))).rejects.toThrow('its own key');
    expect(await store.read(key)).toBeUndefined();
    await expect(store.read('../approvals')).rejects.toThrow('43 characters');
  });

  it('are saved even if they arrive after thirty seconds', async () => {
    const clock = new VirtualClock();
    const { store } = bench.open({ ...place(), clock });
    const late = deferred<ReturnType<typeof credential>>();
    const begun = deferred<AbortSignal>();
    const update = store.update(key, (_current, signal) => {
      begun.resolve(signal);
      return late.promise;
    });
    const signal = await begun.promise;
    clock.advanceBy(29_999);
    expect(signal.aborted).toBe(false);
    clock.advanceBy(1);
    await expect(update).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    expect(signal.aborted).toBe(true);
    late.resolve(credential('late'));
    await turn();
    await passTime(clock, store.close());
    expect((await store.read(key))?.tokens.accessToken).toBe('ACCESS-SECRETlate');
  });

  it('are never replaced or deleted by a change that began before them', async () => {
    const clock = new VirtualClock();
    const shared = place();
    const { store } = bench.open({ ...shared, clock });
    // As another process would.
    const rival = isShared ? bench.open(shared).store : store;
    for (const late of [null, credential('late')]) {
      const answer = deferred<typeof late>();
      const begun = deferred();
      const loser = store.update(key, () => {
        begun.resolve();
        return answer.promise;
      });
      await begun.promise;
      clock.advanceBy(30_000);
      await expect(loser).rejects.toMatchObject({ code: 'ETIMEDOUT' });
      const winner = await rival.update(key, storing('winner'));
      answer.resolve(late);
      await turn();
      await passTime(clock, store.close());
      expect(await rival.read(key)).toEqual(winner);
    }
  });
});

describe.each(backends.filter(({ isShared }) => isShared))(
  'two stores on $name',
  ({ place: placeOf }) => {
    it('take turns, and the second gets what the first stored', async () => {
      const place = placeOf();
      const [one, two] = [bench.open(place), bench.open(place)];
      const begun = deferred();
      const gate = deferred();
      const first = one.store.update(key, async () => {
        begun.resolve();
        await gate.promise;
        return credential('first');
      });
      await begun.promise;
      const second = two.store.update(key, (current) =>
        Promise.resolve(current === undefined ? credential('second') : undefined),
      );
      gate.resolve();
      expect(await first).toEqual(await second);
      expect(await two.store.read(key)).toEqual({ ...credential('first'), generation: 1 });
    });

    it("report one another's changes once, and not their own", async () => {
      const place = placeOf();
      const [one, two] = [bench.open(place), bench.open(place)];
      await one.store.read(key);
      const [ofOne, ofTwo] = [changesOf(one), changesOf(two)];
      await two.store.update(key, storing('1'));
      await ofOne.next(1);
      await two.store.update(key, storing('2'));
      await ofOne.next(2);
      await one.store.update(key, () => Promise.resolve(null));
      await ofTwo.next(1);
      // What is reported twice would be reported before a further change.
      await one.store.update(key, storing('4'));
      await ofTwo.next(2);
      await two.store.update(key, storing('5'));
      expect(await ofOne.next(3)).toEqual([key, key, key]);
      expect(ofTwo.changes).toEqual([key, key]);
    });

    it('do not report once a listener is removed', async () => {
      const place = placeOf();
      const [one, two] = [bench.open(place), bench.open(place)];
      await one.store.read(key);
      const removed: string[] = [];
      one.store.listen((changed) => removed.push(changed))();
      const changes = changesOf(one);
      await two.store.update(key, storing());
      await changes.next(1);
      expect(removed).toEqual([]);
    });
  },
);

describe('a credential key', () => {
  it('differs with every part of the identity, and reveals none of it', () => {
    const ids = [
      id,
      { ...id, resource: 'https://db.example/mcp/' },
      { ...id, account: 'work' },
      { ...id, client: 'work' },
      { ...id, reach: 'work' },
    ];
    const keys = ids.map(credentialKey);
    expect(new Set(keys).size).toBe(ids.length);
    for (const one of keys) expect(one).toMatch(/^[\w-]{43}$/u);
  });
});

describe('secrets', () => {
  it.each(backends)('in $name appear in no error and no list', async ({ place }) => {
    const { store, messages } = bench.open(place());
    await store.update(key, storing());
    const errors = [
      store.update(key, () =>
        Promise.resolve(credential('', { id: { ...id, account: 'KEY-SECRET' } })),
      ),
      store.update(key, () =>
        Promise.resolve(
          credential('', {
            tokens: { accessToken: secrets.join('x'.repeat(300_000)), tokenType: 'b' },
          }),
        ),
      ),
    ].map((update) => update.then(() => '', String));
    const shown = JSON.stringify([await Promise.all(errors), await store.list(), messages()]);
    for (const secret of secrets) expect(shown).not.toContain(secret);
  });
});
