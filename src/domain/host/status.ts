import type { CallerCode } from '../caller-code.ts';
import type { FailureKind } from '../failure.ts';
import type { TransportKind } from '../server-spec.ts';
import type { CatalogState, CircuitState, ServerState, StateReason } from '../server-state.ts';
import type { Problem, Scope } from '../settings.ts';

/** A server's last error. */
export interface LastError {
  readonly code: CallerCode;
  readonly kind: FailureKind;
  readonly message: string;
  readonly exitCode?: number;
  readonly signal?: string;
  readonly stderrTail?: readonly string[];
}

/** The status of one server: the same document in every face. Times are ISO 8601. */
export interface ServerStatus {
  readonly name: string;
  readonly state: ServerState;
  readonly reason?: StateReason;
  readonly catalog: CatalogState;
  readonly circuit: CircuitState;
  /** When the present state (or reason) was entered. */
  readonly since: string;
  readonly generation: string;
  /** The try under way or just made, from 1; absent when nothing is being tried. */
  readonly attempt?: number;
  /** Sessions begun after the first one. */
  readonly restarts: number;
  readonly nextAttemptAt?: string;
  /** How many tools are shown for this server now. */
  readonly tools: number;
  readonly pid?: number;
  readonly transport: TransportKind;
  readonly era?: 'legacy' | 'modern';
  readonly source: {
    readonly file?: string;
    readonly key: string;
    readonly line?: number;
    readonly scope: Scope;
  };
  readonly lastError?: LastError;
  /** The one command or step that would help. */
  readonly action?: string;
  /** The next generation, which starts beside the serving one. The other fields describe the serving one. */
  readonly successor?: SuccessorStatus;
  /** The generation it took over from, which still finishes its calls. */
  readonly predecessor?: Pick<ServerStatus, 'generation' | 'pid'>;
}

/** The progress of a successor that starts beside the server. */
export type SuccessorStatus = Pick<
  ServerStatus,
  'generation' | 'state' | 'reason' | 'attempt' | 'nextAttemptAt' | 'pid' | 'lastError'
>;

export const troupeStates = ['starting', 'running', 'stopping', 'stopped'] as const;
export type TroupeState = (typeof troupeStates)[number];

export interface TroupeStatus {
  readonly pid: number;
  readonly version: string;
  readonly since: string;
  readonly state: TroupeState;
  readonly lastReconcile?: {
    readonly at: string;
    readonly steps: number;
    readonly durationMs: number;
  };
  readonly sessions: SessionCount;
  /** Present while settings say how many servers may run. */
  readonly budget?: BudgetUse;
  readonly problems: readonly Problem[];
}

/** How many servers have a session now. */
export interface SessionCount {
  readonly total: number;
  readonly byTransport: Readonly<Record<TransportKind, number>>;
  /** Running server processes, including those that are ending. */
  readonly subprocessCount: number;
}

/**
 * Use of the server budget. A server keeps its place through reconnects and while dormant. It releases
 * the place when it is blocked, disabled, stopped, waiting for a log-in, or has given up.
 */
export interface BudgetUse {
  readonly max: number;
  readonly mode: 'warn' | 'enforce';
  /** Number of places in use. */
  readonly taken: number;
  /** Names of the servers that wait for a place, in settings order. */
  readonly refused: readonly string[];
}

export interface TroupeSnapshot {
  readonly troupe: TroupeStatus;
  /** Sorted by name. */
  readonly servers: readonly ServerStatus[];
}
