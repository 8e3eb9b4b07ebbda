import type { Failure } from '../../domain/failure.ts';
import type { Attempt, StateName } from '../../domain/host/explanation.ts';
import type { ServerState } from '../../domain/server-state.ts';
import { defined } from '../../policies/defined.ts';
import type { ServerSnapshot } from '../status/status-of.ts';

// Twenty: four whole outages of five attempts each, and they fit on one screen.
const keptAttempts = 20;

type Phase = 'queuedMs' | 'connectingMs' | 'loadingToolsMs' | 'readyMs' | 'stoppingMs';

/** The phases of an attempt; in any other state there is no session. */
const phaseOf: Partial<Readonly<Record<ServerState, Phase>>> = {
  queued: 'queuedMs',
  connecting: 'connectingMs',
  loadingTools: 'loadingToolsMs',
  ready: 'readyMs',
  degraded: 'readyMs',
  stopping: 'stoppingMs',
};

interface AttemptEntry {
  /** The actor that the session belongs to: each counts its sessions from 1. */
  readonly life: string;
  readonly session: number;
  readonly generation: string;
  readonly attempt: number;
  readonly startedAtMs: number;
  readonly phases: Map<Phase, number>;
  phase: Phase;
  phaseSinceMs: number;
  endedAtMs?: number;
  failure?: Failure;
  rested?: StateName;
  waitMs?: number;
}

/** A server's state at one moment. */
export interface Observation {
  /** Id of the server actor. */
  readonly life: string;
  readonly snapshot: ServerSnapshot;
  readonly condition: StateName;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Remembers a server's last attempts across its generations: how long each phase took, how the
 * attempt ended, and the wait before the next. It only observes states.
 */
export class AttemptTimeline {
  readonly #entries: AttemptEntry[] = [];

  observe({ life, snapshot, condition, nowMs }: Observation): void {
    const { session, generation, attempt, loss, delayMs } = snapshot.context;
    const phase = phaseOf[condition.state];
    let entry = this.#entries.at(-1);
    if (phase !== undefined && session > 0 && !isOf(entry, life, session)) {
      if (entry !== undefined) end(entry, nowMs);
      if (entry !== undefined) entry.waitMs = nowMs - (entry.endedAtMs ?? nowMs);
      entry = {
        life,
        session,
        generation,
        attempt,
        startedAtMs: nowMs,
        phases: new Map(),
        phase,
        phaseSinceMs: nowMs,
      };
      this.#entries.push(entry);
      if (this.#entries.length > keptAttempts) this.#entries.shift();
    }
    // A server that never attempted to start has no timeline.
    if (entry === undefined || !isOf(entry, life, session)) return;
    if (loss !== null) entry.failure = loss;
    if (phase !== undefined) {
      if (entry.phase !== phase) closePhase(entry, nowMs);
      entry.phase = phase;
      return;
    }
    end(entry, nowMs);
    entry.rested ??= condition;
    if (condition.state === 'backingOff') entry.waitMs = delayMs;
  }

  /** The actor is gone, so its attempt has ended. */
  close(life: string, nowMs: number): void {
    const entry = this.#entries.at(-1);
    if (entry?.life === life) end(entry, nowMs);
  }

  /** The oldest first. */
  attempts(nowMs: number): readonly Attempt[] {
    return this.#entries.map((entry) => shown(entry, nowMs));
  }
}

function isOf(entry: AttemptEntry | undefined, life: string, session: number): boolean {
  return entry?.life === life && entry.session === session;
}

function closePhase(entry: AttemptEntry, nowMs: number): void {
  const before = entry.phases.get(entry.phase) ?? 0;
  entry.phases.set(entry.phase, before + nowMs - entry.phaseSinceMs);
  entry.phaseSinceMs = nowMs;
}

function end(entry: AttemptEntry, nowMs: number): void {
  if (entry.endedAtMs !== undefined) return;
  closePhase(entry, nowMs);
  entry.endedAtMs = nowMs;
}

function shown(entry: AttemptEntry, nowMs: number): Attempt {
  const { session, generation, attempt, startedAtMs, endedAtMs, failure, rested, waitMs } = entry;
  const phases = new Map(entry.phases);
  if (endedAtMs === undefined) {
    phases.set(entry.phase, (phases.get(entry.phase) ?? 0) + nowMs - entry.phaseSinceMs);
  }
  return {
    session,
    generation,
    attempt,
    startedAt: new Date(startedAtMs).toISOString(),
    ...Object.fromEntries(phases),
    ...defined({
      endedAt: endedAtMs === undefined ? undefined : new Date(endedAtMs).toISOString(),
      failure: failure && bare(failure),
      rested,
      waitMs,
    }),
  };
}

/** Without the lines of stderr: the last failure has them, and so does the log. */
function bare({ kind, message, exitCode, signal }: Failure): NonNullable<Attempt['failure']> {
  return { kind, message, ...defined({ exitCode, signal }) };
}
