/**
 * Finds the shortest way from a recorded moment of a server to a state, by a search through the real chart. It
 * tries events that a test can repeat first, then all others.
 */

import { setImmediate } from 'node:timers/promises';
import type { AnyStateNode } from 'xstate';
import { serverMachine } from '../../machines/server/server.ts';
import { activeStates } from '../../machines/xstate/internals.ts';
import { defined } from '../../src/domain/data/defined.ts';
import { isRecord } from '../../src/domain/data/is-record.ts';
import type {
  InspectionRecord,
  InspectionSource,
  WayStep,
  WayView,
} from '../../src/domain/host/inspection.ts';
import type { ServerStatus } from '../../src/domain/host/status.ts';
import { blockedReasons } from '../../src/domain/server-state.ts';
import { argumentsError } from '../../src/domain/user-errors.ts';
import { leavesOf } from '../../src/recorder/chart-names.ts';
import { answeredEvents } from '../../src/runtime/status/server-chart.ts';
import {
  catalogOf,
  circuitOf,
  conditionOf,
  type ServerSnapshot,
} from '../../src/runtime/status/status-of.ts';
import { forkAt, type ServerFork } from './fork.ts';
import { isOutside } from './fork-events.ts';
import { hasStep, isAutomatic, modelTestOf } from './model-test.ts';

type Event = Readonly<Record<string, unknown>> & { readonly type: string };

/** Which events a search tries: what happens by itself, commands of a user too, or all. */
type Range = 'happening' | 'scripted' | 'all';

// A way by what happens comes before one by commands, and that before one that no test can repeat. The
// small limits find short ways at once; the large ones take some seconds.
const searches: readonly (readonly [Range, number])[] = [
  ['happening', 2_500],
  ['scripted', 500],
  ['all', 500],
  ['scripted', 5_000],
  ['all', 5_000],
];
// A search delays the troupe's own work by this much.
const sliceMs = 8;
// Longer timers are disabled deadlines; a day is longer than any wait of a policy.
const longestWaitMs = 86_400_000;

/**
 * `POST /api/way`: finds the way from the moment after a record to a state.
 * @throws TroupeError `INVALID_ARGUMENTS` for an unknown state, or as {@link forkAt}
 */
export async function wayTo(
  source: InspectionSource,
  body: unknown,
  signal: AbortSignal,
  limits = searches,
): Promise<WayView> {
  const { actor, at, to } = isRecord(body) ? body : {};
  const start = forkAt(source, 'way', { actor, at });
  const from = Number(at);
  const key = String(actor);
  if (typeof to !== 'string' || !isState(to))
    throw argumentsError(
      `the server's chart has no state ${String(to).slice(0, 100)}; send {"actor": "x:4", "at": 120, "to": "connection.parked.failed"}`,
    );
  const preferred = recommendedEvent(source, start);
  let visited = 0;
  let isCut = false;
  for (const [range, limit] of limits) {
    const search = new WaySearch(to, range, limit, preferred);
    const end = await search.run(start, signal);
    visited = Math.max(visited, search.visited);
    ({ isCut } = search);
    const common = { actor: key, from, to, visited, isCut };
    if (end !== undefined) return { ...common, ...wayOf(source, start, end, range) };
  }
  return { actor: key, from, to, visited, isCut, unrepeatable: [] };
}

function wayOf(
  source: InspectionSource,
  start: ServerFork,
  end: ServerFork,
  range: Range,
): Pick<WayView, 'steps' | 'test' | 'unrepeatable'> {
  const { actor, from, t } = start.view();
  const steps = stepsIn(end.records, actor, t);
  const unrepeatable = steps
    .map(({ type }) => type)
    .filter((type) => !hasStep(type) && !isAutomatic(type));
  // Otherwise, it is an end of a session that a test cannot repeat.
  if (range === 'all' && unrepeatable.length === 0) unrepeatable.push('xstate.done.actor.session');
  const whole = continued(source, from, settled(end));
  const test = modelTestOf(whole, actor, whole.last);
  return { steps, test, unrepeatable: [...new Set(unrepeatable)] };
}

/** The event of the command that the server's status recommends. */
function recommendedEvent(source: InspectionSource, start: ServerFork): string | undefined {
  const { from, state } = start.view();
  const status = source.picture(from)?.servers.find(({ name }) => name === state.server);
  const [, command] = /\btroupe (start|restart) \S/u.exec(status?.action ?? '') ?? [];
  return command === undefined ? undefined : `server.${command}`;
}

function isState(path: string): boolean {
  let node: AnyStateNode | undefined = serverMachine.root;
  for (const part of path.split('.')) {
    node = node !== undefined && Object.hasOwn(node.states, part) ? node.states[part] : undefined;
  }
  return node !== undefined;
}

class WaySearch {
  readonly #to: string;
  readonly #range: Range;
  readonly #limit: number;
  readonly #preferred: string | undefined;
  readonly #known = new Set<string>();

  constructor(to: string, range: Range, limit: number, preferred: string | undefined) {
    this.#to = to;
    this.#preferred = preferred;
    this.#range = range;
    this.#limit = limit;
  }

  get visited(): number {
    return this.#known.size;
  }

  get isCut(): boolean {
    return this.#known.size >= this.#limit;
  }

  /** Searches breadth first, in slices; undefined when there is no way within the limit. */
  async run(start: ServerFork, signal: AbortSignal): Promise<ServerFork | undefined> {
    if (this.#isThere(start, 0)) return start;
    this.#known.add(keyOf(start.snapshot));
    let sliceEnd = performance.now() + sliceMs;
    for (let level = [start]; level.length > 0; ) {
      const next: ServerFork[] = [];
      for (const place of level) {
        if (this.isCut) return undefined;
        if (performance.now() > sliceEnd) {
          await setImmediate();
          signal.throwIfAborted();
          sliceEnd = performance.now() + sliceMs;
        }
        const end = this.#expand(place, next);
        if (end !== undefined) return end;
      }
      level = next;
    }
    return undefined;
  }

  /** Adds what is new behind a place to `next`; returns the end of the way if it is there. */
  #expand(place: ServerFork, next: ServerFork[]): ServerFork | undefined {
    for (const neighbour of this.#neighboursOf(place)) {
      if (this.#isThere(neighbour, place.records.length)) return neighbour;
      const key = keyOf(neighbour.snapshot);
      if (this.isCut || this.#known.has(key)) continue;
      this.#known.add(key);
      next.push(neighbour);
    }
    return undefined;
  }

  *#neighboursOf(place: ServerFork): Generator<ServerFork> {
    if (place.snapshot.status !== 'active') return;
    for (const event of this.#choicesIn(place)) {
      const neighbour = place.branch();
      neighbour.inject(event);
      yield neighbour;
    }
    // In a test, a permit is there at once.
    if (this.#range !== 'all' && isQueued(place.snapshot)) return;
    // All timers that are due earlier fire as well.
    for (const ms of [...new Set(place.waits)].sort((one, other) => one - other)) {
      if (ms > longestWaitMs) return;
      const neighbour = place.branch();
      neighbour.advance(ms);
      yield neighbour;
    }
  }

  #choicesIn(place: ServerFork): readonly Event[] {
    // Of two ways of one length, the first is found: what the status recommends comes first.
    const all = choicesIn(place, this.#range !== 'all').sort(
      (one, other) => this.#lateness(one) - this.#lateness(other),
    );
    // Those that a test can repeat first: of two ways of one length, the first is found.
    if (this.#range === 'all') return all.sort((one, other) => rankOf(one) - rankOf(other));
    // Without these, a search for another state would count the failures of calls.
    const isOfCalls = this.#to.startsWith('circuit');
    return all.filter(
      ({ type }) =>
        type === 'slot.granted' ||
        (hasStep(type) &&
          (isOfCalls || type !== 'call.failed') &&
          (this.#range === 'scripted' || !type.startsWith('server.'))),
    );
  }

  #lateness({ type }: Event): number {
    return type === this.#preferred ? 0 : 1;
  }

  /** Whether the state is active, or was passed since a record. */
  #isThere({ snapshot, records }: ServerFork, since: number): boolean {
    const isIn = (path: string): boolean => path === this.#to || path.startsWith(`${this.#to}.`);
    const passed = records
      .slice(since)
      .flatMap((record) => (record.kind === 'step' ? record.edges : []));
    return leavesOf(activeStates(snapshot)).some(isIn) || passed.map(sourceOf).some(isIn);
  }
}

/** The state that a transition leaves: `server.connection.settling#0` gives `connection.settling`. */
function sourceOf(edge: string): string {
  return edge.replace(/#\d+$/u, '').replace(/^server\./u, '');
}

/** Continues with what follows at once in a test, where a state that waits only for that does not rest. */
function settled(fork: ServerFork): ServerFork {
  const end = fork.branch();
  if (isQueued(end.snapshot)) end.inject({ type: 'slot.granted' });
  const isEnding = end.snapshot.matches({ connection: { engaged: { live: 'ending' } } });
  const [event] = isEnding ? endsOf(end, true) : [];
  if (event !== undefined) end.inject(event);
  return end;
}

function rankOf({ type }: Event): number {
  return hasStep(type) ? 0 : 1;
}

function isQueued(snapshot: ServerSnapshot): boolean {
  return snapshot.matches({ connection: { engaged: 'queued' } });
}

/** Equal for states that answer every event alike, but for times, texts and the reasons of past losses. */
function keyOf({ value, context }: ServerSnapshot): string {
  const { startup, restart } = context.policy;
  const most = Math.max(startup.maxAttempts ?? 0, restart.maxAttempts ?? 0);
  return JSON.stringify([
    value,
    ...[context.retiring, context.verdict, context.stopWanted, context.demanded, context.startup],
    // Beyond the last attempt, nothing more changes.
    Math.min(context.tries.attempt, most + 1),
    ...[context.hasServed, context.floods, context.circuit.failedCalls],
    ...[
      context.hasStoredCatalog,
      context.windows.crashTimes.length,
      context.windows.lossTimes.length,
    ],
  ]);
}

// One of each kind that the chart answers in its own way, the usual one first.
const endings = [
  'crashed',
  'transport',
  'cleanExit',
  'authRequired',
  'capabilityMissing',
  'versionUnsupported',
].map((kind) => ({ failure: { kind, message: `It is ${kind}.` }, isFlood: false }));
// A test cannot repeat these.
const rareEndings = [
  {
    failure: {
      kind: 'unavailable',
      message: 'A variable is missing.',
      missing: { what: 'variable', name: 'TOKEN' },
    },
    isFlood: false,
  },
  { failure: { kind: 'protocol', message: 'It sent too much.' }, isFlood: true },
];

/** The events that a session's end may be; one that was asked to close ends without a failure. */
function endsOf({ snapshot, now: at }: ServerFork, isScripted: boolean): readonly Event[] {
  const isClosing = snapshot.matches({ connection: { engaged: { live: 'closing' } } });
  const kinds = isClosing
    ? [{ failure: null, isFlood: false }]
    : [...endings, ...(isScripted ? [] : rareEndings)];
  return kinds.map((end) => ({
    type: 'xstate.done.actor.session',
    output: { ...end, at, evidence: {}, wasOpen: snapshot.hasTag('usable') },
  }));
}

/** The events from outside that the chart handles now, each with what it may say. */
function choicesIn(place: ServerFork, isScripted: boolean): Event[] {
  return [...answeredEvents(place.snapshot)]
    .filter(isOutside)
    .sort()
    .flatMap((type): readonly Event[] => {
      if (type === 'xstate.done.actor.session') return endsOf(place, isScripted);
      if (type === 'admission.withdrawn')
        return ['disabled', ...blockedReasons].map((verdict) => ({ type, verdict }));
      // The chart counts late failures too, but a call begins, and fails, only on a usable server.
      if (type === 'call.failed' && !place.snapshot.hasTag('usable')) return [];
      return ofNoUse.has(type) ? [] : [{ type }];
    });
}

// They change no state of the chart: only what a status shows, or what comes of edits.
const ofNoUse: ReadonlySet<string> = new Set([
  ...['session.impaired', 'session.recovered', 'session.listFailed', 'spec.updated'],
  ...['catalog.forgotten', 'call.succeeded'],
]);

function stepsIn(
  records: readonly InspectionRecord[],
  actor: string,
  startT: number,
): readonly WayStep[] {
  const steps: WayStep[] = [];
  let t = startT;
  for (const record of records) {
    const last = steps.at(-1);
    if (record.kind === 'event' && record.to === actor) {
      const { type, facts } = record;
      steps.push({ type, after: record.t - t, edges: [], leaves: [], ...defined({ facts }) });
      t = record.t;
    } else if (last !== undefined && record.kind === 'step') {
      steps[steps.length - 1] = { ...last, edges: record.edges };
    } else if (last !== undefined && record.kind === 'state') {
      steps[steps.length - 1] = { ...last, leaves: record.leaves };
    }
  }
  // An ignored event is not a step of the way.
  return steps.filter(({ edges }) => edges.length > 0);
}

/** The records up to a moment, followed by those of a fork. */
function continued(source: InspectionSource, at: number, fork: ServerFork): InspectionSource {
  const added = fork.records.map((record): InspectionRecord => ({ ...record, n: record.n + at }));
  const { state } = fork.view();
  const { state: now, reason } = conditionOf(fork.snapshot);
  const end = {
    state: now,
    reason,
    catalog: catalogOf(fork.snapshot),
    circuit: circuitOf(fork.snapshot),
  };
  const pictureAtEnd = (): ReturnType<InspectionSource['picture']> => {
    const picture = source.picture(at);
    return (
      picture && {
        ...picture,
        servers: picture.servers.map((status) =>
          status.name === state.server ? ({ ...status, ...end } as ServerStatus) : status,
        ),
      }
    );
  };
  return {
    ...{ startedAt: source.startedAt, clockStart: source.clockStart, version: source.version },
    ...{ machines: source.machines, first: source.first, last: at + added.length },
    picture: (n = at + added.length) => (n > at ? pictureAtEnd() : source.picture(n)),
    records: (from, limit) =>
      from > at
        ? added.slice(from - at - 1, from - at - 1 + limit)
        : source.records(from, Math.min(limit, at - from + 1)),
    context: (key, n = at) => source.context(key, Math.min(n, at)),
    follow: () => () => undefined,
  };
}
