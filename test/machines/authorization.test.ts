/** A login: what each state does with each event, its stories, and all its paths. */

import { describe, expect, it } from 'vitest';
import { type SnapshotFrom, type StateValueFrom } from 'xstate';
import { authorizationMachine } from '../../machines/authorization/authorization.ts';
import type {
  AuthorizationEvent,
  AuthorizationInput,
} from '../../machines/authorization/authorization-setup.ts';
import type { AuthorizationFailureKind } from '../../src/domain/authorization.ts';
import { explore } from '../../src/testing/explore.ts';
import { done, type Example, type PathIn, repliesAfter } from './asking.ts';
import { inAll, problemsOf, reportOf, runOnce } from './exploration-report.ts';
import { expectStory } from './golden.ts';
import {
  at,
  device,
  failure,
  machine,
  next,
  plain,
  type Step,
  story,
  token,
  user,
} from './logins.ts';
import { comparing } from './xstate/comparing.ts';

type Snapshot = SnapshotFrom<typeof authorizationMachine>;
type Passing =
  | 'signingIn.awaitingDevice'
  | 'weighing'
  | 'renewing'
  | 'afterRefusal'
  | 'signingIn'
  | 'unauthorized';
type State = Exclude<
  PathIn<StateValueFrom<typeof authorizationMachine>>,
  Passing | 'unauthorized.choosing'
>;

const examples = {
  'login.requested': { type: 'login.requested' },
  'login.requested: on another device': { type: 'login.requested', device: true },
  'login.cancelled': { type: 'login.cancelled' },
  'logout.requested': { type: 'logout.requested' },
  'token.wanted': { type: 'token.wanted' },
  'login.demanded': { type: 'login.demanded', by: 'db', nowMs: 5 },
  'demand.recalled': { type: 'demand.recalled', by: 'db' },
  'token.rejected: the latest': { type: 'token.rejected', generation: 1, nowMs: 0 },
  'token.rejected: an earlier one': { type: 'token.rejected', generation: 0, nowMs: 0 },
  'scope.insufficient': { type: 'scope.insufficient', scopes: ['write'] },
  'store.changed': { type: 'store.changed' },
  'clock.jumped: past its expiry': { type: 'clock.jumped', nowMs: 4_000_000 },
} as const satisfies Readonly<Record<string, AuthorizationEvent>>;
type ExampleName = keyof typeof examples;
/** An event without an example does not compile. */
type Unshown = Exclude<AuthorizationEvent['type'], (typeof examples)[ExampleName]['type']>;
const unshown: readonly Unshown[] = [] satisfies readonly never[];

type Replies = Readonly<Record<ExampleName, string>>;
const always = {
  'login.requested': 'ignored',
  'login.requested: on another device': 'ignored',
  'login.cancelled': 'ignored',
  'logout.requested': 'loggingOut',
  'token.wanted': 'ignored',
  'login.demanded': 'stays',
  'demand.recalled': 'stays',
  'token.rejected: the latest': 'ignored',
  'token.rejected: an earlier one': 'ignored',
  'scope.insufficient': 'stays',
  'store.changed': 'ignored',
  'clock.jumped: past its expiry': 'ignored',
} as const satisfies Replies;
const withToken = { ...always, 'token.rejected: the latest': 'stays' } as const;
const asks = {
  'login.requested': 'signingIn.discovering',
  'login.requested: on another device': 'signingIn.discovering',
};
const signingIn: Replies = {
  ...always,
  ...asks,
  'login.cancelled': 'loading',
  'store.changed': 'loading',
};
const unauthorized: Replies = { ...always, ...asks, 'store.changed': 'loading' };

const replies: Readonly<Record<State, Replies>> = {
  loading: { ...always, 'store.changed': 'stays' },
  authorized: {
    ...always,
    ...asks,
    'token.rejected: the latest': 'refreshing',
    'token.rejected: an earlier one': 'stays',
    'store.changed': 'loading',
    'clock.jumped: past its expiry': 'refreshing',
  },
  refreshing: { ...withToken, ...asks },
  requesting: { ...always, 'login.demanded': 'ignored' },
  retrying: { ...withToken, ...asks, 'store.changed': 'loading' },
  'signingIn.discovering': {
    ...signingIn,
    'login.requested': 'stays',
    'login.requested: on another device': 'stays',
  },
  'signingIn.registering': signingIn,
  'signingIn.awaitingUser': signingIn,
  'signingIn.requestingCode': signingIn,
  'signingIn.awaitingDevice.pausing': signingIn,
  'signingIn.awaitingDevice.polling': signingIn,
  'signingIn.exchanging': signingIn,
  'unauthorized.signedOut': unauthorized,
  'unauthorized.clientNeeded': unauthorized,
  'unauthorized.denied': unauthorized,
  'unauthorized.expired': { ...unauthorized, 'token.rejected: the latest': 'stays' },
  'unauthorized.failed': unauthorized,
  loggingOut: { ...always, 'logout.requested': 'stays' },
};

const none = done('load', at(0, null));
const loggingIn = [none, examples['login.requested']];
const toRegistering = [...loggingIn, done('discover', at(1))];
const toUser = [...toRegistering, done('register', at(2))];
const onDevice = examples['login.requested: on another device'];
const toCode = [none, onDevice, done('discover', at(1)), done('register', at(2))];
const toPause = [...toCode, done('requestCode', { nowMs: 3, device })];
const pollInterval = {
  type: 'xstate.after.pollInterval.authorization.signingIn.awaitingDevice.pausing',
};
const toExchange = [...toUser, done('askUser', at(3))];
const authorized = [done('load', at(0, token))];
const ways: Readonly<Record<State, readonly [AuthorizationInput, readonly Example[]]>> = {
  loading: [user, []],
  authorized: [user, authorized],
  refreshing: [user, [...authorized, examples['token.rejected: the latest']]],
  requesting: [machine, [none, examples['token.wanted']]],
  retrying: [
    user,
    [
      ...authorized,
      examples['token.rejected: the latest'],
      done('refresh', failure('unavailable')),
    ],
  ],
  'signingIn.discovering': [user, loggingIn],
  'signingIn.registering': [user, toRegistering],
  'signingIn.awaitingUser': [user, toUser],
  'signingIn.requestingCode': [user, toCode],
  'signingIn.awaitingDevice.pausing': [user, toPause],
  'signingIn.awaitingDevice.polling': [user, [...toPause, pollInterval]],
  'signingIn.exchanging': [user, toExchange],
  'unauthorized.signedOut': [user, [none]],
  'unauthorized.clientNeeded': [
    user,
    [...toRegistering, done('register', failure('clientNeeded')), none],
  ],
  'unauthorized.denied': [user, [...toUser, done('askUser', failure('denied')), none]],
  'unauthorized.expired': [
    user,
    [...authorized, examples['token.rejected: the latest'], done('refresh', failure('grant'))],
  ],
  'unauthorized.failed': [user, [...loggingIn, done('discover', failure('discovery')), none]],
  loggingOut: [user, [...authorized, examples['logout.requested']]],
};

describe('the authorization chart', () => {
  it.each(Object.keys(replies) as State[])('handles every event in %s', (state) => {
    const [input, way] = ways[state];
    expect(repliesAfter(authorizationMachine, input, way, examples)).toEqual({
      state,
      replies: replies[state],
    });
    expect(unshown).toEqual([]);
  });
});

describe('a login', () => {
  it('finds the issuer and a client, waits for the user and obtains a token', async () => {
    const { actor, trace, promises } = story(user);
    await promises.settle('load', at(0, null));
    actor.send({ type: 'scope.insufficient', scopes: ['write', 'admin'] });
    actor.send({ type: 'login.requested' });
    await promises.settle('discover', at(10));
    await promises.settle('register', at(20));
    await promises.settle('askUser', at(5_000));
    expect(promises.inputs.get('exchange')).toMatchObject({ wanted: ['admin', 'write'] });
    await promises.settle('exchange', at(5_010, { ...token, scopes: ['admin', 'read', 'write'] }));
    expect(actor.getSnapshot()).toMatchObject({
      value: 'authorized',
      context: { wanted: [], failure: null },
    });
    await expectStory(trace, 'authorization/log-in');
  });

  it('renews the token ahead of its expiry and keeps it through an outage of the issuer', async () => {
    const { actor, clock, trace, promises } = story(user);
    await promises.settle('load', at(0, token));
    // Five minutes ahead of an hour, and up to half a minute earlier still.
    clock.advanceBy(3_270_000 - 1);
    expect(actor.getSnapshot().value).toBe('authorized');
    clock.advanceBy(30_001);
    expect(actor.getSnapshot().value).toBe('refreshing');
    await promises.settle('refresh', failure('unavailable', 3_300_000));
    expect(actor.getSnapshot().hasTag('waits')).toBe(false);
    clock.advanceBy(2_000);
    await promises.settle('refresh', at(3_302_000, next));
    expect(actor.getSnapshot().context).toMatchObject({ token: next, failure: null, attempt: 0 });
    await expectStory(trace, 'authorization/renewal');
  });

  it('sends no refused refresh token again after a login that fails', async () => {
    const { actor, promises } = story(user);
    await promises.settle('load', at(3_600_000, token));
    await promises.settle('refresh', failure('grant', 3_600_000));
    actor.send({ type: 'login.requested' });
    await promises.settle('discover', failure('discovery', 3_600_010));
    await promises.settle('load', at(3_600_020, token));
    expect(actor.getSnapshot()).toMatchObject({
      value: { unauthorized: 'failed' },
      context: { failure: { kind: 'discovery' }, token: { renewalRefusal: { kind: 'grant' } } },
    });
  });

  it('keeps a valid token whose renewal is refused until it expires', async () => {
    const { actor, clock, trace, promises } = story(user);
    await promises.settle('load', at(0, token));
    clock.advanceBy(3_300_000);
    await promises.settle('refresh', failure('grant', 3_300_000));
    expect(actor.getSnapshot().value).toBe('authorized');
    clock.advanceBy(300_000);
    const refusal = { kind: 'grant', message: 'grant.' };
    expect(actor.getSnapshot()).toMatchObject({
      value: { unauthorized: 'expired' },
      context: { failure: refusal, token: { renewalRefusal: refusal } },
    });
    await expectStory(trace, 'authorization/refused-renewal');
  });

  it.each([null, 3_000_000_000])(
    'without renewal lasts until %s ms, not the longest timer',
    async (expiresAtMs) => {
      const { actor, clock, promises } = story(user);
      await promises.settle('load', at(0, { ...plain, expiresAtMs }));
      clock.advanceBy(2_999_999_999);
      expect(actor.getSnapshot().value).toBe('authorized');
      clock.advanceBy(1);
      const ended = expiresAtMs === null ? 'authorized' : { unauthorized: 'expired' };
      expect(actor.getSnapshot().value).toEqual(ended);
    },
  );

  it('waits at least as long as the issuer asks for', async () => {
    const { actor, clock, promises } = story(user);
    await promises.settle('load', at(0, token));
    actor.send({ type: 'token.rejected', generation: 1, nowMs: 0 });
    const busy = { kind: 'unavailable', message: 'busy.', retryAfterMs: 60_000 } as const;
    await promises.settle('refresh', { nowMs: 0, failure: busy });
    clock.advanceBy(59_999);
    expect(actor.getSnapshot().value).toBe('retrying');
    clock.advanceBy(1);
    expect(actor.getSnapshot().value).toBe('refreshing');
  });

  it('asks an issuer whose tokens expire at once only every five seconds', async () => {
    const { actor, clock, promises } = story(user);
    await promises.settle('load', at(0, { ...token, expiresAtMs: 0 }));
    await promises.settle('refresh', at(0, { ...next, expiresAtMs: 0 }));
    clock.advanceBy(4_999);
    expect(actor.getSnapshot().value).toBe('authorized');
    clock.advanceBy(1);
    expect(actor.getSnapshot().value).toBe('refreshing');
  });

  it('requests a token without a user, and another one when it expires', async () => {
    const { actor, clock, trace, promises } = story(machine);
    await promises.settle('load', at(0, null));
    actor.send({ type: 'token.wanted' });
    await promises.settle('request', at(0, plain));
    clock.advanceBy(3_300_000);
    expect(actor.getSnapshot().value).toBe('requesting');
    await promises.settle('request', failure('grant', 3_300_000));
    expect(actor.getSnapshot().value).toBe('authorized');
    await expectStory(trace, 'authorization/machine');
  });

  it('ends when the user takes too long, and when it is superseded', async () => {
    const { actor, clock, trace, promises } = story(user);
    await promises.settle('load', at(0, null));
    actor.send({ type: 'login.requested' });
    await promises.settle('discover', at(10));
    actor.send({ type: 'login.requested' });
    expect([actor.getSnapshot().value, promises.stopped]).toEqual([
      { signingIn: 'discovering' },
      ['register'],
    ]);
    clock.advanceBy(600_000);
    await promises.settle('load', at(600_000, null));
    expect(actor.getSnapshot()).toMatchObject({
      value: { unauthorized: 'failed' },
      context: { failure: { kind: 'timeout' } },
    });
    await expectStory(trace, 'authorization/late');
  });

  it('goes on while another process renews the token, which counts if the login fails', async () => {
    const { actor, promises } = story(user);
    await promises.settle('load', at(0, token));
    actor.send({ type: 'login.requested' });
    actor.send({ type: 'store.changed' });
    await promises.settle('discover', failure('discovery', 10));
    await promises.settle('load', at(20, next));
    expect(actor.getSnapshot()).toMatchObject({ value: 'authorized', context: { token: next } });
  });

  it('made by another process ends one that waits without a token', async () => {
    const { actor, promises } = story(user);
    await promises.settle('load', at(0, null));
    actor.send({ type: 'login.requested' });
    actor.send({ type: 'store.changed' });
    await promises.settle('load', at(20, token));
    expect(actor.getSnapshot()).toMatchObject({ value: 'authorized', context: { failure: null } });
  });

  it('made by another process while the stored one is read is read as well', async () => {
    const { actor, promises } = story(user);
    actor.send({ type: 'store.changed' });
    expect(promises.stopped).toEqual(['load']);
    await promises.settle('load', at(20, token));
    expect(actor.getSnapshot()).toMatchObject({ value: 'authorized', context: { token } });
  });

  it('is over when its renewal finds that another process logged out', async () => {
    const { actor, promises } = story(user);
    await promises.settle('load', at(0, token));
    actor.send({ type: 'token.rejected', generation: 1, nowMs: 0 });
    expect(promises.inputs.get('refresh')).toMatchObject({ isRejected: true });
    await promises.settle('refresh', at(10, null));
    expect(actor.getSnapshot()).toMatchObject({
      value: { unauthorized: 'signedOut' },
      context: { token: null },
    });
  });

  it('revokes its tokens once, however often a logout is wanted', async () => {
    const { actor, promises } = story(user);
    await promises.settle('load', at(0, token));
    actor.send({ type: 'logout.requested' });
    actor.send({ type: 'logout.requested' });
    expect(promises.stopped).toEqual([]);
    await promises.settle('forget', at(10));
    expect(actor.getSnapshot().value).toEqual({ unauthorized: 'signedOut' });
  });

  it('stops asking for more scopes after so many refusals', async () => {
    const { actor, promises } = story(user);
    await promises.settle('load', at(0, token));
    for (const scope of ['a', 'b', 'c']) {
      actor.send({ type: 'scope.insufficient', scopes: [scope] });
    }
    expect(actor.getSnapshot().context.wanted).toEqual(['a', 'b']);
  });

  it('is renewed five times a minute at most for a server that refuses every token', async () => {
    const { actor, promises } = story(user);
    await promises.settle('load', at(0, token));
    const refuse = (nowMs: number): void => {
      const generation = actor.getSnapshot().context.token?.generation ?? 0;
      actor.send({ type: 'token.rejected', generation, nowMs });
    };
    for (let generation = 2; generation <= 6; generation += 1) {
      refuse(generation * 1_000);
      await promises.settle('refresh', at(0, { ...token, generation }));
    }
    refuse(61_999);
    expect(actor.getSnapshot()).toMatchObject({
      value: 'authorized',
      context: { isRejected: false },
    });
    refuse(62_000);
    expect(actor.getSnapshot().value).toBe('refreshing');
    await promises.settle('refresh', at(0, { ...token, generation: 7 }));
    actor.send({ type: 'login.requested' });
    expect(actor.getSnapshot().context.renewals).toEqual([]);
  });
});

/** Hold in every state. */
function invariants(snapshot: Snapshot): readonly string[] {
  const { token: held, isRejected, needsUser } = snapshot.context;
  const isBeyondUse = held === null || isRejected;
  return [
    ...(snapshot.matches('authorized') && isBeyondUse ? ['authorized without a token'] : []),
    ...(snapshot.matches('requesting') && needsUser ? ['a user is left out'] : []),
    ...(snapshot.matches('refreshing') && held === null ? ['nothing is renewed'] : []),
    ...(snapshot.matches('loggingOut') && held !== null ? ['a token outlives its log-out'] : []),
  ];
}

/** A step that obtains a token always brings a new generation. */
const tokenReplies = (name: Step, generation = 2) => [
  done(name, at(1_000, { ...token, generation })),
  done(name, at(1_000, { ...plain, generation, expiresAtMs: null })),
  done(name, failure('unavailable', 1_000)),
  done(name, failure('grant', 1_000)),
];
const stepReplies = (name: Step, kind: AuthorizationFailureKind) => [
  done(name, at(1_000)),
  done(name, failure(kind, 1_000)),
];
const refusedScopes = (name: Step) =>
  done(name, { ...failure('denied', 1_000), canAskForLess: true });
const searches = {
  'one credential': () =>
    explore(comparing(authorizationMachine), {
      inputs: [user, machine],
      events: {
        'token.rejected': [1, 2].map((generation) => ({
          type: 'token.rejected' as const,
          generation,
          nowMs: 0,
        })),
        'login.requested': [examples['login.requested'], onDevice],
        'scope.insufficient': [examples['scope.insufficient']],
        'login.demanded': [examples['login.demanded']],
        'demand.recalled': [examples['demand.recalled']],
        'clock.jumped': [examples['clock.jumped: past its expiry']],
        'xstate.done.actor.load': [
          ...tokenReplies('load', 1),
          done('load', at(0, null)),
          done('load', at(0)),
          done('load', at(4_000_000, token)),
          done('load', at(4_000_000, plain)),
          done('load', { ...at(0, null), demands: { db: 1 } }),
        ],
        'xstate.done.actor.discover': stepReplies('discover', 'discovery'),
        'xstate.done.actor.register': [
          ...stepReplies('register', 'clientNeeded'),
          refusedScopes('register'),
        ],
        'xstate.done.actor.askUser': stepReplies('askUser', 'denied'),
        'xstate.done.actor.requestCode': [
          done('requestCode', { nowMs: 1_000, device }),
          done('requestCode', failure('discovery', 1_000)),
          refusedScopes('requestCode'),
        ],
        'xstate.done.actor.poll': [
          ...tokenReplies('poll'),
          done('poll', { nowMs: 1_000, pending: 'waiting' }),
          done('poll', { nowMs: 1_000, pending: 'slowDown' }),
        ],
        'xstate.done.actor.exchange': [...tokenReplies('exchange'), refusedScopes('exchange')],
        'xstate.done.actor.request': [...tokenReplies('request'), refusedScopes('request')],
        'xstate.done.actor.refresh': [...tokenReplies('refresh'), done('refresh', at(1_000, null))],
        'xstate.done.actor.forget': stepReplies('forget', 'store'),
      },
      // The number of attempts and the time only decide how long a wait is. Once the renewals of a
      // minute are used up, a login only stays as it is; demands never change its state.
      key: ({ value, context: { token: held, failure: why, nowMs, isRejected, ...context } }) =>
        JSON.stringify([
          value,
          held?.generation,
          held?.isRefreshable,
          held?.renewalRefusal?.kind,
          nowMs >= (held?.expiresAtMs ?? Number.POSITIVE_INFINITY),
          isRejected,
          why?.kind,
          context.wanted,
          context.stepUps,
          context.needsUser,
          context.asksForLess,
          value !== 'loading' && context.isOnDevice,
        ]),
      invariants,
      goals: { 'a token': (snapshot) => snapshot.matches('authorized') },
    }),
};
const names = Object.keys(searches) as (keyof typeof searches)[];
const found = runOnce(searches);

describe("the authorization chart's paths", () => {
  it.each(names)('keep the invariants: %s', (name) => {
    expect(problemsOf(found(name))).toBe('');
  });

  it('cover every transition', async () => {
    expect(inAll(names.map((name) => found(name).uncovered))).toEqual([]);
    expect(inAll(names.map((name) => found(name).unvisited))).toEqual([]);
    await expect(reportOf(searches, found)).toMatchFileSnapshot('explored/authorization.txt');
  });
});
