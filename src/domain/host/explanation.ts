/**
 * Explains a server's state as plain data. Guards, timers and events are read from
 * the charts, so an explanation always matches the decision.
 */

import type { FailureKind } from '../failure.ts';
import type { ServerState, StateReason, Verdict } from '../server-state.ts';
import type { SourceRef } from '../settings.ts';
import type { LastError, ServerStatus } from './status.ts';

/** A state under its public name. */
export interface StateName {
  readonly state: ServerState;
  readonly reason?: StateReason;
}

/** Which row of a chart's table led to the present state. */
export interface Decision {
  /**
   * Path of the deciding state in the chart: a table of `connection.settling`, or `choosing`
   * within the present state where several reasons lead to it.
   */
  readonly table: string;
  /** Name of the guard that held; `otherwise` for a last row, which has none. */
  readonly guard: string;
  /** The guard's parameters, for example `{ "reason": "excluded" }`. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** The row's target in the chart. */
  readonly target: string;
  /** Place of the row in its table, from 1. */
  readonly row: number;
  /** The guards before it in its table, in their order, which did not hold. */
  readonly passed: readonly string[];
  /** True while the server stops: where it will rest if nothing else happens. */
  readonly isForecast: boolean;
}

/** An event that would change the server's state. */
export interface Mover {
  /** The host's event where a host can send it, else the chart's. */
  readonly event: string;
  /** Its sender: the host or the user, a call, the server's session, or the troupe itself. */
  readonly sentBy: 'host' | 'call' | 'session' | 'troupe';
  /** The state it would lead to now. */
  readonly to: StateName;
  /** The failure that the answer assumes, where it depends on one. */
  readonly failure?: FailureKind;
}

/** A timer that is running. Times are ISO 8601. */
export interface RunningTimer {
  /** The delay as the chart names it, for example `reconnectBackoff`. */
  readonly name: string;
  readonly totalMs: number;
  /** When the state was entered that the timer belongs to. */
  readonly enteredAt: string;
  readonly dueAt: string;
  /** Its target; absent when the server stays in its state. */
  readonly to?: StateName;
}

/** A place in the queue for a start permit. */
export interface QueuePlace {
  readonly pool: 'local' | 'remote';
  /** From 1. */
  readonly position: number;
  readonly waiting: number;
  readonly permits: number;
  /** Names of the servers that hold the permits. */
  readonly heldBy: readonly string[];
  /**
   * Present when this start repeats an earlier one: how many such starts, of all servers
   * together, may begin now. At 0 it waits for one to be allowed, even while permits are free.
   */
  readonly retriesLeft?: number;
}

/** The count of events within a sliding window, and its limit. */
export interface WindowUse {
  /** Those still in the window, ISO 8601, oldest first. */
  readonly times: readonly string[];
  readonly limit: number;
  readonly windowMs: number;
}

/** One attempt: a session from its request to its end. Durations are absent for phases that were not reached. */
export interface Attempt {
  /** Number of the session within its generation. */
  readonly session: number;
  readonly generation: string;
  /** The try of its outage, from 1. */
  readonly attempt: number;
  readonly startedAt: string;
  readonly queuedMs?: number;
  readonly connectingMs?: number;
  readonly loadingToolsMs?: number;
  /** How long it was ready or degraded. */
  readonly readyMs?: number;
  readonly stoppingMs?: number;
  /** Absent while the attempt continues. */
  readonly endedAt?: string;
  /** The failure that ended it; absent when it was closed on request or is still open. */
  readonly failure?: {
    readonly kind: FailureKind;
    readonly message: string;
    readonly exitCode?: number;
    readonly signal?: string;
  };
  /** The state the server then rested in. */
  readonly rested?: StateName;
  /** The wait before the next attempt: first the planned time, then the actual time. */
  readonly waitMs?: number;
}

/**
 * The rules of admission. `launchBound` is the list given at launch (`--allow`), `hostAllowed` the
 * one that the host sent later; `managed` are settings beside which no others count, `hostRule` is a
 * rule that the host brought; `ungated` is a server of the user's own settings, which needs no
 * approval.
 */
export type AdmissionRule =
  | 'enabled'
  | 'trust'
  | 'mcp.excluded'
  | 'mcp.allowed'
  | 'launchBound'
  | 'hostAllowed'
  | 'managed'
  | 'hostRule'
  | 'mcp.disabledServers'
  | 'invalid'
  | 'approval'
  | 'budget'
  | 'ungated';

/** Everything that explains one server. */
export interface Explanation {
  readonly status: ServerStatus;
  /** Absent only of a server whose chart is being replaced, or after the troupe has stopped. */
  readonly decision?: Decision;
  /** While there is a session: where its chart is, for example `opening.connecting.asking` or `open`. */
  readonly session?: { readonly state: string };
  readonly movedBy: readonly Mover[];
  /** The soonest first; includes the session's timers. */
  readonly timers: readonly RunningTimer[];
  /** Present while it waits for its turn to start. */
  readonly queue?: QueuePlace;
  readonly circuit?: {
    readonly state: ServerStatus['circuit'];
    /** In a row; counted while it is closed. */
    readonly failedCalls: number;
    /** Null = it never opens. */
    readonly threshold: number | null;
    /** Absent unless it is open. */
    readonly cooldownLeftMs?: number;
  };
  readonly budgets?: {
    /** `max` null = no limit. */
    readonly attempts: { readonly used: number; readonly max: number | null };
    /** Absent where the policy has no such limit. */
    readonly crashes?: WindowUse;
    readonly losses?: WindowUse;
  };
  readonly admission: {
    readonly verdict: Verdict;
    /** The rule that decided. */
    readonly rule: AdmissionRule;
    /** Where the rule is written; absent when no file holds it. */
    readonly source?: SourceRef;
  };
  /** The last failure; kept after recovery. */
  readonly lastFailure?: LastError & { readonly at: string };
  /** The last tries, oldest first, at most twenty. */
  readonly attempts: readonly Attempt[];
  /** The one command or step that would help; absent when none is needed. */
  readonly nextStep?: string;
}
