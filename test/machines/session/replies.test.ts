/**
 * What each state of the session chart and of the refresh chart does with each event, on purpose.
 *
 * A reply is the state that the event leads to, `noted` when the event is taken in and the state
 * stays, or `ignored`. A new state or event does not compile until it has its answers here.
 */

import { describe, expect, it } from 'vitest';
import {
  leavesOf,
  type OpenState,
  type RefreshEventType,
  type RefreshState,
  reachRefresh,
  reachSession,
  refreshEventTypes,
  refreshReply,
  refreshWays,
  regionReply,
  type SessionEventType,
  type SessionState,
  sessionEventTypes,
  sessionReply,
  sessionWays,
} from './ways.ts';

type Reply<State extends string> = State | 'noted' | 'ignored';
type Replies<State extends string> = Readonly<Record<SessionEventType, Reply<State>>>;

const nothing = {
  'session.close': 'ignored',
  'session.giveUp': 'ignored',
  'session.list': 'ignored',
  'session.refresh': 'ignored',
  'policy.updated': 'noted',
  'server.woke': 'ignored',
  'wire.sent': 'ignored',
  'wire.broke': 'ignored',
  'wire.ended': 'ignored',
  'wire.lost': 'ignored',
  'wire.probed': 'ignored',
  'wire.doubted': 'ignored',
  'tools.changed': 'ignored',
  'resources.changed': 'ignored',
  'prompts.changed': 'ignored',
  'resource.updated': 'ignored',
  'wire.impaired': 'noted',
  'wire.recovered': 'noted',
  'wire.killed': 'noted',
  'wire.paused': 'ignored',
  'wire.resumed': 'ignored',
  'list.settled': 'ignored',
  'xstate.error.actor.wire': 'closing',
  'xstate.done.actor.connectClient': 'ignored',
  'start.expired': 'ignored',
  'input.flooded': 'ignored',
  'part.broke': 'ignored',
} as const;

/** No client is connected. A wake-up restarts the deadline. */
const opening = {
  ...nothing,
  'session.close': 'closing',
  'server.woke': 'noted',
  'wire.ended': 'releasing',
  'wire.lost': 'releasing',
  'start.expired': 'closing',
} as const;

/** The failure of a handshake ends the session, unless the server may have left because it was asked. */
const greeting = { ...opening, 'xstate.done.actor.connectClient': 'releasing' } as const;

/** The process that left, or the address that refused, is expected to end. */
const leavesFirst = { ...opening, 'wire.ended': 'noted' } as const;

const loadingTools = { ...opening, 'wire.broke': 'broken', 'wire.probed': 'noted' } as const;

/** The end has begun: nothing shortens or restarts its deadlines. */
const ending = { ...nothing, 'xstate.error.actor.wire': 'noted' } as const;

const session: Readonly<Record<SessionState, Replies<SessionState | 'closed'>>> = {
  'opening.resolving': opening,
  'opening.launching': opening,
  // An exit before anything was sent is a failure like any other.
  'opening.connecting.preparing': greeting,
  'opening.connecting.asking': {
    ...opening,
    'xstate.done.actor.connectClient': 'opening.leaving',
    'wire.sent': 'opening.connecting.greeting',
    // A server that leaves when it is asked is started again.
    'wire.ended': 'opening.leaving',
  },
  'opening.connecting.greeting': greeting,
  'opening.leaving': leavesFirst,
  'opening.relaunching': opening,
  'opening.greetingOld': greeting,
  'opening.fallingBack': leavesFirst,
  'opening.greetingOverSse': greeting,
  'loadingTools.fresh': {
    ...loadingTools,
    'tools.changed': 'loadingTools.outdated',
    'wire.doubted': 'loadingTools.suspecting',
  },
  'loadingTools.suspecting': {
    ...loadingTools,
    'tools.changed': 'loadingTools.outdated',
    'wire.probed': 'loadingTools.fresh',
  },
  'loadingTools.outdated': loadingTools,
  // Without its regions.
  open: {
    ...nothing,
    'session.close': 'closing',
    'session.giveUp': 'closing',
    'wire.broke': 'broken',
    'wire.ended': 'releasing',
    'wire.lost': 'releasing',
    'list.settled': 'noted',
    'input.flooded': 'closing',
    'part.broke': 'closing',
    // A region takes over the policy.
    'policy.updated': 'ignored',
  },
  broken: { ...nothing, 'session.close': 'closing', 'wire.ended': 'releasing' },
  closing: ending,
  releasing: ending,
  draining: ending,
};

const stays = {
  ...nothing,
  'session.close': 'left',
  'session.giveUp': 'left',
  'policy.updated': 'ignored',
  'wire.broke': 'left',
  'wire.ended': 'left',
  'wire.lost': 'left',
  'wire.impaired': 'ignored',
  'wire.recovered': 'ignored',
  'wire.killed': 'ignored',
  'xstate.error.actor.wire': 'left',
  'input.flooded': 'left',
  'part.broke': 'left',
} as const;
/** A new deadline counts from the next list on. */
const refreshing = { ...stays, 'policy.updated': 'noted', 'session.refresh': 'noted' } as const;
const woken = {
  ...stays,
  'server.woke': 'watch.waking',
  'wire.doubted': 'watch.suspecting',
} as const;

const regions: Readonly<Record<OpenState, Replies<OpenState | 'left'>>> = {
  'tools.current': {
    ...stays,
    'tools.changed': 'tools.refreshing',
    'session.list': 'tools.refreshing',
    'session.refresh': 'tools.refreshing',
  },
  'tools.refreshing': { ...refreshing, 'tools.changed': 'noted', 'session.list': 'noted' },
  'resources.unoffered': stays,
  'resources.refreshing': { ...refreshing, 'resources.changed': 'noted' },
  'resources.current': {
    ...stays,
    'resources.changed': 'resources.refreshing',
    'session.refresh': 'resources.refreshing',
  },
  'prompts.unoffered': stays,
  'prompts.refreshing': { ...refreshing, 'prompts.changed': 'noted' },
  'prompts.current': {
    ...stays,
    'prompts.changed': 'prompts.refreshing',
    'session.refresh': 'prompts.refreshing',
  },
  'watch.unwatched': { ...woken, 'policy.updated': 'noted' },
  // The policy of this table switches health checks off.
  'watch.resting': { ...woken, 'policy.updated': 'watch.unwatched', 'wire.probed': 'noted' },
  // An answer leads through `unwatched`, which goes on to the next check.
  'watch.looking': { ...woken, 'wire.probed': 'watch.resting' },
  'watch.waking': {
    ...woken,
    'server.woke': 'ignored',
    'wire.doubted': 'ignored',
    'wire.probed': 'noted',
  },
  'watch.lookingAfterWaking': {
    ...woken,
    'wire.doubted': 'ignored',
    'wire.probed': 'watch.unwatched',
  },
  'watch.doubting': { ...woken, 'wire.doubted': 'ignored', 'wire.probed': 'watch.unwatched' },
  'watch.suspecting': {
    ...woken,
    'wire.doubted': 'ignored',
    'wire.probed': 'watch.unwatched',
  },
  'input.flowing': { ...stays, 'wire.paused': 'input.paused' },
  'input.paused': { ...stays, 'wire.resumed': 'input.flowing' },
  'news.quiet': { ...stays, 'resource.updated': 'news.gathering.unchanged' },
  'news.gathering.unchanged': { ...stays, 'resource.updated': 'news.gathering.changed' },
  'news.gathering.changed': stays,
};

const edited = { 'policy.updated': 'noted' } as const;

const refresh: Readonly<
  Record<RefreshState, Readonly<Record<RefreshEventType, Reply<RefreshState | 'current'>>>>
> = {
  'listing.fresh': {
    ...edited,
    'list.changed': 'listing.outdated',
    'list.demanded': 'listing.outdated',
  },
  'listing.outdated': { ...edited, 'list.changed': 'ignored', 'list.demanded': 'ignored' },
  'pausing.settled': { ...edited, 'list.changed': 'pausing.due', 'list.demanded': 'listing.fresh' },
  'pausing.due': { ...edited, 'list.changed': 'ignored', 'list.demanded': 'listing.fresh' },
  failed: { ...edited, 'list.changed': 'pausing.due', 'list.demanded': 'listing.fresh' },
};

describe('the session chart', () => {
  it.each(Object.entries(session))('handles every event in %s', (name, expected) => {
    const state = name as SessionState;
    const leaves = leavesOf(reachSession(sessionWays[state]));
    expect(leaves.some((leaf) => leaf === state || leaf.startsWith(`${state}.`))).toBe(true);
    const replies = sessionEventTypes.map((type) => [type, sessionReply(state, type)]);
    expect(Object.fromEntries(replies)).toEqual(expected);
  });

  it.each(Object.entries(regions))('handles every event in the open %s', (name, expected) => {
    const state = name as OpenState;
    expect(leavesOf(reachSession(sessionWays[state]))).toContain(`open.${state}`);
    const replies = sessionEventTypes.map((type) => [type, regionReply(state, type)]);
    expect(Object.fromEntries(replies)).toEqual(expected);
  });
});

describe('the refresh chart', () => {
  it.each(Object.entries(refresh))('handles every event in %s', (name, expected) => {
    const state = name as RefreshState;
    expect(leavesOf(reachRefresh(refreshWays[state]))).toEqual([state]);
    const replies = refreshEventTypes.map((type) => [type, refreshReply(state, type)]);
    expect(Object.fromEntries(replies)).toEqual(expected);
  });
});
