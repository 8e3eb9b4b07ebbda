/** Random sessions: whatever leaf actors answer and servers do, a session that is asked to close ends. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SessionCommand, WireFact } from '../../../src/domain/session.ts';
import {
  connected,
  ended,
  failed,
  failure,
  launched,
  left,
  listed,
  pinged,
  type SmallSession,
  smallSession,
  unconnected,
  unlisted,
} from './small-session.ts';
import { type SessionStage, stageSession } from './stage.ts';

const gap = failure('protocol');
const offers = { resources: true, prompts: true };

/** What each leaf actor may answer; the last word of its name decides. */
const answers = {
  resolveTarget: [
    ...[true, false].flatMap((hasProcess) =>
      [true, false].map((asksEra) => ({ type: 'resolved', hasProcess, asksEra })),
    ),
    failed('notStarted'),
  ],
  launchProcess: [launched, launched, launched, failed('unavailable')],
  connectClient: [
    connected(),
    connected({ offers }),
    connected({ offers }),
    unconnected('crashed', { wasAnswered: false }),
    unconnected('protocol', { mayBeOverSse: true }),
    unconnected('transport'),
  ],
  firstList: [listed(), listed(1, gap), listed(), unlisted()],
  listItems: [listed(), listed(1, gap), unlisted()],
  closeConnection: [left],
} as const;

const facts: readonly WireFact[] = [
  { type: 'wire.sent', method: 'initialize' },
  { type: 'wire.broke' },
  ended('crashed'),
  ended('transport', { type: 'wire.lost', isGone: false }),
  ended('sessionMissing', { drains: true }),
  { type: 'wire.probed', answer: 'alive' },
  { type: 'wire.probed', answer: 'none' },
  { type: 'wire.doubted' },
  { type: 'tools.changed' },
  { type: 'resources.changed' },
  { type: 'prompts.changed' },
  { type: 'resource.updated' },
  { type: 'wire.impaired', reason: 'flooding' },
  { type: 'wire.recovered', reason: 'flooding' },
  { type: 'wire.paused' },
  { type: 'wire.resumed' },
];
const commands: readonly SessionCommand[] = [
  { type: 'session.list' },
  { type: 'session.refresh' },
  { type: 'session.giveUp', failure: failure('transport') },
  { type: 'server.woke', spreadMs: 2_000 },
  { type: 'policy.updated', policy: smallSession().policy },
  { type: 'policy.updated', policy: smallSession({ policy: pinged }).policy },
];

type Move = (stage: SessionStage) => void;

/** A running leaf actor answers, or throws once in a while. */
const answer = fc.record({ who: fc.nat(), what: fc.nat(), breaks: fc.nat(20) }).map(
  ({ who, what, breaks }): Move =>
    (stage) => {
      const leaves = stage.running.filter((name) => name !== 'wire');
      const leaf = leaves[who % leaves.length] as Parameters<SessionStage['answer']>[0] | undefined;
      if (leaf === undefined) return;
      if (breaks === 0) return stage.break(leaf);
      const outcomes = answers[leaf.split('/').at(-1) as keyof typeof answers];
      stage.answer(leaf, outcomes[what % outcomes.length] as never);
    },
);
const report = fc.constantFrom(...facts).map(
  (fact): Move =>
    (stage) => {
      if (stage.running.includes('wire')) stage.report(fact);
    },
);
const command = fc.constantFrom(...commands).map(
  (sent): Move =>
    (stage) =>
      stage.command(sent),
);
const wait = fc.constantFrom(1, 100, 1_000, 3_000, 10_000, 30_000).map(
  (ms): Move =>
    (stage) =>
      stage.clock.advanceBy(ms),
);
const script = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: answer },
    { weight: 2, arbitrary: report },
    { weight: 1, arbitrary: command },
    { weight: 1, arbitrary: wait },
  ),
  { maxLength: 40 },
);
const born: fc.Arbitrary<SmallSession> = fc.constantFrom<SmallSession>(
  {},
  { policy: pinged },
  { transport: 'http' },
  { transport: 'http', policy: { connect: { remoteTimeoutMs: null } } },
);

/** The longest end: a break-off that is waited for, and a close by force. */
const longestEndMs = 3_000 + 3_500;

describe('a session', () => {
  it('ends once, with all its leaf actors, after a close request', () => {
    fc.assert(
      fc.property(born, script, script, (input, before, after) => {
        const stage = stageSession(input);
        for (const move of before) if (stage.ends.length === 0) move(stage);
        const factsBefore = stage.facts.length;
        if (stage.ends.length === 0) stage.command({ type: 'session.close' });
        const requestsBefore = stage.requests.length;
        for (const move of after) if (stage.ends.length === 0) move(stage);
        stage.clock.advanceBy(longestEndMs);
        expect(stage.ends).toHaveLength(1);
        expect(stage.running).toEqual([]);
        expect(stage.clock.pendingCount).toBe(0);
        expect(stage.requests.slice(requestsBefore).filter((name) => name !== 'wire.kill')).toEqual(
          [],
        );
        const told = stage.facts.slice(factsBefore).map(({ type }) => type);
        expect(
          told.filter((type) => !['session.impaired', 'session.recovered'].includes(type)),
        ).toEqual([]);
      }),
      { numRuns: 250 },
    );
  });

  it('reports its facts in order, and nothing after its end', () => {
    fc.assert(
      fc.property(born, script, (input, moves) => {
        const stage = stageSession(input);
        for (const move of moves) if (stage.ends.length === 0) move(stage);
        const told = stage.facts.map(({ type }) => type);
        const once = (type: (typeof told)[number]): number =>
          told.filter((each) => each === type).length;
        expect(once('session.opened')).toBeLessThanOrEqual(1);
        expect(once('session.closing')).toBeLessThanOrEqual(1);
        const serving = told.filter((type) => !/impaired|recovered/.test(type));
        if (serving.includes('session.listed'))
          expect(serving.slice(0, 2)).toEqual(['session.opened', 'session.listed']);
        if (serving.includes('session.closing')) expect(serving.at(-1)).toBe('session.closing');
        const [end] = stage.ends;
        if (end?.wasOpen === true) expect(told).toContain('session.listed');
        if (end !== undefined) expect(end.failure).not.toBeNull();
      }),
      { numRuns: 250 },
    );
  });

  it('never runs two steps or two lists of the same kind concurrently', () => {
    fc.assert(
      fc.property(born, script, (input, moves) => {
        const stage = stageSession(input);
        for (const move of moves) {
          if (stage.ends.length > 0) return;
          move(stage);
          const steps = stage.running.filter((name) => name !== 'wire' && !name.includes('/'));
          expect(steps.length).toBeLessThanOrEqual(1);
        }
      }),
      { numRuns: 300 },
    );
  });
});
