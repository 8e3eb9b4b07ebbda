/**
 * The records that the page holds, and the world at every moment. A world is stored at regular intervals, so that
 * going to a moment takes a bounded number of steps.
 */

import type {
  ActorKey,
  InspectionPicture,
  InspectionRecord,
  PicturedActor,
} from '../../../src/domain/host/inspection.ts';
import { advance, copyOf, type World, worldOf } from './world.ts';

/** A hundred thousand records are some tens of megabytes, which a page may use. */
const mostRecords = 100_000;

// Two thousand steps take a few milliseconds, so dragging the slider stays smooth.
const between = 2_000;

export class History {
  /** The world before the first record, then after every `between` records. */
  #worlds: World[];
  #records: InspectionRecord[] = [];
  readonly #most: number;
  readonly #known = new Map<ActorKey, PicturedActor>();

  constructor(picture: InspectionPicture, most = mostRecords) {
    this.#worlds = [worldOf(picture)];
    this.#most = most;
    for (const actor of picture.actors) this.#known.set(actor.actor, actor);
  }

  get records(): readonly InspectionRecord[] {
    return this.#records;
  }

  /** All actors in the records, including ended ones, as they were when they started. */
  get known(): ReadonlyMap<ActorKey, PicturedActor> {
    return this.#known;
  }

  /** The earliest moment that can be shown. */
  get first(): number {
    return this.#worlds[0]?.n ?? 0;
  }

  get last(): number {
    return this.#records.at(-1)?.n ?? this.first;
  }

  /** Adds the next record and ignores known ones. Returns false when records are missing before it. */
  add(record: InspectionRecord): boolean {
    if (record.n <= this.last) return true;
    if (record.n !== this.last + 1) return false;
    this.#records.push(record);
    if (record.kind === 'actor') {
      this.#known.set(record.actor, { ...record, life: 'active', leaves: [], timers: [] });
    }
    if (record.kind === 'login') {
      const actor = this.#known.get(record.actor);
      if (actor !== undefined) this.#known.set(actor.actor, { ...actor, login: record.login });
    }
    const place = this.#records.length / between;
    if (Number.isInteger(place)) this.#worlds[place] = this.at(record.n);
    // Drop a whole interval at once, so that the stored worlds stay valid.
    if (this.#records.length > this.#most + between) {
      for (const old of this.#records.slice(0, between)) {
        if (old.kind === 'state' && old.life !== 'active') this.#known.delete(old.actor);
      }
      this.#records = this.#records.slice(between);
      this.#worlds = this.#worlds.slice(1);
    }
    return true;
  }

  /** Index of a record in `records`; -1 for the moment before the first. */
  placeOf(n: number): number {
    return Math.min(Math.max(n - this.first, 0), this.#records.length) - 1;
  }

  /** The world after record `n`, or the nearest that is still held. */
  at(n: number): World {
    const end = this.placeOf(n) + 1;
    let start = Math.min(Math.floor(end / between), this.#worlds.length - 1);
    const base = this.#worlds[start];
    if (base === undefined) throw new Error('a history begins with a world');
    const world = copyOf(base);
    for (start *= between; start < end; start += 1) {
      const record = this.#records[start];
      if (record !== undefined) advance(world, record);
    }
    return world;
  }
}
