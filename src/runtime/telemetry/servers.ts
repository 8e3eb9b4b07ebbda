/**
 * Spans and metrics of servers: a span for each attempt to connect, their states and their
 * transitions. All of it is derived from statuses; it only observes and never throws.
 */

import type { Note, OpenTelemetry, SafeSpan } from '../../../actors/host/open-telemetry.ts';
import type { Clock } from '../../domain/clock.ts';
import type { TroupeEvents } from '../../domain/host/event.ts';
import type { ServerStatus, SuccessorStatus } from '../../domain/host/status.ts';
import type { ServerState } from '../../domain/server-state.ts';
import type { RootSnapshot } from '../status/board.ts';
import { BoundedLabels } from './bounded-labels.ts';
import { networkOf } from './calls.ts';

type RootContext = RootSnapshot['context'];

/** A server or its successor, which starts beside it. */
type Starting = Pick<SuccessorStatus, 'generation' | 'state' | 'attempt' | 'lastError'>;
type Begun = Pick<ConnectAttempt, 'attempt' | 'state'> & Pick<Starting, 'generation'>;

interface ConnectAttempt {
  readonly attempt: number | undefined;
  readonly span: SafeSpan;
  readonly startedAt: number;
  state: ServerState;
}

interface Known {
  state: ServerState;
  generation: string;
  restarts: number;
  /** By generation. */
  readonly attempts: Map<string, ConnectAttempt>;
}

const starting: ReadonlySet<ServerState> = new Set(['queued', 'connecting', 'loadingTools']);
const lost: ReadonlySet<ServerState> = new Set([
  'backingOff',
  'authRequired',
  'suspended',
  'failed',
]);

// A local server is ready in a tenth of a second, one behind a package runner in half a minute.
const connectBoundaries = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
// A pass takes a millisecond, with thousands of servers a few hundred.
const passBoundaries = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

export class ServerTelemetry {
  readonly #telemetry: OpenTelemetry;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  readonly #names = new BoundedLabels();
  #live: RootContext['live'] | undefined;
  #settings: RootContext['settings'] | undefined;
  readonly #states: Note;
  readonly #transitions: Note;
  readonly #restarts: Note;
  readonly #connects: Note;
  readonly #passes: Note;

  constructor(telemetry: OpenTelemetry, clock: Clock) {
    this.#telemetry = telemetry;
    this.#clock = clock;
    const name = (it: string): string => `mcp_troupe.${it}`;
    this.#states = telemetry.upDownCounter(
      name('server.state'),
      'How many servers of this name are in this state: one or none.',
      '{server}',
    );
    this.#transitions = telemetry.counter(
      name('server.transitions'),
      'How often a server entered a state.',
      '{transition}',
    );
    this.#restarts = telemetry.counter(
      name('server.restarts'),
      'Sessions begun after the first one.',
      '{restart}',
    );
    this.#connects = telemetry.histogram(
      name('server.connect.duration'),
      'How long tries to connect took, until the tools were listed.',
      connectBoundaries,
    );
    this.#passes = telemetry.histogram(
      name('reconcile.duration'),
      'How long passes over all servers took that changed something.',
      passBoundaries,
    );
  }

  noteStatus(status: ServerStatus): void {
    const { name, state, generation, restarts, successor } = status;
    const before = this.#known.get(name);
    const known = before ?? {
      state,
      generation,
      restarts: 0,
      attempts: new Map<string, ConnectAttempt>(),
    };
    this.#known.set(name, known);
    if (before?.state !== state) this.#move(name, before?.state, state);
    known.state = state;
    const begun = restarts - (known.generation === generation ? known.restarts : 0);
    if (begun > 0) this.#restarts(begun, this.#about(name));
    known.generation = generation;
    known.restarts = restarts;
    const present: readonly Starting[] = successor === undefined ? [status] : [status, successor];
    for (const each of present) this.#follow(status, known, each);
    for (const [of, running] of [...known.attempts]) {
      const isGone = present.every((each) => each.generation !== of);
      if (isGone) this.#endAttempt(name, known, of, running);
    }
  }

  readonly notePass = ({ durationMs }: TroupeEvents['reconciled']): void => {
    this.#passes(durationMs / 1_000, {});
  };

  /** Ends the metrics of servers that are gone. */
  retain(live: RootContext['live'], settings: RootContext['settings']): void {
    if (live === this.#live && settings === this.#settings) return;
    this.#live = live;
    this.#settings = settings;
    const desired = new Set((settings?.servers ?? []).map(({ name }) => name));
    this.#forget((name) => !live.has(name) && !desired.has(name));
  }

  /** Ends the metrics of all servers. */
  close(): void {
    this.#forget(() => true);
  }

  #forget(isGone: (name: string) => boolean): void {
    for (const [name, known] of [...this.#known]) {
      if (!isGone(name)) continue;
      for (const [of, running] of [...known.attempts]) this.#endAttempt(name, known, of, running);
      this.#states(-1, { ...this.#about(name), 'mcp_troupe.server.state': known.state });
      this.#known.delete(name);
    }
  }

  #move(name: string, from: ServerState | undefined, to: ServerState): void {
    const about = this.#about(name);
    if (from !== undefined) this.#states(-1, { ...about, 'mcp_troupe.server.state': from });
    this.#states(1, { ...about, 'mcp_troupe.server.state': to });
    this.#transitions(1, { ...about, 'mcp_troupe.server.state': to });
  }

  #follow(status: ServerStatus, known: Known, { generation, state, attempt, lastError }: Starting) {
    let running = known.attempts.get(generation);
    if (running !== undefined && starting.has(state) && running.attempt !== attempt) {
      this.#endAttempt(status.name, known, generation, running, lastError?.code);
      running = undefined;
    }
    if (running === undefined) {
      if (starting.has(state)) this.#begin(status, known, { generation, state, attempt });
      return;
    }
    if (running.state === state) return;
    running.state = state;
    running.span.event(state);
    // While a session closes, it may still find the cause.
    if (starting.has(state) || state === 'stopping') return;
    const hasFailed = lost.has(state) || (state === 'dormant' && lastError !== undefined);
    const code = hasFailed ? (lastError?.code ?? '_OTHER') : undefined;
    this.#endAttempt(status.name, known, generation, running, code);
  }

  #begin(
    { name, transport, successor }: ServerStatus,
    { attempts }: Known,
    { generation, state, attempt }: Begun,
  ): void {
    const isSuccessor = successor?.generation === generation;
    const span = this.#telemetry.start({
      name: 'mcp_troupe.server.connect',
      kind: 'client',
      attributes: {
        'mcp_troupe.server.name': name,
        ...networkOf(transport),
        ...(attempt !== undefined && { 'mcp_troupe.server.attempt': attempt }),
        'mcp_troupe.server.role': isSuccessor ? 'successor' : 'present',
      },
    });
    span.event(state);
    attempts.set(generation, { attempt, span, startedAt: this.#clock.now(), state });
  }

  #endAttempt(
    name: string,
    { attempts }: Known,
    generation: string,
    { span, startedAt, state }: ConnectAttempt,
    errorType?: string,
  ): void {
    attempts.delete(generation);
    span.set({ 'mcp_troupe.server.state': state });
    span.end(errorType);
    const seconds = (this.#clock.now() - startedAt) / 1_000;
    const about = this.#about(name);
    const attributes = errorType === undefined ? about : { ...about, 'error.type': errorType };
    this.#connects(seconds, attributes);
  }

  #about(name: string): { readonly 'mcp_troupe.server.name': string } {
    return { 'mcp_troupe.server.name': this.#names.of(name) };
  }
}
