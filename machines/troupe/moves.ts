/**
 * What the root does to the servers of one name: it starts, retires or changes them, hands
 * over, or routes a command. A move is pure: it returns the live servers of the name,
 * the orders to send, and the server to start.
 */

import type { ExtractEvent } from 'xstate';
import {
  type AdmittedServer,
  type LiveServer,
  type StepKind,
  successorOf,
} from '../../src/domain/plan.ts';
import { settingsDigestOf } from '../../src/policies/fingerprint.ts';
import type { ServerCommand } from '../server/server.ts';
import {
  desiredOf,
  nameOf,
  newest,
  type Order,
  type Outcome,
  others,
  ownerOf,
  type TroupeContext,
  type TroupeEvent,
} from './context.ts';
import { handoverIdOf } from './handover.ts';

export const personCommands = [
  'server.start',
  'server.stop',
  'server.restart',
  'server.reconnect',
  'auth.completed',
] as const;

const rememberedWishes = 1_000;

export interface Move {
  readonly live: LiveServer;
  readonly orders: readonly Order[];
  readonly birth?: { readonly wanted: AdmittedServer; readonly actorId: string };
}

export function spawned(wanted: AdmittedServer, actorId: string): Move {
  return { live: liveAs(wanted, actorId), orders: [], birth: { wanted, actorId } };
}

/** Every server of the name leaves at once. */
export function retired(now: LiveServer): Move {
  const { live, orders } = besideRetired(now);
  return { live: { ...live, leaving: 'now' }, orders: [retire(now), ...orders] };
}

/** The next stage of a seamless change: a successor starts, takes over, or leaves. */
export function handedOn(now: LiveServer, wanted: AdmittedServer): Move {
  const successor = successorOf(now);
  if (successor !== undefined) {
    const isWanted = successor.generation === wanted.desired.generation;
    return isWanted ? takenOver(now, successor, 'afterCalls') : besideRetired(now);
  }
  const actorId = otherIdOf(now);
  const live = { ...now, beside: liveAs(wanted, actorId) };
  return { live, orders: [], birth: { wanted, actorId } };
}

/** A stop is for every server of the name; the one that is left gets the command itself. */
export function endedHandover(now: LiveServer): Move {
  const successor = successorOf(now);
  return successor === undefined ? besideRetired(now) : takenOver(now, successor, 'now');
}

/** A change in place goes to the generation that the settings ask for. */
export function changed(step: StepKind, now: LiveServer, wanted: AdmittedServer): Move {
  const successor = now.generation === wanted.desired.generation ? undefined : successorOf(now);
  const { actorId } = successor ?? now;
  const order = { to: actorId, event: commandFor(step, wanted) };
  const next = liveAs(wanted, actorId);
  if (successor !== undefined) return { live: { ...now, beside: next }, orders: [order] };
  // A blocked server may not finish its calls either.
  const { live, orders } = step === 'block' ? besideRetired(now) : { live: now, orders: [] };
  return { live: { ...live, ...next }, orders: [order, ...orders] };
}

/** Passes the user's command to the server, and remembers a stop. */
export function routed(
  context: TroupeContext,
  { type: said, server }: ExtractEvent<TroupeEvent, (typeof personCommands)[number]>,
): Outcome {
  const type = said === 'auth.completed' ? 'server.reconnect' : said;
  const present = context.live.get(server);
  const target = present && meantBy(present);
  const orders = target?.leaving === false ? [{ to: target.actorId, event: { type } }] : [];
  const desired = desiredOf(context, server);
  const stopWishes = context.stopWishes.filter((wish) => wish.server !== server);
  const startWishes = [...others(context.startWishes, server)];
  if (type === 'server.stop') {
    if (desired === undefined) return { orders };
    stopWishes.push({ server, generation: desired.generation });
  } else if (orders.length === 0 && desired !== undefined) {
    // The next server of this name gets the wish in its input.
    startWishes.push(server);
  }
  return {
    facts: {
      ...(type === 'server.reconnect' ? {} : { stopWishes: newest(stopWishes, rememberedWishes) }),
      startWishes: newest(startWishes, rememberedWishes),
      // If the server halts all the same it reports that; until then its place is taken.
      halted: others(context.halted, orders[0]?.to),
    },
    orders,
  };
}

/** Reclaims everything that an ended child held. */
export function forgotten(
  context: TroupeContext,
  { actorId }: { readonly actorId: string },
): Outcome {
  const name = nameOf(actorId);
  const server = ownerOf(context, actorId);
  if (server === undefined) return {};
  const live = new Map(context.live);
  const left = without(server, actorId);
  if (left === undefined) live.delete(name);
  else live.set(name, left);
  return {
    facts: {
      live,
      serving: others(context.serving, actorId),
      halted: others(context.halted, actorId),
    },
    ends: server.beside === undefined ? [actorId] : [actorId, handoverIdOf(name)],
    orders: [{ to: 'slots', event: { type: 'slot.returned', actorId } }],
  };
}

/** The server that a name refers to: the generation that the settings ask for. */
function meantBy(server: LiveServer): LiveServer {
  return successorOf(server) ?? server;
}

/** What is left of a name after one of its servers has ended; undefined = nothing. */
function without({ beside, ...rest }: LiveServer, actorId: string): LiveServer | undefined {
  return rest.actorId === actorId ? beside : rest;
}

function takenOver(now: LiveServer, next: LiveServer, leaving: 'now' | 'afterCalls'): Move {
  const { beside: _, ...before } = now;
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
  // A handover that is complete ignores it.
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

// XState remembers every child id it ever saw. With two ids in turn, a successor can start
// beside the server that leaves.
function otherIdOf({ actorId }: LiveServer): string {
  return `${nameOf(actorId)}.${actorId.endsWith('0') ? '1' : '0'}`;
}
