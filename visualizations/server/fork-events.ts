/** The events that can be sent to a fork, each with an example payload. */

import type { ServerContext, ServerEvent } from '../../machines/server/server.ts';
import type { ForkView } from '../../src/domain/host/inspection.ts';
import { answeredEvents } from '../../src/runtime/status/server-chart.ts';
import type { ServerSnapshot } from '../../src/runtime/status/status-of.ts';

/** A fork's context and its time on the charts' clock, in milliseconds. */
interface Moment {
  readonly context: ServerContext;
  readonly at: number;
}

type Example = (moment: Moment) => Readonly<Record<string, unknown>>;

const bare: Example = () => ({});
const ofSession: Example = ({ context: { session }, at }) => ({ session, at });
const lost = { kind: 'transport', message: 'The session was lost.' } as const;

// Complete, so that a new event of the chart does not compile until it is added here. The chart itself raises
// events between regions, also in a fork.
const examples: Readonly<Record<ServerEvent['type'], Example | 'raised'>> = {
  'server.start': bare,
  'server.stop': bare,
  'server.restart': bare,
  'server.reconnect': bare,
  'server.refresh': bare,
  'server.retire': bare,
  'server.relieve': bare,
  'server.demanded': bare,
  'admission.granted': bare,
  'admission.withdrawn': () => ({ verdict: 'disabled' }),
  'spec.updated': ({ context: { startup, policy } }) => ({ startup, policy }),
  'slot.granted': bare,
  'input.answered': bare,
  'catalog.forgotten': bare,
  'server.woke': () => ({ spreadMs: 2_000 }),
  'calls.began': ({ context: { session } }) => ({ session }),
  'calls.drained': ({ context: { session } }) => ({ session }),
  'call.succeeded': ({ context: { session } }) => ({ session }),
  'call.failed': ofSession,
  'session.opened': ({ at }) => ({ at, era: 'modern' }),
  'session.listed': ({ at }) => ({ at, toolCount: 1 }),
  'session.listFailed': () => ({ failure: lost }),
  'session.impaired': () => ({ reason: 'partialCatalog' }),
  'session.recovered': () => ({ reason: 'partialCatalog' }),
  'session.silent': () => ({ failedChecks: 1 }),
  'session.closing': bare,
  'xstate.done.actor.session': ({ context, at }) => ({
    output: { at, wasOpen: context.peer.era !== null, failure: lost, isFlood: false, evidence: {} },
    actorId: 'session',
  }),
  'xstate.error.actor.session': () => ({ error: 'The session broke.', actorId: 'session' }),
  'server.listed': 'raised',
  'server.idled': 'raised',
  'server.relieved': 'raised',
  'server.hung': 'raised',
  'server.faltered': 'raised',
  'server.gaveUp': 'raised',
  'server.rested': 'raised',
  'server.ended': 'raised',
  'probe.wanted': 'raised',
  'probe.began': 'raised',
  'breaker.tripped': 'raised',
};

/** An example payload for an event type; undefined for events that only the chart itself raises. */
export function exampleOf(type: string, moment: Moment): ReturnType<Example> | undefined {
  const example = isOutside(type) ? examples[type as ServerEvent['type']] : 'raised';
  return example === 'raised' ? undefined : example(moment);
}

/** The events that an active state handles, by name. */
export function possibleEvents(snapshot: ServerSnapshot, at: number): ForkView['events'] {
  const moment = { context: snapshot.context, at };
  return [...answeredEvents(snapshot)].sort().flatMap((type) => {
    const example = exampleOf(type, moment);
    return example === undefined ? [] : [{ type, example }];
  });
}

/** Whether an event reaches the chart from outside; the others, the chart raises itself. */
export function isOutside(type: string): boolean {
  return Object.hasOwn(examples, type) && examples[type as ServerEvent['type']] !== 'raised';
}
