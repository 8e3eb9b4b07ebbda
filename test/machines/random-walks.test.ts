/**
 * The real root and real server charts under random events at random times. The search
 * visits every state of one chart; this lets several live together for days.
 */

import { describe, expect, it } from 'vitest';
import { longestTimerMs } from '../../src/domain/clock.ts';
import type { SessionScript } from '../../src/testing/session-script.ts';
import { Random } from '../runtime/simulation/random.ts';
import { entry, failure, settingsOf, startStory } from './story.ts';

const names = ['db', 'files', 'web'] as const;
const waits = [0, 0, 1, 99, 250, 1_000, 30_000, 300_000, 3_600_000] as const;
const longWaits = [86_400_000, 3 * 86_400_000, longestTimerMs] as const;
const commands = ['server.start', 'server.stop', 'server.restart', 'server.reconnect'] as const;
const lossKinds = ['crashed', 'transport', 'cleanExit', 'unavailable', 'initTimeout'] as const;
const minuteMs = 60_000;

function lose(script: SessionScript | undefined, random: Random): void {
  if (script === undefined) return;
  const kind = random.pick(lossKinds);
  // A remote server stays silent after the hint.
  if (script.input.server === 'web' && kind === 'transport') script.doubt();
  else script.fail(failure(kind));
}

function walk(seed: number) {
  const random = new Random(seed);
  const story = startStory();
  const starts: { readonly server: string; readonly at: number; readonly isAsked: boolean }[] = [];
  /** Servers whose peer obeys at once; every session of the others fails. */
  const well = new Set<string>(names);
  let isAsked = true;
  const answer = (script: SessionScript, type: string): void => {
    const { server } = script.input;
    if (type === 'session.close' && script.state === 'closing') script.closed();
    else if (type === 'session.open') {
      starts.push({ server, at: story.clock.now(), isAsked });
      if (well.has(server)) script.open();
      else script.fail(failure(random.pick(lossKinds)));
    } else if (type === 'session.list') script.list([]);
  };
  story.sessions.onCommand = (script, { type }) => answer(script, type);
  story.load(
    settingsOf(
      names.map((name) =>
        entry(name, {
          transport: name === 'web' ? 'http' : 'stdio',
          policy: { idle: { stopMs: null } },
        }),
      ),
    ),
  );
  const living = (server: string) =>
    story.sessions.scripts.findLast(
      ({ input, state }) => input.server === server && state === 'open',
    );
  for (let step = 0; step < 25; step += 1) {
    const server = random.pick(names);
    isAsked = false;
    const kind = random.weighted([
      [5, 'longWait'],
      [47, 'wait'],
      [19, 'loss'],
      [9, 'illness'],
      [10, 'recovery'],
      [2, 'wake'],
      [8, 'command'],
    ]);
    if (kind === 'longWait') {
      // What breaks heals before: quiet attempts for weeks are no news.
      for (const name of names) well.add(name);
      story.clock.advanceBy(minuteMs * 10);
      story.clock.advanceBy(random.pick(longWaits));
    } else if (kind === 'wait') story.clock.advanceBy(random.pick(waits));
    else if (kind === 'loss') lose(living(server), random);
    else if (kind === 'illness') well.delete(server);
    else if (kind === 'recovery') well.add(server);
    else {
      isAsked = true;
      story.send(
        kind === 'wake' ? { type: 'system.woke' } : { type: random.pick(commands), server },
      );
    }
  }
  for (const name of names) well.add(name);
  isAsked = true;
  for (const server of names) story.send({ type: 'server.restart', server });
  story.clock.advanceBy(10 * minuteMs);
  return { story, starts, living };
}

describe('a walk through several days of random events', () => {
  const seeds = Array.from({ length: 20 }, (_, block) => block * 10 + 1);

  it.each(seeds)('ends ready and without a storm: ten seeds starting at %d', (first) => {
    for (let seed = first; seed < first + 10; seed += 1) {
      const { story, starts, living } = walk(seed);
      expect(story.isRunning, `seed ${seed}`).toBe(true);
      for (const server of names) {
        const actorId = `${server}.${names.indexOf(server) % 2}`;
        const snapshot = story.snapshotOf(actorId);
        expect([seed, server, snapshot.hasTag('usable')]).toEqual([seed, server, true]);
        expect(living(server)?.input.session, `seed ${seed}`).toBe(snapshot.context.session);
        const own = starts.filter((start) => start.server === server && !start.isAsked);
        const most = Math.max(
          0,
          ...own.map(
            ({ at }) => own.filter((other) => other.at >= at && other.at < at + minuteMs).length,
          ),
        );
        expect(most, `seed ${seed} ${server}`).toBeLessThanOrEqual(20);
      }
    }
  });
});
