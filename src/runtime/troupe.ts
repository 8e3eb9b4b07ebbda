/**
 * The runtime's public interface. A host never holds anything else: no chart or actor is exposed.
 */

import type { Account, StoredLogin } from '../domain/authorization.ts';
import type {
  CompletionRequest,
  CompletionResult,
  ExposedInstructions,
  ExposedPrompt,
  ExposedResource,
  ExposedResourceTemplate,
  PromptResult,
  ResourceResult,
} from '../domain/catalog.ts';
import type { Clock } from '../domain/clock.ts';
import type { ApprovalRequest } from '../domain/host/approval.ts';
import type { HostCredentials } from '../domain/host/credentials.ts';
import type { EmbeddedServer } from '../domain/host/embedded.ts';
import type {
  HostEvent,
  PluginSource,
  TroupeEventName,
  TroupeEvents,
} from '../domain/host/event.ts';
import type { Explanation } from '../domain/host/explanation.ts';
import type { ProvideHeaders } from '../domain/host/headers.ts';
import type { CallHooks } from '../domain/host/hooks.ts';
import type { Inspection } from '../domain/host/inspection.ts';
import type { HostRule } from '../domain/host/rule.ts';
import type { ServerStatus, ServerUsage, TroupeSnapshot } from '../domain/host/status.ts';
import type { Streamable } from '../domain/host/stream.ts';
import type { TelemetryProviders, TraceContext } from '../domain/host/telemetry.ts';
import type { AskForInput } from '../domain/input.ts';
import type { LogLevel } from '../domain/log-level.ts';
import type { AskPermission, PermissionChoice, PermissionHook } from '../domain/permission.ts';
import type { Step } from '../domain/plan.ts';
import type { PolicyOverrides, PresetName } from '../domain/policy.ts';
import type {
  InputRound,
  Question,
  QuestionAnswer,
  QuestionClient,
  QuestionHandler,
  QuestionKind,
  RootFolder,
} from '../domain/question.ts';
import type { ServerLogLine } from '../domain/server-log.ts';
import type { ServerState, StateReason } from '../domain/server-state.ts';
import type { CallProgress, ListName, ServerProfile } from '../domain/session.ts';
import type { SettingsReport } from '../domain/settings.ts';
import type { ExposedTool, ToolResult } from '../domain/tool.ts';
import type { ToolMatch } from '../policies/tools/search.ts';

/** A settings file and the scope that it counts as. */
export interface SettingsFile {
  /** Absolute, or relative to the project folder. */
  readonly file: string;
  /**
   * The layer that the file belongs to; layers count in their own order, whatever the order of the
   * files. `project`, `workspace` and `local` are gated. With `managed`, no other servers run. Only
   * a file with the scope `config` must exist. Default: `config`.
   */
  readonly scope?: 'managed' | 'user' | 'project' | 'workspace' | 'local' | 'config';
}

/** Numbers and rules that differ from a preset; checked like those in settings. */
export interface HostPolicy extends PolicyOverrides {
  /** Default: `default`. */
  readonly preset?: PresetName;
}

/** How much of the charts' work is recorded. */
export interface InspectOptions {
  /** Number of records to keep in memory. Default: 10,000. */
  readonly records?: number;
  /** Bytes of memory that they may take, by estimate. Default: no limit. */
  readonly maxBytes?: number;
  /**
   * File to which every record is also written; `troupe replay` opens it. It is rotated at 16 MB,
   * and the last three are kept next to it. Default: none.
   */
  readonly journal?: string;
}

/** Options of `createTroupe`. Everything is optional; an invalid value throws `INVALID_ARGUMENTS`. */
export interface TroupeOptions {
  /** Settings files, lowest precedence first. Default: none. */
  readonly sources?: readonly (string | SettingsFile)[];
  /** Plugins that bring servers. Their keys about how servers are treated are ignored. Default: none. */
  readonly plugins?: readonly PluginSource[];
  /** Rules about servers of any origin, evaluated in this order. Default: none. */
  readonly rules?: readonly HostRule[];
  /**
   * Whether only `settings`, `servers` and files with the scopes `config` and `managed` count, and
   * nothing from the user, a folder or a plugin. Default: false.
   */
  readonly bare?: boolean;
  /** Settings of the host itself, in the format of a settings file; highest precedence. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Servers that run inside the host, by name. Default: none. */
  readonly servers?: Readonly<Record<string, EmbeddedServer>>;
  /**
   * The project folder, in which its servers and those of the host start. Relative paths in their entries, in
   * `sources` and in `roots` begin there. Default: the working directory.
   */
  readonly projectRoot?: string;
  /**
   * Folder for data that outlives a run: the running processes, so that the next troupe with this
   * folder can end those of a killed one; the servers' catalogs, which the next troupe shows before
   * it is connected; decisions about servers that need approval; and calls, if the settings ask for
   * their ledger. Default: none; nothing is written.
   */
  readonly stateDir?: string;
  /** Upper bound on servers that may ever connect; settings only narrow it. Default: none. */
  readonly allow?: readonly string[];
  /** Whether settings files in the project folder count. Default: true. */
  readonly trusted?: boolean;
  /**
   * A preset for all numbers and rules, or overrides by group. The policies in settings files build
   * on it. Default: `default`.
   */
  readonly policy?: PresetName | HostPolicy;
  /** Whether the charts' work is recorded from the start: see {@link Troupe.inspection}. Default: false. */
  readonly inspect?: boolean | InspectOptions;
  /**
   * Whether to create spans and metrics with `@opentelemetry/api`, which must be installed, and to
   * pass callers' traces on to servers. `true` uses the providers registered for the process; a
   * host can pass its own. Default: false.
   */
  readonly telemetry?: boolean | TelemetryProviders;
  /** Seed for all jitter. Equal seeds and inputs produce equal delays. Default: random. */
  readonly seed?: number;
  /** The clock to use. Default: the real clock. */
  readonly clock?: Clock;
  /**
   * Provides the values of `${input:id}` in settings, usually by asking the user. Each input is
   * requested once, when a server that needs it connects, and must arrive within two minutes; it is
   * kept in memory. A restart by `send` requests missing inputs again. Default: such a server does
   * not start.
   */
  readonly inputs?: AskForInput;
  /**
   * Provides headers for remote servers: when a session opens, shortly before a signed token in them
   * expires, and once after the server refused them (401, 403). They replace headers of the same
   * names in the settings. It must resolve within ten seconds. A project's server may have any name
   * and any address, so decide by `url` and `scope`. Default: only the settings' headers are sent.
   */
  readonly headers?: ProvideHeaders;
  /**
   * Stores logins in a place of the host's own. Default: the state folder, sealed with a key from the
   * system's keychain where there is one; without a state folder, logins end with the run.
   */
  readonly credentials?: HostCredentials;
  /**
   * Answers the servers' questions, except those of a call with its own `onQuestion`. A question that
   * it does not answer (undefined) waits for `answer()`. Default: every question is declined.
   */
  readonly onQuestion?: QuestionHandler;
  /**
   * The kinds of questions announced to servers. Default: `form` and `url` with `onQuestion`,
   * otherwise none. A host that passes `onQuestion` with its calls lists their kinds here.
   */
  readonly questions?: readonly QuestionKind[];
  /**
   * Roots announced to servers: paths relative to the project folder, or `file:` URLs.
   * `roots.changed` replaces them. Default: no roots are announced.
   */
  readonly roots?: readonly (string | RootFolder)[];
  /** Decides about each tool call before it is sent. Default: only the settings' rules decide, and other calls are allowed. */
  readonly permission?: PermissionHook;
  /**
   * Functions that see each tool call before its permission is checked, and its result before anything
   * else does; those of the settings run after them (docs/calls.md#hooks). Default: none.
   */
  readonly hooks?: CallHooks;
  /**
   * Asks the user about a call for which a rule, the `permission` hook or the policy says `ask`.
   * Default: such a call is refused with `PERMISSION_DENIED`.
   */
  readonly askPermission?: AskPermission;
  /** Environment from which `${VAR}` references are read. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The servers by name when the startup gate opened, and how long that took, in milliseconds. */
export interface StartReport {
  /** Servers that are ready, or degraded. */
  readonly live: readonly string[];
  /** Servers that are not ready, but list stored tools; a call starts them or waits for them. */
  readonly deferred: readonly string[];
  /** Servers without tools that are starting, or are dormant. */
  readonly pending: readonly string[];
  /** Servers without tools that back off or need the user. Disabled and stopped ones are in no list. */
  readonly failed: readonly {
    readonly name: string;
    readonly state: ServerState;
    readonly reason?: StateReason;
  }[];
  /** Time from the troupe's creation. */
  readonly elapsedMs: number;
}

/** Options of one call. Everything is optional; deadlines are in milliseconds. */
export interface CallOptions {
  /** Aborts the call, which then fails with `CANCELLED`; the server is notified. */
  readonly signal?: AbortSignal;
  /**
   * The call's deadline, including waits and questions. Default: the server's policy, 60 s, which
   * pauses while a question of this call is open, until the call is ten minutes old.
   */
  readonly timeoutMs?: number;
  /** Longest silence after the call is sent; progress restarts it. Default: the server's policy, none. */
  readonly idleTimeoutMs?: number;
  /**
   * Called for each progress notification. Unless `timeoutMs` is set here, progress extends the deadline
   * by the policy's `timeoutMs`, up to its `maxTimeoutMs`, 10 minutes.
   */
  readonly onProgress?: (progress: CallProgress) => void;
  /**
   * Answers the server's questions during this call, instead of the troupe's `onQuestion`.
   * Questions that do not certainly belong to this call are never passed to it. Default: the
   * troupe's.
   */
  readonly onQuestion?: QuestionHandler;
  /**
   * The client for which this call is made, if it may make several at once. Without it, a question that
   * may belong to any of two calls is passed to neither.
   */
  readonly client?: QuestionClient;
  /** The client's name, for limits per client. Default: `host`. */
  readonly clientName?: string;
  /** For a caller that passes on a modern server's questions, round by round. Default: `onQuestion` answers them. */
  readonly round?: InputRound;
  /** The host's own id for this call, which its questions carry. */
  readonly requestId?: string;
  /** Asks the user about this call, instead of the troupe's `askPermission`. */
  readonly askPermission?: AskPermission;
  /** With `telemetry`, the trace that this call belongs to. Default: the active one. */
  readonly traceContext?: TraceContext;
  /**
   * Metadata for the server, sent in the request's `_meta` without the protocol's own keys
   * (`progressToken` and `io.modelcontextprotocol/…`). Default: none.
   */
  readonly meta?: Readonly<Record<string, unknown>>;
}

/** A call's result, and how it came about. An `isError` result is a result too. */
export interface CallReport {
  /** The server's result, after the policy's `result` rules. */
  readonly result: ToolResult;
  /** How the call went: durations in milliseconds, waits included. */
  readonly meta: {
    readonly server: string;
    readonly tool: string;
    /** Number of times the request was sent. */
    readonly attempts: number;
    readonly durationMs: number;
    /** The call continues in the background under this id, and the result is a receipt: see `collect`. */
    readonly background?: string;
  };
}

/** A call that continues in the background. */
export interface BackgroundCall {
  /** The id to pass to `collect`. */
  readonly id: string;
  /** The server's name in the settings. */
  readonly server: string;
  /** The server's own name for the tool. */
  readonly tool: string;
  /** When its caller got the receipt, in ISO 8601. */
  readonly since: string;
  /** `running`, or ready for `collect` in either of the other states. */
  readonly state: 'running' | 'done' | 'failed';
}

/** A fixed list of tools for one step of a conversation: neither the tools nor their meaning change. */
export interface CatalogSnapshot {
  /** The tools, sorted by exposed name; the same array for as long as the snapshot is held. */
  readonly tools: readonly ExposedTool[];
  /**
   * Calls a tool of this snapshot by its exposed name: exactly the tool that was shown. If its
   * server was replaced, the call goes to the new one if that one lists the same tool. Otherwise
   * works like the troupe's `callTool`.
   * @throws TroupeError, without executing anything: `SERVER_REMOVED`; `TOOL_UNKNOWN` if the server
   * no longer has the tool, or the snapshot never had it; `TOOL_CHANGED` if its definition changed.
   */
  callTool(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallReport>;
}

/** A server's response to a request other than a tool call. */
export interface RequestReport<Result> {
  /** The server's result, as the protocol defines it. */
  readonly result: Result;
  /** How the request went: durations in milliseconds, waits included. */
  readonly meta: {
    readonly server: string;
    /** Number of times the request was sent. */
    readonly attempts: number;
    readonly durationMs: number;
  };
}

/** How long to wait, in milliseconds, and a signal that ends the wait with `CANCELLED`. */
export interface WaitOptions {
  /** Ends the wait with `CANCELLED`. */
  readonly signal?: AbortSignal;
  /** Maximum wait. Default: 60 s. `Infinity` for no limit. */
  readonly timeoutMs?: number;
}

/** How the servers that had a session ended when the troupe stopped. */
export interface StopReport {
  /** Servers that had no running call and closed in time. */
  readonly drained: readonly string[];
  /** Servers whose calls were cut off, or that had to be ended by force. */
  readonly forced: readonly string[];
  /** What went wrong during the stop, one sentence each. */
  readonly errors: readonly string[];
}

/** Options of `Troupe.login`. */
export interface LoginOptions extends WaitOptions {
  /** Log in on another device, with a code, if the issuer offers that (RFC 8628). */
  readonly device?: boolean;
  /**
   * Whether to wait for a login that is under way for the same credential, whose address is shown again.
   * Default: it starts over, and the earlier address becomes invalid.
   */
  readonly joins?: boolean;
}

/**
 * One server, by its name. Its stream emits the current status, then each change, and completes
 * when the troupe stops.
 */
export interface ServerHandle extends Streamable<ServerStatus | undefined> {
  /** The name given to `Troupe.server`. */
  readonly name: string;
  /** Returns the server's status; undefined while no such server exists. */
  status(): ServerStatus | undefined;
}

/**
 * A running troupe. Its stream emits the statuses of all servers, sorted by name: at once, after
 * each change, and at the end. The methods' comments are a table of `docs/library.md`.
 */
export interface Troupe extends AsyncDisposable, Streamable<readonly ServerStatus[]> {
  /**
   * The charts' work as records, once recording is started here or by the option `inspect`
   * (docs/library.md#recording-what-the-charts-do).
   */
  readonly inspection: Inspection;
  /**
   * Resolves after the startup gate, with the servers that are live, pending or failed by then.
   * Never rejects.
   *
   * The gate counts from the troupe's creation; reading the settings takes up to half of it.
   * Servers without a stored tool list extend it if their `startup.withoutCache` is `block`.
   */
  ready(): Promise<StartReport>;
  /**
   * Resolves once every enabled server with `required` is ready, each within its own
   * `startupTimeoutMs`, counted from the first applied pass.
   * @throws RequiredServersError `TIMEOUT_WAITING` with the list; TroupeError `SHUTTING_DOWN`.
   */
  required(): Promise<void>;
  /** Lists all tools that can be called now, sorted by exposed name. */
  tools(): readonly ExposedTool[];
  /**
   * Finds tools by keywords in their names, titles, servers and descriptions, best match first,
   * offline and in a stable order (docs/library.md#finding-one-of-many-tools). Default limit: 10.
   * @throws TroupeError `INVALID_ARGUMENTS` for a query that is not a string, or a limit below 1.
   */
  searchTools(query: string, options?: { readonly limit?: number }): readonly ToolMatch[];
  /**
   * Returns a snapshot of the tools, with a `callTool` restricted to them, for one step of a
   * conversation (docs/library.md#one-step-of-a-conversation). Later edits do not affect it.
   */
  catalog(): CatalogSnapshot;
  /** Lists all known resources, sorted by server and address. */
  resources(): readonly ExposedResource[];
  /** Lists all known resource templates, sorted by server and template. */
  resourceTemplates(): readonly ExposedResourceTemplate[];
  /** Lists all known prompts, sorted by server and name. */
  prompts(): readonly ExposedPrompt[];
  /** Lists the servers' own instructions for their use, sorted by server. */
  instructions(): readonly ExposedInstructions[];
  /**
   * Resolves once no server is about to send this list for the first time: those that are starting
   * have sent it, or failed. Instructions arrive with the tools. Resolves with false at the deadline,
   * one minute by default, or when the signal is aborted. Never rejects.
   */
  listed(list: ListName, options?: WaitOptions & { readonly server?: string }): Promise<boolean>;
  /**
   * Returns a connected server's name, version and capabilities as it declared them. Undefined while
   * it is not connected.
   */
  profile(server: string): ServerProfile | undefined;
  /** Returns the status of the troupe and of every server, as plain data. */
  snapshot(): TroupeSnapshot;
  /**
   * Counts each server's calls and reads the memory of its processes, sorted by name. Reads the
   * process list only when asked.
   */
  usage(): Promise<readonly ServerUsage[]>;
  /** Returns the status of one server. Undefined if there is no such server. */
  status(server: string): ServerStatus | undefined;
  /**
   * Returns a handle for one server, which may be added later: its status and a stream of its
   * statuses for RxJS's `from()` (docs/library.md#streams-of-statuses).
   */
  server(name: string): ServerHandle;
  /**
   * Explains a server's state: what decided it, what would change it, which timers are running, and
   * the past attempts. Undefined if there is no such server.
   */
  explain(server: string): Explanation | undefined;
  /**
   * Returns the last lines that a server wrote and the troupe's notes about it, oldest first, at
   * most 64 KB; works for a removed server too. Undefined if there is no such server.
   */
  logs(server: string): readonly ServerLogLine[] | undefined;
  /** Lists the servers' questions that `answer()` may answer now, oldest first. */
  questions(): readonly Question[];
  /**
   * Answers a question. The first answer counts, whatever its origin.
   * @throws TroupeError `INVALID_ARGUMENTS` if no such question is open, or the answer does not fit
   * it.
   */
  answer(id: string, answer: QuestionAnswer): void;
  /** Reads the settings and lists the steps that a pass would take now, and why; takes none. */
  plan(): Promise<readonly Step[]>;
  /** Reads the settings and reports every problem of every file; changes nothing. */
  checkSettings(): Promise<SettingsReport>;
  /** Lists what would run, for every gated server or only for one. */
  approvals(server?: string): readonly ApprovalRequest[];
  /**
   * Resolves once all decisions so far are on disk. Resolves with false if they cannot be stored:
   * without a `stateDir`, or if writing failed; the snapshot's problems then say why.
   */
  approvalsSaved(): Promise<boolean>;
  /** Lists the servers whose policy moves long calls to the background (`call.backgroundAfterMs`). */
  backgroundServers(): readonly string[];
  /**
   * Lists the calls that are running in the background or have not been collected yet, at most 64
   * (docs/calls.md#in-the-background).
   */
  backgroundCalls(): readonly BackgroundCall[];
  /**
   * Waits for a background call and returns its result, once. A result is kept for an hour.
   * @throws TroupeError with which the call failed; `INVALID_ARGUMENTS` if there is no such call;
   * `TIMEOUT_WAITING` or `CANCELLED` if it is still running, which ends only this wait.
   */
  collect(id: string, options?: WaitOptions): Promise<CallReport>;
  /**
   * Lists what users allowed for more than one call in this project, oldest first
   * (docs/calls.md#permissions).
   */
  permissions(): Promise<readonly PermissionChoice[]>;
  /**
   * Revokes what users allowed: for all servers, for one server, or for one of its tools. Returns
   * the number of revoked permissions. Rejects with the file system's error if it cannot be
   * written.
   */
  forgetPermissions(which?: { readonly server?: string; readonly tool?: string }): Promise<number>;
  /**
   * Logs in to a remote server. The event `auth.started` has the URL that the user must open; the
   * response is received on this machine, or passed on with `finishLogin`. With `device`, it has a
   * code that the user enters on any other device. All servers that share the
   * credential continue. Resolves with the status of the server once it has started again.
   *
   * @throws TroupeError `AUTH_REQUIRED` with the reason if the login fails; `USAGE` if the server uses
   * none; the server's own code if it cannot start; `CANCELLED`, `TIMEOUT_WAITING`
   */
  login(server: string, options?: LoginOptions): Promise<ServerStatus>;
  /**
   * Ends the wait of a login with the URL to which the browser was redirected, where the browser runs on
   * another machine.
   *
   * @throws TroupeError `USAGE` if no login to the server waits for the browser; `INVALID_ARGUMENTS`
   */
  finishLogin(server: string, url: string): Promise<void>;
  /**
   * Revokes and deletes the credential of a server, or the one at an address, of which no server is
   * left or that none could start; other servers that share it lose it too.
   *
   * @throws TroupeError `USAGE` if the server uses none, or none is stored
   */
  logout(which: string | StoredLogin): Promise<void>;
  /** Lists the stored credentials, without secrets. Starts no server. */
  accounts(): Promise<readonly Account[]>;
  /**
   * Calls a tool by its exposed name, at most once; waits for a server that is starting.
   * @throws TroupeError with `code` and `outcome`.
   */
  callTool(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallReport>;
  /** Calls a tool by its server's name and its own name there; otherwise works like `callTool`. */
  callServerTool(
    server: string,
    tool: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallReport>;
  /**
   * Reads a resource, even one that is not listed. Waits and fails like `callTool`.
   * @throws TroupeError; `CAPABILITY_MISSING` if the server offers no resources.
   */
  readResource(
    server: string,
    uri: string,
    options?: CallOptions,
  ): Promise<RequestReport<ResourceResult>>;
  /** Gets a prompt with its arguments filled in. Waits and fails like `callTool`. */
  getPrompt(
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: CallOptions,
  ): Promise<RequestReport<PromptResult>>;
  /** Completes an argument of a prompt or a resource template. Waits and fails like `callTool`. */
  complete(
    server: string,
    request: CompletionRequest,
    options?: CallOptions,
  ): Promise<RequestReport<CompletionResult>>;
  /**
   * Watches a resource across reconnects: emits `resource.updated`. Returns a function that ends
   * the watch.
   *
   * The event is emitted when the server reports a change, and after each reconnect, because a
   * change may have been missed. Watching starts no server.
   * @throws TroupeError `SERVER_UNKNOWN`; `OVERLOADED` for more than 256 resources of a server.
   */
  subscribe(server: string, uri: string): () => void;
  /**
   * Requests servers' log messages from this level on, as the event `notification`. Returns a
   * function that withdraws the request.
   *
   * The most verbose request counts for all servers, including after reconnects. Without one, each
   * server sends what it likes.
   * @throws TroupeError `INVALID_ARGUMENTS` for a level that does not exist.
   */
  wantLogs(level: LogLevel): () => void;
  /**
   * Subscribes to an event. Returns the unsubscribe function. A listener's exception is reported
   * and affects nothing else.
   * @throws TroupeError `INVALID_ARGUMENTS` for an unknown event name.
   */
  on<Name extends TroupeEventName>(
    name: Name,
    listener: (event: TroupeEvents[Name]) => void,
  ): () => void;
  /**
   * Opens a further client: a troupe with its own settings, approvals, launch bound, roots, questions
   * and calls, which shares the processes of local servers with the others
   * (docs/library.md#several-clients). It reads what this troupe reads, except where an option says
   * otherwise; `allow` and `trusted` only narrow. Its `stop()` closes it alone, and the end of this
   * troupe closes all.
   *
   * @throws TroupeError `INVALID_ARGUMENTS`; `SHUTTING_DOWN`
   */
  openClient(
    options: Omit<
      TroupeOptions,
      | 'plugins'
      | 'rules'
      | 'stateDir'
      | 'telemetry'
      | 'seed'
      | 'clock'
      | 'headers'
      | 'credentials'
      | 'hooks'
    > & {
      /** Shown wherever clients are listed, and counted for limits per client. */
      readonly name: string;
      /** Closes the client after this time, in milliseconds. Default: never. */
      readonly deadlineMs?: number;
    },
  ): Troupe;
  /**
   * Lists the names of the views in the settings; with the claims of an access token, of those that
   * their rules open to it, or undefined if no view has rules (docs/views.md#clients-with-tokens).
   * Empty while the settings have not been read.
   */
  views(claims?: {
    readonly user?: string | undefined;
    readonly groups: readonly string[];
    readonly scopes: readonly string[];
  }): readonly string[] | undefined;
  /**
   * Opens a view: the methods of a troupe for what the settings of the view show, and for nothing
   * else. A view that is removed from the settings shows nothing (docs/views.md#in-the-library).
   * `template` names the tools unless the view does.
   * @throws TroupeError `INVALID_ARGUMENTS` if the settings have been read and have no such view.
   */
  view(
    name: string,
    options?: { readonly template?: string },
  ): Pick<
    Troupe,
    | 'backgroundCalls'
    | 'backgroundServers'
    | 'callServerTool'
    | 'callTool'
    | 'catalog'
    | 'collect'
    | 'complete'
    | 'explain'
    | 'getPrompt'
    | 'instructions'
    | 'listed'
    | 'login'
    | 'on'
    | 'profile'
    | 'prompts'
    | 'readResource'
    | 'ready'
    | 'resources'
    | 'resourceTemplates'
    | 'searchTools'
    | 'snapshot'
    | 'status'
    | 'subscribe'
    | 'tools'
    | 'wantLogs'
  >;
  /**
   * Adds one server, or replaces the one added under this name. It wins over every layer except
   * managed settings, and stays until it is removed.
   *
   * @param settings - an entry as in `mcpServers`; an invalid one makes the server `blocked`
   * @throws TroupeError `INVALID_ARGUMENTS` for an invalid name, or an entry that is not an object.
   */
  addServer(name: string, settings: Readonly<Record<string, unknown>>): void;
  /**
   * Removes what `addServer` added; a server with this name in another layer counts again.
   * @throws TroupeError `SERVER_UNKNOWN` if nothing was added under this name.
   */
  removeServer(name: string): void;
  /**
   * Sends one of the events below, as if the host had acted.
   * @throws TroupeError `INVALID_ARGUMENTS` for an event that is not one of {@link HostEvent}.
   */
  send(event: HostEvent): void;
  /**
   * Resolves once the server is in the state; `ready` accepts `degraded`. The server may be added
   * later.
   * @throws TroupeError `TIMEOUT_WAITING`, `CANCELLED` or `SHUTTING_DOWN`.
   */
  waitFor(server: string, state: ServerState, options?: WaitOptions): Promise<ServerStatus>;
  /**
   * Restarts a server and resolves once a later session is ready.
   * @throws TroupeError at once when the server is stopped, removed from the settings or gives up.
   */
  restartAndWait(server: string, options?: WaitOptions): Promise<ServerStatus>;
  /**
   * Lists a ready server's tools, resources and prompts again, in its session. Resolves once the
   * server has answered for all of them, after at most 35 s by default.
   * @throws TroupeError with the reason why the server is not ready or did not list them.
   */
  refresh(server: string, options?: WaitOptions): Promise<ServerStatus>;
  /**
   * Ends every server and resolves once all have ended, at most 5 s later. Supports `await using`.
   */
  stop(): Promise<void>;
  /**
   * Does the same with options, of which `graceMs` lets running calls finish first, and reports how
   * each server ended.
   * @throws TroupeError `INVALID_ARGUMENTS` for wrong options.
   */
  stop(options: {
    /**
     * How long calls that have begun may take to finish, in milliseconds; later calls fail with
     * `SHUTTING_DOWN`. Another `stop()` without it ends the wait. Default: 0. `Infinity` for no limit.
     */
    readonly graceMs?: number;
    /** Ends servers at once instead of giving them up to 5 s to close. Default: false. */
    readonly force?: boolean;
  }): Promise<StopReport>;
}
