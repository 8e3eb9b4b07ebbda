/**
 * Spans and metrics of servers: a span for each attempt to connect, their states and their
 * transitions, derived from statuses. Observing never throws and never affects a server.
 */

import type { OpenTelemetry, SafeSpan } from '../../../actors/host/open-telemetry.ts';
import type { Clock } from '../../domain/clock.ts';
import type { TroupeEvents } from '../../domain/host/event.ts';
import type { ServerStatus, SuccessorStatus } from '../../domain/host/status.ts';
import type { ServerState } from '../../domain/server-state.ts';
import { BoundedLabels, networkOf } from './calls.ts';

/** The part of a status that a server shares with its successor. */
type Starting = Pick<SuccessorStatus, 'generation' | 'state' | 'attempt' | 'lastError'>;

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
  /** Attempts by generation. */
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
// A pass takes a millisecond, or a few hundred with thousands of servers.
const passBoundaries = [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5];

function metricsOf(telemetry: OpenTelemetry) {
  return {
    states: telemetry.upDownCounter(
      'mcp_troupe.server.state',
      'How many servers of this name are in this state: one or none.',
      '{server}',
    ),
    transitions: telemetry.counter(
      'mcp_troupe.server.transitions',
      'How often a server entered a state.',
      '{transition}',
    ),
    restarts: telemetry.counter(
      'mcp_troupe.server.restarts',
      'Sessions begun after the first one.',
      '{restart}',
    ),
    connects: telemetry.histogram(
      'mcp_troupe.server.connect.duration',
      'How long tries to connect took, until the tools were listed.',
      connectBoundaries,
    ),
    passes: telemetry.histogram(
      'mcp_troupe.reconcile.duration',
      'How long passes over all servers took that changed something.',
      passBoundaries,
    ),
  };
}

export class ServerTelemetry {
  readonly #telemetry: OpenTelemetry;
  readonly #clock: Clock;
  readonly #known = new Map<string, Known>();
  readonly #names = new BoundedLabels();
  readonly #metrics: ReturnType<typeof metricsOf>;

  constructor(telemetry: OpenTelemetry, clock: Clock) {
    this.#telemetry = telemetry;
    this.#clock = clock;
    this.#metrics = metricsOf(telemetry);
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
    if (begun > 0) this.#metrics.restarts(begun, this.#about(name));
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
    this.#metrics.passes(durationMs / 1_000, {});
  };

  /** Ends the metrics of all servers. */
  close(): void {
    this.forget([...this.#known.keys()]);
  }

  /** Ends the metrics of servers that no longer exist. */
  forget(names: readonly string[]): void {
    for (const name of names) {
      const known = this.#known.get(name);
      if (known === undefined) continue;
      for (const [of, running] of [...known.attempts]) this.#endAttempt(name, known, of, running);
      this.#metrics.states(-1, { ...this.#about(name), 'mcp_troupe.server.state': known.state });
      this.#known.delete(name);
    }
  }

  #move(name: string, from: ServerState | undefined, to: ServerState): void {
    const about = this.#about(name);
    if (from !== undefined) this.#metrics.states(-1, { ...about, 'mcp_troupe.server.state': from });
    this.#metrics.states(1, { ...about, 'mcp_troupe.server.state': to });
    this.#metrics.transitions(1, { ...about, 'mcp_troupe.server.state': to });
  }

  #follow(status: ServerStatus, known: Known, present: Starting) {
    const { generation, state, attempt, lastError } = present;
    let running = known.attempts.get(generation);
    if (running !== undefined && starting.has(state) && running.attempt !== attempt) {
      this.#endAttempt(status.name, known, generation, running, lastError?.code);
      running = undefined;
    }
    if (running === undefined) {
      if (starting.has(state)) this.#begin(status, known, present);
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
    { generation, state, attempt }: Starting,
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
    this.#metrics.connects(seconds, attributes);
  }

  #about(name: string): { readonly 'mcp_troupe.server.name': string } {
    return { 'mcp_troupe.server.name': this.#names.of(name) };
  }
}
