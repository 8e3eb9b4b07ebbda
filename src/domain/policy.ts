/**
 * Every number and rule that tunes a server's life, as plain data.
 *
 * The groups are subjects; a preset is one complete object. Durations are in milliseconds and end
 * in `Ms`; `null` stands for "off" or "no limit". Every change applies in place: it ends no
 * connection and shortens no wait already in progress.
 *
 * The fields' comments are the tables of `docs/policies.md` and the descriptions in the JSON schema
 * (`npm run docs`).
 */

import type { FailureKind } from './failure.ts';
import type { Scope } from './scope.ts';

/** The names under which tools are shown. */
export interface NamingPolicy {
  /**
   * Form of a tool's name, with `{tool}` and usually `{server}`. While a server's tools are
   * unknown, a name leads to it only if `{server}` precedes `{tool}`.
   */
  readonly template: string;
  /** Whether names are converted to lower case. */
  readonly case: 'keep' | 'lower';
  /**
   * Which characters of a server's and a tool's name are kept. `keep`: letters, digits, `_` and `-`,
   * and each other character becomes `_`; `single`: letters and digits, and what is between them
   * becomes one `_`, so `create--issue!` becomes `create_issue`.
   */
  readonly separators: 'keep' | 'single';
  /** Maximum length of a name, in characters. */
  readonly maxLength: number;
  /**
   * What happens to a longer name. `hash`: its end becomes a hash; `middle`: its middle becomes
   * `___`; `error`: the tool is omitted.
   */
  readonly overflow: 'hash' | 'middle' | 'error';
  /** Whether the server `github`'s tool `github_search` becomes `search`. */
  readonly stripServerPrefix: boolean;
  /**
   * Which of two tools gets a name that both want. `originOrder`: the first by server and tool, and
   * the other gets a hash; `suffix`: both get a hash; `error`: neither is shown.
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

/** Individual attempts at doubling intervals, for as long as it takes. */
export interface QuietRetries {
  /** The first wait. */
  readonly retryFromMs: number;
  /** The longest wait. */
  readonly toMs: number;
  /** Minimum wait, whatever the jitter. */
  readonly floorMs?: number | undefined;
}

/** The waits of a server that responds to its start with "too busy" or an error of its own. */
export interface BusyBackoff {
  /** The first wait. */
  readonly initialMs: number;
  /** By how much each wait grows. */
  readonly factor: number;
  /** The longest wait. */
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
   * How long `ready()` waits for servers, counted from the troupe's creation. Reading the settings
   * may take up to half of it; the rest counts from the first pass. `mcp.startupGateMs` wins.
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
  /** Attempts of a start, including the first; null for no limit. The key `maxAttempts` sets it. */
  readonly maxAttempts: number | null;
  /** The kinds of failure after which a start is retried (docs/codes.md). */
  readonly retryOn: 'any' | readonly FailureKind[];
  /**
   * What follows when a variable, an input or a password is missing or the command does not exist. `fail`: the server fails
   * at once and is tried again with the next demand; `retry`: it is retried like after any failure.
   */
  readonly missing: 'fail' | 'retry';
  /**
   * So many consecutive starts that fail the same way are the last: with the same exit code and the
   * same explanation, or with the same 404, 405 or web page from a URL. A remote server is then only
   * retried rarely, if at all; null = no such limit.
   */
  readonly sameExits: number | null;
  /**
   * Waits that replace those of `restart` when a start gets an HTTP 408, 429, 500, 502, 503, 504 or
   * 529 response; the number of attempts is then unlimited. `addedJitter`: up to this fraction is
   * added at random. Null: the start fails like any other.
   */
  readonly busyBackoff: BusyBackoff | null;
  /** What follows the last attempt of a start, as in `restart.afterGiveUp`. */
  readonly afterGiveUp: AfterGiveUp;
}

/** Deadlines of a start, in milliseconds, and how many servers may start at once. */
export interface ConnectPolicy {
  /**
   * For local servers, the deadline from the start permit to a finished handshake; null for none.
   * The key `connectTimeoutMs` sets this and the next two.
   */
  readonly localTimeoutMs: number | null;
  /**
   * The least deadline for a server that a package runner such as `npx`, `uvx` or `docker run`
   * starts, until its tools have been listed once on this machine: it may be downloading. Null:
   * such a server gets no extra time.
   */
  readonly firstRunTimeoutMs: number | null;
  /** The deadline of remote servers. */
  readonly remoteTimeoutMs: number | null;
  /** Deadline for the whole tool list, all pages together. */
  readonly listTimeoutMs: number;
  /** Maximum wait for a start permit; after that, the server backs off and retries. */
  readonly queueTimeoutMs: number;
  /**
   * What happens to a `${VAR}` reference to an unset variable without a default. `fail`: the server
   * does not start, and its error names the variable; `keep`: the reference stays as it is, and
   * `logs` has a note.
   */
  readonly missingVariable: 'fail' | 'keep';
  /**
   * Which clients of a troupe share the process of a local server that they would start alike.
   * `project`: those with the same project; `always`: all, and the process is not given the project as
   * a variable; `client`: none. Remote servers have a session for each client. The key `sharing` sets
   * it.
   */
  readonly sharing: 'always' | 'project' | 'client';
  /**
   * Number of local servers that may start at once; null for no limit. `auto`: eight per processor
   * core, and a start that takes longer than a second no longer counts. `mcp.slots` wins.
   */
  readonly localSlots: number | 'auto' | null;
  /**
   * Number of remote servers that may start at once; null for no limit. `auto`: 200, and a start that
   * takes longer than a tenth of a second no longer counts. `mcp.slots` wins.
   */
  readonly remoteSlots: number | 'auto' | null;
}

/** `auto`: local after a failure, remote always; `remote`: remote always, local never. */
export const restartRules = ['auto', 'never', 'failure', 'always', 'remote'] as const;
/** When a lost session is reopened; see `RestartPolicy.on`. */
export type RestartRule = (typeof restartRules)[number];

/** Consecutive waits; the last item of a list repeats. */
export type Delays =
  | readonly number[]
  | {
      readonly initialMs: number;
      readonly factor: number;
      readonly maxMs: number;
      /** Minimum wait, whatever the jitter. */
      readonly floorMs?: number | undefined;
    };

/**
 * No jitter; anything between the floor and the wait; or a fraction more or less, for example 0.2.
 */
export type Jitter = 'none' | 'full' | number;

/** When the first attempt after a loss is made. */
export type FirstAttempt = 'immediate' | 'delayed' | { readonly sustainedMs: number };

/** What happens when a server that was ready is lost. */
export interface RestartPolicy {
  /**
   * When a lost session is reopened. `auto`: local after a failure, remote always; `remote`: remote
   * always, local never; `never`: a failed start is not retried either. The key `restart` sets it.
   */
  readonly on: RestartRule;
  /**
   * When the first attempt after a loss is made: at once; after the first of the delays; or at once if
   * the lost session was ready for `sustainedMs` and it is the first loss of its outage, and after a
   * delay otherwise, which a call that waits for the server may end. The attempt counts in any case.
   */
  readonly first: FirstAttempt;
  /**
   * When the first attempt follows a session that the server no longer knows, which says nothing
   * against the server; null: as `first`.
   */
  readonly firstAfterExpiry: FirstAttempt | null;
  /** The waits before the attempts: a list, whose last item repeats, or one growing wait. */
  readonly delays: Delays;
  /** `none`; `full`: anything between `floorMs` and the wait; a fraction: that much more or less. */
  readonly jitter: Jitter;
  /** Attempts in one outage; null for no limit. The key `maxAttempts` sets it. */
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
  /** Maximum wait when the peer requests one. */
  readonly retryAfterMaxMs: number;
}

/** Reaching the limit within the sliding window suspends the server, or fails it. */
export interface StormLimit {
  /** How many are one too many. */
  readonly limit: number;
  /** Length of the sliding window. */
  readonly windowMs: number;
  /** `suspend` keeps showing the server's tools, `fail` removes them. */
  readonly action: 'suspend' | 'fail';
}

/** Limits on losses that a per-outage budget misses, because the server is ready in between. */
export interface StormPolicy {
  /**
   * Number of crashes of a ready server within the window that suspends or fails it; null for off.
   */
  readonly crashLoop: StormLimit | null;
  /** Number of lost sessions, whatever the cause, and of those that the breaker replaced; null for off. */
  readonly reconnectStorm: StormLimit | null;
}

/** When failing calls open a server's circuit, and how it closes again. Durations in milliseconds. */
export interface BreakerPolicy {
  /** Consecutive failed calls that trip the breaker; null for off. */
  readonly threshold: number | null;
  /** Which failures count: all that suggest a faulty server, or only broken connections. */
  readonly counts: 'callFailures' | 'connectionErrors';
  /** `failFast` opens the circuit; `reconnect` replaces the session. */
  readonly action: 'failFast' | 'reconnect';
  /** Wait before an open circuit is probed; doubles with each failed probe. */
  readonly cooldownMs: number;
  /** Maximum wait before an open circuit is probed. */
  readonly maxCooldownMs: number;
  /** Deadline of the probe. */
  readonly probeTimeoutMs: number;
}

/** How a ready server is checked while no call needs it. */
export interface HealthPolicy {
  /**
   * `off` and `status`: no checks, because an exited process or a broken stream is noticed at once;
   * `ping`: a regular ping, or a list of the tools if the server never answered one; any message of
   * the server counts. After the machine wakes up, every ready server is checked once in any mode.
   */
  readonly mode: 'off' | 'status' | 'ping';
  /** Time between two checks. */
  readonly everyMs: number;
  /**
   * Consecutive failed checks that end the session, unless a call is running; the first makes the
   * server `degraded`.
   */
  readonly failures: number;
  /** Whether "method not found" counts as a sign of life. */
  readonly treatMethodNotFoundAsAlive: boolean;
}

/** When a server without calls goes to sleep. */
export interface IdlePolicy {
  /**
   * How long a ready server may go without a call before it sleeps until the next one; null for
   * never. Counted from a second after the last call, because the next may belong to the same work.
   * The key `idleStopMs` sets it.
   */
  readonly stopMs: number | null;
  /**
   * How long the process of a local server is kept, in milliseconds, after the last client that used it
   * has ended. A server that is stopped or edited ends at once.
   */
  readonly drainMs: number;
  /** After how long without a call a process that the last client releases ends at once. */
  readonly maxIdleMs: number;
}

/** Which lists of tools are shown and stored, and for how long. */
export interface CatalogPolicy {
  /** Which tools are shown for a server that is temporarily lost. */
  readonly whileDown: 'keepStale' | 'hide' | 'deferred';
  /**
   * Which tools are shown for a lost server after its last attempt, if they were shown until then;
   * a call of one fails with the server's last error.
   */
  readonly afterGiveUp: 'hide' | 'keepStale';
  /** Where tool lists are kept after their session: nowhere, in memory, or on disk. */
  readonly cache: 'none' | 'memory' | 'disk';
  /**
   * How long a list is valid; null for no limit. A ready server's lists are then fetched again, after
   * 24 days at most; a stored list is dropped.
   */
  readonly ttlMs: number | null;
  /** Maximum number of stored lists; null for no limit. */
  readonly maxEntries: number | null;
  /**
   * Maximum characters shown of a tool's description, and of each description in its schemas; 0 for
   * none.
   */
  readonly descriptionMaxLength: number;
  /** What happens to a tool whose definition has changed since it was approved. */
  readonly pinTools: 'off' | 'warn' | 'hold';
}

/** Deadlines of calls, in milliseconds, and what happens to lost ones. */
export interface CallPolicy {
  /** Deadline of one call, including waits. The key `timeoutMs` sets it. */
  readonly timeoutMs: number;
  /**
   * Maximum silence during a running call; null if only the deadline counts. `{ "local": null,
   * "remote": 300000 }` sets it by transport.
   */
  readonly idleTimeoutMs:
    | number
    | null
    | { readonly local: number | null; readonly remote: number | null };
  /** Whether progress restarts the silence timer, and moves the deadline up to `maxTimeoutMs`. */
  readonly progressResets: boolean;
  /** How far progress may move a deadline that the caller did not set; null for not at all. */
  readonly maxTimeoutMs: number | null;
  /**
   * How long a call may run before it resolves with a receipt and is collected later; null for
   * never.
   */
  readonly backgroundAfterMs: number | null;
  /**
   * Which lost calls are resent. `never`: none; `sessionExpired`: those of an expired session;
   * `idempotentTrusted`: those that provably did not run, and idempotent tools of trusted servers;
   * `once`: also those that may have run, which may then run twice.
   */
  readonly replay: 'never' | 'sessionExpired' | 'idempotentTrusted' | 'once';
  /** How long a server's question waits for its answer. */
  readonly questionTimeoutMs: number;
  /** How many of a server's questions may wait at once; further ones are cancelled. */
  readonly maxQuestions: number;
}

/** What is done to a tool's result before its caller gets it. */
export interface ResultPolicy {
  /**
   * Maximum characters of all texts, data and names in a result; beyond it, the call fails with
   * `RESULT_TOO_LARGE`.
   */
  readonly maxLength: number;
  /** Maximum nesting levels of a result; beyond it, the call fails with `RESULT_TOO_LARGE`. */
  readonly maxDepth: number;
  /** Maximum characters shown of all texts in a result, with a note at each cut; null for all. */
  readonly textMaxLength: number | null;
  /**
   * Whether a text that was cut is kept whole in a file, if there is a state folder
   * (docs/library.md#how-results-are-changed).
   */
  readonly cutText: 'file' | 'drop';
  /**
   * Maximum side of an image, in pixels; larger ones are scaled down if the package `sharp` is
   * installed. Null for no limit.
   */
  readonly imageMaxPixels: number | null;
  /**
   * Maximum bytes of an image; a note replaces one that cannot be made to fit. Null for no limit.
   */
  readonly imageMaxBytes: number | null;
  /**
   * Whether audio and other binary data stays in the result, or moves to files and leaves a note,
   * if there is a state folder.
   */
  readonly binaries: 'keep' | 'file';
  /**
   * `check`: structured content that does not match the tool's output schema is left out, with a
   * line in the server's log. If the result has no other content, it is returned as text.
   */
  readonly outputSchema: 'check' | 'ignore';
  /**
   * `refuse`: an error result that demands a login (`_meta["mcp/www_authenticate"]`) fails the call
   * with `AUTH_REQUIRED`; `keep`: the caller gets the result.
   */
  readonly authChallenge: 'refuse' | 'keep';
  /** Maximum number of result files in the state folder; beyond it, the oldest is deleted. */
  readonly filesMaxCount: number;
  /** Maximum bytes of all result files together; a result larger than this is not kept. */
  readonly filesMaxBytes: number;
  /** How long a result file is kept; expired files are deleted when the next one is written. */
  readonly filesMaxAgeMs: number;
}

/** Assigns a failure kind before the built-in table does. All given conditions must match. */
export interface ClassifyRule {
  /** HTTP status to match. */
  readonly status?: number | undefined;
  /**
   * A string matches a code from Node or the SDK, on the error or one of its causes. A number
   * matches a JSON-RPC error code.
   */
  readonly code?: string | number | undefined;
  /**
   * Substring of the message of the error or one of its causes, case-insensitive. Not a pattern.
   */
  readonly message?: string | undefined;
  /** The kind of a failure that matches. */
  readonly kind: FailureKind;
}

/** How errors become kinds of failure. */
export interface ClassifyPolicy {
  /**
   * Rules for failure kinds, applied before the built-in table; the first match decides
   * (docs/policies.md#kinds-of-failure).
   */
  readonly rules: readonly ClassifyRule[];
}

/** Login to remote servers by OAuth. */
export interface AuthPolicy {
  /**
   * How long before its expiry a token is refreshed; at most a tenth of the time that it has left when
   * it is obtained.
   */
  readonly refreshAheadMs: number;
  /** How often in a row a server may demand more scopes before the call fails; 0 for never. */
  readonly stepUps: number;
  /** How long a login waits for the user. */
  readonly loginTimeoutMs: number;
  /**
   * How long a start trusts that a server which demanded a login still does, and leaves it `authRequired`
   * without a request; 0 for never. A login, a logout, changed settings or a reconnect ends it.
   */
  readonly rememberMs: number;
}

/** One step in ending a process, and how long it may take. */
export interface CloseStep {
  /** Closes stdin, or sends a signal. */
  readonly by: 'stdinEnd' | 'SIGINT' | 'SIGTERM' | 'SIGKILL';
  /** Wait before the next step. */
  readonly waitMs: number;
}

/** How a session and its process end. Durations in milliseconds. */
export interface ClosePolicy {
  /**
   * Steps that end a local server, each with its grace period, until its process group is empty; a
   * process that survives them all gets SIGKILL.
   */
  readonly steps: readonly CloseStep[];
  /** Maximum wait for a session to end before it is disposed of by force. */
  readonly totalMs: number;
  /**
   * Which processes get the signals: the process itself, its group, or its descendants too. SIGKILL
   * goes to all of them, so that none is left behind.
   */
  readonly scope: 'child' | 'group' | 'tree';
}

/** How many servers a troupe may run at once. */
export interface AdmissionPolicy {
  /** Maximum number of servers that may run at once; null for no limit. */
  readonly maxServers: number | null;
  /** What happens to servers beyond `maxServers`. */
  readonly budget: 'off' | 'warn' | 'enforce';
}

/** Which servers and calls need the user's approval. */
export interface ApprovalPolicy {
  /**
   * Scopes whose servers need approval to start, besides `project`, `workspace` and `local`, whose
   * servers always do.
   */
  readonly gatedScopes: readonly Scope[];
  /**
   * What happens before a package runner of a server that needs no approval starts in the project and
   * would read files there that decide what it runs, such as `.npmrc` or `node_modules`: `ask` waits
   * for an approval of these files, `allow` starts it.
   */
  readonly folderFiles: 'ask' | 'allow';
  /** Whether every call needs approval too. */
  readonly perCall: boolean;
}

/**
 * A complete policy. A server's own policy differs from the troupe's only where its settings
 * override it.
 */
export interface ServerPolicy {
  /** How tools are named. */
  readonly naming: NamingPolicy;
  /** When and how often a start is tried. */
  readonly startup: StartupPolicy;
  /** Time limits of a start, and how many run at once. */
  readonly connect: ConnectPolicy;
  /** What follows the loss of a session. */
  readonly restart: RestartPolicy;
  /** When a server that keeps failing is suspended. */
  readonly storm: StormPolicy;
  /** When calls are refused after failures. */
  readonly breaker: BreakerPolicy;
  /** How a silent server is checked. */
  readonly health: HealthPolicy;
  /** When an unused server is stopped. */
  readonly idle: IdlePolicy;
  /** Which lists are shown, stored and cut. */
  readonly catalog: CatalogPolicy;
  /** Time limits, repetition and concurrency of calls. */
  readonly call: CallPolicy;
  /** How long results may be, and what is cut. */
  readonly result: ResultPolicy;
  /** Which errors are which kind of failure. */
  readonly classify: ClassifyPolicy;
  /** How logins are done. */
  readonly auth: AuthPolicy;
  /** How a session and its process are ended. */
  readonly close: ClosePolicy;
  /** How many servers may run at once. */
  readonly admission: AdmissionPolicy;
  /** Which servers and calls need the user's approval. */
  readonly approval: ApprovalPolicy;
}

/** The name of a group of fields. */
export type PolicyGroup = keyof ServerPolicy;

/** The name of one field, for example `restart.maxAttempts`. */
export type PolicyField = {
  readonly [Group in PolicyGroup]: `${Group}.${keyof ServerPolicy[Group] & string}`;
}[PolicyGroup];

/** Some fields of some groups; each field is replaced as a whole. */
export type PolicyOverrides = {
  readonly [Group in PolicyGroup]?: Partial<ServerPolicy[Group]>;
};

/** The names of complete policies to start from. */
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
/** The name of a complete policy to start from. */
export type PresetName = (typeof presetNames)[number];

/** A starting point and overrides. Without a preset it starts from the troupe's policy. */
export interface PolicyChoice {
  readonly preset?: PresetName;
  readonly overrides: PolicyOverrides;
}
