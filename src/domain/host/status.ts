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

/** The status of one server: the same document in every interface. Times are ISO 8601. */
export interface ServerStatus {
  readonly name: string;
  readonly state: ServerState;
  readonly reason?: StateReason;
  readonly catalog: CatalogState;
  readonly circuit: CircuitState;
  /** When the current state (or reason) was entered. */
  readonly since: string;
  readonly generation: string;
  /** The current or last attempt, counted from 1; absent when nothing is being tried. */
  readonly attempt?: number;
  /** Number of sessions begun after the first one. */
  readonly restarts: number;
  readonly nextAttemptAt?: string;
  /** Number of tools currently shown for this server. */
  readonly tools: number;
  /** Which tools are withheld or have cut descriptions, and why; one sentence each. */
  readonly toolNotes?: readonly string[];
  readonly pid?: number;
  readonly transport: TransportKind;
  readonly era?: 'legacy' | 'modern';
  /**
   * Present while a package runner such as `npx` or `docker run` starts a server that was never ready on
   * this machine: it may be downloading.
   */
  readonly mayDownload?: true;
  readonly source: {
    readonly file?: string;
    readonly key: string;
    readonly line?: number;
    readonly scope: Scope;
  };
  readonly lastError?: LastError;
  /** The one command or step that would help. */
  readonly action?: string;
  /**
   * The next generation, which starts alongside the serving one. The other fields describe the
   * serving one.
   */
  readonly successor?: SuccessorStatus;
  /** The generation that it took over from, which is still finishing its calls. */
  readonly predecessor?: Pick<ServerStatus, 'generation' | 'pid'>;
}

/** The progress of a successor that starts alongside the server. */
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
  /** Present while settings limit the number of running servers. */
  readonly budget?: BudgetUse;
  readonly problems: readonly Problem[];
}

/** Number of servers that currently have a session. */
export interface SessionCount {
  readonly total: number;
  readonly byTransport: Readonly<Record<TransportKind, number>>;
  /** Running server processes, including those that are ending. */
  readonly subprocessCount: number;
}

/**
 * Use of the server budget. A server keeps its slot through reconnects and while dormant. It
 * releases the slot when it is blocked, disabled, stopped, waiting for a login, or has given up.
 */
export interface BudgetUse {
  readonly max: number;
  readonly mode: 'warn' | 'enforce';
  /** Number of slots in use. */
  readonly taken: number;
  /** Names of the servers that are waiting for a slot, in settings order. */
  readonly refused: readonly string[];
}

/** Memory of a process and of everything that it started. */
export interface MemoryUse {
  /** Resident memory; what processes share counts for each of them. */
  readonly bytes: number;
  readonly processCount: number;
}

/** What a server was used for, and what it uses now. */
export interface ServerUsage {
  readonly server: string;
  /** Number of requests sent to it for callers since the troupe started, such as tool calls. */
  readonly calls: number;
  /** Absent without a process, and on systems without a process list, such as Windows. */
  readonly memory?: MemoryUse;
}

export interface TroupeSnapshot {
  readonly troupe: TroupeStatus;
  /** The servers' statuses, sorted by name. */
  readonly servers: readonly ServerStatus[];
}
