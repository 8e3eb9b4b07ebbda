/**
 * Every number and rule that tunes the life of a server, as plain data.
 *
 * The groups are subjects; a preset is one whole object. Lengths of time are
 * milliseconds and end in `Ms`; `null` is the word for "off" or "no limit". All
 * of it applies in place: a change ends no connection and shortens no wait that
 * is under way. Which fields this version does not obey yet is listed in
 * `src/policies/presets/policy-reach.ts`, as is which count for the whole troupe.
 */

import type { FailureKind } from './failure.ts';
import type { Scope } from './scope.ts';

/** The names that tools are shown under. */
export interface NamingPolicy {
  /**
   * Holds `{tool}` and mostly `{server}`. A tool of a server whose tools are not known yet is found by
   * its name only where `{server}` comes first.
   */
  readonly template: string;
  readonly case: 'keep' | 'lower';
  /** In characters. */
  readonly maxLength: number;
  /** What happens to a longer name: its end gives way to a hash, its middle to `___`, or the tool is left out. */
  readonly overflow: 'hash' | 'middle' | 'error';
  /** Whether `github_search` of the server `github` loses its beginning. */
  readonly stripServerPrefix: boolean;
  /** Who keeps a name that two tools want: the first by origin, nobody but both get a hash, or nobody. */
  readonly collision: 'originOrder' | 'suffix' | 'error';
  /** Templates of further spellings that a call may use, where only one tool is meant. */
  readonly aliases: readonly string[];
}

/** What follows when no attempt is left: nothing, a rest until somebody needs it, or quiet attempts (remote servers only). */
export type AfterGiveUp = 'stop' | 'untilDemanded' | QuietRetries;

/** Single attempts at doubling intervals, for as long as it takes. */
export interface QuietRetries {
  readonly retryFromMs: number;
  readonly toMs: number;
  /** No such wait is shorter, whatever the jitter. */
  readonly floorMs?: number | undefined;
}

/** The waits of a server that answers its start with "too busy" or an error of its own. */
export interface BusyBackoff {
  readonly initialMs: number;
  readonly factor: number;
  readonly maxMs: number;
  /** Up to this fraction is added at random; nothing is taken away. */
  readonly addedJitter: number;
}

/** From the wish to run until the server is ready for the first time. */
export interface StartupPolicy {
  /** `lazy`: with the first demand; `background`: at once, but `ready()` does not wait for it. */
  readonly mode: 'eager' | 'lazy' | 'background';
  /**
   * How long `ready()` waits for servers, counted from the creation of the troupe. Reading the
   * settings takes half of it at most: what is left then counts from the first pass.
   */
  readonly gateMs: number;
  /** Whether the gate also waits, however long, for servers whose tools are not known from before. */
  readonly withoutCache: 'late' | 'block';
  /** Whether `required()` insists on this server; such a one is started even when it is lazy. */
  readonly required: boolean;
  /** How long `required()` waits for it, counted from the first pass. */
  readonly timeoutMs: number;
  /** Tries of a start, the first included; null = no limit. */
  readonly maxAttempts: number | null;
  /** The kinds of failure after which a start is tried again. */
  readonly retryOn: 'any' | readonly FailureKind[];
  /**
   * After HTTP 408, 429, 500, 502, 503, 504 or 529: these waits instead of the
   * restart's, and no limit of attempts. Null = such a start fails like any other.
   */
  readonly busyBackoff: BusyBackoff | null;
  readonly afterGiveUp: AfterGiveUp;
}

export interface ConnectPolicy {
  /** From the start permit to a finished handshake; null = no deadline. */
  readonly localTimeoutMs: number | null;
  readonly remoteTimeoutMs: number | null;
  /** For the whole tool list, all pages together. */
  readonly listTimeoutMs: number;
  /** Longest wait for a start permit before the wait is given up and tried again later. */
  readonly queueTimeoutMs: number;
  /** What a `${VAR}` that is not set and has no default means: no start, or the text as it is. */
  readonly missingVariable: 'fail' | 'keep';
  /**
   * How many may be starting at once; `auto` = eight for each processor core, null = no
   * limit. `mcp.slots` wins over it.
   */
  readonly localSlots: number | 'auto' | null;
  readonly remoteSlots: number | null;
}

/** `auto` = local after a failure, remote always; `remote` = remote always, local never. */
export const restartRules = ['auto', 'never', 'failure', 'always', 'remote'] as const;
export type RestartRule = (typeof restartRules)[number];

/** One wait after the other; the last of a ladder repeats. */
export type Delays =
  | readonly number[]
  | {
      readonly initialMs: number;
      readonly factor: number;
      readonly maxMs: number;
      /** No wait is shorter, whatever the jitter. */
      readonly floorMs?: number | undefined;
    };

/** Nothing; anything between the floor and the wait; or so large a fraction more or less, as 0.2. */
export type Jitter = 'none' | 'full' | number;

/** What happens when a server that was ready is lost. */
export interface RestartPolicy {
  /** When a lost session is opened again. `never` also means that a failed start is not repeated. */
  readonly on: RestartRule;
  /** Whether the first attempt waits; one that does not is counted all the same. */
  readonly first: 'immediate' | 'delayed';
  readonly delays: Delays;
  readonly jitter: Jitter;
  /** Attempts of one outage; null = no limit. */
  readonly maxAttempts: number | null;
  /** When a ready server has its whole budget back: at once, or after so long a service. */
  readonly budgetReset: 'immediate' | { readonly sustainedMs: number };
  readonly afterGiveUp: AfterGiveUp;
  /** A peer's own wish (`Retry-After`) lengthens a wait within these bounds. */
  readonly retryAfterMinMs: number;
  readonly retryAfterMaxMs: number;
}

/** Reaching the limit within the sliding window suspends the server, or fails it. */
export interface StormLimit {
  readonly limit: number;
  readonly windowMs: number;
  /** `suspend` keeps the tools it had on show, `fail` takes them away. */
  readonly action: 'suspend' | 'fail';
}

/** Limits on what a budget per outage does not see, because the server is ready in between. Null = off. */
export interface StormPolicy {
  /** Counts sessions that ended by a crash. */
  readonly crashLoop: StormLimit | null;
  /** Counts lost sessions, whatever the cause, and those that the breaker has exchanged. */
  readonly reconnectStorm: StormLimit | null;
}

export interface BreakerPolicy {
  /** Failed calls in a row that trip it; null = off. */
  readonly threshold: number | null;
  /** All failures that speak against the server, or those of its connection alone. */
  readonly counts: 'callFailures' | 'connectionErrors';
  /** `failFast` opens the circuit, `reconnect` exchanges the session instead. */
  readonly action: 'failFast' | 'reconnect';
  /** Wait before an open circuit is probed; doubles with each failed probe. */
  readonly cooldownMs: number;
  readonly maxCooldownMs: number;
  readonly probeTimeoutMs: number;
}

/** How a ready server is watched while nobody calls it. */
export interface HealthPolicy {
  readonly mode: 'off' | 'status' | 'ping';
  readonly everyMs: number;
  /** Failed looks in a row that end the session. */
  readonly failures: number;
  readonly treatMethodNotFoundAsAlive: boolean;
}

export interface IdlePolicy {
  /**
   * Ready without a call for this long, the session is closed until demanded; null = never.
   * Counted from a second after the last call: until then the next may belong to the same work.
   */
  readonly stopMs: number | null;
  /** How long a shared server outlives its last user; null = it is not shared. */
  readonly drainMs: number | null;
  /** Longest such rest, however often users come and go; null = no limit. */
  readonly maxIdleMs: number | null;
}

export interface CatalogPolicy {
  /** What is shown of a server that is lost for the moment. */
  readonly whileDown: 'keepStale' | 'hide' | 'deferred';
  /** Whether lists outlive their session: not at all, until this run ends, or beyond. */
  readonly cache: 'none' | 'memory' | 'disk';
  /** How long a stored list counts; null = as long as it is there. */
  readonly ttlMs: number | null;
  /** Stored lists; null = no limit. */
  readonly maxEntries: number | null;
  /** Characters of a tool's description that are shown; 0 = none at all. */
  readonly descriptionMaxLength: number;
  /** What happens to a tool whose definition changed since it was approved. */
  readonly pinTools: 'off' | 'warn' | 'hold';
}

export interface CallPolicy {
  /** Deadline of one call, waiting included. */
  readonly timeoutMs: number;
  /** Longest silence of a running call; null = the deadline alone counts. */
  readonly idleTimeoutMs: number | null;
  /** Whether news of progress begins the silence anew, and moves the deadline up to `maxTimeoutMs`. */
  readonly progressResets: boolean;
  /** How far progress may move a deadline that the caller did not give; null = not at all. */
  readonly maxTimeoutMs: number | null;
  /** After so long at work a call settles with a receipt, and is collected later; null = never. */
  readonly backgroundAfterMs: number | null;
  /**
   * Which lost calls are sent a second time: none; those of an expired session; those that provably never
   * ran, and harmless tools of trusted servers; or every one, though it may then run twice.
   */
  readonly replay: 'never' | 'sessionExpired' | 'idempotentTrusted' | 'once';
  /** How long a question that the server asks back waits for its answer. */
  readonly questionTimeoutMs: number;
  /** Questions of a server that may wait at once; further ones are cancelled. */
  readonly maxQuestions: number;
}

/** What becomes of the answer of a tool before its caller has it. */
export interface ResultPolicy {
  /** Characters of all texts, data and names of an answer; with more, the call fails. */
  readonly maxLength: number;
  /** Levels of an answer; with more, the call fails. */
  readonly maxDepth: number;
  /** Characters of all texts of an answer that are shown; null = all. */
  readonly textMaxLength: number | null;
  /** Whether a text that was cut is kept whole in a file, where there is a state folder. */
  readonly cutText: 'file' | 'drop';
  /** Longest side of an image, in pixels; a larger one is made smaller where `sharp` is installed. Null = no limit. */
  readonly imageMaxPixels: number | null;
  /** Bytes of an image; one that cannot be made to fit is not shown. Null = no limit. */
  readonly imageMaxBytes: number | null;
  /** Whether sound and other binary data stay in the answer, or go into files where there is a state folder. */
  readonly binaries: 'keep' | 'file';
  /** Whether structured content that does not fit the tool's own output schema fails the call. */
  readonly outputSchema: 'check' | 'ignore';
  /** Whether a failed answer that demands a log-in fails the call like other refusals, or is kept. */
  readonly authChallenge: 'refuse' | 'keep';
  /** Files of answers that are kept in the state folder; with one more the oldest goes. */
  readonly filesMaxCount: number;
  /** Bytes of all of them together, and so of one. */
  readonly filesMaxBytes: number;
  /** How long one is kept, looked at with each new one. */
  readonly filesMaxAgeMs: number;
}

/** A kind of failure, before the built-in table is asked. All that is given must fit. */
export interface ClassifyRule {
  /** HTTP status. */
  readonly status?: number | undefined;
  /** Text: a code of Node or of the SDK, of the error or of one of its causes. Number: of a JSON-RPC error answer. */
  readonly code?: string | number | undefined;
  /** Part of the message of the error or of one of its causes, in any case of letters. No pattern. */
  readonly message?: string | undefined;
  readonly kind: FailureKind;
}

export interface ClassifyPolicy {
  /** Asked before the built-in table, the first that fits decides. */
  readonly rules: readonly ClassifyRule[];
}

export interface AuthPolicy {
  /** What a server does that wants a log-in: wait for it, ask for it, or fail. */
  readonly onMissing: 'park' | 'prompt' | 'fail';
  /** How long nobody is asked again; null = until the log-in is done. */
  readonly parkMs: number | null;
  /** Whether an attempt that nobody waits for may open a browser. */
  readonly background: 'nonInteractive' | 'interactive';
  /** Whether one renewal of a token at a time is enough for all. */
  readonly refresh: 'singleFlight' | 'perServer';
}

/** One step towards the end of a process, and how long it may take. */
export interface CloseStep {
  readonly by: 'stdinEnd' | 'SIGINT' | 'SIGTERM' | 'SIGKILL';
  readonly waitMs: number;
}

export interface ClosePolicy {
  /** Taken until the process group is empty. Whoever outlives them all gets SIGKILL. */
  readonly steps: readonly CloseStep[];
  /** Longest wait for a session to end before it is disposed of by force. */
  readonly totalMs: number;
  /**
   * Who is sent the signals: the process itself, its group, or whoever descends from it, too. SIGKILL
   * goes to all of them, so that nobody is left behind.
   */
  readonly scope: 'child' | 'group' | 'tree';
}

export interface AdmissionPolicy {
  /** How many servers may run at once; null = no limit. */
  readonly maxServers: number | null;
  readonly budget: 'off' | 'warn' | 'enforce';
}

export interface ApprovalPolicy {
  /**
   * Scopes whose servers may start only when a person agreed, besides `project`, `workspace` and
   * `local`, of which that always holds.
   */
  readonly gatedScopes: readonly Scope[];
  /** Whether every call is asked for as well. */
  readonly perCall: boolean;
}

export interface ReloadPolicy {
  /** Only what changed is touched; or all is ended and begun again; or edits wait for the next start. */
  readonly mode: 'incremental' | 'full' | 'none';
  /** Silence after the last write of a file before it is read. */
  readonly debounceMs: number;
}

/** All of it. A server's own differs from the troupe's in what its settings override. */
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
  readonly auth: AuthPolicy;
  readonly close: ClosePolicy;
  readonly admission: AdmissionPolicy;
  readonly approval: ApprovalPolicy;
  readonly reload: ReloadPolicy;
}

export type PolicyGroup = keyof ServerPolicy;

/** The name of one field, as `restart.maxAttempts`. */
export type PolicyField = {
  readonly [Group in PolicyGroup]: `${Group}.${keyof ServerPolicy[Group] & string}`;
}[PolicyGroup];

/** Some fields of some groups; each field that is there is there as a whole. */
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

/** Where a policy starts and what differs from there. Without a preset it starts at the troupe's. */
export interface PolicyChoice {
  readonly preset?: PresetName;
  readonly overrides: PolicyOverrides;
}
