/**
 * What records add up to: a pure fold. A page and a journal that apply the same records
 * to the same picture see what the recorder saw.
 */

import type {
  ActorKey,
  InspectionPicture,
  InspectionRecord,
  PicturedActor,
} from '../domain/inspection.ts';
import { type ServerStatus, type TroupeStatus, troupeStates } from '../domain/status.ts';

/** A picture that records are applied to. */
export interface Canvas {
  n: number;
  t: number;
  readonly actors: Map<ActorKey, PicturedActor>;
  readonly servers: Map<string, ServerStatus>;
  troupe: TroupeStatus | undefined;
}

export function canvasOf({ n, t, actors, servers, troupe }: InspectionPicture): Canvas {
  return {
    n,
    t,
    actors: new Map(actors.map((each) => [each.actor, each])),
    servers: new Map(servers.map((each) => [each.name, each])),
    troupe,
  };
}

export function pictureOf(canvas: Canvas): InspectionPicture {
  const { n, t, actors, servers } = canvas;
  const troupe = troupeOf(canvas);
  return {
    n,
    t,
    actors: [...actors.values()],
    servers: [...servers.values()].sort((left, right) => (left.name < right.name ? -1 : 1)),
    ...(troupe === undefined ? {} : { troupe }),
  };
}

/** The troupe as it was told of last, and what its chart shows of it at once. */
function troupeOf({ troupe, actors }: Pick<Canvas, 'troupe' | 'actors'>): TroupeStatus | undefined {
  const [root] = actors.values();
  const [leaf = ''] = root?.machine === 'troupe' ? root.leaves : [];
  const state = troupeStates.find((each) => leaf === each || leaf.startsWith(`serving.${each}`));
  return troupe === undefined || state === undefined ? troupe : { ...troupe, state };
}

/** Applies the next record. What it says of actors that are not there is passed over. */
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
      return;
    case 'reconciled':
      canvas.troupe = record.troupe;
      return;
    case 'event':
    case 'step':
    case 'ignored':
    case 'gap':
  }
}

type Timers = PicturedActor['timers'];

function changeTimers(canvas: Canvas, key: ActorKey, change: (timers: Timers) => Timers): void {
  const actor = canvas.actors.get(key);
  if (actor !== undefined) canvas.actors.set(key, { ...actor, timers: change(actor.timers) });
}

function without(timers: Timers, id: string): Timers {
  return timers.filter((timer) => timer.id !== id);
}
