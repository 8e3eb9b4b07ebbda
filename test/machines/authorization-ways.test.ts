/** A login on another device, with fewer or more scopes, and after an earlier run. */

import { describe, expect, it } from 'vitest';
import { remembersDemand } from '../../machines/authorization/demands.ts';
import { expectStory } from './golden.ts';
import { at, device, failure, machine, plain, story, token, user } from './logins.ts';

const onDevice = { type: 'login.requested', device: true } as const;
const demanded = { type: 'scope.insufficient', scopes: ['write'] } as const;

describe('a login', () => {
  it('on another device asks as often as the issuer allows, and less often when it fails', async () => {
    const { actor, clock, trace, promises } = story(user);
    await promises.settle('load', at(0, null));
    actor.send(onDevice);
    await promises.settle('discover', at(10));
    expect(promises.inputs.get('discover')).toMatchObject({ isOnDevice: true });
    await promises.settle('register', at(20));
    await promises.settle('requestCode', { nowMs: 30, device });
    const waitsFor = (ms: number) => {
      clock.advanceBy(ms - 1);
      expect(actor.getSnapshot().value).toEqual({ signingIn: { awaitingDevice: 'pausing' } });
      clock.advanceBy(1);
      expect(actor.getSnapshot().value).toEqual({ signingIn: { awaitingDevice: 'polling' } });
    };
    waitsFor(5_000);
    await promises.settle('poll', { nowMs: 0, pending: 'waiting' });
    waitsFor(5_000);
    await promises.settle('poll', { nowMs: 0, pending: 'slowDown' });
    waitsFor(10_000);
    await promises.settle('poll', failure('unavailable'));
    waitsFor(20_000);
    const busy = { kind: 'unavailable', message: 'busy.', retryAfterMs: 1 } as const;
    await promises.settle('poll', { nowMs: 0, failure: busy });
    expect(actor.getSnapshot().context.device?.intervalMs).toBe(40_000);
    clock.advanceBy(20_000);
    await promises.settle('load', at(0, null));
    expect(actor.getSnapshot()).toMatchObject({
      value: { unauthorized: 'failed' },
      context: {
        failure: {
          kind: 'timeout',
          message: 'The code expired while the issuer could not be asked about it: busy.',
        },
      },
    });
    await expectStory(trace, 'authorization/device');
  });

  it('asks once for fewer scopes if the issuer refuses those of the metadata', async () => {
    const refusal = { ...failure('denied'), canAskForLess: true };
    const { actor, promises } = story(user);
    await promises.settle('load', at(0, null));
    actor.send({ type: 'login.requested' });
    await promises.settle('discover', at(10));
    await promises.settle('register', at(20));
    await promises.settle('askUser', at(30));
    await promises.settle('exchange', refusal);
    expect(actor.getSnapshot().value).toEqual({ signingIn: 'registering' });
    expect(promises.inputs.get('register')).toMatchObject({ asksForLess: true });
    await promises.settle('register', at(50));
    await promises.settle('askUser', at(60));
    await promises.settle('exchange', refusal);
    await promises.settle('load', at(70, null));
    expect(actor.getSnapshot().value).toEqual({ unauthorized: 'denied' });
    // The user may have more rights by now.
    actor.send({ type: 'login.requested' });
    expect(actor.getSnapshot().context).toMatchObject({ asksForLess: false, failure: null });
  });

  it('without a user asks once for fewer scopes, and for more when a server demands them', async () => {
    const { actor, promises } = story(machine);
    await promises.settle('load', at(0, null));
    actor.send({ type: 'token.wanted' });
    await promises.settle('request', { ...failure('denied'), canAskForLess: true });
    expect(promises.inputs.get('request')).toMatchObject({ asksForLess: true, wanted: [] });
    await promises.settle('request', at(0, plain));
    expect(actor.getSnapshot().value).toBe('authorized');
    actor.send(demanded);
    expect(actor.getSnapshot().value).toBe('requesting');
    expect(promises.inputs.get('request')).toMatchObject({ wanted: ['write'] });
    await promises.settle('request', at(0, { ...plain, generation: 2, scopes: ['read'] }));
    // Another token would have no more.
    actor.send(demanded);
    expect(actor.getSnapshot().value).toBe('authorized');
  });
});

describe('a demand for a login', () => {
  const unknown = { ...at(0, null), demands: { db: 1_000 } };
  const remembers = (actor: ReturnType<typeof story>['actor'], nowMs: number, by = 'db') =>
    remembersDemand(actor.getSnapshot().context, by, nowMs);

  it('of an earlier run counts for the first session of the server, for some time', async () => {
    const { actor, promises } = story(user);
    expect(remembers(actor, 1_000)).toBe(false);
    actor.send({ type: 'demand.recalled', by: 'db' });
    expect(actor.getSnapshot().context.demands).toBeNull();
    await promises.settle('load', unknown);
    expect([999, 1_000, 900_999, 901_000].map((ms) => remembers(actor, ms))).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect(remembers(actor, 1_000, 'with other settings')).toBe(false);
    actor.send({ type: 'demand.recalled', by: 'db' });
    expect(remembers(actor, 1_000)).toBe(false);
    expect(actor.getSnapshot().context.demands).toEqual({ db: { atMs: 1_000, isUnused: false } });
    actor.send({ type: 'demand.recalled', by: 'db' });
    expect(actor.getSnapshot().context.demands).toEqual({});
    actor.send({ type: 'login.demanded', by: 'db', nowMs: 7 });
    expect(actor.getSnapshot().context.demands).toEqual({ db: { atMs: 7, isUnused: false } });
    expect(remembers(actor, 8)).toBe(false);
  });

  it('is read once, and forgotten with a login and a logout', async () => {
    const { actor, promises } = story(user);
    await promises.settle('load', unknown);
    actor.send({ type: 'demand.recalled', by: 'db' });
    actor.send({ type: 'store.changed' });
    await promises.settle('load', unknown);
    expect(remembers(actor, 1_000)).toBe(false);
    actor.send({ type: 'store.changed' });
    await promises.settle('load', { ...at(0, token), demands: { db: 1_000 } });
    expect(actor.getSnapshot().context.demands).toEqual({});
    actor.send({ type: 'login.demanded', by: 'db', nowMs: 7 });
    actor.send({ type: 'logout.requested' });
    expect(actor.getSnapshot().context.demands).toEqual({});
  });

  it('is not remembered without a user, or if the policy does not want that', async () => {
    for (const input of [machine, { ...user, rememberMs: 0 }]) {
      const { actor, promises } = story(input);
      await promises.settle('load', unknown);
      expect(remembers(actor, 1_000)).toBe(false);
      actor.send({ type: 'login.demanded', by: 'other', nowMs: 7 });
      expect(actor.getSnapshot().context.demands).not.toHaveProperty('other');
    }
  });
});
