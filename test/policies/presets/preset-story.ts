/** One server under a preset, with a script for its sessions and virtual time. */

import type { Failure } from '../../../src/domain/failure.ts';
import type { PolicyOverrides, PresetName, ServerPolicy } from '../../../src/domain/policy.ts';
import type { TransportKind } from '../../../src/domain/server-spec.ts';
import { overridePolicy } from '../../../src/policies/presets/override-policy.ts';
import { presets } from '../../../src/policies/presets/presets.ts';
import { conditionOf } from '../../../src/runtime/status/status-of.ts';
import { entry, failure, type Story, settingsOf, startStory } from '../../machines/story.ts';

export type Loss = Parameters<typeof failure>[0] | Failure;

export interface PresetStory {
  readonly story: Story;
  /** `state` or `state reason`, in the public words. */
  state(): string;
  circuit(): string;
  /** How many sessions there have been. */
  sessions(): number;
  /** Ends the present session. */
  lose(how: Loss): void;
  /** Goes on to the next session, at most so far; says whether one began. */
  untilNextTry(withinMs?: number): boolean;
  serve(): void;
  failCalls(count: number): void;
}

// Longer than any wait of a preset.
const anHourMs = 3_600_000;

/** Starts a server whose first session has begun. The jitter of `default` is left out, so that times are exact. */
export function under(
  preset: PresetName,
  transport: TransportKind = 'stdio',
  overrides: PolicyOverrides = {},
): PresetStory {
  const story = startStory();
  const policy = overridePolicy(
    preset === 'default' ? withoutJitter(presets.default) : presets[preset],
    overrides,
  );
  story.load(settingsOf([entry('db', { transport, policy })]));
  const sessions = (): number => story.sessions.scripts.length;
  return {
    story,
    sessions,
    state: () => {
      const { state, reason } = conditionOf(story.snapshotOf('db.0'));
      return reason === undefined ? state : `${state} ${reason}`;
    },
    circuit: () => story.snapshotOf('db.0').value.circuit,
    lose: (how) => {
      story.sessions.of('db').fail(typeof how === 'string' ? failure(how) : how);
    },
    untilNextTry: (withinMs = anHourMs) => {
      const before = sessions();
      const endAt = story.clock.now() + withinMs;
      for (;;) {
        const dueAt = story.clock.nextDeadlineMs;
        if (sessions() > before) return true;
        if (dueAt === undefined || dueAt > endAt) return false;
        story.clock.runNext();
      }
    },
    serve: () => story.serve('db'),
    failCalls: (count) => {
      for (let call = 1; call <= count; call += 1) {
        story.tell('db.0', {
          type: 'call.failed',
          session: sessions(),
          at: story.clock.now(),
        });
      }
    },
  };
}

function withoutJitter(policy: ServerPolicy): ServerPolicy {
  return overridePolicy(policy, { restart: { jitter: 'none' } });
}

/** A server that was ready, under a preset. */
export function readyUnder(...given: Parameters<typeof under>): PresetStory {
  const server = under(...given);
  server.serve();
  return server;
}

export interface Course {
  /** Milliseconds from the loss to each attempt. */
  readonly triesAt: readonly number[];
  readonly state: string;
}

// Whatever was tried before is forgotten after a minute of service at the latest.
const sustainedMs = 60_000;

/** What follows when a server that was ready for a minute is lost and every later try fails at once; at most so many tries. */
export function afterLoss(server: PresetStory, how: Loss, most = 20): Course {
  const { clock } = server.story;
  clock.advanceBy(sustainedMs);
  const lostAt = clock.now();
  const triesAt: number[] = [];
  server.lose(how);
  while (triesAt.length < most && server.untilNextTry()) {
    triesAt.push(clock.now() - lostAt);
    server.lose('unavailable');
  }
  return { triesAt, state: server.state() };
}

/** What follows when every try of a start fails in the same way; the first is at 0. */
export function failingStart(server: PresetStory, how: Loss, most = 20): Course {
  const { clock } = server.story;
  const startedAt = clock.now();
  const triesAt = [0];
  server.lose(how);
  while (triesAt.length < most && server.untilNextTry()) {
    triesAt.push(clock.now() - startedAt);
    server.lose(how);
  }
  return { triesAt, state: server.state() };
}

/** Loses a ready server so many times, so long after it was ready each time; says where that ends. */
export function losses(server: PresetStory, how: Loss, count: number, everyMs: number): string {
  for (let loss = 1; loss <= count; loss += 1) {
    server.story.clock.advanceBy(everyMs);
    server.lose(how);
    if (loss === count || !server.untilNextTry()) break;
    server.serve();
  }
  return server.state();
}
