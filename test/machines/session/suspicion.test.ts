/** When a remote server counts as lost. */

import { describe, expect, it } from 'vitest';
import type { ProbeAnswer } from '../../../src/domain/session.ts';
import { ended, failure } from './small-session.ts';
import { type SessionStage, stageSession } from './stage.ts';

const doubted = { type: 'wire.doubted' } as const;

/** An open session with a server, by default one that is checked only when it is suspected. */
function open(mode: 'off' | 'ping' = 'off'): SessionStage {
  const stage = stageSession({ transport: 'http', policy: { health: { mode } } });
  stage.open();
  return stage;
}

const asked = ({ requests }: SessionStage, what: 'wire.probe' | 'wire.abandon'): number =>
  requests.filter((name) => name === what).length;

const watch = (stage: SessionStage): unknown =>
  (stage.snapshot().value as { open?: { watch: string } }).open?.watch;

describe('a suspected server', () => {
  it('is lost after five seconds of silence and probed once, however many hints arrive', () => {
    const stage = open();
    for (let count = 0; count < 3; count += 1) stage.report(doubted);
    stage.clock.advanceBy(4_999);
    expect([asked(stage, 'wire.probe'), asked(stage, 'wire.abandon')]).toEqual([1, 0]);
    stage.clock.advanceBy(1);
    expect(asked(stage, 'wire.abandon')).toBe(1);
    stage.report(ended('transport', { type: 'wire.lost' }));
    expect(stage.snapshot().value).toBe('releasing');
  });

  it('keeps its session for as long as the connection finds it busy', () => {
    const stage = open();
    stage.report(doubted);
    stage.clock.advanceBy(20_000);
    expect([asked(stage, 'wire.probe'), asked(stage, 'wire.abandon')]).toEqual([1, 4]);
    expect(watch(stage)).toBe('suspecting');
  });

  it('is alive when any message arrives and is suspected again at the next hint', () => {
    const stage = open();
    stage.report(doubted);
    stage.report({ type: 'wire.probed', answer: 'alive' });
    stage.clock.advanceBy(60_000);
    expect(asked(stage, 'wire.abandon')).toBe(0);
    stage.report(doubted);
    stage.clock.advanceBy(5_000);
    expect([asked(stage, 'wire.probe'), asked(stage, 'wire.abandon')]).toEqual([2, 1]);
  });

  it.each<[string, ProbeAnswer, 'rateLimited' | undefined]>([
    ['a result', 'alive', undefined],
    ['an error', 'unknownMethod', undefined],
    ['"too many requests"', 'none', 'rateLimited'],
  ])('is alive when it responds with %s', (_what, answer, kind) => {
    const stage = open();
    stage.report(doubted);
    const why = kind === undefined ? {} : { failure: failure(kind) };
    stage.report({ type: 'wire.probed', answer, ...why });
    expect([watch(stage), asked(stage, 'wire.abandon')]).toEqual(['unwatched', 0]);
  });

  it('is lost immediately when its probe fails', () => {
    const stage = open();
    stage.report(doubted);
    stage.report({ type: 'wire.probed', answer: 'none', failure: failure('transport') });
    expect(asked(stage, 'wire.abandon')).toBe(1);
  });

  it('is not probed again while a health check is running, but has less time to answer it', () => {
    const stage = open('ping');
    while (asked(stage, 'wire.probe') === 0) stage.clock.runNext();
    stage.report(doubted);
    stage.clock.advanceBy(4_999);
    expect([asked(stage, 'wire.probe'), asked(stage, 'wire.abandon')]).toEqual([1, 0]);
    stage.clock.advanceBy(1);
    expect(asked(stage, 'wire.abandon')).toBe(1);
  });

  it('is checked again and again while it is busy, if checks are regular, until it answers', () => {
    const stage = open('ping');
    const before = stage.facts.length;
    stage.report(doubted);
    stage.clock.advanceBy(10_000);
    expect([asked(stage, 'wire.probe'), asked(stage, 'wire.abandon')]).toEqual([3, 2]);
    stage.report({ type: 'wire.probed', answer: 'alive' });
    expect(stage.facts.slice(before)).toMatchObject([
      { type: 'session.impaired', reason: 'healthCheck' },
      { type: 'session.silent', failedChecks: 1 },
      { type: 'session.impaired', reason: 'healthCheck' },
      { type: 'session.silent', failedChecks: 2 },
      { type: 'session.recovered', reason: 'healthCheck' },
    ]);
    expect(watch(stage)).toBe('resting');
  });

  it('is probed and lost during its first list, too', () => {
    const stage = stageSession({
      transport: 'http',
      policy: { connect: { listTimeoutMs: 60_000 } },
    });
    stage.connect();
    stage.report(doubted);
    stage.report({ type: 'wire.probed', answer: 'alive' });
    stage.clock.advanceBy(5_000);
    for (let count = 0; count < 3; count += 1) stage.report(doubted);
    expect([asked(stage, 'wire.probe'), asked(stage, 'wire.abandon')]).toEqual([2, 0]);
    stage.clock.advanceBy(5_000);
    expect(asked(stage, 'wire.abandon')).toBe(1);
    stage.report({ type: 'wire.probed', answer: 'none', failure: failure('transport') });
    expect(asked(stage, 'wire.abandon')).toBe(2);
  });

  it('is not probed before its handshake or after its session has ended', () => {
    const stage = stageSession({ transport: 'http' });
    stage.report(doubted);
    expect(asked(stage, 'wire.probe')).toBe(0);
    stage.open();
    stage.report(doubted);
    stage.command({ type: 'session.close' });
    stage.report({ type: 'wire.probed', answer: 'none', failure: failure('transport') });
    stage.report(doubted);
    expect([asked(stage, 'wire.probe'), asked(stage, 'wire.abandon')]).toEqual([1, 0]);
  });
});

describe('a hint after a wake-up', () => {
  const woken = { type: 'server.woke', spreadMs: 200_000 } as const;

  it('does not bring the check forward', () => {
    const stage = open('ping');
    stage.command(woken);
    stage.report(doubted);
    expect([watch(stage), asked(stage, 'wire.probe')]).toEqual(['waking', 0]);
  });

  it('does not end the session when the first check fails, too', () => {
    const stage = open('ping');
    stage.command(woken);
    while (watch(stage) !== 'lookingAfterWaking') stage.clock.runNext();
    stage.report({ type: 'wire.probed', answer: 'none', failure: failure('transport') });
    stage.report(doubted);
    expect([watch(stage), asked(stage, 'wire.probe')]).toEqual(['doubting', 1]);
    stage.clock.advanceBy(2_000);
    expect([watch(stage), asked(stage, 'wire.probe')]).toEqual(['lookingAfterWaking', 2]);
    expect(asked(stage, 'wire.abandon')).toBe(0);
  });

  it('neither prolongs nor shortens the check that is running', () => {
    const stage = open('ping');
    stage.command(woken);
    while (watch(stage) !== 'lookingAfterWaking') stage.clock.runNext();
    const before = stage.facts.length;
    for (let second = 0; second < 5; second += 1) {
      stage.report(doubted);
      stage.clock.advanceBy(1_000);
    }
    expect(stage.facts.slice(before)).toContainEqual({ type: 'session.silent', failedChecks: 1 });
    expect([watch(stage), asked(stage, 'wire.abandon')]).toEqual(['doubting', 0]);
  });
});
