import type { AnyActorRef, AnyEventObject, InspectionEvent } from 'xstate';
import {
  activeStatesIfAny,
  builtInAction,
  parentOf,
  transitionsOfStep,
} from '../../machines/xstate-internals.ts';
import type { Clock } from '../domain/clock.ts';
import { childrenOf } from './chart-parts.ts';

/** Options of a {@link Trace}. */
export interface TraceOptions {
  /** Puts the time in milliseconds before each line at which it changed. */
  readonly clock?: Pick<Clock, 'now'>;
  /**
   * Returns text to add after an event's type. Default none: events may carry secrets, and a golden
   * file that shows every field changes with every field.
   */
  readonly describe?: (event: AnyEventObject) => string;
  /**
   * Picks values of an actor's context. A line shows those that changed with it,
   * and the first line of an actor all of them. Default none, for the same reasons.
   */
  readonly describeContext?: (
    context: Readonly<Record<string, unknown>>,
  ) => Readonly<Record<string, unknown>>;
  /**
   * Says which actors are details, by their names. The story leaves out their starts, their ends
   * and what they receive from outside; events that they and other actors exchange stay. Default
   * none.
   */
  readonly isQuiet?: (actor: string) => boolean;
  /** Most lines to keep; the later ones are only counted. Default 100,000. */
  readonly limit?: number;
}

/** A readable story of a running actor system. */
export interface Trace {
  /** Give this to `createActor` as `inspect`. It never throws: a throwing inspector would break the actor for good. */
  readonly inspect: (event: InspectionEvent) => void;
  /** Adds a line of the test's own, for example `# the server crashes`. */
  note(text: string): void;
  /** Forgets the lines so far. */
  clear(): void;
  /** The story so far, with a newline at its end. */
  toString(): string;
}

// A story that a person compares has hundreds of lines; this only keeps a runaway
// test from filling the memory.
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
 * A line reports an event sent, leaf states entered and values changed, an actor
 * started, stopped, done or failed, an event without an answer, or an event
 * emitted. Actors are named by their ids, below the first level with their
 * parents: `db/session`.
 */
export function recordTrace(options: TraceOptions = {}): Trace {
  const story = new Story(options);
  const { describe = () => '', describeContext = () => ({}), isQuiet = () => false } = options;
  const actors = new WeakMap<object, ActorTrace>();
  const actorOf = (ref: AnyActorRef): ActorTrace => {
    const known = actors.get(ref);
    if (known !== undefined) return known;
    const name = nameOf(ref);
    const made = { name, isQuiet: isQuiet(name), snapshot: undefined, values: {} };
    actors.set(ref, made);
    return made;
  };

  const inspect = (event: InspectionEvent): void => {
    try {
      tell(event, story, actorOf, { describe, describeContext });
    } catch (error) {
      story.add(`(the trace failed: ${String(error)})`);
    }
  };
  return {
    inspect,
    note: (text) => story.add(text),
    clear: () => story.clear(),
    toString: () => story.text(),
  };
}

interface ActorTrace {
  readonly name: string;
  readonly isQuiet: boolean;
  snapshot: unknown;
  values: Readonly<Record<string, unknown>>;
}

type ActorOf = (ref: AnyActorRef) => ActorTrace;

function tell(
  inspected: InspectionEvent,
  story: Story,
  actorOf: ActorOf,
  { describe, describeContext }: Required<Pick<TraceOptions, 'describe' | 'describeContext'>>,
): void {
  // Only actors of our own system are inspected, whose references are full ones.
  const ref = inspected.actorRef as AnyActorRef;
  const actor = actorOf(ref);
  const { name } = actor;
  const enter = (snapshot: unknown): void => {
    const leaves = enteredLeaves(actor.snapshot, snapshot).join(' + ');
    const values = describeContext(contextOf(snapshot));
    const changes = changesOf(actor.values, values);
    actor.snapshot = snapshot;
    actor.values = values;
    const news = [leaves, changes === '' ? '' : `(${changes})`].filter((part) => part !== '');
    if (news.length > 0) story.add(`${name}: ${news.join(' ')}`);
  };

  switch (inspected.type) {
    case '@xstate.event': {
      const { event, sourceRef } = inspected;
      const source = sourceRef === undefined ? undefined : actorOf(sourceRef as AnyActorRef);
      if (!isDetail(event, source, actor)) {
        const line = deliveryLine(event, nameOrHost(source), name);
        story.add(line + (event.type.startsWith('xstate.') ? '' : wordsBehind(describe(event))));
      }
      if (event.type === 'xstate.init') enter(ref.getSnapshot());
      return;
    }
    case '@xstate.microstep': {
      // Before an actor starts it has computed its first state; its story begins with the start.
      if (actor.snapshot === undefined) return;
      const isUnanswered = transitionsOfStep(inspected).length === 0;
      if (isUnanswered && !inspected.event.type.startsWith('xstate.')) {
        story.add(`${name} ignores ${inspected.event.type}`);
      }
      enter(inspected.snapshot);
      return;
    }
    case '@xstate.snapshot': {
      if (actor.isQuiet) return;
      if (inspected.event.type === 'xstate.stop') story.add(`${name} is stopped`);
      else if (isRootDone(ref, inspected.snapshot)) story.add(`${name} is done`);
      return;
    }
    case '@xstate.action': {
      const action = builtInAction(inspected.action);
      if (action?.type === 'xstate.emit') story.add(`${name} emits ${action.params.event.type}`);
      return;
    }
    default:
  }
}

function nameOrHost(source: ActorTrace | undefined): string {
  return source === undefined ? 'host' : source.name;
}

function isDetail(
  { type }: AnyEventObject,
  source: ActorTrace | undefined,
  target: ActorTrace,
): boolean {
  if (type.startsWith('xstate.done.')) return source?.isQuiet === true;
  return target.isQuiet && (source === undefined || source === target || type === 'xstate.init');
}

function contextOf(snapshot: unknown): Readonly<Record<string, unknown>> {
  if (typeof snapshot !== 'object' || snapshot === null || !('context' in snapshot)) return {};
  const { context } = snapshot;
  return typeof context === 'object' && context !== null ? { ...context } : {};
}

function changesOf(
  before: Readonly<Record<string, unknown>>,
  now: Readonly<Record<string, unknown>>,
): string {
  return Object.entries(now)
    .filter(([name, value]) => !(name in before) || before[name] !== value)
    .map(([name, value]) => `${name} ${String(value)}`)
    .join(', ');
}

/** Dotted paths of the leaf states that are in the second snapshot but not in the first; none for other actors. */
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
  if (kind === 'error.actor') return `${source} failed: ${messageOf(event['error'])}`;
  if (kind === 'promise') return `${target}: its promise was settled (${rest})`;
  if (source === target) return `${target}: after a delay, ${event.type}`;
  return `${source} -> ${target}: ${event.type}`;
}

function wordsBehind(words: string): string {
  return words === '' ? '' : ` ${words}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

// A child notifies its parent by an event; the root has no parent.
function isRootDone(ref: AnyActorRef, snapshot: { readonly status?: unknown }): boolean {
  return parentOf(ref) === undefined && snapshot.status === 'done';
}

function nameOf(ref: AnyActorRef): string {
  const parent = parentOf(ref);
  const own = isGeneratedId(ref.id) ? sourceName(ref) : ref.id;
  return parent === undefined || parentOf(parent) === undefined ? own : `${nameOf(parent)}/${own}`;
}

// XState numbers nameless actors through the whole process, so their ids differ from run to run.
function isGeneratedId(id: string): boolean {
  return /^x:\d+$/.test(id);
}

function sourceName(ref: AnyActorRef): string {
  if (typeof ref.src === 'string') return ref.src;
  return 'id' in ref.src && typeof ref.src.id === 'string' ? ref.src.id : 'root';
}

class Story {
  readonly #options: TraceOptions;
  readonly #lines: string[] = [];
  #droppedCount = 0;
  #lastTime: number | undefined;

  constructor(options: TraceOptions) {
    this.#options = options;
  }

  add(line: string): void {
    if (this.#lines.length >= (this.#options.limit ?? defaultLimitCount)) {
      this.#droppedCount += 1;
      return;
    }
    this.#lines.push(this.#time() + line);
  }

  clear(): void {
    this.#lines.length = 0;
    this.#droppedCount = 0;
    this.#lastTime = undefined;
  }

  text(): string {
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
}
