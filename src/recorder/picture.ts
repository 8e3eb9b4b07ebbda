/**
 * Folds records into a picture. A page or journal that applies the same records to the same picture gets the
 * recorder's state.
 */

import type {
  ActorKey,
  EventFacts,
  InspectionPicture,
  InspectionRecord,
  PicturedActor,
} from '../domain/host/inspection.ts';
import {
  type ServerStatus,
  type TroupeState,
  type TroupeStatus,
  troupeStates,
} from '../domain/host/status.ts';

/** A mutable picture. */
export interface Canvas {
  n: number;
  t: number;
  readonly actors: Map<ActorKey, PicturedActor>;
  readonly servers: Map<string, ServerStatus>;
  troupe: TroupeStatus | undefined;
  /** Number of calls, by server. */
  readonly calls: Map<string, number>;
}

export function canvasOf({ n, t, actors, servers, troupe, calls = {} }: InspectionPicture): Canvas {
  return {
    n,
    t,
    actors: new Map(actors.map((each) => [each.actor, each])),
    servers: new Map(servers.map((each) => [each.name, each])),
    troupe,
    calls: new Map(Object.entries(calls)),
  };
}

export function pictureOf(canvas: Canvas): InspectionPicture {
  const { n, t, actors, servers, troupe, calls } = canvas;
  const state = troupeStateIn(canvas) ?? troupe?.state;
  return {
    n,
    t,
    actors: [...actors.values()],
    servers: [...servers.values()].sort((left, right) => (left.name < right.name ? -1 : 1)),
    ...(troupe === undefined || state === undefined ? {} : { troupe: { ...troupe, state } }),
    ...(calls.size === 0 ? {} : { calls: Object.fromEntries(calls) }),
  };
}

/**
 * The troupe's state by its root's current state; the recorded status is only as new as the last pass.
 */
export function troupeStateIn({
  actors,
  troupe,
}: Pick<Canvas, 'actors' | 'troupe'>): TroupeState | undefined {
  for (const { machine, life, leaves } of actors.values()) {
    if (machine !== 'troupe') continue;
    if (life !== 'active') return 'stopped';
    const parts = leaves[0]?.split('.') ?? [];
    return troupeStates.findLast((state) => parts.includes(state));
  }
  return troupe?.state;
}

/** Applies the next record. Records about unknown actors are ignored. */
export function applyRecord(canvas: Canvas, record: InspectionRecord): void {
  canvas.n = record.n;
  canvas.t = record.t;
  switch (record.kind) {
    case 'actor': {
      const { kind: _kind, n: _n, t: _t, ...actor } = record;
      canvas.actors.set(actor.actor, { ...actor, life: 'active', leaves: [], timers: [] });
      return;
    }
    case 'state': {
      const { life, leaves } = record;
      const actor = canvas.actors.get(record.actor);
      if (actor === undefined) return;
      if (life === 'active') canvas.actors.set(actor.actor, { ...actor, leaves });
      else if (actor.parent !== undefined) canvas.actors.delete(actor.actor);
      else canvas.actors.set(actor.actor, { ...actor, life, leaves, timers: [] });
      return;
    }
    case 'login': {
      const actor = canvas.actors.get(record.actor);
      if (actor !== undefined) canvas.actors.set(actor.actor, { ...actor, login: record.login });
      return;
    }
    case 'timer': {
      const { id, delay, ms, t: armedAt } = record;
      const timer = { id, ...(delay === undefined ? {} : { delay }), ms, armedAt };
      changeTimers(canvas, record.actor, (timers) => [...without(timers, id), timer]);
      return;
    }
    case 'timerEnd':
      changeTimers(canvas, record.actor, (timers) => without(timers, record.id));
      return;
    case 'status':
      canvas.servers.set(record.status.name, record.status);
      return;
    case 'gone':
      canvas.servers.delete(record.server);
      canvas.calls.delete(record.server);
      return;
    case 'reconciled':
      canvas.troupe = record.troupe;
      return;
    case 'event':
      noteCalls(canvas.calls, canvas.actors.get(record.to)?.server, record.facts);
      return;
    case 'step':
    case 'ignored':
    case 'gap':
  }
}

/** Keeps the number that an event about calls names; a chart learns of them only at both ends. */
export function noteCalls(
  calls: Map<string, number>,
  server: string | undefined,
  facts: EventFacts | undefined,
): void {
  const count = facts?.['calls'];
  if (server !== undefined && typeof count === 'number') calls.set(server, count);
}

type Timers = PicturedActor['timers'];

function changeTimers(canvas: Canvas, key: ActorKey, change: (timers: Timers) => Timers): void {
  const actor = canvas.actors.get(key);
  if (actor !== undefined) canvas.actors.set(key, { ...actor, timers: change(actor.timers) });
}

function without(timers: Timers, id: string): Timers {
  return timers.filter((timer) => timer.id !== id);
}
