/** A question of a server: what each state does with each event, its stories, and all its ways. */

import { describe, expect, it } from 'vitest';
import { createActor, type SnapshotFrom, type StateValueFrom } from 'xstate';
import {
  type QuestionEvent,
  type QuestionInput,
  type QuestionReply,
  questionMachine,
} from '../../machines/question.ts';
import { explore } from '../../src/testing/explore.ts';
import { recordTrace } from '../../src/testing/trace.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { done, type Example, HeldPromises, type PathIn, repliesAfter } from './asking.ts';
import { inAll, problemsOf, reportOf, runOnce } from './exploration-report.ts';
import { expectStory } from './golden.ts';
import { comparing } from './xstate/comparing.ts';

type Snapshot = SnapshotFrom<typeof questionMachine>;
type Ended = 'accepted' | 'declined' | 'cancelled' | 'timedOut' | 'withdrawn';
type Passing = 'open' | 'open.listed' | 'open.addressing' | 'answered';
type State = Exclude<PathIn<StateValueFrom<typeof questionMachine>>, Ended | Passing>;

const ofHost: QuestionInput = { id: 'q1', isOfCaller: false, timeoutMs: 120_000 };
const ofCaller: QuestionInput = { ...ofHost, isOfCaller: true };

const by = (action: QuestionReply['action'], fault: string | null = null): QuestionReply => ({
  action,
  fault,
});
const left = by(null);
const misfit = by(null, '"name" is missing');

const examples = {
  'answered: accept': { type: 'question.answered', action: 'accept' },
  'answered: decline': { type: 'question.answered', action: 'decline' },
  'answered: cancel': { type: 'question.answered', action: 'cancel' },
  withdrawn: { type: 'question.withdrawn' },
} as const satisfies Readonly<Record<string, QuestionEvent>>;
type ExampleName = keyof typeof examples;
/** An event without an example does not compile. */
type Unshown = Exclude<QuestionEvent['type'], (typeof examples)[ExampleName]['type']>;
const unshown: readonly Unshown[] = [] satisfies readonly never[];

const listed: Readonly<Record<ExampleName, string>> = {
  'answered: accept': 'accepted',
  'answered: decline': 'declined',
  'answered: cancel': 'cancelled',
  withdrawn: 'withdrawn',
};
const replies: Readonly<Record<State, Readonly<Record<ExampleName, string>>>> = {
  // Only the caller sees it, so it cannot be answered by its id.
  'open.askingCaller': {
    'answered: accept': 'ignored',
    'answered: decline': 'ignored',
    'answered: cancel': 'ignored',
    withdrawn: 'withdrawn',
  },
  'open.listed.askingHost': listed,
  'open.listed.unclaimed': listed,
};
const ways: Readonly<Record<State, readonly [QuestionInput, readonly Example[]]>> = {
  'open.askingCaller': [ofCaller, []],
  'open.listed.askingHost': [ofHost, []],
  'open.listed.unclaimed': [ofHost, [done('consult', left)]],
};

function story(input: QuestionInput) {
  const clock = new VirtualClock();
  const trace = recordTrace({
    clock,
    describe: (event) => ('action' in event ? `(${String(event['action'])})` : ''),
  });
  const promises = new HeldPromises();
  const consult = promises.actor<QuestionReply, { id: string }>('consult');
  const actor = createActor(questionMachine.provide({ actors: { consult } }), {
    clock,
    input,
    inspect: trace.inspect,
  });
  return { actor: actor.start(), clock, trace, promises };
}

describe('the question chart', () => {
  it.each(Object.keys(replies) as State[])('handles every event in %s', (state) => {
    const [input, way] = ways[state];
    expect(repliesAfter(questionMachine, input, way, examples)).toEqual({
      state,
      replies: replies[state],
    });
    expect(unshown).toEqual([]);
  });
});

describe('a question', () => {
  it('can be answered by id while the host is still being asked', async () => {
    const { actor, clock, trace, promises } = story(ofHost);
    clock.advanceBy(30_000);
    actor.send({ type: 'question.answered', action: 'accept' });
    expect([promises.stopped, clock.pendingCount]).toEqual([['consult'], 0]);
    trace.note('# the host answers after all');
    await promises.settle('consult', by('decline'));
    await expectStory(trace, 'user/question-answered');
  });

  it('is listed once its caller passes and can be declined from the list', async () => {
    const { actor, trace, promises } = story(ofCaller);
    trace.note('# it cannot be answered by its id yet');
    actor.send({ type: 'question.answered', action: 'accept' });
    await promises.settle('consult', left);
    actor.send({ type: 'question.answered', action: 'decline' });
    await expectStory(trace, 'user/question-left');
  });

  it('is cancelled when the answer is invalid or the handler throws', async () => {
    const { actor, trace, promises } = story(ofHost);
    await promises.settle('consult', misfit);
    expect(actor.getSnapshot().context).toMatchObject(misfit);
    const other = story(ofCaller);
    await other.promises.fail('consult');
    expect(other.actor.getSnapshot().context.fault).toBe('its handler threw an error');
    await expectStory(trace, 'user/question-misfit');
  });

  it('times out and ignores a late answer', async () => {
    const { actor, clock, trace, promises } = story(ofHost);
    clock.advanceBy(120_000);
    trace.note('# the host answers after the deadline');
    await promises.settle('consult', by('accept'));
    expect([actor.getSnapshot().value, promises.stopped]).toEqual(['timedOut', ['consult']]);
    await expectStory(trace, 'user/question-late');
  });

  it('is withdrawn with its call', async () => {
    const { actor, clock, trace, promises } = story(ofCaller);
    actor.send({ type: 'question.withdrawn' });
    expect([promises.stopped, clock.pendingCount]).toEqual([['consult'], 0]);
    await expectStory(trace, 'user/question-withdrawn');
  });
});

/** Hold in every state. */
function invariants(snapshot: Snapshot): readonly string[] {
  const { action, fault } = snapshot.context;
  const isOpen = snapshot.matches('open');
  return [
    ...(snapshot.matches('accepted') === (action === 'accept') ? [] : ['a yes that was not said']),
    ...(snapshot.matches('declined') === (action === 'decline') ? [] : ['a no that was not said']),
    ...(isOpen && (action !== null || fault !== null) ? ['it waits although it was answered'] : []),
    ...(snapshot.matches({ open: 'askingCaller' }) && !snapshot.context.isOfCaller
      ? ['a caller is asked whose question it is not']
      : []),
  ];
}

const searches = {
  'one question': () =>
    explore(comparing(questionMachine), {
      inputs: [ofHost, ofCaller],
      events: {
        'question.answered': Object.values(examples).filter(
          ({ type }) => type === 'question.answered',
        ),
        'xstate.done.actor.consult': [by('accept'), by('decline'), by('cancel'), left, misfit].map(
          (reply) => done('consult', reply),
        ),
      },
      invariants,
      goals: { 'an end': ({ status }) => status === 'done' },
    }),
};
const names = Object.keys(searches) as (keyof typeof searches)[];
const found = runOnce(searches);

describe("the question chart's paths", () => {
  it.each(names)('keep the invariants: %s', (name) => {
    expect(problemsOf(found(name))).toBe('');
  });

  it('cover every transition', async () => {
    expect(inAll(names.map((name) => found(name).uncovered))).toEqual([]);
    expect(inAll(names.map((name) => found(name).unvisited))).toEqual([]);
    await expect(reportOf(searches, found)).toMatchFileSnapshot('explored/question.txt');
  });
});
