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
  /** The state. */
  readonly state: ServerState;
  /** Why a server is in it; absent where the state says it all. */
  readonly reason?: StateReason;
}

/** The row of a chart's table that led to the current state. */
export interface Decision {
  /**
   * Path of the deciding state in the chart: a table of `connection.settling`, or `choosing` within
   * the current state where several reasons lead to it.
   */
  readonly table: string;
  /** Name of the guard that held; `otherwise` for a last row, which has none. */
  readonly guard: string;
  /** The guard's parameters, for example `{ "reason": "excluded" }`. */
  readonly params?: Readonly<Record<string, unknown>>;
  /** The row's target in the chart. */
  readonly target: string;
  /** Position of the row in its table, counted from 1. */
  readonly row: number;
  /** The guards before it in its table, in order, which did not hold. */
  readonly passed: readonly string[];
  /** True while the server stops: the decision is where it will rest if nothing else happens. */
  readonly isForecast: boolean;
}

/** An event that would change the server's state. */
export interface Mover {
  /** The host's event if a host can send it, otherwise the chart's. */
  readonly event: string;
  /** Its sender: the host or the user, a call, the server's session, or the troupe itself. */
  readonly sentBy: 'host' | 'call' | 'session' | 'troupe';
  /** The state it would lead to now. */
  readonly to: StateName;
  /** The failure that the result assumes, where it depends on one. */
  readonly failure?: FailureKind;
}

/** A timer that is running. Times are ISO 8601. */
export interface RunningTimer {
  /** The delay as the chart names it, for example `reconnectBackoff`. */
  readonly name: string;
  /** Its duration, in milliseconds. */
  readonly totalMs: number;
  /** When the state that the timer belongs to was entered. */
  readonly enteredAt: string;
  /** When it fires. */
  readonly dueAt: string;
  /** The timer's target; absent if the server stays in its state. */
  readonly to?: StateName;
}

/** A position in the queue for a start permit. */
export interface QueuePlace {
  /** Which permits it waits for. */
  readonly pool: 'local' | 'remote';
  /** Position in the queue, counted from 1. */
  readonly position: number;
  /** How many servers wait in the pool, this one included. */
  readonly waiting: number;
  /** How many permits the pool has. */
  readonly permits: number;
  /** Names of the servers that hold the permits. */
  readonly heldBy: readonly string[];
  /**
   * Present if this start repeats an earlier one: the number of such starts, across all servers,
   * that may begin now. At 0, it waits for one to be allowed, even while permits are free.
   */
  readonly retriesLeft?: number;
}

/** The number of events within a sliding window, and its limit. */
export interface WindowUse {
  /**
   * Times of the events still in the window, ISO 8601, oldest first; of a server that rests because
   * they reached the limit, the times at that moment.
   */
  readonly times: readonly string[];
  /** How many are one too many. */
  readonly limit: number;
  /** Length of the sliding window. */
  readonly windowMs: number;
}

/** One attempt: a session from its request to its end. Durations are absent for phases that were not reached. */
export interface Attempt {
  /** Number of the session within its generation. */
  readonly session: number;
  /** The generation of settings that it was made with. */
  readonly generation: string;
  /** The attempt's number within its outage, counted from 1. */
  readonly attempt: number;
  /** When it began, in ISO 8601. */
  readonly startedAt: string;
  /** Time spent in the queue for a start permit. */
  readonly queuedMs?: number;
  /** Time spent connecting, until the handshake ended. */
  readonly connectingMs?: number;
  /** Time spent listing the tools. */
  readonly loadingToolsMs?: number;
  /** How long it was ready or degraded. */
  readonly readyMs?: number;
  /** Time spent closing the session. */
  readonly stoppingMs?: number;
  /** When the attempt ended; absent while it continues. */
  readonly endedAt?: string;
  /** The failure that ended it; absent if it was closed on request or is still open. */
  readonly failure?: {
    readonly kind: FailureKind;
    readonly message: string;
    readonly exitCode?: number;
    readonly signal?: string;
  };
  /** The state in which the server then rested. */
  readonly rested?: StateName;
  /** The wait before the next attempt: first the planned time, then the actual time. */
  readonly waitMs?: number;
}

/**
 * The admission rules. `launchBound` is the list given at launch (`--allow`), `hostAllowed` the one
 * that the host sent later; `managed` refers to settings that disable all others, `hostRule` to a
 * rule of the host's own; `ungated` is a server from the user's own settings, which needs no
 * approval.
 */
export type AdmissionRule =
  | 'enabled'
  | 'trust'
  | 'mcp.excluded'
  | 'mcp.allowed'
  | 'mcp.projectServers'
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
  /** The status that is explained. */
  readonly status: ServerStatus;
  /** Absent only for a server whose chart is being replaced, or after the troupe has stopped. */
  readonly decision?: Decision;
  /**
   * Where the session's chart is, for example `opening.connecting.asking` or `open`; present while
   * there is a session.
   */
  readonly session?: { readonly state: string };
  /** The other clients of the troupe that use the same process, by name; absent if there are none. */
  readonly sharedWith?: readonly string[];
  /** What would change the state. */
  readonly movedBy: readonly Mover[];
  /** Running timers, soonest first; includes the session's timers. */
  readonly timers: readonly RunningTimer[];
  /** Present while the server waits for its turn to start. */
  readonly queue?: QueuePlace;
  /** What decides whether calls reach the server; absent without a chart. */
  readonly circuit?: {
    readonly state: ServerStatus['circuit'];
    /** Number of consecutive failed calls; counted while the circuit is closed. */
    readonly failedCalls: number;
    /** Number of failed calls that opens the circuit; null if it never opens. */
    readonly threshold: number | null;
    /** Remaining cool-down; absent unless the circuit is open. */
    readonly cooldownLeftMs?: number;
  };
  /** What is left before the server gives up or rests; absent without a chart. */
  readonly budgets?: {
    /** Attempts of the start or outage; `max` is null if there is no limit. */
    readonly attempts: { readonly used: number; readonly max: number | null };
    /**
     * Consecutive starts that ended with the same exit code and explanation, and the number at which
     * no other follows; absent without such a limit, and once the server has been ready.
     */
    readonly sameExits?: { readonly used: number; readonly max: number };
    /** Absent where the policy has no such limit. */
    readonly crashes?: WindowUse;
    readonly losses?: WindowUse;
  };
  /** Whether the server may connect, and why. */
  readonly admission: {
    readonly verdict: Verdict;
    /** The rule that decided. */
    readonly rule: AdmissionRule;
    /** Where the rule is written; absent if it is in no file. */
    readonly source?: SourceRef;
  };
  /** The last failure; kept after recovery. */
  readonly lastFailure?: LastError & { readonly at: string };
  /** The last attempts, oldest first, at most twenty. */
  readonly attempts: readonly Attempt[];
  /** The one command or step that would help; absent if none is needed. */
  readonly nextStep?: string;
}
