import type { SessionOwner } from '../../../actors/session/ports.ts';
import { type Clock, longestTimerMs } from '../../domain/clock.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import type { DesiredServer, Settings } from '../../domain/settings.ts';
import type { ServerView } from '../status/board.ts';
import { keyOf } from './store.ts';

export interface CatalogLifetimesPorts {
  readonly clock: Clock;
  readonly settings: () => Settings | null;
  readonly view: (server: string) => Pick<ServerView, 'status'> | undefined;
  /** It is in settings that were read and are about to apply. */
  readonly isExpected: (owner: SessionOwner) => boolean;
  /** Its session is over: the server no longer reports changes. */
  readonly onLeft: (owner: SessionOwner) => void;
  readonly onForgotten: (owner: SessionOwner) => void;
}

interface Kept {
  readonly owner: SessionOwner;
  /** When its server was last live, in monotonic milliseconds; null = it is live. */
  leftAt: number | null;
}

interface Unused extends Kept {
  readonly leftAt: number;
  readonly leftMs: number;
}

/**
 * Decides how long each catalog is remembered. The catalog of a server that left the settings, or
 * that has a new generation, is forgotten at once. Any other that is not live is forgotten after the
 * policy's `catalog.ttlMs`, or when there are more than `catalog.maxEntries`, oldest first. A live
 * catalog is never forgotten.
 */
export class CatalogLifetimes {
  readonly #ports: CatalogLifetimesPorts;
  readonly #kept = new Map<string, Kept>();
  #timer: unknown;
  #isClosed = false;

  constructor(ports: CatalogLifetimesPorts) {
    this.#ports = ports;
  }

  /** @param ageMs - since the server was seen with this catalog; absent = it reported it just now */
  keep(owner: SessionOwner, ageMs?: number): void {
    const leftAt = ageMs === undefined ? null : this.#ports.clock.now() - ageMs;
    this.#kept.set(keyOf(owner), { owner, leftAt });
  }

  /** Removes unused catalogs that have expired or exceed the limit; called when servers change. */
  prune(): void {
    if (this.#isClosed) return;
    const { clock, settings } = this.#ports;
    const present = settings();
    const desired = new Map(present?.servers.map((server) => [server.name, server]));
    const unused = [...this.#kept.values()].filter((kept) => this.#isUnused(kept));
    const left: Unused[] = [];
    for (const kept of unused) {
      const leftMs = this.#leftMs(kept, desired.get(kept.owner.server));
      if (leftMs > 0) left.push({ ...kept, leftMs });
      else this.#forget(kept.owner);
    }
    const surplus = this.#kept.size - (present?.maxCatalogs ?? Number.POSITIVE_INFINITY);
    left.sort((a, b) => a.leftAt - b.leftAt);
    for (const { owner } of left.splice(0, Math.max(0, surplus))) this.#forget(owner);
    clock.clearTimeout(this.#timer);
    this.#timer = undefined;
    const dueInMs = Math.min(...left.map(({ leftMs }) => leftMs));
    // What is kept without a limit is never due.
    if (dueInMs === Number.POSITIVE_INFINITY) return;
    this.#timer = clock.setTimeout(() => this.prune(), Math.min(dueInMs, longestTimerMs));
    // It must not keep the process running.
    (this.#timer as { unref?: () => void }).unref?.();
  }

  /** The run is over: every live server has left. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#ports.clock.clearTimeout(this.#timer);
    for (const { owner, leftAt } of this.#kept.values())
      if (leftAt === null) this.#ports.onLeft(owner);
  }

  #isUnused(kept: Kept): kept is Kept & { readonly leftAt: number } {
    const status = this.#statusOf(kept.owner);
    if (status?.catalog === 'live') {
      kept.leftAt = null;
      return false;
    }
    if (kept.leftAt === null) this.#ports.onLeft(kept.owner);
    kept.leftAt ??= this.#ports.clock.now();
    return true;
  }

  /** How much longer it is kept, in milliseconds. */
  #leftMs({ owner, leftAt }: Kept & { readonly leftAt: number }, desired?: DesiredServer): number {
    if (desired?.generation === owner.generation) {
      const { ttlMs } = desired.policy.catalog;
      return ttlMs === null ? Number.POSITIVE_INFINITY : leftAt + ttlMs - this.#ports.clock.now();
    }
    // A leaving server may still have running calls.
    const isNeeded = this.#statusOf(owner) !== undefined || this.#ports.isExpected(owner);
    return isNeeded ? Number.POSITIVE_INFINITY : 0;
  }

  #statusOf({ server, generation }: SessionOwner): ServerStatus | undefined {
    const status = this.#ports.view(server)?.status;
    return status?.generation === generation ? status : undefined;
  }

  #forget(owner: SessionOwner): void {
    this.#kept.delete(keyOf(owner));
    this.#ports.onForgotten(owner);
  }
}
