/** One handover by itself: what each state does with each event, and that no order of events breaks it. */

import { describe, expect, it } from 'vitest';
import { initialTransition, type SnapshotFrom, type StateValueFrom } from 'xstate';
import {
  type HandoverDue,
  type HandoverEvent,
  handoverMachine,
} from '../../../machines/troupe/handover.ts';
import { createInertScope } from '../../../machines/xstate/internals.ts';
import { explore } from '../../../src/testing/explore.ts';
import { comparing } from '../xstate/comparing.ts';

type Snapshot = SnapshotFrom<typeof handoverMachine>;
type State = StateValueFrom<typeof handoverMachine>;
type News = Exclude<HandoverEvent['type'], `handover.${string}`>;
type Question =
  | Exclude<HandoverEvent['type'], News>
  | `${News} of ${'db.0' | 'db.1'}`
  | 'after handoverDeadline';
type Row = Readonly<Record<Question, string>>;

const input = { server: 'db', present: 'db.0', successor: 'db.1' };
const [start] = initialTransition(handoverMachine, input);

/** What no state but the first waits for. */
const over = {
  'server.readied of db.0': '',
  'server.readied of db.1': '',
  'server.halted of db.0': '',
  'server.halted of db.1': '',
  'server.resumed of db.0': '',
  'server.resumed of db.1': '',
  'server.faltered of db.0': '',
  'server.faltered of db.1': '',
  'successor.gaveUp of db.0': '',
  'successor.gaveUp of db.1': '',
  'handover.complete': '',
  'handover.withdraw': '',
  'after handoverDeadline': '',
} as const;

const replies: Readonly<Record<State, Row>> = {
  succeeding: {
    // Its present generation may be ready, or not, as often as it likes while it has a successor.
    ...over,
    'server.readied of db.1': 'due: its successor is ready',
    'server.halted of db.1': 'due: its successor did not become ready',
    'successor.gaveUp of db.1': 'due: its successor did not become ready',
    'after handoverDeadline': 'due: its successor did not become ready',
    'server.faltered of db.0': 'due: it was lost while its successor starts',
    'handover.complete': '-> relieving',
    'handover.withdraw': '-> withdrawing',
  },
  // The predecessor falters as it closes.
  relieving: over,
  withdrawing: {
    ...over,
    // It may have to leave as well: then there is nothing to hand over.
    'server.faltered of db.0': 'due: it was lost while its successor starts',
  },
};

const ways: Readonly<Record<State, readonly Question[]>> = {
  succeeding: [],
  relieving: ['handover.complete'],
  withdrawing: ['handover.withdraw'],
};

function eventOf(question: Question): HandoverEvent {
  const [type, actorId] = question.split(' of ');
  const isTimer = question === 'after handoverDeadline';
  return {
    type: isTimer ? 'xstate.after.handoverDeadline.handover.succeeding' : type,
    actorId,
  } as HandoverEvent;
}

const inert = createInertScope();

function take(before: Snapshot, question: Question): Snapshot {
  inert.begin(before);
  inert.observed.effects.length = 0;
  return handoverMachine.transition(before, eventOf(question), inert.scope);
}

function replyOf(before: Snapshot, question: Question): string {
  const after = take(before, question);
  const told = inert.observed.effects.flatMap(({ type, params }) => {
    if (type !== 'xstate.sendTo') return [];
    const { event } = params as { readonly event: HandoverDue };
    expect([event.server, event.type]).toEqual(['db', 'handover.due']);
    return `due: ${event.why}`;
  });
  const goes = after.value === before.value ? [] : [`-> ${after.value}`];
  return [...told, ...goes].join(' ');
}

describe('a handover', () => {
  it.each(Object.keys(replies) as State[])('handles every event while %s', (state) => {
    const snapshot = ways[state].reduce(take, start);
    expect(snapshot.value).toBe(state);
    const questions = Object.keys(replies[state]) as Question[];
    const answers = questions.map((question) => [question, replyOf(snapshot, question)]);
    expect(Object.fromEntries(answers)).toEqual(replies[state]);
  });

  it('can complete or withdraw at any time and takes every transition', () => {
    const found = explore(comparing(handoverMachine), {
      inputs: [input],
      events: Object.fromEntries(
        ['server.readied', 'server.faltered', 'server.halted', 'successor.gaveUp'].map((type) => [
          type,
          [
            { type, actorId: 'db.0' },
            { type, actorId: 'db.1' },
          ],
        ]),
      ),
    });
    expect(found).toMatchObject({ problems: [], uncovered: [], unvisited: [] });
  });
});
