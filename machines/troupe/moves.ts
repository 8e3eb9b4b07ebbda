/** What a step of a pass does to the server actors with one name. */

import {
  type AdmittedServer,
  type LiveServer,
  type StepKind,
  successorOf,
} from '../../src/domain/plan.ts';
import { settingsDigestOf } from '../../src/policies/fingerprint.ts';
import type { ServerCommand } from '../server/server.ts';
import { nameOf, type Order } from './context.ts';
import { handoverIdOf } from './handover.ts';

interface Move {
  readonly live: LiveServer;
  readonly orders: readonly Order[];
  readonly spawn?: { readonly wanted: AdmittedServer; readonly actorId: string };
}

export function moveOf(
  step: StepKind,
  now: LiveServer | undefined,
  wanted: AdmittedServer | undefined,
  newId: string,
): Move {
  // Every server in a plan is live or wanted.
  if (wanted === undefined) return retired(now as LiveServer);
  if (now === undefined)
    return { live: liveAs(wanted, newId), orders: [], spawn: { wanted, actorId: newId } };
  if (step === 'replace') return retired(now);
  return step === 'handover' ? handedOn(now, wanted) : changed(step, now, wanted);
}

/** Retires every server with this name at once. */
export function retired(now: LiveServer): Move {
  const { live, orders } = besideRetired(now);
  return { live: { ...live, leaving: 'now' }, orders: [retire(now), ...orders] };
}

/** Advances a seamless change: a successor starts, takes over, or is retired. */
function handedOn(now: LiveServer, wanted: AdmittedServer): Move {
  const successor = successorOf(now);
  if (successor !== undefined) {
    const isWanted = successor.generation === wanted.desired.generation;
    return isWanted ? takenOver(now, successor, 'afterCalls') : besideRetired(now);
  }
  const actorId = otherIdOf(now);
  const live = { ...now, beside: liveAs(wanted, actorId) };
  return { live, orders: [], spawn: { wanted, actorId } };
}

/** Ends a handover, because a stop applies to every server with this name. */
export function endedHandover(now: LiveServer): Move {
  const successor = successorOf(now);
  return successor === undefined ? besideRetired(now) : takenOver(now, successor, 'now');
}

/** Changes the generation that the settings want, in place. */
function changed(step: StepKind, now: LiveServer, wanted: AdmittedServer): Move {
  const successor = now.generation === wanted.desired.generation ? undefined : successorOf(now);
  const { actorId } = successor ?? now;
  const order = { to: actorId, event: commandFor(step, wanted) };
  const next = liveAs(wanted, actorId);
  if (successor !== undefined) return { live: { ...now, beside: next }, orders: [order] };
  // A blocked server may not finish its calls either.
  const { live, orders } = step === 'block' ? besideRetired(now) : { live: now, orders: [] };
  return { live: { ...live, ...next }, orders: [order, ...orders] };
}

function takenOver(now: LiveServer, due: LiveServer, leaving: 'now' | 'afterCalls'): Move {
  const { beside: _, ...before } = now;
  const { due: _why, ...next } = due;
  const relieve: Order = { to: now.actorId, event: { type: 'server.relieve' } };
  return {
    live: { ...next, beside: { ...before, leaving } },
    orders: [
      leaving === 'now' ? retire(now) : relieve,
      { to: handoverIdOf(nameOf(now.actorId)), event: { type: 'handover.complete' } },
    ],
  };
}

/** Retires the server's other generation at once, if there is one. */
function besideRetired(now: LiveServer): Move {
  const { actorId, beside } = now;
  if (beside === undefined) return { live: now, orders: [] };
  // A completed handover ignores it.
  const withdraw: Order = {
    to: handoverIdOf(nameOf(actorId)),
    event: { type: 'handover.withdraw' },
  };
  const live: LiveServer = { ...now, beside: { ...beside, leaving: 'now' } };
  return { live, orders: [retire(beside), withdraw] };
}

function retire({ actorId }: LiveServer): Order {
  return { to: actorId, event: { type: 'server.retire' } };
}

function commandFor(step: StepKind, { desired, verdict }: AdmittedServer): ServerCommand {
  const { startup, policy } = desired;
  if (step === 'update') return { type: 'spec.updated', startup, policy };
  if (verdict === 'admitted') return { type: 'admission.granted' };
  return { type: 'admission.withdrawn', verdict };
}

function liveAs({ desired, verdict }: AdmittedServer, actorId: string): LiveServer {
  return {
    actorId,
    generation: desired.generation,
    settingsDigest: settingsDigestOf(desired),
    verdict,
    leaving: false,
  };
}

// XState remembers every child id that it ever saw. With two alternating ids, a successor can start
// alongside the server that leaves.
function otherIdOf({ actorId }: LiveServer): string {
  return `${nameOf(actorId)}.${actorId.endsWith('0') ? '1' : '0'}`;
}
