/** Finds the events that would change a server's state by trying them on its chart. */

import type { ServerContext, ServerEvent } from '../../../machines/server/server.ts';
import { defined } from '../../domain/data/defined.ts';
import type { FailureKind } from '../../domain/failure.ts';
import type { Mover, StateName } from '../../domain/host/explanation.ts';
import { type DegradedReason, isUsable, type Verdict } from '../../domain/server-state.ts';
import { answeredEvents, whatIf } from '../status/server-chart.ts';
import { conditionOf, type ServerSnapshot } from '../status/status-of.ts';

type SessionRef = NonNullable<ServerSnapshot['children']['session']>;

/** One event to try, and how it is shown. */
interface Candidate {
  readonly send: ServerEvent;
  /** The displayed event. Default: the event's type. */
  readonly event?: string;
  readonly sentBy: Mover['sentBy'];
  readonly failure?: FailureKind;
}

/** A host event and the decision that it would lead to. */
export interface Opener {
  readonly event: string;
  readonly verdict: Verdict;
}

interface Present {
  readonly context: ServerContext;
  readonly state: StateName;
  readonly openers: readonly Opener[];
  readonly session: ReturnType<SessionRef['getSnapshot']> | undefined;
  /** Monotonic time in milliseconds. */
  readonly now: number;
}

type CandidatesFor = (present: Present) => readonly Candidate[];

const command =
  (type: 'server.start' | 'server.stop' | 'server.restart' | 'server.reconnect'): CandidatesFor =>
  () => [{ send: { type }, sentBy: 'host' }];

// The result of a loss depends on its kind; this one assumes the simplest.
const assumed = { kind: 'transport', message: 'The session was lost.' } as const;

// Reported by sessions themselves; health checks detect a missing response.
const reportedImpairments = [
  'partialCatalog',
  'flooding',
] as const satisfies readonly DegradedReason[];

const fact = (send: ServerEvent, failure?: FailureKind): Candidate => ({
  send,
  sentBy: 'session',
  ...defined({ failure }),
});

// All other events are reports between regions, orders from the root, or facts that move the server
// only together with others; where a new spec leads depends on the spec.
const candidates: Partial<Readonly<Record<ServerEvent['type'], CandidatesFor>>> = {
  'server.start': command('server.start'),
  'server.stop': command('server.stop'),
  'server.restart': command('server.restart'),
  'server.reconnect': ({ state }) => [
    { send: { type: 'server.reconnect' }, sentBy: 'host' },
    // The root turns a completed login into a reconnect.
    ...(state.state === 'authRequired'
      ? [{ send: { type: 'server.reconnect' }, event: 'auth.completed', sentBy: 'host' } as const]
      : []),
  ],
  'server.demanded': () => [{ send: { type: 'server.demanded' }, sentBy: 'call' }],
  'slot.granted': () => [{ send: { type: 'slot.granted' }, sentBy: 'troupe' }],
  // A resting server takes both verdicts; an admitted one needs neither.
  'admission.granted': ({ context, openers }) =>
    (context.verdict === 'admitted' ? [] : openers).map(({ event, verdict }) => ({
      send:
        verdict === 'admitted'
          ? { type: 'admission.granted' }
          : { type: 'admission.withdrawn', verdict },
      event,
      sentBy: 'host',
    })),
  'session.opened': ({ now: at }) => [fact({ type: 'session.opened', era: 'legacy', at })],
  'session.listed': ({ now: at }) => [fact({ type: 'session.listed', toolCount: 1, at })],
  'session.closing': ({ state }) => {
    const isListing = state.state === 'loadingTools';
    if (!isListing && !isUsable(state.state)) return [];
    const event = isListing ? 'session.listFailed' : 'session.lost';
    return [{ ...fact({ type: 'session.closing' }, assumed.kind), event }];
  },
  'xstate.done.actor.session': ({ context, state, now: at }) => {
    const isAsked = state.state === 'stopping';
    const send = {
      type: 'xstate.done.actor.session',
      actorId: 'session',
      output: {
        at,
        wasOpen: context.hasServed,
        failure: isAsked ? null : assumed,
        isFlood: false,
        evidence: {},
      },
    } as const;
    return [{ ...fact(send, isAsked ? undefined : assumed.kind), event: 'session.closed' }];
  },
  'session.impaired': ({ session }) => [
    ...reportedImpairments.map((reason) => fact({ type: 'session.impaired', reason })),
    {
      ...fact({ type: 'session.impaired', reason: 'partialCatalog' }, assumed.kind),
      event: 'session.listFailed',
    },
    ...(session?.matches({ open: { watch: 'looking' } }) === true
      ? [
          {
            ...fact({ type: 'session.impaired', reason: 'healthCheck' }, assumed.kind),
            event: 'session.probed',
          },
        ]
      : []),
  ],
  'session.recovered': ({ context: { peer } }) =>
    peer.impairments.map(({ reason }) => fact({ type: 'session.recovered', reason })),
};

/** Lists the events that would change the state or its reason, and where each would lead now. */
export function moversOf(
  snapshot: ServerSnapshot,
  openers: readonly Opener[],
  now: number,
): readonly Mover[] {
  const state = conditionOf(snapshot);
  const session = snapshot.children.session?.getSnapshot();
  const present = { context: snapshot.context, state, openers, session, now };
  return [...answeredEvents(snapshot)].flatMap((type) =>
    (candidates[type as ServerEvent['type']]?.(present) ?? []).flatMap(
      ({ send, event = send.type, ...shown }) => {
        const to = conditionOf(whatIf(snapshot, send));
        return to.state === state.state && to.reason === state.reason
          ? []
          : [{ event, ...shown, to }];
      },
    ),
  );
}
