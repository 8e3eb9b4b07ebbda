import type { PermissionRules } from './permission.ts';
import type { ServerPolicy } from './policy.ts';
import type { Scope } from './scope.ts';
import type { TransportKind } from './server-spec.ts';

export { isFolderScope, type Scope, scopes } from './scope.ts';

/** The place a value came from. */
export interface SourceRef {
  readonly file?: string;
  readonly key: string;
  /** 1-based. */
  readonly line?: number;
  readonly scope: Scope;
}

/** The key that requests Docker's gateway, and so the source of its server. */
export const dockerGatewayKey = 'mcp.dockerGateway';

/** Something wrong in the settings that the user should fix. */
export interface Problem {
  readonly file: string;
  readonly line?: number;
  readonly key?: string;
  /** The server that is missing because of it. */
  readonly server?: string;
  /** One sentence: what is wrong and what to write instead. */
  readonly message: string;
  /** A warning costs no server and no value. Absent: an error. */
  readonly severity?: 'error' | 'warning';
}

/** The settings files that were read, and everything wrong in them. */
export interface SettingsReport {
  /** The files that exist or must exist, lowest precedence first. */
  readonly files: readonly ReportedFile[];
  /** In the order of the files, then by line. */
  readonly problems: readonly ReportedProblem[];
}

export interface ReportedFile {
  readonly file: string;
  readonly scope: Scope;
  /** How many servers it names; 0 for a file that cannot be used. */
  readonly servers: number;
}

export type ReportedProblem = Problem & Required<Pick<Problem, 'severity'>>;

/** Reports a problem with what a source declares. */
export function problemOf({ file, key, line, scope }: SourceRef, message: string): Problem {
  return { file: file ?? scope, ...(line === undefined ? {} : { line }), key, message };
}

/** Which tools of a server are shown. Names may hold `*`; exclude wins. */
export interface ToolFilter {
  /** Default: all. */
  readonly include: readonly string[];
  readonly exclude: readonly string[];
  /** Default: none. */
  readonly overrides?: readonly ToolOverride[];
  /** Which calls may go out, by the server's own names. Default: no rules. */
  readonly permissions?: PermissionRules;
}

/** Overrides for one tool of a server. */
export interface ToolOverride {
  readonly tool: string;
  /** False = it is neither shown nor called. Default: the patterns decide. */
  readonly enabled?: boolean;
  /** Deadline of one call, in place of the policy's `call.timeoutMs`. */
  readonly timeoutMs?: number;
}

/**
 * One server as it should be. Secret-free: what decides the connection is held
 * elsewhere under `generation`, so that charts and records never see it.
 */
export interface DesiredServer {
  readonly name: string;
  /** Fingerprint of what decides the connection, keyed by the installation: 64 hex digits. */
  readonly generation: string;
  /**
   * The same fingerprint without the key; approvals bind to it. It is never shown, because equal
   * secrets give equal hashes, against which guesses can be tested. Absent: the generation is not keyed.
   */
  readonly specDigest?: string;
  readonly transport: TransportKind;
  readonly enabled: boolean;
  readonly startup: 'eager' | 'lazy';
  /** The next generation is ready before this one leaves. Absent: this one leaves first. */
  readonly handover?: 'seamless';
  /** Whether this server's annotations, such as `readOnlyHint`, are trusted. */
  readonly trust: boolean;
  readonly tools: ToolFilter;
  readonly policy: ServerPolicy;
  readonly description?: string;
  readonly source: SourceRef;
  /** Whether the server needs approval: because a folder brought it, or by policy. */
  readonly gated: boolean;
  /**
   * Real path of the program that the command of a gated server leads to at present; decides
   * about approval with the generation. Absent: not known, not local, or not there.
   */
  readonly executable?: string;
  /**
   * Names of the variables that a gated server's `envFile` sets at present, sorted; they are
   * approved with the server. Absent: there is no such file, or it cannot be used.
   */
  readonly envFileNames?: readonly string[];
  /** Set when the entry is invalid; it blocks only this server. */
  readonly invalid?: Problem;
  /** The list that switched the server off, whatever its own entry says. */
  readonly disabledBy?: SourceRef;
  /** Set when a rule other than a list of names keeps the server out. */
  readonly bar?: Bar;
}

/** A rule other than a list of names that keeps a server out. */
export interface Bar {
  readonly verdict: 'excluded' | 'notAllowed';
  readonly rule: 'mcp.excluded' | 'mcp.allowed' | 'managed' | 'hostRule';
  /** Absent when no file holds the rule. */
  readonly source?: SourceRef;
  /** The next step. */
  readonly next: string;
}

/** How many servers may be admitted, and what happens beyond that. */
export interface ServerBudget {
  readonly max: number;
  readonly mode: 'warn' | 'enforce';
  /** Where the number is written; absent when the host gave it. */
  readonly source?: SourceRef;
}

/** The merged settings of all sources. */
export interface Settings {
  /** In declaration order; names are unique. */
  readonly servers: readonly DesiredServer[];
  /** Absent = all are allowed; empty = none. */
  readonly allowed?: readonly string[];
  readonly excluded: readonly string[];
  /** Sources of the two lists, to show the user. Absent = there are none. */
  readonly limits?: readonly Limit[];
  readonly slots: SlotCounts;
  /** Absent = no budget. */
  readonly budget?: ServerBudget;
  readonly startupGateMs: number;
  /** Which calls may go out. Absent = no rules. */
  readonly permissions?: LayeredPermissions;
  /** How many catalogs are stored, including those of live servers. Absent = no limit. */
  readonly maxCatalogs?: number;
  readonly problems: readonly Problem[];
}

/** One list in force, from one file. */
export interface Limit {
  readonly list: 'allowed' | 'excluded';
  readonly names: readonly string[];
  readonly source: SourceRef;
}

/** The user's own rules, and those of other layers, which cannot allow anything. */
export interface LayeredPermissions {
  readonly own: PermissionRules;
  readonly narrowing: PermissionRules;
  /** The same lists with their places, to show the user which one decided. */
  readonly places: readonly PlacedRules[];
}

/** The lists of one verdict, from one file. */
export interface PlacedRules {
  readonly rules: PermissionRules;
  readonly source: SourceRef;
}

/** How many servers may be starting at once. */
export interface SlotCounts {
  /** `auto` = as many as suit the processor cores. */
  readonly local: number | 'auto';
  readonly remote: number;
}
