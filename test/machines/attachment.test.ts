/** A process's connection to the troupe that others share: what each state does with each event, and its times. */

import { describe, expect, it } from 'vitest';
import { createActor, type StateValueFrom } from 'xstate';
import {
  type AttachmentEvent,
  attachmentMachine,
  attachWaitsMs,
  drainMs,
} from '../../machines/attachment.ts';
import { explore } from '../../src/testing/explore.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { repliesAfter } from './asking.ts';
import { problemsOf, reportOf, runOnce } from './exploration-report.ts';
import { comparing } from './xstate/comparing.ts';

type State = StateValueFrom<typeof attachmentMachine>;

const examples = {
  attached: { type: 'troupe.attached' },
  refused: { type: 'troupe.refused' },
  lost: { type: 'connection.lost' },
  closed: { type: 'client.closed' },
} as const satisfies Readonly<Record<string, AttachmentEvent>>;

const over = { attached: 'ignored', refused: 'ignored', lost: 'ignored', closed: 'stays' };
const replies: Readonly<Record<State, Readonly<Record<keyof typeof examples, string>>>> = {
  attaching: { attached: 'attached', refused: 'refused', lost: 'waiting', closed: 'closed' },
  attached: { attached: 'ignored', refused: 'ignored', lost: 'waiting', closed: 'draining' },
  draining: { attached: 'ignored', refused: 'ignored', lost: 'closed', closed: 'stays' },
  waiting: { attached: 'ignored', refused: 'ignored', lost: 'ignored', closed: 'closed' },
  // The transition of the whole chart; an actor that has ended hears nothing.
  closed: over,
  refused: { ...over, closed: 'closed' },
  lost: { ...over, closed: 'closed' },
};
const ways: Readonly<Record<Exclude<State, 'lost'>, readonly AttachmentEvent[]>> = {
  attaching: [],
  attached: [examples.attached],
  draining: [examples.attached, examples.closed],
  waiting: [examples.lost],
  closed: [examples.closed],
  refused: [examples.refused],
};

const searches = {
  'one attachment': () =>
    explore(comparing(attachmentMachine), {
      inputs: [undefined],
      events: {},
      goals: { 'an end': ({ status }) => status === 'done' },
    }),
};
const found = runOnce(searches);

describe('the attachment chart', () => {
  it.each(Object.keys(ways) as (keyof typeof ways)[])('handles every event in %s', (state) => {
    expect(repliesAfter(attachmentMachine, undefined, ways[state], examples)).toEqual({
      state,
      replies: replies[state],
    });
  });

  it('keeps its invariants and takes every transition', async () => {
    const { uncovered, unvisited } = found('one attachment');
    expect([problemsOf(found('one attachment')), uncovered, unvisited]).toEqual(['', [], []]);
    await expect(reportOf(searches, found)).toMatchFileSnapshot('explored/attachment.txt');
  });
});

describe('an attachment', () => {
  function attached() {
    const clock = new VirtualClock();
    const askedAt: number[] = [];
    const actor = createActor(attachmentMachine, { clock: clock as never });
    actor.on('attach.asked', () => askedAt.push(clock.now()));
    actor.start();
    return { clock, actor, askedAt };
  }

  it('waits longer before each attempt, and gives up after the last', () => {
    const { clock, actor, askedAt } = attached();
    for (const waitMs of attachWaitsMs) {
      actor.send(examples.lost);
      clock.advanceBy(waitMs);
    }
    expect(askedAt).toEqual([0, 0, 250, 1_250, 4_250, 12_250]);
    actor.send(examples.lost);
    expect(actor.getSnapshot().value).toBe('lost');
    expect(clock.pendingCount).toBe(0);
  });

  it('waits as shortly as at first after a connection that lasted a minute', () => {
    const { clock, actor, askedAt } = attached();
    for (const waitMs of attachWaitsMs) {
      actor.send(examples.lost);
      clock.advanceBy(waitMs);
    }
    actor.send(examples.attached);
    clock.advanceBy(60_000);
    actor.send(examples.lost);
    clock.advanceBy(0);
    expect(askedAt.at(-1)).toBe(72_250);
  });

  it('gives the last answers of a closed client a bounded time', () => {
    const { clock, actor } = attached();
    actor.send(examples.attached);
    actor.send(examples.closed);
    clock.advanceBy(drainMs - 1);
    expect(actor.getSnapshot().value).toBe('draining');
    clock.advanceBy(1);
    expect(actor.getSnapshot().value).toBe('closed');
    expect(clock.pendingCount).toBe(0);
  });
});
