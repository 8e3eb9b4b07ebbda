/**
 * Every number and rule that tunes the life of a server, as plain data.
 *
 * The groups are subjects; a preset is one whole object. Durations are in
 * milliseconds and end in `Ms`; `null` means "off" or "no limit". Every change
 * applies in place: it ends no connection and shortens no wait already under way.
 *
 * The comments of the fields are the tables of `docs/policies.md` and the
 * descriptions in the JSON schema (`npm run docs`).
 */

import type { FailureKind } from './failure.ts';
import type { Scope } from './scope.ts';

/** The names that tools are shown under. */
export interface NamingPolicy {
  /**
   * Form of a tool's name, with `{tool}` and usually `{server}`. While the tools of a server are
   * unknown, a name leads to it only if `{server}` stands before `{tool}`.
   */
  readonly template: string;
  /** Whether names are converted to lower case. */
  readonly case: 'keep' | 'lower';
  /** Maximum length of a name, in characters. */
  readonly maxLength: number;
  /**
   * What happens to a longer name. `hash`: its end becomes a hash; `middle`: its middle becomes
   * `___`; `error`: the tool is left out.
   */
  readonly overflow: 'hash' | 'middle' | 'error';
  /** Whether `github_search` of the server `github` becomes `search`. */
  readonly stripServerPrefix: boolean;
  /**
   * Which of two tools gets a name that both want. `originOrder`: the first by server and tool, the
   * other gets a hash; `suffix`: both get a hash; `error`: neither is shown.
   */
  readonly collision: 'originOrder' | 'suffix' | 'error';
  /** Further forms that a call may use if they match exactly one tool. */
  readonly aliases: readonly string[];
}

/**
 * What follows the last attempt: nothing, sleep until demanded, or quiet attempts (remote servers
 * only).
 */
export type AfterGiveUp = 'stop' | 'untilDemanded' | QuietRetries;

/** Single attempts at doubling intervals, for as long as it takes. */
export interface QuietRetries {
  readonly retryFromMs: number;
  readonly toMs: number;
  /** Minimum wait, whatever the jitter. */
  readonly floorMs?: number | undefined;
}

/** The waits of a server that answers its start with "too busy" or an error of its own. */
export interface BusyBackoff {
  readonly initialMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** Up to this fraction is added at random; nothing is subtracted. */
  readonly addedJitter: number;
}

/** From the decision to run until the server is ready for the first time. */
export interface StartupPolicy {
  /**
   * `eager`: starts at once; `background`: starts at once, but `ready()` does not wait for it;
   * `lazy`: starts with the first demand. The key `startup` sets it.
   */
  readonly mode: 'eager' | 'lazy' | 'background';
  /**
   * How long `ready()` waits for servers, counted from the creation of the troupe. Reading the
   * settings may take up to half of it; the rest counts from the first pass. `mcp.startupGateMs`
   * wins.
   */
  readonly gateMs: number;
  /** Whether the gate also waits, without a limit, for servers that have no stored tool list. */
  readonly withoutCache: 'late' | 'block';
  /**
   * Whether `required()` fails without this server; a required server starts even when it is lazy.
   * The key `required` sets it.
   */
  readonly required: boolean;
  /**
   * How long `required()` waits for the server, counted from the first pass. The key
   * `startupTimeoutMs` sets it.
   */
  readonly timeoutMs: number;
  /** Attempts of a start, including the first; null = no limit. The key `maxAttempts` sets it. */
  readonly maxAttempts: number | null;
  /** The kinds of failure after which a start is retried (docs/codes.md). */
  readonly retryOn: 'any' | readonly FailureKind[];
  /**
   * Waits that replace those of `restart` when a start is answered with HTTP 408, 429, 500, 502,
   * 503, 504 or 529; the number of attempts is then unlimited. `addedJitter`: up to this fraction is
   * added at random. Null = such a start fails like any other.
   */
  readonly busyBackoff: BusyBackoff | null;
  /** What follows the last attempt of a start, as in `restart.afterGiveUp`. */
  readonly afterGiveUp: AfterGiveUp;
}

export interface ConnectPolicy {
  /**
   * Local servers: deadline from the start permit to a finished handshake; null = none. The key
   * `connectTimeoutMs` sets both this and the next.
   */
  readonly localTimeoutMs: number | null;
  /** The same for remote servers. */
  readonly remoteTimeoutMs: number | null;
  /** Deadline for the whole tool list, all pages together. */
  readonly listTimeoutMs: number;
  /** Maximum wait for a start permit; after it the server backs off and tries again. */
  readonly queueTimeoutMs: number;
  /**
   * What a reference `${VAR}` to an unset variable without a default does. `fail`: the server does
   * not start, and its error names the variable; `keep`: the reference stays as it is, and `logs`
   * has a note.
   */
  readonly missingVariable: 'fail' | 'keep';
  /**
   * How many local servers may start at once; `auto` = eight per processor core, null = no limit.
   * `mcp.slots` wins.
   */
  readonly localSlots: number | 'auto' | null;
  /** The same for remote servers. */
  readonly remoteSlots: number | null;
}

/** `auto` = local after a failure, remote always; `remote` = remote always, local never. */
export const restartRules = ['auto', 'never', 'failure', 'always', 'remote'] as const;
export type RestartRule = (typeof restartRules)[number];

/** Consecutive waits; the last of a list repeats. */
export type Delays =
  | readonly number[]
  | {
      readonly initialMs: number;
      readonly factor: number;
      readonly maxMs: number;
      /** Minimum wait, whatever the jitter. */
      readonly floorMs?: number | undefined;
    };

/** Nothing; anything between the floor and the wait; or a fraction more or less, as 0.2. */
export type Jitter = 'none' | 'full' | number;

/** What happens when a server that was ready is lost. */
export interface RestartPolicy {
  /**
   * When a lost session is reopened. `auto`: local after a failure, remote always; `remote`: remote
   * always, local never; `never`: a failed start is not retried either. The key `restart` sets it.
   */
  readonly on: RestartRule;
  /** Whether the first attempt after a loss waits. It counts either way. */
  readonly first: 'immediate' | 'delayed';
  /** The waits before the attempts: a list, whose last item repeats, or one growing wait. */
  readonly delays: Delays;
  /** `none`; `full`: anything between `floorMs` and the wait; a fraction: that much more or less. */
  readonly jitter: Jitter;
  /** Attempts of one outage; null = no limit. The key `maxAttempts` sets it. */
  readonly maxAttempts: number | null;
  /** When a ready server regains all its attempts: at once, or after this much sustained service. */
  readonly budgetReset: 'immediate' | { readonly sustainedMs: number };
  /**
   * What follows the last attempt. `stop`: the server has failed; `untilDemanded`: it sleeps until a
   * call needs it; or, for remote servers, quiet attempts at doubling intervals.
   */
  readonly afterGiveUp: AfterGiveUp;
  /** Minimum wait when the peer requests one (`Retry-After`). */
  readonly retryAfterMinMs: number;
  /** Maximum such wait. */
  readonly retryAfterMaxMs: number;
}

/** Reaching the limit within the sliding window suspends the server, or fails it. */
export interface StormLimit {
  readonly limit: number;
  readonly windowMs: number;
  /** `suspend` keeps showing the server's tools, `fail` removes them. */
  readonly action: 'suspend' | 'fail';
}

/** Limits on losses that a budget per outage misses, because the server is ready in between. */
export interface StormPolicy {
  /** So many crashes of a ready server within the window suspend or fail it; null = off. */
  readonly crashLoop: StormLimit | null;
  /** The same for lost sessions, whatever the cause, and for sessions that the breaker replaced. */
  readonly reconnectStorm: StormLimit | null;
}

export interface BreakerPolicy {
  /** Consecutive failed calls that trip the breaker; null = off. */
  readonly threshold: number | null;
  /** Which failures count: all that speak against the server, or only broken connections. */
  readonly counts: 'callFailures' | 'connectionErrors';
  /** `failFast` opens the circuit; `reconnect` replaces the session. */
  readonly action: 'failFast' | 'reconnect';
  /** Wait before an open circuit is probed; doubles with each failed probe. */
  readonly cooldownMs: number;
  /** Maximum such wait. */
  readonly maxCooldownMs: number;
  /** Deadline of the probe. */
  readonly probeTimeoutMs: number;
}

/** How a ready server is checked while no call needs it. */
export interface HealthPolicy {
  /**
   * `off` and `status`: no checks, because an exited process or a broken stream is noticed at once;
   * `ping`: a regular ping. After the machine wakes up, every ready server is checked once in any
   * mode.
   */
  readonly mode: 'off' | 'status' | 'ping';
  /** Time between two checks. */
  readonly everyMs: number;
  /**
   * Consecutive failed checks that end the session, unless a call is running; the first makes the
   * server `degraded`.
   */
  readonly failures: number;
  /** Whether "method not found" counts as an answer. */
  readonly treatMethodNotFoundAsAlive: boolean;
}

export interface IdlePolicy {
  /**
   * Ready without a call for this long, the server sleeps until the next one; null = never. Counted
   * from a second after the last call, because the next may belong to the same work. The key
   * `idleStopMs` sets it.
   */
  readonly stopMs: number | null;
}

export interface CatalogPolicy {
  /** Which tools are shown of a server that is lost for the moment. */
  readonly whileDown: 'keepStale' | 'hide' | 'deferred';
  /** Where tool lists are kept after their session: nowhere, in memory, or on disk. */
  readonly cache: 'none' | 'memory' | 'disk';
  /** How long a stored list is valid; null = no limit. */
  readonly ttlMs: number | null;
  /** Maximum number of stored lists; null = no limit. */
  readonly maxEntries: number | null;
  /**
   * Characters shown of a tool's description, and of each description in its schemas; 0 = none.
   */
  readonly descriptionMaxLength: number;
  /** What happens to a tool whose definition changed since it was approved. */
  readonly pinTools: 'off' | 'warn' | 'hold';
}

export interface CallPolicy {
  /** Deadline of one call, including waits. The key `timeoutMs` sets it. */
  readonly timeoutMs: number;
  /** Maximum silence of a running call; null = only the deadline counts. */
  readonly idleTimeoutMs: number | null;
  /** Whether progress restarts the silence, and moves the deadline up to `maxTimeoutMs`. */
  readonly progressResets: boolean;
  /** How far progress may move a deadline that the caller did not set; null = not at all. */
  readonly maxTimeoutMs: number | null;
  /** Running for longer, a call resolves with a receipt and is collected later; null = never. */
  readonly backgroundAfterMs: number | null;
  /**
   * Which lost calls are sent again. `never`: none; `sessionExpired`: those of an expired session;
   * `idempotentTrusted`: those that provably did not run, and idempotent tools of trusted servers;
   * `once`: also those that may have run, which may then run twice.
   */
  readonly replay: 'never' | 'sessionExpired' | 'idempotentTrusted' | 'once';
  /** How long a server's question waits for its answer. */
  readonly questionTimeoutMs: number;
  /** How many questions of a server may wait at once; further ones are cancelled. */
  readonly maxQuestions: number;
}

/** What is done to a tool's result before the caller gets it. */
export interface ResultPolicy {
  /**
   * Characters of all texts, data and names of a result; beyond it the call fails with
   * `RESULT_TOO_LARGE`.
   */
  readonly maxLength: number;
  /** Nesting levels of a result; beyond it the call fails with `RESULT_TOO_LARGE`. */
  readonly maxDepth: number;
  /** Characters shown of all texts of a result, with a note at each cut; null = all. */
  readonly textMaxLength: number | null;
  /**
   * Whether a text that was cut is kept whole in a file, if there is a state folder
   * (docs/library.md#how-results-are-changed).
   */
  readonly cutText: 'file' | 'drop';
  /**
   * Maximum side of an image, in pixels; larger ones are scaled down if the package `sharp` is
   * installed. Null = no limit.
   */
  readonly imageMaxPixels: number | null;
  /** Maximum bytes of an image; a note replaces one that cannot be made to fit. Null = no limit. */
  readonly imageMaxBytes: number | null;
  /**
   * Whether audio and other binary data stay in the result, or move to files and leave a note, if
   * there is a state folder.
   */
  readonly binaries: 'keep' | 'file';
  /**
   * `check`: structured content that does not match the tool's output schema fails the call with
   * `BAD_RESPONSE`.
   */
  readonly outputSchema: 'check' | 'ignore';
  /**
   * `refuse`: an error result that demands a log-in (`_meta["mcp/www_authenticate"]`) fails the call
   * with `AUTH_REQUIRED`; `keep`: the caller gets the result.
   */
  readonly authChallenge: 'refuse' | 'keep';
  /** Maximum number of result files in the state folder; beyond it the oldest is deleted. */
  readonly filesMaxCount: number;
  /** Maximum bytes of all result files together; a result larger than this is not kept. */
  readonly filesMaxBytes: number;
  /** How long a result file is kept; expired files are deleted when the next one is written. */
  readonly filesMaxAgeMs: number;
}

/** Assigns a kind of failure, before the built-in table does. All given conditions must match. */
export interface ClassifyRule {
  /** HTTP status. */
  readonly status?: number | undefined;
  /**
   * Text: a code of Node or of the SDK, of the error or one of its causes. Number: the code of a
   * JSON-RPC error.
   */
  readonly code?: string | number | undefined;
  /** Part of the message of the error or one of its causes, in any case of letters. No pattern. */
  readonly message?: string | undefined;
  readonly kind: FailureKind;
}

export interface ClassifyPolicy {
  /**
   * Rules for kinds of failure, applied before the built-in table; the first match decides
   * (docs/policies.md#kinds-of-failure).
   */
  readonly rules: readonly ClassifyRule[];
}

/** One step towards the end of a process, and how long it may take. */
export interface CloseStep {
  readonly by: 'stdinEnd' | 'SIGINT' | 'SIGTERM' | 'SIGKILL';
  readonly waitMs: number;
}

export interface ClosePolicy {
  /**
   * Steps that end a local server, each with its grace period, until its process group is empty; a
   * process that survives them all gets SIGKILL.
   */
  readonly steps: readonly CloseStep[];
  /** Maximum wait for a session to end before it is disposed of by force. */
  readonly totalMs: number;
  /**
   * Which processes get the signals: the process itself, its group, or also its descendants. SIGKILL
   * goes to all of them, so that none is left behind.
   */
  readonly scope: 'child' | 'group' | 'tree';
}

export interface AdmissionPolicy {
  /** How many servers may run at once; null = no limit. */
  readonly maxServers: number | null;
  /** What happens to servers beyond `maxServers`. */
  readonly budget: 'off' | 'warn' | 'enforce';
}

export interface ApprovalPolicy {
  /**
   * Scopes whose servers need approval to start, besides `project`, `workspace` and `local`, whose
   * servers always do.
   */
  readonly gatedScopes: readonly Scope[];
  /** Whether every call needs approval as well. */
  readonly perCall: boolean;
}

/** All of it. A server's own policy differs from the troupe's in what its settings override. */
export interface ServerPolicy {
  readonly naming: NamingPolicy;
  readonly startup: StartupPolicy;
  readonly connect: ConnectPolicy;
  readonly restart: RestartPolicy;
  readonly storm: StormPolicy;
  readonly breaker: BreakerPolicy;
  readonly health: HealthPolicy;
  readonly idle: IdlePolicy;
  readonly catalog: CatalogPolicy;
  readonly call: CallPolicy;
  readonly result: ResultPolicy;
  readonly classify: ClassifyPolicy;
  readonly close: ClosePolicy;
  readonly admission: AdmissionPolicy;
  readonly approval: ApprovalPolicy;
}

export type PolicyGroup = keyof ServerPolicy;

/** The name of one field, as `restart.maxAttempts`. */
export type PolicyField = {
  readonly [Group in PolicyGroup]: `${Group}.${keyof ServerPolicy[Group] & string}`;
}[PolicyGroup];

/** Some fields of some groups; each field is replaced as a whole. */
export type PolicyOverrides = {
  readonly [Group in PolicyGroup]?: Partial<ServerPolicy[Group]>;
};

export const presetNames = [
  'default',
  'ohMyPi',
  'qwenCode',
  'codeBuddy',
  'claudeCode',
  'dockerResilient',
  'dockerStrict',
  'dockerBestEffort',
] as const;
export type PresetName = (typeof presetNames)[number];

/** A starting point and overrides. Without a preset it starts from the troupe's policy. */
export interface PolicyChoice {
  readonly preset?: PresetName;
  readonly overrides: PolicyOverrides;
}
