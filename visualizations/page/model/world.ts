/**
 * The state after a record, plus what views need to animate it. The live world is changed in place. Objects that views
 * compare (actors, statuses, trails) are replaced, so that a view can tell by identity whether to redraw.
 */

import type {
  ActorKey,
  InspectionPicture,
  InspectionRecord,
  PicturedActor,
  StepRecord,
} from '../../../src/domain/host/inspection.ts';
import type { ServerStatus } from '../../../src/domain/host/status.ts';
import type { ServerState } from '../../../src/domain/server-state.ts';
import { applyRecord, type Canvas, canvasOf } from '../../../src/recorder/picture.ts';

/** A past state of a server, for its sparkline. */
export interface TrailMark {
  readonly n: number;
  readonly t: number;
  readonly state: ServerState;
}

/** An actor's last step and last ignored event, for animations. */
export interface LastMoves {
  /** All edges taken for one event. */
  readonly step?: LastMove & { readonly edges: readonly string[] };
  /** The last edges taken, oldest first. */
  readonly taken?: readonly string[];
  readonly ignored?: LastMove;
}

interface LastMove {
  readonly n: number;
  readonly t: number;
  /** Of the event. */
  readonly type: string;
}

export interface World extends Canvas {
  readonly trails: Map<string, readonly TrailMark[]>;
  readonly moves: Map<ActorKey, LastMoves>;
}

/** As many as a sparkline has room for. */
const longestTrail = 16;

/** Enough to find the way to a state through a few others. */
const mostTaken = 32;

export function worldOf(picture: InspectionPicture): World {
  const { n, t, servers } = picture;
  return {
    ...canvasOf(picture),
    trails: new Map(servers.map(({ name, state }) => [name, [{ n, t, state }]])),
    moves: new Map(),
  };
}

export function copyOf(world: World): World {
  return {
    ...world,
    actors: new Map(world.actors),
    servers: new Map(world.servers),
    calls: new Map(world.calls),
    trails: new Map(world.trails),
    moves: new Map(world.moves),
  };
}

/** Brings a world one record further. */
export function advance(world: World, record: InspectionRecord): void {
  applyRecord(world, record);
  switch (record.kind) {
    case 'step':
      noteStep(world, record);
      return;
    case 'ignored': {
      const { actor, n, t, type } = record;
      world.moves.set(actor, { ...world.moves.get(actor), ignored: { n, t, type } });
      return;
    }
    case 'state':
      if (record.life !== 'active') world.moves.delete(record.actor);
      return;
    case 'status':
      noteStatus(world, record.status, record);
      return;
    case 'gone':
      world.trails.delete(record.server);
      return;
    default:
  }
}

/** Edges of `always` transitions (with an empty type) belong to the step before. */
function noteStep(world: World, { actor, n, t, type, edges }: StepRecord): void {
  const moves = world.moves.get(actor);
  const before = type === '' ? moves?.step : undefined;
  const step = { n, t, type: before?.type ?? type, edges: [...(before?.edges ?? []), ...edges] };
  const taken = [...(moves?.taken ?? []), ...edges].slice(-mostTaken);
  world.moves.set(actor, { ...moves, step, taken });
}

function noteStatus(
  world: World,
  { name, state }: ServerStatus,
  { n, t }: { readonly n: number; readonly t: number },
): void {
  const trail = world.trails.get(name) ?? [];
  if (trail.at(-1)?.state === state) return;
  world.trails.set(name, [...trail.slice(1 - longestTrail), { n, t, state }]);
}

/** The actor that runs the session chart of a server's actor; undefined while it has no session. */
export function sessionOf(world: Canvas, server: PicturedActor): PicturedActor | undefined {
  if (server.machine !== 'server') return undefined;
  return [...world.actors.values()].findLast(
    ({ machine, parent, life }) =>
      machine === 'session' && parent === server.actor && life === 'active',
  );
}

/** The newest actor of a server. */
export function actorOf(world: Canvas, server: string): PicturedActor | undefined {
  let found: PicturedActor | undefined;
  for (const actor of world.actors.values()) {
    if (actor.server === server && actor.machine === 'server') found = actor;
  }
  return found;
}
