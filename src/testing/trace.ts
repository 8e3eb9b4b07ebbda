import type { AnyActorRef, AnyEventObject, InspectionEvent } from 'xstate';
import {
  activeStatesIfAny,
  builtInAction,
  parentOf,
  transitionsOfStep,
} from '../../machines/xstate/internals.ts';
import type { Clock } from '../domain/clock.ts';
import { isRecord } from '../domain/data/is-record.ts';
import { childrenOf } from './chart-parts.ts';

/** Options of a {@link Trace}. */
export interface TraceOptions {
  /** Puts the time in milliseconds before each line at which it changed. */
  readonly clock?: Pick<Clock, 'now'>;
  /**
   * Returns text to add after an event's type. Default: none, because events may carry secrets, and
   * a golden file that shows every field changes with every field.
   */
  readonly describe?: (event: AnyEventObject) => string;
  /**
   * Picks values from an actor's context. An actor's first line shows all of them, each later line
   * those that changed. Default: none, for the same reasons.
   */
  readonly describeContext?: (
    context: Readonly<Record<string, unknown>>,
  ) => Readonly<Record<string, unknown>>;
  /**
   * Returns whether an actor, by its name, is a detail. The story leaves out its start, its end and
   * events from outside; events that it exchanges with other actors stay. Default: none is.
   */
  readonly isQuiet?: (actor: string) => boolean;
  /** Most lines to keep; later lines are only counted. Default 100,000. */
  readonly limit?: number;
}

/** A readable story of a running actor system. */
export interface Trace {
  /** Pass this to `createActor` as `inspect`. It never throws, because that would break the actor permanently. */
  readonly inspect: (event: InspectionEvent) => void;
  /** Adds a line of your own, such as `# the server crashes`. */
  note(text: string): void;
  /** Removes all lines so far. */
  clear(): void;
  /** Returns the story so far, with a newline at its end. */
  toString(): string;
}

// A story that a user compares has hundreds of lines; this only stops a runaway test from
// filling the memory.
const defaultLimitCount = 100_000;

const timeColumns = 9;

/**
 * Records what happens between the actors of one system, one line each.
 *
 * ```text
 *      0 ms  host -> db: server.demanded
 *            db: connection.engaged.connecting (attempt 1)
 *            db starts session
 *            db -> session: session.open
 *  5,000 ms  db: after connectTimeout
 * ```
 *
 * A line reports an event, the leaf states that an actor entered and the values that changed, the
 * start, stop, end or failure of an actor, an event that no state handles, or an emitted event.
 * Actors are named by their ids, below the first level with their parents' ids: `db/session`.
 */
export function recordTrace(options: TraceOptions = {}): Trace {
  return new Recorder(options);
}

interface TracedActor {
  readonly name: string;
  readonly isQuiet: boolean;
  snapshot: unknown;
  values: Readonly<Record<string, unknown>>;
}

class Recorder implements Trace {
  readonly #options: TraceOptions;
  readonly #actors = new WeakMap<object, TracedActor>();
  readonly #lines: string[] = [];
  #droppedCount = 0;
  #lastTime: number | undefined;

  constructor(options: TraceOptions) {
    this.#options = options;
  }

  // A property, because XState calls it without its object.
  readonly inspect = (event: InspectionEvent): void => {
    try {
      this.#record(event);
    } catch (error) {
      this.note(`(the trace failed: ${String(error)})`);
    }
  };

  note(line: string): void {
    if (this.#lines.length < (this.#options.limit ?? defaultLimitCount))
      this.#lines.push(this.#time() + line);
    else this.#droppedCount += 1;
  }

  clear(): void {
    this.#lines.length = 0;
    this.#droppedCount = 0;
    this.#lastTime = undefined;
  }

  toString(): string {
    const dropped = this.#droppedCount === 0 ? [] : [`(and ${this.#droppedCount} lines more)`];
    return [...this.#lines, ...dropped, ''].join('\n');
  }

  #time(): string {
    const now = this.#options.clock?.now();
    if (now === undefined) return '';
    const text = now === this.#lastTime ? '' : `${now.toLocaleString('en-US')} ms`;
    this.#lastTime = now;
    return `${text.padStart(timeColumns)}  `;
  }

  #actorOf(ref: AnyActorRef): TracedActor {
    const known = this.#actors.get(ref);
    if (known !== undefined) return known;
    const name = nameOf(ref);
    const isQuiet = this.#options.isQuiet?.(name) ?? false;
    const actor = { name, isQuiet, snapshot: undefined, values: {} };
    this.#actors.set(ref, actor);
    return actor;
  }

  #record(inspected: InspectionEvent): void {
    // Only actors of our own system are inspected, and their references are complete.
    const ref = inspected.actorRef as AnyActorRef;
    const actor = this.#actorOf(ref);
    const { name } = actor;
    switch (inspected.type) {
      case '@xstate.event':
        this.#noteDelivery(inspected, actor);
        if (inspected.event.type === 'xstate.init') this.#enter(actor, ref.getSnapshot());
        return;
      case '@xstate.microstep': {
        // An actor computes its first state before it starts; its story begins with the start.
        if (actor.snapshot === undefined) return;
        const { event, snapshot } = inspected;
        const isIgnored = transitionsOfStep(inspected).length === 0;
        if (isIgnored && !event.type.startsWith('xstate.'))
          this.note(`${name} ignores ${event.type}`);
        this.#enter(actor, snapshot);
        return;
      }
      case '@xstate.snapshot': {
        if (actor.isQuiet) return;
        if (inspected.event.type === 'xstate.stop') this.note(`${name} is stopped`);
        // A child notifies its parent by an event; the root has no parent.
        else if (parentOf(ref) === undefined && inspected.snapshot.status === 'done')
          this.note(`${name} is done`);
        return;
      }
      case '@xstate.action': {
        const action = builtInAction(inspected.action);
        if (action?.type === 'xstate.emit') this.note(`${name} emits ${action.params.event.type}`);
        return;
      }
      default:
    }
  }

  #noteDelivery(
    { event, sourceRef }: Extract<InspectionEvent, { readonly type: '@xstate.event' }>,
    target: TracedActor,
  ): void {
    const source = sourceRef === undefined ? undefined : this.#actorOf(sourceRef as AnyActorRef);
    if (isDetail(event, source, target)) return;
    const line = deliveryLine(event, source?.name ?? 'host', target.name);
    const details = event.type.startsWith('xstate.') ? '' : this.#options.describe?.(event);
    this.note([line, details].filter(Boolean).join(' '));
  }

  /** Writes the leaf states that an actor entered, and the values of its context that changed. */
  #enter(actor: TracedActor, snapshot: unknown): void {
    const context = isRecord(snapshot) && isRecord(snapshot['context']) ? snapshot['context'] : {};
    const values = this.#options.describeContext?.(context) ?? {};
    const changes = Object.entries(values)
      .filter(([field, value]) => !(field in actor.values) || actor.values[field] !== value)
      .map(([field, value]) => `${field} ${String(value)}`)
      .join(', ');
    const leaves = enteredLeaves(actor.snapshot, snapshot).join(' + ');
    Object.assign(actor, { snapshot, values });
    const news = [leaves, changes === '' ? '' : `(${changes})`].filter(Boolean);
    if (news.length > 0) this.note(`${actor.name}: ${news.join(' ')}`);
  }
}

function isDetail(
  { type }: AnyEventObject,
  source: TracedActor | undefined,
  target: TracedActor,
): boolean {
  if (type.startsWith('xstate.done.')) return source?.isQuiet === true;
  return target.isQuiet && (source === undefined || source === target || type === 'xstate.init');
}

/** Dotted paths of the leaf states in the second snapshot that the first lacks; none for actors without a chart. */
function enteredLeaves(before: unknown, after: unknown): readonly string[] {
  const known = new Set(activeStatesIfAny(before));
  return (activeStatesIfAny(after) ?? [])
    .filter((state) => childrenOf(state).length === 0 && state.path.length > 0)
    .filter((state) => !known.has(state))
    .toSorted((one, other) => one.order - other.order)
    .map((state) => state.path.join('.'));
}

function deliveryLine(event: AnyEventObject, source: string, target: string): string {
  const [, kind, rest = ''] =
    /^xstate\.(init|after|done\.actor|error\.actor|promise)\b\.?(.*)$/.exec(event.type) ?? [];
  if (kind === 'init') return source === 'host' ? `${target} starts` : `${source} starts ${target}`;
  if (kind === 'after') return `${target}: after ${rest.split('.')[0]}`;
  if (kind === 'done.actor') return `${source} is done`;
  if (kind === 'error.actor') {
    const { error } = event;
    return `${source} failed: ${error instanceof Error ? error.message : String(error)}`;
  }
  if (kind === 'promise') return `${target}: its promise was settled (${rest})`;
  if (source === target) return `${target}: after a delay, ${event.type}`;
  return `${source} -> ${target}: ${event.type}`;
}

function nameOf(ref: AnyActorRef): string {
  const parent = parentOf(ref);
  // XState numbers unnamed actors across the whole process, so their ids differ from run to run.
  const own = /^x:\d+$/.test(ref.id) ? sourceName(ref) : ref.id;
  return parent === undefined || parentOf(parent) === undefined ? own : `${nameOf(parent)}/${own}`;
}

function sourceName({ src }: AnyActorRef): string {
  if (typeof src === 'string') return src;
  return 'id' in src && typeof src.id === 'string' ? src.id : 'root';
}
