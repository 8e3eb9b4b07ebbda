import type { CallerCode } from '../caller-code.ts';
import type { FailureKind } from '../failure.ts';
import type { TransportKind } from '../server-spec.ts';
import type { CatalogState, CircuitState, ServerState, StateReason } from '../server-state.ts';
import type { Problem, Scope } from '../settings.ts';

/** A server's last error. */
export interface LastError {
  /** What callers of the server get now. */
  readonly code: CallerCode;
  /** Why the last attempt or session failed. */
  readonly kind: FailureKind;
  /** One sentence without secrets; for users, not stable. */
  readonly message: string;
  /** The process's exit code, if it exited. */
  readonly exitCode?: number;
  /** The signal that ended the process, for example `SIGKILL`. */
  readonly signal?: string;
  /** The last lines of stderr, oldest first. */
  readonly stderrTail?: readonly string[];
}

/** The status of one server: the same document in every interface. Times are ISO 8601. */
export interface ServerStatus {
  /** The server's name in the settings. */
  readonly name: string;
  /** What the server does now. */
  readonly state: ServerState;
  /** Why it is in this state; absent where the state says it all. */
  readonly reason?: StateReason;
  /** Where its tools come from. */
  readonly catalog: CatalogState;
  /** Whether calls reach it. */
  readonly circuit: CircuitState;
  /** When the current state (or reason) was entered. */
  readonly since: string;
  /** A hash of the settings that decide the connection. */
  readonly generation: string;
  /** The current or last attempt, counted from 1; absent when nothing is being tried. */
  readonly attempt?: number;
  /** Number of sessions begun after the first one. */
  readonly restarts: number;
  /** When the next attempt is due, in ISO 8601; absent if none is scheduled. */
  readonly nextAttemptAt?: string;
  /** Number of tools currently shown for this server. */
  readonly tools: number;
  /** Which tools are withheld or have cut descriptions, and why; one sentence each. */
  readonly toolNotes?: readonly string[];
  /** The id of the running process; absent without one. */
  readonly pid?: number;
  /** What carries its sessions. */
  readonly transport: TransportKind;
  /** The protocol era of the open session; absent without one. */
  readonly era?: 'legacy' | 'modern';
  /**
   * Present while a package runner such as `npx` or `docker run` starts a server that was never ready on
   * this machine: it may be downloading.
   */
  readonly mayDownload?: true;
  /** Where its settings come from. */
  readonly source: {
    readonly file?: string;
    readonly key: string;
    readonly line?: number;
    readonly scope: Scope;
  };
  /** The last failure; absent if there was none. */
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

/** The troupe's states, in their order. */
export const troupeStates = ['starting', 'running', 'stopping', 'stopped'] as const;
/** The troupe's state. `running`: the startup gate has opened. `stopped` is final. */
export type TroupeState = (typeof troupeStates)[number];

/** The status of the troupe itself. Times are ISO 8601. */
export interface TroupeStatus {
  /** The id of the host's process. */
  readonly pid: number;
  /** The version of mcp-troupe. */
  readonly version: string;
  /** When this state began, in ISO 8601. */
  readonly since: string;
  /** What the troupe does now. */
  readonly state: TroupeState;
  /** The last pass: when it was, in ISO 8601, and how many steps it took. Absent before the first. */
  readonly lastReconcile?: {
    readonly at: string;
    readonly steps: number;
    readonly durationMs: number;
  };
  /** How many servers have a session. */
  readonly sessions: SessionCount;
  /** Present while settings limit the number of running servers. */
  readonly budget?: BudgetUse;
  /**
   * The further clients, oldest first: when each was opened, in ISO 8601, and its servers that are ready.
   * Absent if there are none.
   */
  readonly clients?: readonly {
    readonly name: string;
    readonly since: string;
    readonly servers: readonly string[];
  }[];
  /** What the user should fix; empty if all is well. */
  readonly problems: readonly Problem[];
}

/** Number of servers that currently have a session. */
export interface SessionCount {
  /** How many have one over any transport. */
  readonly total: number;
  /** How many servers have a session over each transport. */
  readonly byTransport: Readonly<Record<TransportKind, number>>;
  /** Running server processes, including those that are ending. */
  readonly subprocessCount: number;
}

/**
 * Use of the server budget. A server keeps its slot through reconnects and while dormant. It
 * releases the slot when it is blocked, disabled, stopped, waiting for a login, or has given up.
 */
export interface BudgetUse {
  /** The policy's `admission.maxServers`. */
  readonly max: number;
  /** Whether servers beyond the budget are only reported, or kept from running. */
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
  /** The server's process and its descendants. */
  readonly processCount: number;
}

/** What a server was used for, and what it uses now. */
export interface ServerUsage {
  /** The server's name in the settings. */
  readonly server: string;
  /** Number of requests sent to it for callers since the troupe started, such as tool calls. */
  readonly calls: number;
  /** Absent without a process, and on systems without a process list, such as Windows. */
  readonly memory?: MemoryUse;
}

/** The status of the troupe and of all its servers at one moment, as plain data. */
export interface TroupeSnapshot {
  /** The status of the troupe itself. */
  readonly troupe: TroupeStatus;
  /** The servers' statuses, sorted by name. */
  readonly servers: readonly ServerStatus[];
}
