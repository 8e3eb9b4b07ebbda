import type { PermissionPattern, PermissionRules } from './permission.ts';
import type { NamingPolicy, ServerPolicy } from './policy.ts';
import type { Scope } from './scope.ts';
import type { TransportKind } from './server-spec.ts';

export { isFolderScope, type Scope, scopes } from './scope.ts';

/** The place that a value came from. */
export interface SourceRef {
  /** The file; absent for settings of the host. */
  readonly file?: string;
  /** Path of the value, for example `mcpServers.db`. */
  readonly key: string;
  /** Line number, counted from 1. */
  readonly line?: number;
  /** The layer that it belongs to. */
  readonly scope: Scope;
}

/** The key that requests Docker's gateway, and therefore the source of its server. */
export const dockerGatewayKey = 'mcp.dockerGateway';

/** Something wrong in the settings that the user should fix. */
export interface Problem {
  /** The file, or the scope for settings that are in none. */
  readonly file: string;
  /** Line number, counted from 1. */
  readonly line?: number;
  /** The path of the faulty value, for example `mcpServers.db.args`. */
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

/** A settings file and how many servers it names. */
export interface ReportedFile {
  /** Absolute path. */
  readonly file: string;
  /** The layer that it belongs to. */
  readonly scope: Scope;
  /** How many servers it names; 0 for a file that cannot be used. */
  readonly servers: number;
}

/** A problem with its severity, which is never absent here. */
export type ReportedProblem = Problem & Required<Pick<Problem, 'severity'>>;

/** Reports a problem with what a source declares. */
export function problemOf({ file, key, line, scope }: SourceRef, message: string): Problem {
  return { file: file ?? scope, ...(line === undefined ? {} : { line }), key, message };
}

/** The tools of a server that are shown. Names may contain `*`; exclude wins. */
export interface ToolFilter {
  /** Patterns to include. Default: all. */
  readonly include: readonly string[];
  /** Patterns to exclude. Default: none. */
  readonly exclude: readonly string[];
  /** Overrides for individual tools. Default: none. */
  readonly overrides?: readonly ToolOverride[];
  /** Which calls may be sent, by the server's own names. Default: no rules. */
  readonly permissions?: PermissionRules;
}

/** Overrides for one tool of a server. */
export interface ToolOverride {
  /** The server's own name for the tool. */
  readonly tool: string;
  /** Whether the tool is shown and callable. Default: the patterns decide. */
  readonly enabled?: boolean;
  /** Deadline of one call, instead of the policy's `call.timeoutMs`. */
  readonly timeoutMs?: number;
  /** How often the tool may be called. Default: no limit of its own. */
  readonly limits?: CallLimits;
}

/** How many calls are sent in any 60 seconds; a further call is refused with `RATE_LIMITED`. */
export interface CallLimits {
  /** For all clients together. Default: no limit. */
  readonly perMinute?: number;
  /** For each client. Default: no limit. */
  readonly perClientPerMinute?: number;
}

/**
 * A server as it should be. It contains no secrets: what decides the connection is stored elsewhere
 * under `generation`, so charts and records never see it.
 */
export interface DesiredServer {
  readonly name: string;
  /** Fingerprint of what decides the connection, keyed by the installation: 64 hex digits. */
  readonly generation: string;
  /**
   * The same fingerprint without the key; approvals bind to it. It is never shown, because equal
   * secrets have equal hashes, against which guesses can be tested. Absent if the generation is not
   * keyed.
   */
  readonly specDigest?: string;
  readonly transport: TransportKind;
  /** A package runner starts it, which may download it first. */
  readonly mayDownload?: true;
  readonly enabled: boolean;
  readonly startup: 'eager' | 'lazy';
  /**
   * Whether the next generation is ready before this one leaves. If absent, this one leaves first.
   */
  readonly handover?: 'seamless';
  /** Whether this server's annotations, such as `readOnlyHint`, are trusted. */
  readonly trust: boolean;
  readonly tools: ToolFilter;
  /** How often the server may be called. Absent if there is no limit. */
  readonly limits?: CallLimits;
  readonly policy: ServerPolicy;
  readonly description?: string;
  readonly source: SourceRef;
  /** Whether the server needs approval, because a folder brought it or by policy. */
  readonly gated: boolean;
  /**
   * Real path of the program that a gated server's command currently leads to; decides about
   * approval together with the generation. Absent if it is unknown, not local, or missing.
   */
  readonly executable?: string;
  /**
   * Names of the variables that a gated server's `envFile` currently sets, sorted; they are
   * approved with the server. Absent if the file does not exist or cannot be used.
   */
  readonly envFileNames?: readonly string[];
  /**
   * Files of the folder in which a package runner starts that decide what it runs; they are approved
   * with the server, which then needs approval even if it is not gated. Absent if there are none.
   */
  readonly folderFiles?: readonly FolderFile[];
  /** Set if the entry is invalid; blocks only this server. */
  readonly invalid?: Problem;
  /** The list that switched the server off, whatever its own entry says. */
  readonly disabledBy?: SourceRef;
  /** Set if a rule other than a list of names excludes the server. */
  readonly bar?: Bar;
  /** What rules a login out: the entry's own authorization, or `"oauth": false`. */
  readonly noLogin?: 'headers' | 'off';
}

/** A file that decides what a server runs. */
export interface FolderFile {
  /** Relative to the folder in which the server starts, with `/`. */
  readonly path: string;
  readonly digest: string;
}

/** Returns whether a server starts only with the user's approval. */
export function needsApproval({
  gated,
  folderFiles,
}: Pick<DesiredServer, 'gated' | 'folderFiles'>): boolean {
  return gated || folderFiles !== undefined;
}

/** A rule other than a list of names that excludes a server. */
export interface Bar {
  readonly verdict: 'excluded' | 'notAllowed';
  readonly rule: 'mcp.excluded' | 'mcp.allowed' | 'mcp.projectServers' | 'managed' | 'hostRule';
  /** Where the rule is written; absent if it is in no file. */
  readonly source?: SourceRef;
  /** The next step. */
  readonly next: string;
}

/** How many servers may be admitted, and what happens beyond that. */
export interface ServerBudget {
  readonly max: number;
  readonly mode: 'warn' | 'enforce';
  /** Where the number is written; absent if the host set it. */
  readonly source?: SourceRef;
}

/** A program that sees calls before they are sent, or their results. */
export interface CommandHook {
  readonly name: string;
  /** The program and its arguments; no shell is involved. */
  readonly command: readonly string[];
  /** The tools that it sees. Default: all. */
  readonly tools?: readonly PermissionPattern[] | undefined;
  /** Its own deadline. Default: that of hooks. */
  readonly timeoutMs?: number | undefined;
  /** Its place in the settings. The program runs in the folder of that file. */
  readonly source: SourceRef;
}

/** The programs of all own files, in the order in which they run. */
export interface CommandHooks {
  readonly before: readonly CommandHook[];
  readonly after: readonly CommandHook[];
}

/** How the ledger of calls is kept. */
export interface LedgerSettings {
  /** `digest`: only a digest of a call's arguments is recorded. `full`: the arguments themselves. */
  readonly arguments: 'digest' | 'full';
  /** Size at which a new file starts. */
  readonly maxBytes: number;
  /** How many files are kept, with the one that is written. */
  readonly files: number;
}

/** The merged settings of all sources. */
export interface Settings {
  /** The servers in declaration order; names are unique. */
  readonly servers: readonly DesiredServer[];
  /** Names of the allowed servers; absent if all are allowed, empty if none are. */
  readonly allowed?: readonly string[];
  readonly excluded: readonly string[];
  /** Sources of the two lists, to show the user. Absent if there are none. */
  readonly limits?: readonly Limit[];
  readonly slots: SlotCounts;
  /** The server budget; absent if there is none. */
  readonly budget?: ServerBudget;
  readonly startupGateMs: number;
  /** Which calls may be sent. Absent if there are no rules. */
  readonly permissions?: LayeredPermissions;
  /** How often servers may be called in all. Absent if there is no limit. */
  readonly callLimits?: CallLimits;
  /** What clients may see and do, by view; the names differ. Absent if there are none. */
  readonly views?: readonly ViewSettings[];
  /** One of the user's own files has never been readable, so that what it limits is unknown. */
  readonly isPartial?: true;
  /** Absent if there are none. */
  readonly hooks?: CommandHooks;
  /** Absent if calls are not recorded. */
  readonly ledger?: LedgerSettings;
  /** False if no command may start a troupe in the background; otherwise absent. */
  readonly background?: false;
  /** How many catalogs are stored, including those of live servers. Absent for no limit. */
  readonly maxCatalogs?: number;
  readonly problems: readonly Problem[];
}

/** The items that a pattern covers, by their servers' own names or addresses. `*` matches anything. */
export type ItemPattern = string | { readonly server: string; readonly name: string };

/** Which items are shown; exclude wins. */
export interface ItemFilter {
  /** Default: all. */
  readonly include?: readonly ItemPattern[] | undefined;
  readonly exclude?: readonly ItemPattern[] | undefined;
}

/** What a client may see and do. What is absent does not narrow it. */
export interface ViewSettings {
  readonly name: string;
  /** Patterns of servers' names. */
  readonly servers?: readonly string[] | undefined;
  readonly tools?: ItemFilter | undefined;
  /** New names of tools, in place of their own; those of one server differ. */
  readonly renames?: readonly ToolRename[] | undefined;
  readonly prompts?: ItemFilter | undefined;
  /** Of resources and templates, by their addresses. */
  readonly resources?: ItemFilter | undefined;
  /** Rules besides all others, which allow nothing. */
  readonly permissions?: PlacedRules | undefined;
  /** How its tools are named, where that differs from their servers' policies. */
  readonly naming?:
    | { readonly [Field in keyof NamingPolicy]?: NamingPolicy[Field] | undefined }
    | undefined;
  readonly limits?: CallLimits | undefined;
  /** Rules for access tokens, of which one must be met. Absent: see `viewsOf`. */
  readonly clients?: readonly ClientRule[] | undefined;
}

export interface ToolRename {
  readonly server: string;
  /** The server's own name. */
  readonly tool: string;
  readonly to: string;
}

/** What an access token must have; all parts must hold. */
export interface ClientRule {
  /** Its subject. */
  readonly user?: string | undefined;
  /** One of its groups. */
  readonly group?: string | undefined;
  /** One of its scopes. */
  readonly scope?: string | undefined;
}

/** One list in effect, from one file. */
export interface Limit {
  readonly list: 'allowed' | 'excluded';
  readonly names: readonly string[];
  readonly source: SourceRef;
}

/** The user's own rules, and those of other layers, which cannot allow anything. */
export interface LayeredPermissions {
  readonly own: PermissionRules;
  readonly narrowing: PermissionRules;
  /** The same lists with their sources, to show the user which one decided. */
  readonly places: readonly PlacedRules[];
}

/** The rule lists for one decision, from one file. */
export interface PlacedRules {
  readonly rules: PermissionRules;
  readonly source: SourceRef;
}

/** How many servers may be starting at once. */
export interface SlotCounts {
  /** Number of local servers; `auto` for as many as suit the processor cores. */
  readonly local: number | 'auto';
  /** Number of remote servers; `auto` for as many as suit the open files of a process. */
  readonly remote: number | 'auto';
}
