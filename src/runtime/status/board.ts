/**
 * Holds the current status of every server, derived from the charts' snapshots at each change. The
 * board itself only records the times of changes.
 */

import { EventEmitter } from 'node:events';
import type { ActorRefFrom, SnapshotFrom, Subscription } from 'xstate';
import { actorsOf, type ServerRef } from '../../../machines/troupe/context.ts';
import { handoverIdOf, type handoverMachine } from '../../../machines/troupe/handover.ts';
import type { troupeMachine } from '../../../machines/troupe/troupe.ts';
import type { Clock } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import type { LiveServer } from '../../domain/plan.ts';
import type { Verdict } from '../../domain/server-state.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { serverNamed } from '../../policies/admission/server-place.ts';
import { deepFreeze } from '../../policies/deep-freeze.ts';
import { equalTyped } from '../../policies/equal-typed.ts';
import { GroupedMap } from '../../policies/grouped-map.ts';
import type { DesiredBook } from '../desired/book.ts';
import type { HeldCount, RefusingLists } from './next-step.ts';

import {
  callStatusOf,
  circuitOf,
  conditionOf,
  type ServerSnapshot,
  type Stamps,
  statusOf,
  successorStatusOf,
} from './status-of.ts';

export type RootRef = ActorRefFrom<typeof troupeMachine>;
export type RootSnapshot = SnapshotFrom<typeof troupeMachine>;
export type { ServerRef } from '../../../machines/troupe/context.ts';

type HandoverRef = ActorRefFrom<typeof handoverMachine>;

/** A server's status and the facts that calls need. */
export interface ServerView {
  readonly status: ServerStatus;
  /** The status that the gate uses: for a closing server, the state in which it will rest. */
  readonly callStatus: ServerStatus;
  readonly actorId: string;
  readonly ref: ServerRef;
  readonly session: number;
  /**
   * When an open circuit will be probed, or a probe's result is due, as wall time in milliseconds;
   * 0 if it is closed.
   */
  readonly circuitUntilMs: number;
  /** Whether the circuit currently counts failed calls, so that a success must be reported. */
  readonly countsFailures: boolean;
  /** Whether the server is leaving: it takes no calls and shows no tools. */
  readonly leaving: boolean;
}

/** A server whose lists are shown. */
export interface OfferingView extends ServerView {
  readonly status: ServerStatus & { readonly catalog: Exclude<ServerStatus['catalog'], 'none'> };
}

export interface StatusBoardPorts {
  readonly root: RootRef;
  readonly clock: Clock;
  readonly book: DesiredBook;
  /** Returns the number of the server's shown tools, for a catalog that is not `none`. */
  readonly toolCountOf: (desired: DesiredServer, generation: string) => number;
  /** Describes which of the server's tools are withheld or shown cut, for such a catalog. */
  readonly toolNotesOf: (desired: DesiredServer, generation: string) => readonly string[];
  /** Returns the number of the server's withheld definitions. */
  readonly heldCountOf: (desired: DesiredServer) => HeldCount;
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
  /** The last values of the dated parts of statuses, each with its wall time in milliseconds. */
  readonly marks: Record<'condition' | 'wait' | 'circuit', Mark>;
}

interface Mark {
  readonly value: string;
  readonly sinceMs: number;
}

export class StatusBoard {
  readonly #ports: StatusBoardPorts;
  readonly #watched = new Map<string, Watched>();
  readonly #views = new Map<string, ServerView>();
  readonly #offering = new Map<string, OfferingView>();
  /** Emits `of NAME` at each change of that server, and `any` at each change of any server. */
  readonly #changes = new EventEmitter().setMaxListeners(0);
  /** When servers lost their chart, because it threw or the troupe ended. */
  readonly #restingSinceMs = new Map<string, number>();
  /** The last reported view of servers whose new view is not reported yet. */
  readonly #unreported = new Map<string, ServerView | undefined>();
  /** Servers that changed while the root had newer settings or servers than this board. */
  readonly #postponed = new Set<string>();
  #isEnding = false;
  #isClosed = false;
  #live: RootSnapshot['context']['live'] | undefined;
  #settings: RootSnapshot['context']['settings'] = null;
  #lists: RefusingLists = { hostAllowed: null };

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

  /** Whether every server is shown as stopped, and nothing will change any more. */
  get isClosed(): boolean {
    return this.#isClosed;
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
    const unseen = (this.#settings?.servers ?? [])
      .filter(({ name }) => !this.#views.has(name))
      .map((desired) => this.#restingStatus(desired));
    return [...seen, ...unseen].sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  status(name: string): ServerStatus | undefined {
    const view = this.#views.get(name);
    if (view !== undefined) return view.status;
    const desired = serverNamed(this.#settings, name);
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

  /** Updates one server whose questions, inputs or withheld tools changed. */
  refresh(name: string): void {
    const actorId = this.#live?.get(name)?.actorId;
    if (actorId !== undefined) this.#updateAndReport(name, actorId);
  }

  /** Shows every server as stopped, and notifies every watcher for the last time. */
  close(): void {
    this.#isEnding = true;
    for (const actorId of [...this.#watched.keys()]) this.#unwatch(actorId);
    for (const name of [...this.#views.keys()]) this.#forget(name);
    for (const name of [...this.#unreported.keys()]) this.#report(name);
    this.#ports.onToolsMayDiffer();
    this.#isClosed = true;
    for (const change of this.#changes.eventNames()) this.#changes.emit(change);
  }

  #followRoot(snapshot: RootSnapshot): void {
    const { live, settings, hostAllowed } = snapshot.context;
    this.#isEnding ||= snapshot.value === 'stopping' || snapshot.value === 'stopped';
    if (
      live === this.#live &&
      settings === this.#settings &&
      hostAllowed === this.#lists.hostAllowed
    )
      return;
    const before = this.#live ?? GroupedMap.of();
    this.#live = live;
    // Usually one of thousands of servers was added or removed, and the others are unchanged.
    const changed = new Set([...live.changesSince(before), ...this.#postponed]);
    this.#postponed.clear();
    const mayRefuse = settings !== this.#settings || hostAllowed !== this.#lists.hostAllowed;
    for (const name of this.#followSettings(settings)) changed.add(name);
    if (mayRefuse && this.#followLists(snapshot.context))
      for (const [name, { verdict }] of live) if (refusingVerdicts.has(verdict)) changed.add(name);
    for (const name of changed) this.#follow(name, before.get(name), live.get(name), snapshot);
    // Only now, because a listener for one server may ask for all of them.
    for (const name of [...this.#unreported.keys()]) this.#report(name);
    this.#ports.onToolsMayDiffer();
  }

  /**
   * Returns whether the root has a newer snapshot that it has not reported yet. Servers get a
   * pass's orders before the root reports it; until then, statuses would use outdated settings and
   * roles.
   */
  #isBehind(): boolean {
    const { live, settings } = this.#ports.root.getSnapshot().context;
    return live !== this.#live || settings !== this.#settings;
  }

  /** Follows one server of the root, which may be new, changed or gone. */
  #follow(
    name: string,
    before: LiveServer | undefined,
    now: LiveServer | undefined,
    { context }: RootSnapshot,
  ): void {
    if (before !== undefined && before !== now) this.#unwatchOthers(before, now);
    if (now === undefined) {
      if (this.#views.has(name)) this.#forget(name);
      return;
    }
    for (const { actorId } of actorsOf(now))
      this.#watchActor(name, actorId, context.actors.get(actorId));
    this.#update(name, now.actorId);
  }

  /** Returns the servers whose views show other settings than the new ones. */
  #followSettings(settings: RootSnapshot['context']['settings']): readonly string[] {
    const before = this.#settings;
    if (settings === before) return [];
    this.#settings = settings;
    return (settings?.servers ?? [])
      .filter((server, place) => server !== before?.servers[place])
      .filter((server) => server !== serverNamed(before, server.name))
      .map(({ name }) => name);
  }

  /** Returns true if lists that may refuse a server, or their sources, changed. */
  #followLists({ settings, launchBound, hostAllowed }: RootSnapshot['context']): boolean {
    const { limits, budget } = settings ?? {};
    const lists: RefusingLists = {
      hostAllowed,
      ...defined({ launchBound: launchBound ?? undefined, limits, budget }),
    };
    if (equalTyped(lists, this.#lists)) return false;
    this.#lists = lists;
    return true;
  }

  #watchActor(name: string, actorId: string, ref: ServerRef | undefined): void {
    if (ref === undefined || this.#watched.get(actorId)?.ref === ref) return;
    this.#unwatch(actorId);
    const nowMs = this.#ports.clock.wallNow();
    this.#watched.set(actorId, {
      ref,
      subscription: ref.subscribe({
        next: (snapshot) => {
          const present = this.#live?.get(name)?.actorId ?? actorId;
          // In the same turn, the root forgets it, and it is reported as stopped.
          if (this.#isEnding && snapshot.status === 'done') {
            if (present === actorId) this.#ports.onSnapshot(name, ref, snapshot);
          } else if (this.#isBehind()) this.#postponed.add(name);
          else this.#updateAndReport(name, present);
        },
        // The root gets the error and reclaims everything.
        error: () => {},
      }),
      marks: {
        condition: { value: 'queued undefined', sinceMs: nowMs },
        wait: { value: '', sinceMs: nowMs },
        circuit: { value: 'closed', sinceMs: nowMs },
      },
    });
  }

  #unwatchOthers(before: LiveServer, now: LiveServer | undefined): void {
    const present = now === undefined ? [] : actorsOf(now).map(({ actorId }) => actorId);
    for (const { actorId } of actorsOf(before))
      if (!present.includes(actorId)) this.#unwatch(actorId);
  }

  #unwatch(actorId: string): void {
    this.#watched.get(actorId)?.subscription.unsubscribe();
    this.#watched.delete(actorId);
  }

  #forget(name: string): void {
    this.#noteUnreported(name);
    this.#views.delete(name);
    this.#offering.delete(name);
    if (serverNamed(this.#settings, name) !== undefined)
      this.#restingSinceMs.set(name, this.#ports.clock.wallNow());
  }

  #updateAndReport(name: string, actorId: string): void {
    this.#update(name, actorId);
    this.#report(name);
  }

  #update(name: string, actorId: string): void {
    const watched = this.#watched.get(actorId);
    const desired = this.#ports.book.of(name);
    const server = this.#live?.get(name);
    if (watched === undefined || desired === undefined || server?.actorId !== actorId) return;
    const snapshot = watched.ref.getSnapshot();
    // A broken chart keeps its last good status until the root replaces it.
    if (snapshot.status === 'error') return;
    this.#stamp(watched, snapshot);
    this.#ports.onSnapshot(name, watched.ref, snapshot);
    this.#noteUnreported(name);
    this.#restingSinceMs.delete(name);
    const view = this.#viewOf(watched, snapshot, desired, server);
    this.#views.set(name, view);
    if (isOffering(view)) this.#offering.set(name, view);
    else this.#offering.delete(name);
  }

  #viewOf(
    { ref, marks }: Watched,
    snapshot: ServerSnapshot,
    desired: DesiredServer,
    server: LiveServer,
  ): ServerView {
    const { actorId } = server;
    const leaving = server.leaving !== false;
    const { context, value } = snapshot;
    const isShown = value.catalog !== 'none' && !leaving;
    const count = isShown ? this.#ports.toolCountOf(desired, context.generation) : 0;
    const heldCount = isShown ? this.#ports.heldCountOf(desired) : undefined;
    const transport = this.#ports.isOverSse(context.generation) ? 'sse' : context.transport;
    const toolNotes = isShown ? this.#ports.toolNotesOf(desired, context.generation) : [];
    const more = { transport, lists: this.#lists, heldCount, toolNotes };
    const seen = statusOf(snapshot, desired, stampsOf(marks), count, more);
    const action = seen.action ?? this.#ports.stepFor(seen);
    const beside = this.#besideOf(server, desired);
    const status = deepFreeze({ ...seen, ...defined({ action }), ...beside });
    return {
      status,
      callStatus: callStatusOf(status, snapshot, desired, this.#lists),
      actorId,
      ref,
      session: context.session,
      circuitUntilMs: circuitUntil(value.circuit, marks.circuit.sinceMs, context),
      countsFailures: context.circuit.failedCalls > 0 || value.circuit !== 'closed',
      leaving,
    };
  }

  /** Returns status fields for the other generation during a handover. */
  #besideOf(
    { beside }: LiveServer,
    desired: DesiredServer,
  ): Pick<ServerStatus, 'successor' | 'predecessor'> {
    const other = beside && this.#watched.get(beside.actorId);
    if (other === undefined) return {};
    const { children } = this.#ports.root.getSnapshot();
    const ref = children[handoverIdOf(desired.name)] as HandoverRef | undefined;
    const handover = ref?.getSnapshot();
    const snapshot = other.ref.getSnapshot();
    // A broken handover no longer says which of the two it is.
    switch (handover?.status === 'active' ? handover.value : undefined) {
      case 'succeeding':
        this.#stamp(other, snapshot);
        return { successor: successorStatusOf(snapshot, desired, stampsOf(other.marks)) };
      case 'relieving': {
        const { generation, peer } = snapshot.context;
        const { pid } = peer;
        return { predecessor: { generation, ...(pid === null ? {} : { pid }) } };
      }
      default:
        return {};
    }
  }

  #noteUnreported(name: string): void {
    if (!this.#unreported.has(name)) this.#unreported.set(name, this.#views.get(name));
  }

  /** Reports each change once. A change that a listener causes is reported before the remaining ones. */
  #report(name: string): void {
    if (!this.#unreported.has(name)) return;
    const before = this.#unreported.get(name);
    this.#unreported.delete(name);
    const now = this.#views.get(name);
    if (now === undefined) {
      const desired = serverNamed(this.#settings, name);
      if (desired !== undefined) this.#ports.onChange(this.#restingStatus(desired));
      this.#notify(name);
      return;
    }
    const isSameStatus = equalTyped(before?.status, now.status);
    const hasLeft = before?.leaving !== now.leaving;
    if (isSameStatus && !hasLeft && equalTyped(before?.callStatus, now.callStatus)) return;
    if (hasLeft || before?.status.catalog !== now.status.catalog) this.#ports.onToolsMayDiffer();
    if (!isSameStatus) this.#ports.onChange(now.status);
    this.#notify(name);
  }

  #stamp({ marks }: Watched, snapshot: ServerSnapshot): void {
    const nowMs = this.#ports.clock.wallNow();
    const { state, reason } = conditionOf(snapshot);
    const { session, delayMs } = snapshot.context;
    const present = {
      condition: `${state} ${reason}`,
      wait: state === 'backingOff' ? `${session} ${delayMs}` : '',
      circuit: circuitOf(snapshot),
    };
    for (const key of ['condition', 'wait', 'circuit'] as const)
      if (marks[key].value !== present[key]) marks[key] = { value: present[key], sinceMs: nowMs };
  }

  #notify(name: string): void {
    this.#changes.emit(`of ${name}`);
    this.#changes.emit('any');
  }

  /** Returns the status of a server that currently has no chart. */
  #restingStatus(desired: DesiredServer): ServerStatus {
    const lostAtMs = this.#restingSinceMs.get(desired.name);
    const unseenCondition = lostAtMs === undefined ? newCondition : brokenCondition;
    return {
      name: desired.name,
      ...(this.#isEnding ? { state: 'stopped' } : unseenCondition),
      catalog: 'none',
      circuit: 'closed',
      since: new Date(lostAtMs ?? this.#ports.clock.wallNow()).toISOString(),
      generation: desired.generation,
      restarts: 0,
      tools: 0,
      transport: desired.transport,
      source: desired.source,
    };
  }
}

function isOffering(view: ServerView): view is OfferingView {
  return !view.leaving && view.status.catalog !== 'none';
}

/** Decisions whose next step names a list. */
const refusingVerdicts: ReadonlySet<Verdict> = new Set(['excluded', 'notAllowed', 'overBudget']);

function stampsOf({ condition, wait }: Watched['marks']): Stamps {
  return { sinceMs: condition.sinceMs, waitingSinceMs: wait.sinceMs };
}

function circuitUntil(
  circuit: ServerSnapshot['value']['circuit'],
  sinceMs: number,
  { circuit: { cooldownMs }, policy }: ServerSnapshot['context'],
): number {
  if (circuit === 'open') return sinceMs + cooldownMs;
  return circuit === 'halfOpen' ? sinceMs + policy.breaker.probeTimeoutMs : 0;
}

// The next pass creates the chart and decides about admission.
const newCondition = { state: 'queued' } as const satisfies Partial<ServerStatus>;

// The chart threw, which is our bug; the root replaces it within a second.
const brokenCondition = {
  state: 'backingOff',
  reason: 'retrying',
  lastError: {
    code: 'INTERNAL',
    kind: 'unknown',
    message: 'The chart of this server broke; it is being replaced. Please report it.',
  },
} as const satisfies Partial<ServerStatus>;
