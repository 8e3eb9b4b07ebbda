/**
 * Holds the current status of every server, derived from the charts' snapshots at each change. The
 * board itself only records the times of changes, and what it last reported.
 */

import { EventEmitter } from 'node:events';
import type { ActorRefFrom, Subscription } from 'xstate';
import { actorsOf, type ServerRef } from '../../../machines/troupe/context.ts';
import { handoverIdOf, type handoverMachine } from '../../../machines/troupe/handover.ts';
import type { RootRef, RootSnapshot } from '../../../machines/troupe/troupe.ts';
import type { Clock } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import type { LiveServer } from '../../domain/plan.ts';
import type { Verdict } from '../../domain/server-state.ts';
import type { DesiredServer, Settings } from '../../domain/settings.ts';
import { serverNamed } from '../../policies/admission/server-place.ts';
import { equalTyped } from '../../policies/equal-typed.ts';
import { GroupedMap } from '../../policies/grouped-map.ts';
import type { DesiredBook } from '../desired/book.ts';
import type { RefusingLists } from './next-step.ts';
import {
  besideOf,
  firstMarks,
  isOffering,
  type Marks,
  markedBy,
  type OfferFacts,
  type OfferingView,
  restingStatus,
  type SeenActor,
  type ServerView,
  viewOf,
} from './server-view.ts';
import type { ServerSnapshot } from './status-of.ts';

export type { ServerRef } from '../../../machines/troupe/context.ts';
export type { RootRef, RootSnapshot } from '../../../machines/troupe/troupe.ts';
export type { OfferingView, ServerView } from './server-view.ts';

type RootContext = RootSnapshot['context'];
type HandoverRef = ActorRefFrom<typeof handoverMachine>;

export interface StatusBoardPorts {
  readonly root: RootRef;
  readonly clock: Clock;
  readonly book: DesiredBook;
  /** Returns what is shown and withheld of a server's lists, for a catalog that is not `none`. */
  readonly offerOf: (desired: DesiredServer, generation: string) => OfferFacts;
  /** Whether the server turned out to use SSE although its settings do not say so. */
  readonly isOverSse: (generation: string) => boolean;
  /**
   * Returns the next step for a server whose state requires none, such as answering its question.
   */
  readonly stepFor: (status: Pick<ServerStatus, 'name' | 'state'>) => string | undefined;
  readonly onChange: (status: ServerStatus) => void;
  /** Called with every snapshot of every server, in order, before it is reported. */
  readonly onSnapshot: (name: string, ref: ServerRef, snapshot: ServerSnapshot) => void;
  /** Called when a server was added or removed, or its tools may have changed. */
  readonly onToolsMayDiffer: () => void;
}

interface Watched {
  readonly ref: ServerRef;
  readonly subscription: Subscription;
  marks: Marks;
}

export class StatusBoard {
  readonly #ports: StatusBoardPorts;
  readonly #watched = new Map<string, Watched>();
  readonly #views = new Map<string, ServerView>();
  readonly #offering = new Map<string, OfferingView>();
  /** The views as they were last reported. */
  readonly #reported = new Map<string, ServerView>();
  /** Emits `of NAME` at each change of that server, and `any` at each change of any server. */
  readonly #changes = new EventEmitter().setMaxListeners(0);
  /** When servers lost their chart, because it threw or the troupe ended. */
  readonly #restingSinceMs = new Map<string, number>();
  /** The root's context at its last report. */
  #seen: Pick<RootContext, 'live' | 'settings'> = { live: GroupedMap.of(), settings: null };
  #lists: RefusingLists = { hostAllowed: null };
  /** `ending`: servers that end are shown as stopped; `closed`: all are, and nothing changes any more. */
  #life: 'open' | 'ending' | 'closed' = 'open';

  constructor(ports: StatusBoardPorts) {
    this.#ports = ports;
    ports.root.subscribe({
      next: (snapshot) => {
        this.#followRoot(snapshot);
      },
      // A failure of the root ends the troupe, which reports it to its host.
      error: () => {},
    });
  }

  get isClosed(): boolean {
    return this.#life === 'closed';
  }

  /** Returns the views of the servers whose lists are shown: of thousands, usually few. */
  offering(): readonly OfferingView[] {
    return [...this.#offering.values()];
  }

  /** Number of servers that have a chart. */
  get size(): number {
    return this.#views.size;
  }

  view(name: string): ServerView | undefined {
    return this.#views.get(name);
  }

  views(): readonly ServerView[] {
    return [...this.#views.values()];
  }

  /** Returns every server that is desired or still leaving, sorted by name. */
  statuses(): readonly ServerStatus[] {
    const seen = this.views().map(({ status }) => status);
    const unseen = (this.#ports.book.settings?.servers ?? [])
      .filter(({ name }) => !this.#views.has(name))
      .map((desired) => this.#restingStatus(desired));
    return [...seen, ...unseen].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  status(name: string): ServerStatus | undefined {
    const view = this.#views.get(name);
    if (view !== undefined) return view.status;
    const desired = serverNamed(this.#ports.book.settings, name);
    return desired && this.#restingStatus(desired);
  }

  /** Calls back at each change of one server, which need not exist yet. Returns the unsubscribe function. */
  watch(name: string, callback: () => void): () => void {
    this.#changes.on(`of ${name}`, callback);
    return () => this.#changes.off(`of ${name}`, callback);
  }

  /** Calls back at each change of any server. Returns the unsubscribe function. */
  watchAll(callback: () => void): () => void {
    this.#changes.on('any', callback);
    return () => this.#changes.off('any', callback);
  }

  /** Updates one server whose lists changed; until they are shown, its status lacks them. */
  refreshTools(name: string): void {
    if (this.#offering.has(name)) this.refresh(name);
  }

  /** Updates one server whose snapshot, questions, inputs or withheld tools changed. */
  refresh(name: string): void {
    this.#update(name);
    this.#report(name);
  }

  /** Forgets servers that were removed. */
  retain(isPresent: (server: string) => boolean): void {
    for (const name of this.#restingSinceMs.keys())
      if (!isPresent(name)) this.#restingSinceMs.delete(name);
  }

  /** Shows every server as stopped, and notifies every watcher for the last time. */
  close(): void {
    this.#life = 'ending';
    for (const actorId of [...this.#watched.keys()]) this.#unwatch(actorId);
    for (const name of [...this.#views.keys()]) this.#forget(name);
    for (const name of [...this.#reported.keys()]) this.#report(name);
    this.#ports.onToolsMayDiffer();
    this.#life = 'closed';
    for (const change of this.#changes.eventNames()) this.#changes.emit(change);
  }

  #followRoot({ value, context }: RootSnapshot): void {
    const { live, settings, hostAllowed } = context;
    const before = this.#seen;
    if (this.#life === 'open' && (value === 'stopping' || value === 'stopped'))
      this.#life = 'ending';
    const mayRefuse = settings !== before.settings || hostAllowed !== this.#lists.hostAllowed;
    if (live === before.live && !mayRefuse) return;
    this.#seen = context;
    // Usually one of thousands of servers was added or removed, and the others are unchanged.
    const changed = new Set(live.changesSince(before.live));
    for (const name of changed) this.#watchActors(name, before.live.get(name), context);
    for (const name of editedNames(before.settings, settings)) changed.add(name);
    if (mayRefuse && this.#followLists(context))
      for (const [name, { verdict }] of live) if (refusingVerdicts.has(verdict)) changed.add(name);
    for (const name of changed) this.#update(name);
    // Only now, because a listener for one server may ask for all of them.
    for (const name of changed) this.#report(name);
    this.#ports.onToolsMayDiffer();
  }

  /** Returns true if lists that may refuse a server, or their sources, changed. */
  #followLists({ settings, launchBound, hostAllowed }: RootContext): boolean {
    const { limits, budget } = settings ?? {};
    const lists: RefusingLists = {
      hostAllowed,
      ...defined({ launchBound: launchBound ?? undefined, limits, budget }),
    };
    if (equalTyped(lists, this.#lists)) return false;
    this.#lists = lists;
    return true;
  }

  /** Watches the actors of one server of the root, which may be new, changed or gone. */
  #watchActors(
    name: string,
    before: LiveServer | undefined,
    { live, actors }: Pick<RootContext, 'live' | 'actors'>,
  ): void {
    const idsOf = (server: LiveServer | undefined): readonly string[] =>
      server === undefined ? [] : actorsOf(server).map(({ actorId }) => actorId);
    const present = idsOf(live.get(name));
    for (const actorId of idsOf(before)) if (!present.includes(actorId)) this.#unwatch(actorId);
    for (const actorId of present) this.#watchActor(name, actorId, actors.get(actorId));
  }

  #watchActor(name: string, actorId: string, ref: ServerRef | undefined): void {
    if (ref === undefined || this.#watched.get(actorId)?.ref === ref) return;
    this.#unwatch(actorId);
    const subscription = ref.subscribe({
      next: (snapshot) => {
        const { live } = this.#ports.root.getSnapshot().context;
        // The root has just changed this server, and reports its step once all orders are obeyed.
        if (live.get(name) !== this.#seen.live.get(name)) return;
        if (this.#life === 'open' || snapshot.status !== 'done') this.refresh(name);
        // In the same turn, the root forgets it, and it is reported as stopped.
        else if (live.get(name)?.actorId === actorId) this.#ports.onSnapshot(name, ref, snapshot);
      },
      // The root gets the error and reclaims everything.
      error: () => {},
    });
    const marks = firstMarks(this.#ports.clock.wallNow());
    this.#watched.set(actorId, { ref, subscription, marks });
  }

  #unwatch(actorId: string): void {
    this.#watched.get(actorId)?.subscription.unsubscribe();
    this.#watched.delete(actorId);
  }

  #forget(name: string): void {
    if (!this.#views.delete(name)) return;
    this.#offering.delete(name);
    if (serverNamed(this.#ports.book.settings, name) !== undefined)
      this.#restingSinceMs.set(name, this.#ports.clock.wallNow());
  }

  #update(name: string): void {
    const server = this.#ports.root.getSnapshot().context.live.get(name);
    if (server === undefined) return this.#forget(name);
    const desired = this.#ports.book.of(name);
    const actor = this.#actorSeen(server.actorId);
    // A broken chart keeps its last good status until the root replaces it.
    if (desired === undefined || actor === undefined || actor.snapshot.status === 'error') return;
    this.#ports.onSnapshot(name, actor.ref, actor.snapshot);
    this.#restingSinceMs.delete(name);
    const view = this.#viewOf(actor, desired, server);
    this.#views.set(name, view);
    if (isOffering(view)) this.#offering.set(name, view);
    else this.#offering.delete(name);
  }

  /** Returns an actor's snapshot, dated by what differs from the one before. */
  #actorSeen(actorId: string): SeenActor | undefined {
    const watched = this.#watched.get(actorId);
    if (watched === undefined) return undefined;
    const snapshot = watched.ref.getSnapshot();
    if (snapshot.status !== 'error')
      watched.marks = markedBy(snapshot, watched.marks, this.#ports.clock.wallNow());
    return { ref: watched.ref, snapshot, marks: watched.marks };
  }

  #viewOf(actor: SeenActor, desired: DesiredServer, server: LiveServer): ServerView {
    const { offerOf, isOverSse, stepFor } = this.#ports;
    const { context, value } = actor.snapshot;
    const { generation } = context;
    const isShown = value.catalog !== 'none' && server.leaving === false;
    const other = server.beside && this.#actorSeen(server.beside.actorId);
    return viewOf(actor, {
      desired,
      server,
      stepFor,
      lists: this.#lists,
      transport: isOverSse(generation) ? 'sse' : context.transport,
      ...(isShown ? offerOf(desired, generation) : { toolCount: 0 }),
      beside: other === undefined ? {} : besideOf(this.#handoverOf(desired.name), other, desired),
    });
  }

  /** Returns the state of a server's handover; a broken one no longer says which of the two is which. */
  #handoverOf(name: string) {
    const { children } = this.#ports.root.getSnapshot();
    const handover = (children[handoverIdOf(name)] as HandoverRef | undefined)?.getSnapshot();
    return handover?.status === 'active' ? handover.value : undefined;
  }

  /** Reports each change once. A change that a listener causes is reported before the remaining ones. */
  #report(name: string): void {
    const before = this.#reported.get(name);
    const now = this.#views.get(name);
    if (now === before) return;
    if (now === undefined) {
      this.#reported.delete(name);
      const desired = serverNamed(this.#ports.book.settings, name);
      if (desired !== undefined) this.#ports.onChange(this.#restingStatus(desired));
      this.#notify(name);
      return;
    }
    this.#reported.set(name, now);
    const isSameStatus = equalTyped(before?.status, now.status);
    const hasLeft = before?.leaving !== now.leaving;
    if (isSameStatus && !hasLeft && equalTyped(before?.callStatus, now.callStatus)) return;
    if (hasLeft || before?.status.catalog !== now.status.catalog) this.#ports.onToolsMayDiffer();
    if (!isSameStatus) this.#ports.onChange(now.status);
    this.#notify(name);
  }

  #notify(name: string): void {
    this.#changes.emit(`of ${name}`);
    this.#changes.emit('any');
  }

  #restingStatus(desired: DesiredServer): ServerStatus {
    const nowMs = this.#ports.clock.wallNow();
    const lostAtMs = this.#restingSinceMs.get(desired.name);
    return restingStatus(desired, { isEnding: this.#life !== 'open', lostAtMs, nowMs });
  }
}

/** Decisions whose next step names a list. */
const refusingVerdicts: ReadonlySet<Verdict> = new Set(['excluded', 'notAllowed', 'overBudget']);

/** Returns the servers with other settings than before. */
function editedNames(before: Settings | null, now: Settings | null): readonly string[] {
  if (now === before || now === null) return [];
  return now.servers
    .filter((server, place) => server !== before?.servers[place])
    .filter((server) => server !== serverNamed(before, server.name))
    .map(({ name }) => name);
}
