/**
 * A bounded ring of the newest observations, and the state before them. An observation that leaves the ring is
 * folded into that state, so every moment in the ring can be reconstructed.
 */

import type {
  ActorKey,
  InspectionPicture,
  InspectionRecord,
  PicturedActor,
} from '../domain/host/inspection.ts';
import type { TroupeSnapshot } from '../domain/host/status.ts';
import { type ActorFile, picturedActor, recordOf, type Seen, type Stand } from './observation.ts';
import { applyRecord, type Canvas, canvasOf, noteCalls, pictureOf } from './picture.ts';
import { contextFacts } from './recorded-fields.ts';

const none: Stand['nodes'] = [];

/** The state of an actor that has not reported one yet. */
export const newStand: Stand = { life: 'active', nodes: none, context: undefined };

/** The recorded state that does not belong to an actor. */
type Statuses = Pick<Canvas, 'servers' | 'troupe' | 'calls'>;

export class Ledger {
  readonly #capacity: number;
  readonly #maxBytes: number;
  readonly #ring: (Seen | undefined)[] = [];
  /** Number of the oldest kept observation. */
  #first = 1;
  #last = 0;
  /** Estimated size of the kept observations. */
  #bytes = 0;
  /** Time of the last observation that left the ring. */
  #baseT = 0;
  /** All actors that existed before the first kept observation, or started since. */
  readonly #actors = new Map<ActorKey, ActorFile>();
  readonly #before: Statuses = { servers: new Map(), troupe: undefined, calls: new Map() };
  readonly #now: Statuses = { servers: new Map(), troupe: undefined, calls: new Map() };

  constructor(capacity: number, maxBytes = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
    this.#maxBytes = maxBytes;
  }

  get first(): number {
    return this.#first;
  }

  get last(): number {
    return this.#last;
  }

  /** Names of the servers that have a status and are not gone. */
  servers(): readonly string[] {
    return [...this.#now.servers.keys()];
  }

  /** Must be called before anything is recorded about the actor. */
  open(file: ActorFile): void {
    this.#actors.set(file.key, file);
  }

  /** Sets the state before the first observation. */
  begin({ servers, troupe }: TroupeSnapshot): void {
    for (const statuses of [this.#before, this.#now]) {
      for (const status of servers) statuses.servers.set(status.name, status);
      statuses.troupe = troupe;
    }
  }

  push(seen: Seen): void {
    this.#bytes += bytesOf(seen);
    while (
      this.#last - this.#first + 1 >= this.#capacity ||
      (this.#bytes > this.#maxBytes && this.#first <= this.#last)
    )
      this.#dropOldest();
    this.#ring[this.#last % this.#capacity] = seen;
    this.#last += 1;
    noteStatus(this.#now, seen);
  }

  #dropOldest(): void {
    const oldest = this.#at(this.#first);
    this.#ring[(this.#first - 1) % this.#capacity] = undefined;
    this.#first += 1;
    this.#bytes -= bytesOf(oldest);
    this.#baseT = oldest.t;
    noteStatus(this.#before, oldest);
    if ('actor' in oldest) this.#forget(oldest);
  }

  record(n: number): InspectionRecord {
    return recordOf(this.#at(n), n);
  }

  picture(at: number): InspectionPicture | undefined {
    if (at === this.#last) return this.#pictureNow();
    if (!this.#isKept(at)) return undefined;
    const canvas = canvasOf(this.#pictureBefore());
    for (let n = this.first; n <= at; n += 1) applyRecord(canvas, this.record(n));
    return pictureOf(canvas);
  }

  context(actor: ActorKey, at: number): Readonly<Record<string, unknown>> | undefined {
    const file = this.#actors.get(actor);
    if (file?.machine === undefined || !this.#isKept(at)) return undefined;
    const stand = at === this.#last ? file.now : this.#standAt(file, at);
    return stand?.context === undefined ? undefined : contextFacts(file.machine, stand.context);
  }

  #standAt(file: ActorFile, at: number): Stand | undefined {
    for (let n = at; n >= this.first; n -= 1) {
      const seen = this.#at(n);
      if (seen.kind === 'state' && seen.actor === file) return seen.stand;
    }
    return file.base?.stand;
  }

  #isKept(at: number): boolean {
    return Number.isInteger(at) && at >= this.first - 1 && at <= this.#last;
  }

  #at(n: number): Seen {
    return this.#ring[(n - 1) % this.#capacity] as Seen;
  }

  #forget(seen: Extract<Seen, { readonly actor: ActorFile }>): void {
    const { actor } = seen;
    if (seen.kind === 'actor') {
      actor.base = { stand: newStand, timers: new Map(), login: undefined };
    } else if (seen.kind === 'state') {
      if (actor.base !== undefined) actor.base.stand = seen.stand;
      if (seen.stand.life === 'active') return;
      actor.base?.timers.clear();
      if (actor.parent !== undefined) this.#actors.delete(actor.key);
    } else if (seen.kind === 'login') {
      if (actor.base !== undefined) actor.base.login = seen.login;
    } else if (seen.kind === 'timer') {
      actor.base?.timers.delete(seen.id);
      actor.base?.timers.set(seen.id, { id: seen.id, ms: seen.ms, armedAt: seen.t });
    } else if (seen.kind === 'timerEnd') {
      actor.base?.timers.delete(seen.id);
    }
  }

  #pictureBefore(): InspectionPicture {
    const actors = [...this.#actors.values()].flatMap((file) =>
      file.base === undefined ? [] : [picturedActor(file, file.base)],
    );
    return drawn(this.first - 1, this.#baseT, actors, this.#before);
  }

  #pictureNow(): InspectionPicture {
    const t = this.#first > this.#last ? this.#baseT : this.#at(this.#last).t;
    const actors = [...this.#actors.values()]
      .filter(({ now, parent }) => now.life === 'active' || parent === undefined)
      .map((file) => picturedActor(file, { ...file, stand: file.now }));
    return drawn(this.#last, t, actors, this.#now);
  }
}

// Measured on the heap, with the objects that only the observation keeps.
const bytesPerKind: Readonly<Record<Seen['kind'], number>> = {
  actor: 500,
  state: 450,
  event: 260,
  step: 180,
  ignored: 140,
  timer: 180,
  timerEnd: 160,
  login: 400,
  status: 800,
  gone: 120,
  reconciled: 600,
};
const bytesPerStep = 150;

/** An estimate; texts of servers and plans of many steps would otherwise have no limit. */
function bytesOf(seen: Seen): number {
  const base = bytesPerKind[seen.kind];
  if (seen.kind === 'reconciled') return base + seen.plan.length * bytesPerStep;
  if (seen.kind !== 'status') return base;
  const { message = '', stderrTail = [] } = seen.status.lastError ?? {};
  return base + message.length + stderrTail.reduce((sum, line) => sum + line.length + 32, 0);
}

function noteStatus(statuses: Statuses, seen: Seen): void {
  if (seen.kind === 'status') statuses.servers.set(seen.status.name, seen.status);
  else if (seen.kind === 'gone') {
    statuses.servers.delete(seen.server);
    statuses.calls.delete(seen.server);
  } else if (seen.kind === 'event') noteCalls(statuses.calls, seen.actor.server, seen.facts);
  else if (seen.kind === 'reconciled') statuses.troupe = seen.troupe;
}

function drawn(
  n: number,
  t: number,
  actors: readonly PicturedActor[],
  statuses: Statuses,
): InspectionPicture {
  const byKey = new Map(actors.map((each) => [each.actor, each]));
  return pictureOf({ n, t, actors: byKey, ...statuses });
}
