import { describe, expect, it } from 'vitest';

import {
  type AskingCall,
  AskingCalls,
  abandonedMs,
  maxRemembered,
} from '../../../src/policies/calls/client-to-ask.ts';

const [ada, bob] = [{ name: 'Ada' }, { name: 'Bob' }];
const waiting = (client?: object, user?: string): AskingCall => ({
  client,
  user,
  leftAt: undefined,
  isStopped: false,
  isAsking: false,
});
const asking = (client: object, user?: string): AskingCall => ({
  ...waiting(client, user),
  isAsking: true,
});
const left = (client: object | undefined, leftAt: number): AskingCall => ({
  ...waiting(client),
  leftAt,
});
const stopped = (client: object, user?: string): AskingCall => ({
  ...waiting(client, user),
  leftAt: 0,
  isStopped: true,
});

type Calls = readonly AskingCall[];

function callsOf(made: Calls): AskingCalls<Calls[number]> {
  const calls = new AskingCalls<Calls[number]>();
  for (const [id, call] of made.entries()) calls.sent(id, call);
  return calls;
}

function ownerOf(made: Calls, now = 0): string {
  const owner = callsOf(made).ownerAt(now);
  return owner.type === 'nobody' ? owner.why : owner.type;
}

describe('a question that does not name its call', () => {
  it.each([
    ['noCall', []],
    ['call', [waiting()]],
    ['call', [waiting(ada)]],
    ['client', [waiting(ada), waiting(ada)]],
    ['severalClients', [waiting(ada), waiting(bob)]],
    ['severalClients', [waiting(), waiting()]],
    ['severalClients', [waiting(ada), waiting()]],
    ['onlyAbandoned', [left(ada, 0)]],
    ['client', [left(ada, 0), waiting(ada)]],
    ['abandonedByOther', [left(ada, 0), waiting(bob)]],
    ['abandonedByOther', [left(undefined, 0), waiting()]],
    ['abandonedByOther', [left(ada, 0), waiting(bob), waiting(bob)]],
  ])('belongs to %s (%j)', (owner, made) => {
    expect(ownerOf(made)).toBe(owner);
  });

  it.each([
    ['call', [stopped(ada, 'us'), waiting(bob, 'us')]],
    ['client', [stopped(ada, 'us'), waiting(bob, 'us'), waiting(bob, 'us')]],
    ['abandonedByOther', [stopped(ada, 'her'), waiting(bob, 'him')]],
    ['abandonedByOther', [stopped(ada), waiting(bob)]],
    ['abandonedByOther', [{ ...stopped(ada, 'us'), isStopped: false }, waiting(bob, 'us')]],
    ['severalClients', [stopped(ada, 'us'), waiting(ada, 'us'), waiting(bob, 'us')]],
    ['client', [stopped(bob, 'us'), waiting(bob, 'us')]],
    ['call', [asking(ada, 'us'), waiting(bob, 'us')]],
    ['call', [asking(ada, 'us')]],
    ['client', [asking(bob, 'us'), waiting(bob, 'us')]],
    ['severalClients', [asking(ada, 'us'), asking(bob, 'us'), waiting(ada, 'us'), waiting(bob)]],
    ['severalClients', [asking(ada), waiting(bob)]],
    ['severalClients', [asking(ada, 'us'), asking(bob, 'us')]],
    ['client', [asking(ada, 'us'), asking(ada, 'us')]],
  ])(
    'belongs to %s beside calls of one user that are over or wait for an answer (%j)',
    (owner, made) => {
      expect(ownerOf(made)).toBe(owner);
    },
  );

  it.each([
    [{}, 'call'],
    [{ isStopped: false }, 'abandonedByOther'],
    [{ user: 'them' }, 'abandonedByOther'],
  ])(
    "belongs to a client with its user's many stopped calls, if all are so (%j)",
    (other, owner) => {
      const first = { ...stopped(ada, 'us'), ...other };
      const many = Array.from({ length: maxRemembered + 1 }, () => stopped(ada, 'us'));
      expect(ownerOf([first, ...many, waiting(bob, 'us')])).toBe(owner);
    },
  );

  it('belongs to the only call ten minutes after another one was abandoned', () => {
    const made = [left(ada, 5), waiting(bob)];
    expect(ownerOf(made, abandonedMs + 4)).toBe('abandonedByOther');
    expect(ownerOf(made, abandonedMs + 5)).toBe('call');
  });

  it('belongs to the only call once the abandoned one was answered', () => {
    const calls = callsOf([left(ada, 0), waiting(bob)]);
    expect(calls.get(0)).toMatchObject({ client: ada });
    calls.answered(0);
    expect(calls.get(0)).toBeUndefined();
    expect(calls.ownerAt(0)).toMatchObject({ type: 'call', call: { client: bob } });
  });

  it.each([
    ['their client', 'client', [ada], ada],
    ['another client', 'abandonedByOther', [ada], bob],
    ['one of their clients', 'abandonedByOther', [ada, bob, bob], bob],
  ])(
    'takes more abandoned calls than are remembered into account for %s',
    (_whose, owner, clients, next) => {
      const first = [waiting(next), ...clients.map((client, at) => left(client, 30 - at))];
      const rest = Array.from({ length: maxRemembered - 1 }, () => left(next, 10));
      const calls = callsOf([...first, ...rest]);
      for (let id = first.length; id < first.length + rest.length; id += 1) calls.answered(id);
      const typeAt = (now: number) => {
        const { type, ...more } = calls.ownerAt(now);
        return 'why' in more ? more.why : type;
      };
      expect(typeAt(abandonedMs + 29)).toBe(owner);
      expect(typeAt(abandonedMs + 30)).toBe('call');
    },
  );

  it('is attributed as before with more calls in flight than are remembered', () => {
    expect(ownerOf(Array.from({ length: maxRemembered + 1 }, () => waiting(ada)))).toBe('client');
  });
});

describe('a question on a stream of its own', () => {
  it('belongs to the only client of the session while it has a call in flight', () => {
    expect(callsOf([]).ownerOutsideCalls()).toEqual({ type: 'nobody', why: 'noCall' });
    expect(callsOf([left(ada, 0)]).ownerOutsideCalls()).toMatchObject({ why: 'noCall' });
    const calls = callsOf([waiting(ada), left(ada, 0)]);
    expect(calls.ownerOutsideCalls()).toMatchObject({ type: 'client', calls: [{ client: ada }] });
    calls.sent(2, left(bob, 0));
    calls.answered(2);
    calls.sent(3, waiting(ada));
    expect(calls.ownerOutsideCalls()).toEqual({ type: 'nobody', why: 'severalClients' });
  });

  it('belongs to no client if the client is unknown', () => {
    expect(callsOf([waiting()]).ownerOutsideCalls()).toMatchObject({ why: 'severalClients' });
  });
});

it('names the abandoned calls that may still run, until the longest call would have ended', () => {
  const calls = callsOf([waiting(ada), left(ada, 5), stopped(bob), left(bob, 10)]);
  expect(calls.abandonedAt(10)).toEqual([left(ada, 5), left(bob, 10)]);
  expect(calls.abandonedAt(5 + abandonedMs)).toEqual([left(bob, 10)]);
});
