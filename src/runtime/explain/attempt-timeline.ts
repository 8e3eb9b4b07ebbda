import type { Failure } from '../../domain/failure.ts';
import type { Attempt, StateName } from '../../domain/host/explanation.ts';
import type { ServerState } from '../../domain/server-state.ts';
import type { ServerSnapshot } from '../status/status-of.ts';

// Twenty: four whole outages of five tries each, and they fit on one screen.
const keptAttempts = 20;

type Phase = 'queuedMs' | 'connectingMs' | 'loadingToolsMs' | 'readyMs' | 'stoppingMs';

/** The phases of a try; in any other state there is no session. */
const phaseOf: Partial<Readonly<Record<ServerState, Phase>>> = {
  queued: 'queuedMs',
  connecting: 'connectingMs',
  loadingTools: 'loadingToolsMs',
  ready: 'readyMs',
  degraded: 'readyMs',
  stopping: 'stoppingMs',
};

interface Trial {
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

/** One look at a server. */
export interface Observation {
  /** Id of the server actor. */
  readonly life: string;
  readonly snapshot: ServerSnapshot;
  readonly condition: StateName;
  /** Wall time, milliseconds since 1970. */
  readonly nowMs: number;
}

/**
 * Remembers the last tries of one server, across its generations: what each phase
 * took, how it ended, and the wait until the next. It reads what happened from
 * states and decides nothing; the charts know nothing of it.
 */
export class AttemptTimeline {
  readonly #trials: Trial[] = [];

  observe({ life, snapshot, condition, nowMs }: Observation): void {
    const { session, generation, attempt, loss, delayMs } = snapshot.context;
    const phase = phaseOf[condition.state];
    let trial = this.#trials.at(-1);
    if (phase !== undefined && session > 0 && !isOf(trial, life, session)) {
      if (trial !== undefined) end(trial, nowMs);
      if (trial !== undefined) trial.waitMs = nowMs - (trial.endedAtMs ?? nowMs);
      trial = {
        life,
        session,
        generation,
        attempt,
        startedAtMs: nowMs,
        phases: new Map(),
        phase,
        phaseSinceMs: nowMs,
      };
      this.#trials.push(trial);
      if (this.#trials.length > keptAttempts) this.#trials.shift();
    }
    // What happens to a server that never tried is no part of a timeline.
    if (trial === undefined || !isOf(trial, life, session)) return;
    if (loss !== null) trial.failure = loss;
    if (phase !== undefined) {
      if (trial.phase !== phase) closePhase(trial, nowMs);
      trial.phase = phase;
      return;
    }
    end(trial, nowMs);
    trial.rested ??= condition;
    if (condition.state === 'backingOff') trial.waitMs = delayMs;
  }

  /** The actor is gone: whatever went on has ended. */
  close(life: string, nowMs: number): void {
    const trial = this.#trials.at(-1);
    if (trial?.life === life) end(trial, nowMs);
  }

  /** The oldest first. */
  attempts(nowMs: number): readonly Attempt[] {
    return this.#trials.map((trial) => shown(trial, nowMs));
  }
}

function isOf(trial: Trial | undefined, life: string, session: number): boolean {
  return trial?.life === life && trial.session === session;
}

function closePhase(trial: Trial, nowMs: number): void {
  const before = trial.phases.get(trial.phase) ?? 0;
  trial.phases.set(trial.phase, before + nowMs - trial.phaseSinceMs);
  trial.phaseSinceMs = nowMs;
}

function end(trial: Trial, nowMs: number): void {
  if (trial.endedAtMs !== undefined) return;
  closePhase(trial, nowMs);
  trial.endedAtMs = nowMs;
}

function shown(trial: Trial, nowMs: number): Attempt {
  const { session, generation, attempt, startedAtMs, endedAtMs, failure, rested, waitMs } = trial;
  const phases = new Map(trial.phases);
  if (endedAtMs === undefined) {
    phases.set(trial.phase, (phases.get(trial.phase) ?? 0) + nowMs - trial.phaseSinceMs);
  }
  return {
    session,
    generation,
    attempt,
    startedAt: new Date(startedAtMs).toISOString(),
    ...Object.fromEntries(phases),
    ...(endedAtMs === undefined ? {} : { endedAt: new Date(endedAtMs).toISOString() }),
    ...(failure === undefined ? {} : { failure: bare(failure) }),
    ...(rested === undefined ? {} : { rested }),
    ...(waitMs === undefined ? {} : { waitMs }),
  };
}

/** Without the lines of stderr: those of the last failure are told once, those of others are in the log. */
function bare({ kind, message, exitCode, signal }: Failure): NonNullable<Attempt['failure']> {
  return {
    kind,
    message,
    ...(exitCode === undefined ? {} : { exitCode }),
    ...(signal === undefined ? {} : { signal }),
  };
}
