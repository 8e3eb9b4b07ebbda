/** Which events may be put into a fork, each with an example of what it carries. */

import type { ServerContext, ServerEvent } from '../../machines/server/server.ts';
import { answeredEvents } from '../runtime/status/server-chart.ts';
import type { ServerSnapshot } from '../runtime/status/status-of.ts';

/** Where a fork stands: what its chart knows, and its time on the clock of the charts, in milliseconds. */
interface Moment {
  readonly context: ServerContext;
  readonly at: number;
}

type Example = (moment: Moment) => Readonly<Record<string, unknown>>;

const bare: Example = () => ({});
const ofSession: Example = ({ context: { session }, at }) => ({ session, at });
const lost = { kind: 'transport', message: 'The session was lost.' } as const;

// Complete, so that an event that is added to the chart does not compile unnoticed.
// What one region tells the others is raised by the chart itself, in a fork as everywhere.
const examples: Readonly<Record<ServerEvent['type'], Example | 'raised'>> = {
  'server.start': bare,
  'server.stop': bare,
  'server.restart': bare,
  'server.reconnect': bare,
  'server.retire': bare,
  'server.relieve': bare,
  'server.demanded': bare,
  'admission.granted': bare,
  'admission.withdrawn': () => ({ verdict: 'disabled' }),
  'spec.updated': ({ context: { startup, policy } }) => ({ startup, policy }),
  'slot.granted': bare,
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
  'session.silent': () => ({ failedLooks: 1 }),
  'session.closing': bare,
  'xstate.done.actor.session': ({ context, at }) => ({
    output: { at, wasOpen: context.era !== null, failure: lost, isFlood: false, evidence: {} },
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

/** What an event of this type may carry at this moment; undefined for what nobody outside the chart sends. */
export function exampleOf(
  type: string,
  moment: Moment,
): Readonly<Record<string, unknown>> | undefined {
  const example = Object.hasOwn(examples, type) ? examples[type as ServerEvent['type']] : 'raised';
  return example === 'raised' ? undefined : example(moment);
}

/** The events that some present state answers, in the order of their names. */
export function possibleEvents(
  snapshot: ServerSnapshot,
  at: number,
): readonly { readonly type: string; readonly example: Readonly<Record<string, unknown>> }[] {
  const moment = { context: snapshot.context, at };
  return [...answeredEvents(snapshot)].sort().flatMap((type) => {
    const example = exampleOf(type, moment);
    return example === undefined ? [] : [{ type, example }];
  });
}
