/** The permission of one call: what each state does with each event, its stories, and all its ways. */

import { describe, expect, it } from 'vitest';
import { createActor, type SnapshotFrom, type StateValueFrom } from 'xstate';
import {
  type AskedPermission,
  type KeptAnswer,
  type PermissionEvent,
  type PermissionInput,
  type PermissionReview,
  permissionMachine,
} from '../../machines/permission.ts';
import type {
  PermissionAnswer,
  PermissionDenial,
  PermissionVerdict,
} from '../../src/domain/permission.ts';
import { explore } from '../../src/testing/explore.ts';
import { recordTrace } from '../../src/testing/trace.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { done, type Example, HeldPromises, type PathIn, repliesAfter } from './asking.ts';
import { inAll, problemsOf, reportOf, runOnce } from './exploration-report.ts';
import { expectStory } from './golden.ts';
import { comparing } from './xstate/comparing.ts';

type Snapshot = SnapshotFrom<typeof permissionMachine>;
type Ended = 'outdated' | 'denied' | 'timedOut' | 'withdrawn';
type Passing = 'asking' | 'allowed' | 'asking.weighing';
type State = Exclude<PathIn<StateValueFrom<typeof permissionMachine>>, Ended | Passing>;

/** A rule wants a person, and the host decides about every call. */
const asked: PermissionInput = {
  id: 'p1',
  byRules: 'ask',
  byPolicy: 'allow',
  hasHook: true,
  hasUser: true,
  leftMs: null,
};
const same: PermissionReview = { isSameServer: true, isSameTool: true, byRules: 'allow' };
const reviewed = (difference: Partial<PermissionReview> = {}) =>
  ({ type: 'permission.reviewed', ...same, ...difference }) as const;

const examples = {
  withdrawn: { type: 'permission.withdrawn' },
  reviewed: reviewed(),
  'reviewed: another server': reviewed({ isSameServer: false }),
  'reviewed: another tool': reviewed({ isSameTool: false }),
  'reviewed: a rule denies now': reviewed({ byRules: 'deny' }),
  'reviewed: a rule asks now': reviewed({ byRules: 'ask' }),
} as const satisfies Readonly<Record<string, PermissionEvent>>;
type ExampleName = keyof typeof examples;
/** An event without an example does not compile. */
type Unshown = Exclude<PermissionEvent['type'], (typeof examples)[ExampleName]['type']>;
const unshown: readonly Unshown[] = [] satisfies readonly never[];

const waiting: Readonly<Record<ExampleName, string>> = {
  withdrawn: 'withdrawn',
  reviewed: 'ignored',
  'reviewed: another server': 'ignored',
  'reviewed: another tool': 'ignored',
  'reviewed: a rule denies now': 'ignored',
  'reviewed: a rule asks now': 'ignored',
};
const given: Readonly<Record<ExampleName, string>> = {
  // The call that ends stops the actor.
  withdrawn: 'ignored',
  reviewed: 'ignored',
  'reviewed: another server': 'outdated',
  'reviewed: another tool': 'denied',
  'reviewed: a rule denies now': 'denied',
  'reviewed: a rule asks now': 'ignored',
};
const replies: Readonly<Record<State, Readonly<Record<ExampleName, string>>>> = {
  'asking.askingHost': waiting,
  'asking.recalling': waiting,
  'asking.askingUser': waiting,
  'asking.keeping': waiting,
  'allowed.withoutUser': { ...given, 'reviewed: a rule asks now': 'outdated' },
  'allowed.byUser': given,
};
const ways: Readonly<Record<State, readonly [PermissionInput, readonly Example[]]>> = {
  'asking.askingHost': [asked, []],
  'asking.recalling': [asked, [done('askHost', 'allow')]],
  'asking.askingUser': [asked, [done('askHost', 'allow'), done('recall', false)]],
  'asking.keeping': [
    asked,
    [done('askHost', 'allow'), done('recall', false), done('askUser', 'allowTool')],
  ],
  'allowed.withoutUser': [{ ...asked, byRules: null }, [done('askHost', 'allow')]],
  'allowed.byUser': [asked, [done('askHost', 'allow'), done('recall', true)]],
};

function story(difference: Partial<PermissionInput> = {}) {
  const clock = new VirtualClock();
  const trace = recordTrace({ clock, describe: inWords });
  const promises = new HeldPromises();
  const actor = createActor(
    permissionMachine.provide({
      actors: {
        askHost: promises.actor<PermissionVerdict | null, AskedPermission>('askHost'),
        recall: promises.actor<boolean, AskedPermission>('recall'),
        askUser: promises.actor<PermissionAnswer | null, AskedPermission>('askUser'),
        keep: promises.actor<void, KeptAnswer>('keep'),
      },
    }),
    { clock, input: { ...asked, hasHook: false, ...difference }, inspect: trace.inspect },
  );
  return { actor: actor.start(), clock, trace, promises };
}

/** How the review differs from what was asked about. */
function inWords(event: object): string {
  const { isSameServer, isSameTool, byRules } = { ...same, ...event };
  const words = [
    ...(isSameServer ? [] : ['another server']),
    ...(isSameTool ? [] : ['another tool']),
    ...(byRules === 'allow' ? [] : [`rules: ${String(byRules)}`]),
  ];
  return words.length === 0 ? '' : `(${words.join(', ')})`;
}

describe('the permission chart', () => {
  it.each(Object.keys(replies) as State[])('handles every event in %s', (state) => {
    const [input, way] = ways[state];
    expect(repliesAfter(permissionMachine, input, way, examples)).toEqual({
      state,
      replies: replies[state],
    });
    expect(unshown).toEqual([]);
  });
});

describe('a permission', () => {
  it('is requested from the host, then the user, and outlives the call', async () => {
    const { actor, clock, trace, promises } = story({ hasHook: true, byRules: null });
    clock.advanceBy(9_999);
    trace.note('# the host leaves the decision to the user');
    await promises.settle('askHost', 'ask');
    await promises.settle('recall', false);
    trace.note('# the user allows the tool permanently');
    clock.advanceBy(30_000);
    await promises.settle('askUser', 'allowTool');
    await promises.settle('keep', undefined);
    trace.note('# a new rule requires an answer that the user has already given');
    actor.send(reviewed({ byRules: 'ask' }));
    expect(clock.pendingCount).toBe(0);
    await expectStory(trace, 'user/permission-kept');
  });

  it('is denied by a timeout and ignores a late answer', async () => {
    const { actor, clock, trace, promises } = story();
    await promises.settle('recall', false);
    clock.advanceBy(120_000);
    expect(promises.stopped).toEqual(['askUser']);
    trace.note('# the user answers after the deadline');
    await promises.settle('askUser', 'allow');
    expect(actor.getSnapshot().output).toEqual({ denial: 'late' });
    await expectStory(trace, 'user/permission-late');
  });

  it('is withdrawn with its call', async () => {
    const { actor, clock, trace, promises } = story();
    await promises.settle('recall', false);
    trace.note('# the caller aborts');
    actor.send({ type: 'permission.withdrawn' });
    expect([promises.stopped, clock.pendingCount]).toEqual([['askUser'], 0]);
    expect(actor.getSnapshot().output).toEqual({ denial: null });
    await expectStory(trace, 'user/permission-withdrawn');
  });

  it("is invalidated by a new rule that requires the user's answer", async () => {
    const { actor, trace, promises } = story({ hasHook: true, byRules: null });
    await promises.settle('askHost', 'allow');
    trace.note('# the call was queued, and nothing changed');
    actor.send(reviewed());
    trace.note("# a new rule requires the user's answer");
    actor.send(reviewed({ byRules: 'ask' }));
    await expectStory(trace, 'user/permission-outdated');
  });

  it("ends at the caller's deadline, whichever question is open", () => {
    const { actor, clock } = story({ hasHook: true, leftMs: 5_000 });
    clock.advanceBy(4_999);
    expect(actor.getSnapshot().status).toBe('active');
    clock.advanceBy(1);
    expect(actor.getSnapshot().output).toEqual({ denial: 'late' });
    expect(clock.pendingCount).toBe(0);
  });

  it.each([
    ['the host', { hasHook: true }, [], 10_000],
    ['the store', {}, [], 10_000],
    ['the user', {}, [['recall', false]], 120_000],
  ] as const)(
    'is denied when %s does not respond',
    async (_who, difference, answers, patienceMs) => {
      const { actor, clock, promises } = story(difference);
      for (const [name, answer] of answers) await promises.settle(name, answer);
      clock.advanceBy(patienceMs - 1);
      expect(actor.getSnapshot().status).toBe('active');
      clock.advanceBy(1);
      expect(actor.getSnapshot()).toMatchObject({ value: 'timedOut', output: { denial: 'late' } });
    },
  );

  it.each([
    ['allowTool', false],
    ['allowServer', true],
  ] as const)('is remembered as the user answered: %s', async (answer, isForServer) => {
    const { promises } = story();
    await promises.settle('recall', false);
    await promises.settle('askUser', answer);
    expect(promises.inputs.get('keep')).toEqual({ id: 'p1', isForServer });
  });

  it.each(['hangs', 'breaks'])('is granted even if the store %s', async (how) => {
    const { actor, clock, promises } = story();
    await promises.settle('recall', false);
    await promises.settle('askUser', 'allowServer');
    if (how === 'breaks') await promises.fail('keep');
    else clock.advanceBy(10_000);
    expect(actor.getSnapshot().value).toEqual({ allowed: 'byUser' });
  });
});

type Step = readonly [actor: string, answer: unknown] | PermissionEvent;
const broken = Symbol('it fails');
const byHook = { hasHook: true, byRules: null } as const;
const denials: readonly (readonly [PermissionDenial, Partial<PermissionInput>, readonly Step[]])[] =
  [
    ['host', byHook, [['askHost', 'deny']]],
    ['hookNonsense', byHook, [['askHost', null]]],
    ['broken', byHook, [['askHost', broken]]],
    ['broken', {}, [['recall', broken]]],
    ['noUser', { hasUser: false }, [['recall', false]]],
    [
      'user',
      {},
      [
        ['recall', false],
        ['askUser', 'deny'],
      ],
    ],
    [
      'nonsense',
      {},
      [
        ['recall', false],
        ['askUser', null],
      ],
    ],
    [
      'broken',
      {},
      [
        ['recall', false],
        ['askUser', broken],
      ],
    ],
    ['rule', {}, [['recall', true], reviewed({ byRules: 'deny' })]],
    [
      'toolChanged',
      byHook,
      [['askHost', 'allow'], reviewed({ isSameTool: false, byRules: 'deny' })],
    ],
  ];

describe('a denial', () => {
  it.each(denials)('has the reason "%s"', async (denial, difference, steps) => {
    const { actor, promises } = story(difference);
    for (const step of steps) {
      if ('type' in step) actor.send(step);
      else if (step[1] === broken) await promises.fail(step[0]);
      else await promises.settle(step[0], step[1]);
    }
    expect(actor.getSnapshot()).toMatchObject({ value: 'denied', output: { denial } });
  });
});

const booleans = [true, false] as const;
const inputs: readonly PermissionInput[] = ([null, 'allow', 'ask'] as const).flatMap((byRules) =>
  (['allow', 'ask'] as const).flatMap((byPolicy) =>
    booleans.flatMap((hasHook) =>
      booleans.map((hasUser) => ({ ...asked, byRules, byPolicy, hasHook, hasUser })),
    ),
  ),
);

/** Hold in every state. */
function invariants(snapshot: Snapshot): readonly string[] {
  const { byRules, byHost, byUser, byPolicy, denial, hasHook } = snapshot.context;
  const isAllowed = snapshot.matches('allowed');
  const isRefused = snapshot.matches('denied') || snapshot.matches('timedOut');
  const said = [byRules, byHost];
  const needsUser = said.includes('ask') || (byPolicy === 'ask' && !said.includes('allow'));
  return [
    ...(isRefused === (denial !== null) ? [] : ['a denial and its reason differ']),
    ...(isAllowed && hasHook && (byHost === null || byHost === 'deny')
      ? ['allowed without the host']
      : []),
    ...(snapshot.matches({ allowed: 'withoutUser' }) && needsUser
      ? ['allowed without the person that has to be asked']
      : []),
    ...(snapshot.matches({ asking: 'askingUser' }) && !needsUser
      ? ['a person is asked for nothing']
      : []),
    ...(isAllowed && byUser === 'deny' ? ['allowed against the word of a person'] : []),
  ];
}

const searches = {
  'one call that needs permission': () =>
    explore(comparing(permissionMachine), {
      inputs,
      events: {
        'permission.reviewed': Object.values(examples).filter(
          ({ type }) => type === 'permission.reviewed',
        ),
        'xstate.done.actor.askHost': ['allow', 'ask', 'deny', null].map((verdict) =>
          done('askHost', verdict),
        ),
        'xstate.done.actor.recall': booleans.map((isKnown) => done('recall', isKnown)),
        'xstate.done.actor.askUser': ['allow', 'allowTool', 'allowServer', 'deny', null].map(
          (answer) => done('askUser', answer),
        ),
      },
      invariants,
      goals: {
        'an end of the asking': (snapshot) => !snapshot.matches('asking'),
      },
    }),
};
const names = Object.keys(searches) as (keyof typeof searches)[];
const found = runOnce(searches);

describe("the permission chart's paths", () => {
  it.each(names)('keep the invariants: %s', (name) => {
    expect(problemsOf(found(name))).toBe('');
  });

  it('cover every transition', async () => {
    expect(inAll(names.map((name) => found(name).uncovered))).toEqual([]);
    expect(inAll(names.map((name) => found(name).unvisited))).toEqual([]);
    await expect(reportOf(searches, found)).toMatchFileSnapshot('explored/permission.txt');
  });
});
