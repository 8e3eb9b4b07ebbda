/**
 * Records what the charts of a troupe do, from XState's inspection events. A ring of small objects stores what
 * happens; they are converted to records on request.
 *
 * It never throws, because an inspector that throws breaks the actor for good. It keeps no reference to an
 * actor, so that actors can be garbage-collected.
 */

import type { AnyActorRef, InspectionEvent } from 'xstate';
import { childrenOf, nameOf } from '../../machines/troupe/context.ts';
import {
  activeStatesIfAny,
  type BuiltInAction,
  builtInAction,
  machineIdOf,
  parentOf,
  scheduledBy,
  transitionsOfStep,
} from '../../machines/xstate/internals.ts';
import { type Clock, longestTimerMs } from '../domain/clock.ts';
import type {
  ActorKey,
  ActorLife,
  InspectionPicture,
  InspectionRecord,
  InspectionSource,
  LoginFacts,
} from '../domain/host/inspection.ts';
import type { ServerStatus, TroupeSnapshot, TroupeStatus } from '../domain/host/status.ts';
import type { Step } from '../domain/plan.ts';
import { version } from '../domain/version.ts';
import { machineHashes, machineKeyOf } from './chart-names.ts';
import type { ActorFile, Seen, Stand } from './observation.ts';
import { Ledger, newStand } from './observation-ring.ts';
import { factsOf } from './recorded-fields.ts';
import { shownStatus } from './shown-value.ts';

/** A few megabytes, and some minutes of a busy troupe. */
const defaultRecordCount = 10_000;

interface RecorderOptions {
  readonly clock: Clock;
  /** Most records to keep. Default: 10,000. */
  readonly records?: number;
  /** Estimated memory that they may take. Default: no limit. */
  readonly maxBytes?: number;
  /** Called once when something could not be recorded. */
  readonly report: (message: string, error: unknown) => void;
}

export class Recorder implements InspectionSource {
  startedAt = '';
  clockStart = 0;
  readonly version = version;
  readonly #clock: Clock;
  readonly #report: RecorderOptions['report'];
  readonly #ledger: Ledger;
  readonly #files = new WeakMap<object, ActorFile>();
  readonly #followers = new Set<() => void>();
  #isWaking = false;
  #hasFailed = false;
  #rootKey: ActorKey | undefined;

  constructor({ clock, records = defaultRecordCount, maxBytes, report }: RecorderOptions) {
    this.#clock = clock;
    this.#ledger = new Ledger(records, maxBytes);
    this.#report = report;
    this.#setStart();
  }

  get machines(): InspectionSource['machines'] {
    return machineHashes();
  }

  get first(): number {
    return this.#ledger.first;
  }

  get last(): number {
    return this.#ledger.last;
  }

  /**
   * Observes a root's whole system, and the logins', from now on; the current state becomes the picture
   * before the first record.
   */
  attach(
    root: AnyActorRef,
    truth: TroupeSnapshot,
    logins: ReadonlyMap<AnyActorRef, LoginFacts> = new Map(),
  ): void {
    this.#setStart();
    this.#rootKey = root.sessionId;
    this.#adopt(root);
    for (const [ref, login] of logins) this.#adopt(ref, login);
    this.#ledger.begin({ ...truth, servers: truth.servers.map(shownStatus) });
    for (const each of [root, ...logins.keys()]) this.#follow(each);
  }

  /** Observes a login, which is a system of its own, and records which servers share it. */
  noteLogin(ref: AnyActorRef, login: LoginFacts): void {
    this.#guarded(() => {
      if (!this.#files.has(ref)) this.#follow(ref);
      const actor = this.#fileOf(ref);
      actor.login = login;
      this.#push({ kind: 'login', t: this.#now(), actor, login });
    });
  }

  noteStatus(status: ServerStatus): void {
    this.#guarded(() =>
      this.#push({ kind: 'status', t: this.#now(), status: shownStatus(status) }),
    );
  }

  /** Records the servers that are no longer present as gone. */
  notePresent(isPresent: (server: string) => boolean): void {
    this.#guarded(() => {
      for (const server of this.#ledger.servers()) {
        if (!isPresent(server)) this.#push({ kind: 'gone', t: this.#now(), server });
      }
    });
  }

  noteReconciled(plan: readonly Step[], durationMs: number, troupe: TroupeStatus): void {
    this.#guarded(() => {
      const steps = plan.filter(({ step }) => step !== 'keep');
      this.#push({ kind: 'reconciled', t: this.#now(), plan: steps, durationMs, troupe });
    });
  }

  picture(at = this.last): InspectionPicture | undefined {
    return this.#ledger.picture(at);
  }

  records(from: number, limit: number): readonly InspectionRecord[] {
    const start = Math.max(from, this.first);
    const count = Math.max(0, Math.min(limit, this.last - start + 1));
    return Array.from({ length: count }, (_, place) => this.#ledger.record(start + place));
  }

  context(actor: ActorKey, at = this.last): Readonly<Record<string, unknown>> | undefined {
    return this.#ledger.context(actor, at);
  }

  follow(onMore: () => void): () => void {
    // The same function may follow twice.
    const follower = (): void => onMore();
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }

  /** Times count from now. */
  #setStart(): void {
    this.clockStart = this.#clock.now();
    this.startedAt = new Date(this.#clock.wallNow()).toISOString();
  }

  #follow(root: AnyActorRef): void {
    root.system.inspect((event) => this.#observe(event));
    // A root that throws has no parent that would report it.
    root.subscribe({ error: () => this.#guarded(() => this.#end(this.#fileOf(root), 'error')) });
  }

  #observe(event: InspectionEvent): void {
    // Not `#guarded`, which would create a closure for each event.
    try {
      this.#note(event);
    } catch (error) {
      this.#fail(error);
    }
  }

  #note(event: InspectionEvent): void {
    // Inspection events of our own system always carry full actor references.
    const actor = this.#fileOf(event.actorRef as AnyActorRef);
    switch (event.type) {
      case '@xstate.event':
        this.#noteEvent(actor, event);
        return;
      case '@xstate.microstep':
        this.#noteStep(actor, event);
        return;
      case '@xstate.snapshot':
        this.#noteSnapshot(actor, event.snapshot);
        return;
      case '@xstate.action':
        this.#noteAction(actor, builtInAction(event.action));
        return;
      case '@xstate.actor':
      default:
    }
  }

  #noteEvent(
    actor: ActorFile,
    { event, sourceRef }: Extract<InspectionEvent, { readonly type: '@xstate.event' }>,
  ): void {
    const { type } = event;
    const from = sourceRef === undefined ? undefined : this.#fileOf(sourceRef as AnyActorRef);
    if (from === actor && actor.timers.size > 0) this.#noteFired(actor, event);
    if (type === 'xstate.init') actor.isStarted = true;
    // A child whose chart threw emits no snapshot of its own.
    if (from !== undefined && type.startsWith('xstate.error.actor.')) this.#end(from, 'error');
    this.#push({ kind: 'event', t: this.#now(), actor, from, type, facts: factsOf(event) });
  }

  #noteStep(
    actor: ActorFile,
    step: Extract<InspectionEvent, { readonly type: '@xstate.microstep' }>,
  ): void {
    const { type } = step.event;
    const transitions = transitionsOfStep(step);
    const [first] = transitions;
    if (first !== undefined) {
      // An `always` transition: the event reported with it did not cause it.
      const cause = first.eventType === '' ? '' : type;
      this.#push({ kind: 'step', t: this.#now(), actor, type: cause, transitions });
    } else if (!type.startsWith('xstate.')) {
      this.#push({ kind: 'ignored', t: this.#now(), actor, type });
    }
  }

  #noteSnapshot(actor: ActorFile, snapshot: unknown): void {
    const stand = standOf(snapshot);
    const { now } = actor;
    if (stand.life !== 'active') this.#end(actor, stand.life, stand);
    else if (now.nodes !== stand.nodes || now.context !== stand.context) this.#enter(actor, stand);
  }

  #noteAction(actor: ActorFile, action: BuiltInAction | undefined): void {
    if (action?.type === 'xstate.raise') {
      this.#noteRaised(actor, action.params);
    } else if (action?.type === 'xstate.cancel') {
      const { sendId: id } = action.params;
      if (actor.timers.delete(id)) this.#noteTimerEnd(actor, id, false);
    } else if (action?.type === 'xstate.stopChild' && action.params !== undefined) {
      // An actor that never started ends without an event.
      const child = this.#fileOf(action.params);
      if (!child.isStarted) this.#end(child, 'stopped');
    }
  }

  #noteRaised(
    actor: ActorFile,
    { event, delay, id = event.type }: Extract<BuiltInAction, { type: 'xstate.raise' }>['params'],
  ): void {
    // Without a delay, one region informs another. The longest delay is how a chart disables a timer.
    if (delay === undefined || delay >= longestTimerMs) return;
    const t = this.#now();
    actor.timers.delete(id);
    actor.timers.set(id, { id, ms: delay, armedAt: t, event });
    this.#push({ kind: 'timer', t, actor, id, ms: delay });
  }

  #noteFired(actor: ActorFile, event: unknown): void {
    for (const [id, timer] of actor.timers) {
      if (timer.event !== event) continue;
      actor.timers.delete(id);
      this.#noteTimerEnd(actor, id, true);
      return;
    }
  }

  #noteTimerEnd(actor: ActorFile, id: string, fired: boolean): void {
    this.#push({ kind: 'timerEnd', t: this.#now(), actor, id, fired });
  }

  #enter(actor: ActorFile, stand: Stand): void {
    const before = actor.now.context;
    actor.now = stand;
    this.#push({ kind: 'state', t: this.#now(), actor, stand, before });
  }

  #end(actor: ActorFile, life: ActorLife, { nodes, context }: Stand = actor.now): void {
    if (actor.now.life !== 'active') return;
    actor.timers.clear();
    this.#enter(actor, { life, nodes, context });
  }

  #fileOf(ref: AnyActorRef): ActorFile {
    const known = this.#files.get(ref);
    if (known !== undefined) return known;
    const actor = this.#open(ref);
    this.#push({ kind: 'actor', t: this.#now(), actor });
    return actor;
  }

  #open(ref: AnyActorRef): ActorFile {
    // Everything read here exists from the start of the actor's constructor.
    const { sessionId: key, id } = ref;
    const parentRef = parentOf(ref);
    const parent = parentRef === undefined ? undefined : this.#fileOf(parentRef);
    // The troupe owns its logins, which XState does not know.
    const parentKey = parent?.key ?? (key === this.#rootKey ? undefined : this.#rootKey);
    const machine = machineKeyOf(machineIdOf(ref));
    const isOfServer = machine === 'server' || machine === 'handover';
    const server = isOfServer ? nameOf(id) : parent?.server;
    const file: ActorFile = {
      key,
      id,
      ...(parentKey === undefined ? {} : { parent: parentKey }),
      ...(machine === undefined ? {} : { machine }),
      ...(server === undefined ? {} : { server }),
      login: undefined,
      now: newStand,
      timers: new Map(),
      isStarted: false,
      base: undefined,
    };
    this.#files.set(ref, file);
    this.#ledger.open(file);
    return file;
  }

  /** Adds an actor that existed before the recorder, with all its descendants. */
  #adopt(ref: AnyActorRef, login?: LoginFacts): void {
    const file = this.#open(ref);
    file.login = login;
    const snapshot = ref.getSnapshot() as LooseSnapshot;
    file.now = standOf(snapshot);
    file.isStarted = true;
    for (const { event, id, delay, startedAt } of scheduledBy(ref)) {
      if (delay >= longestTimerMs) continue;
      const armedAt = Math.min(0, startedAt - this.#clock.wallNow());
      file.timers.set(id, { id, ms: delay, armedAt, event });
    }
    file.base = { stand: file.now, timers: new Map(file.timers), login };
    for (const child of childrenOf(snapshot)) this.#adopt(child);
  }

  #now(): number {
    // Microseconds: more digits would only lengthen journal lines.
    return Math.round((this.#clock.now() - this.clockStart) * 1_000) / 1_000;
  }

  #push(seen: Seen): void {
    this.#ledger.push(seen);
    if (this.#followers.size > 0 && !this.#isWaking) this.#wake();
  }

  /** Notifies followers once for many records, after the current work. */
  #wake(): void {
    this.#isWaking = true;
    setImmediate(() => {
      this.#isWaking = false;
      for (const follower of [...this.#followers]) this.#guarded(follower);
    }).unref();
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    try {
      this.#report('The recorder failed to record something; records are missing.', error);
    } catch {
      // The report itself failed.
    }
  }
}

/** The state of an actor; active states and context only for a chart. */
function standOf(snapshot: unknown): Stand {
  const { status, context } = snapshot as LooseSnapshot;
  return {
    life: status,
    nodes: activeStatesIfAny(snapshot) ?? newStand.nodes,
    context,
  };
}

interface LooseSnapshot {
  readonly status: ActorLife;
  readonly context?: object;
  readonly children?: Readonly<Record<string, AnyActorRef>>;
}
