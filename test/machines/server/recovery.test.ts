/** The first attempt after a loss. */

import { describe, expect, it } from 'vitest';
import type { FailureKind } from '../../../src/domain/failure.ts';
import { expectStory } from '../golden.ts';
import { entry, failure, type SmallEntry, type Story, settingsOf, startStory } from '../story.ts';
import { attempts } from './small-server.ts';

function withReadyServer(given: SmallEntry = {}): Story {
  const story = startStory();
  story.load(settingsOf([entry('db', given)]));
  story.serve('db');
  story.beginHere();
  return story;
}

describe('a lost server', () => {
  it('reconnects at once after the first loss of a session that served for ten seconds', async () => {
    const story = withReadyServer({ policy: attempts(3) });
    story.clock.advanceBy(10_000);
    story.sessions.of('db').fail(failure('crashed', { exitCode: 1 }));
    story.clock.advanceBy(0);
    story.serve('db');
    story.chapter('the second loss of the outage waits');
    story.clock.advanceBy(10_000);
    story.sessions.of('db').fail(failure('transport'));
    await expectStory(story, 'losses/first-loss');
  });

  it('lets a demand end the first wait of an outage, and no later one', () => {
    const story = withReadyServer({ policy: attempts(3) });
    const lose = (): void => story.sessions.of('db').fail(failure('transport'));
    const demand = (): unknown => {
      story.tell('db.0', { type: 'server.demanded' });
      return story.snapshotOf('db.0').value.connection;
    };
    lose();
    expect(demand()).toEqual({ engaged: { live: 'connecting' } });
    story.serve('db');
    lose();
    expect(demand()).toEqual({ parked: { backingOff: 'retrying' } });
  });

  it.each([
    ['the wait that a server requested', {}, { retryAfterMs: 2_000 }],
    ['the wait of a policy that always delays', { restart: { first: 'delayed' } }, {}],
  ] as const)('keeps %s in spite of a demand', (_what, policy, more) => {
    const story = withReadyServer({ policy });
    story.sessions.of('db').fail(failure('rateLimited', more));
    story.tell('db.0', { type: 'server.demanded' });
    expect(story.snapshotOf('db.0').value.connection).toEqual({
      parked: { backingOff: 'retrying' },
    });
  });
});

describe('an answered input', () => {
  const answer = (story: Story): unknown => {
    story.send({ type: 'inputs.answered', servers: ['db', 'other'] });
    return story.snapshotOf('db.0').value.connection;
  };
  const connecting = { engaged: { live: 'connecting' } };

  function withFailedStart(kind: FailureKind, tries: number): Story {
    const story = startStory();
    story.load(settingsOf([entry('db', { policy: attempts(tries) })]));
    story.sessions.of('db').fail(failure(kind));
    return story;
  }

  it.each(['unavailable', 'initTimeout'] as const)(
    'starts a server again that gave up with %s, or that waits for its next attempt',
    (kind) => {
      expect(answer(withFailedStart(kind, 1))).toEqual(connecting);
      expect(answer(withFailedStart(kind, 3))).toEqual(connecting);
    },
  );

  it('leaves alone a server that failed for another reason, runs, or was stopped', () => {
    expect(answer(withFailedStart('crashed', 1))).toMatchObject({ parked: { failed: {} } });
    expect(answer(withReadyServer())).toEqual({ engaged: { live: 'ready' } });
    const stopped = withFailedStart('unavailable', 1);
    stopped.send({ type: 'server.stop', server: 'db' });
    expect(answer(stopped)).toEqual({ parked: 'stopped' });
  });
});
