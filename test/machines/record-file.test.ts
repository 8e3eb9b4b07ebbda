/** The chart of a stored file: what each state does with each event, a story, and all its paths. */

import { describe, expect, it } from 'vitest';
import {
  createActor,
  type NonReducibleUnknown,
  type SnapshotFrom,
  type StateValueFrom,
} from 'xstate';
import {
  type FoundFile,
  type RecordFileEvent,
  recordFileMachine,
} from '../../machines/record-file.ts';
import { explore } from '../../src/testing/explore.ts';
import { recordTrace } from '../../src/testing/trace.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { done, type Example, HeldPromises, repliesAfter } from './asking.ts';
import { expectStory } from './golden.ts';
import { comparing } from './xstate/comparing.ts';

type State = StateValueFrom<typeof recordFileMachine>;

const all: readonly FoundFile[] = ['absent', 'kept', 'damaged', 'refused', 'failed'];
const read: Example & RecordFileEvent = { type: 'file.read' };
const write: Example & RecordFileEvent = { type: 'file.write' };
const error = (actor: string): Example & { readonly actorId: string } => ({
  type: `xstate.error.actor.${actor}`,
  actorId: actor,
});
const examples = {
  'file.read': read,
  'file.write': write,
  ...Object.fromEntries(
    ['read', 'write'].flatMap((actor) => [
      ...all.map((found) => [`${actor}: ${found}`, done(actor, found)]),
      [`${actor}: error`, error(actor)],
    ]),
  ),
};

const settled = { 'file.read': 'reading', 'file.write': 'writing' };
const replies: Readonly<Record<State, Readonly<Record<string, string>>>> = {
  absent: settled,
  kept: settled,
  refused: settled,
  reading: {
    'file.read': 'stays',
    'file.write': 'stays',
    'read: absent': 'absent',
    'read: kept': 'kept',
    // Only a write holds the lock.
    'read: damaged': 'writing',
    'read: refused': 'refused',
    'read: failed': 'refused',
    'read: error': 'refused',
  },
  writing: {
    'file.read': 'stays',
    'file.write': 'stays',
    'write: absent': 'absent',
    'write: kept': 'kept',
    'write: damaged': 'refused',
    'write: refused': 'refused',
    'write: failed': 'refused',
    'write: error': 'refused',
  },
};
const ways: Readonly<Record<State, readonly Example[]>> = {
  absent: [],
  kept: [read, done('read', 'kept')],
  refused: [read, done('read', 'refused')],
  reading: [read],
  writing: [write],
};

describe('the chart of a stored file', () => {
  it.each(Object.keys(replies) as State[])('handles every event while %s', (state) => {
    const ignored = Object.fromEntries(Object.keys(examples).map((name) => [name, 'ignored']));
    expect(repliesAfter(recordFileMachine, undefined, ways[state], examples)).toEqual({
      state,
      replies: { ...ignored, ...replies[state] },
    });
  });

  it('does one thing at a time and takes every transition', () => {
    const settles = (snapshot: SnapshotFrom<typeof recordFileMachine>): boolean =>
      !snapshot.hasTag('settled') || Object.values(snapshot.context).every((isDue) => !isDue);
    const found = explore(comparing(recordFileMachine), {
      inputs: [undefined],
      events: Object.fromEntries(
        ['read', 'write'].map((actor) => [
          `xstate.done.actor.${actor}`,
          all.map((result) => done(actor, result)),
        ]),
      ),
      invariants: (snapshot) => (settles(snapshot) ? [] : ['it settles with something due']),
    });
    expect(found).toMatchObject({ problems: [], uncovered: [], unvisited: [] });
  });
});

describe('a stored file', () => {
  it('is read and written once more after any number of requests', async () => {
    const clock = new VirtualClock();
    const trace = recordTrace({ clock });
    const promises = new HeldPromises();
    const actors = {
      read: promises.actor<FoundFile, NonReducibleUnknown>('read'),
      write: promises.actor<FoundFile, NonReducibleUnknown>('write'),
    };
    const { inspect } = trace;
    const actor = createActor(recordFileMachine.provide({ actors }), { clock, inspect }).start();
    actor.send({ type: 'file.read' });
    trace.note('# during the reading, the file changes twice and two changes wait');
    for (const type of ['file.read', 'file.write', 'file.read', 'file.write'] as const)
      actor.send({ type });
    await promises.settle('read', 'kept');
    trace.note('# the file is damaged now; the write sets it aside and includes both changes');
    await promises.settle('read', 'damaged');
    await promises.settle('write', 'kept');
    expect(actor.getSnapshot().value).toBe('kept');
    await expectStory(trace, 'user/record-file');
  });
});
