/**
 * The public face of the runtime. These interfaces are all a host ever holds:
 * no chart and no actor is handed out.
 */

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
import type { EmbeddedServer } from '../domain/host/embedded.ts';
import type { HostEvent, TroupeEventName, TroupeEvents } from '../domain/host/event.ts';
import type { Explanation } from '../domain/host/explanation.ts';
import type { Inspection } from '../domain/host/inspection.ts';
import type { HostRule } from '../domain/host/rule.ts';
import type { ServerStatus, TroupeSnapshot } from '../domain/host/status.ts';
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
  QuestionHandler,
  QuestionKind,
  RootFolder,
} from '../domain/question.ts';
import type { ServerLogLine } from '../domain/server-log.ts';
import type { ServerState, StateReason } from '../domain/server-state.ts';
import type { CallProgress, ServerProfile } from '../domain/session.ts';
import type { ExposedTool, ToolResult } from '../domain/tool.ts';
import type { ToolMatch } from '../policies/tools/search.ts';

/** A settings file and the scope it counts as. */
export interface SettingsFile {
  readonly file: string;
  /**
   * The layer that the file belongs to; layers count in their own order, whatever the order of the
   * files. `project`, `workspace` and `local` are gated. Beside `managed` no other servers run. Only
   * a file of the scope `config` must exist. Default: `config`.
   */
  readonly scope?: 'managed' | 'user' | 'project' | 'workspace' | 'local' | 'config';
}

/** The servers of a plugin of the host: in a file, or as an object in the form of one. */
export interface PluginSource {
  /** Its servers are called `plugin:<plugin>:<server>`. */
  readonly plugin: string;
  readonly file?: string;
  readonly settings?: Readonly<Record<string, unknown>>;
}

/** Numbers and rules that differ from a preset; checked as in settings. */
export interface HostPolicy extends PolicyOverrides {
  readonly preset?: PresetName;
}

/** How much of what the charts do is recorded. */
export interface InspectOptions {
  /** Most records to keep in memory. Default: 10,000. */
  readonly records?: number;
  /**
   * File that every record is written into as well: `troupe replay` opens it. From 16 MB on a new
   * one is begun, and the three before it are kept beside it. Default: none.
   */
  readonly journal?: string;
}

export interface TroupeOptions {
  /** Settings files, lowest precedence first. Default: none. */
  readonly sources?: readonly (string | SettingsFile)[];
  /** Plugins that bring servers. Their keys that say how servers are treated are ignored. Default: none. */
  readonly plugins?: readonly PluginSource[];
  /** Rules about servers, whoever declared them; asked in this order. Default: none. */
  readonly rules?: readonly HostRule[];
  /**
   * Whether only `settings`, `servers` and files of the scopes `config` and `managed` count: nothing
   * that a user, a folder or a plugin brings. Default: false.
   */
  readonly bare?: boolean;
  /** Settings of the host itself, in the form of a settings file; highest precedence. */
  readonly settings?: Readonly<Record<string, unknown>>;
  /** Servers that run inside the host, by name. Default: none. */
  readonly servers?: Readonly<Record<string, EmbeddedServer>>;
  /** Relative paths in settings start here. Default: the working directory. */
  readonly projectRoot?: string;
  /**
   * Folder for what outlives a run: the processes that run, so that the next troupe with this
   * folder ends what a killed one left behind, the catalogs of servers, which the next one
   * shows before it is connected, and what was decided about servers that need approval.
   * Default: none; nothing is written.
   */
  readonly stateDir?: string;
  /** Upper bound on servers that may ever connect; settings only narrow it. Default: none. */
  readonly allow?: readonly string[];
  /** Whether the folder's files count. Default: true. */
  readonly trusted?: boolean;
  /**
   * A preset of all numbers and rules, or overrides by group; where the policies of settings files start.
   * Default: `default`.
   */
  readonly policy?: PresetName | HostPolicy;
  /** Whether what the charts do is recorded from the beginning: see {@link Troupe.inspection}. Default: false. */
  readonly inspect?: boolean | InspectOptions;
  /**
   * Whether spans and metrics are made with `@opentelemetry/api`, which has to be installed, and calls
   * carry the trace of their callers to the server: `true` for what is registered for the process, or
   * the host's own providers. Default: false.
   */
  readonly telemetry?: boolean | TelemetryProviders;
  /** Seed of all jitter; equal seeds and inputs give equal delays. Default: random. */
  readonly seed?: number;
  /** Default: the real clock. */
  readonly clock?: Clock;
  /**
   * Gives the values of `${input:id}` in settings, mostly by asking a person. Each input is asked for
   * once, within two minutes, when a server that needs it connects; the answer stays in memory. A
   * restart by `send` asks again for what was not given. Default: such a server does not start.
   */
  readonly inputs?: AskForInput;
  /**
   * Answers what servers ask back, unless it belongs to a call with an `onQuestion` of its own.
   * What it leaves (undefined) waits for `answer()`. Default: every question is declined.
   */
  readonly onQuestion?: QuestionHandler;
  /**
   * The kinds of questions that servers are told they may ask. Default: `form` and `url` with
   * `onQuestion`, none without. A host whose calls bring their own `onQuestion` names them here.
   */
  readonly questions?: readonly QuestionKind[];
  /**
   * Folders that servers are told the work is about: paths, from the project folder on, or `file:`
   * addresses. `roots.changed` replaces them. Default: servers are told nothing of roots.
   */
  readonly roots?: readonly (string | RootFolder)[];
  /** Decides about each call of a tool before it is sent. Default: rules of settings alone, and else all may go. */
  readonly permission?: PermissionHook;
  /**
   * Asks a person about a call where a rule, the `permission` hook or the policy says `ask`. Default: such a
   * call is refused with `PERMISSION_DENIED`.
   */
  readonly askPermission?: AskPermission;
  /** Environment that `${VAR}` references are read from. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

export interface StartReport {
  readonly live: readonly string[];
  readonly deferred: readonly string[];
  readonly pending: readonly string[];
  readonly failed: readonly {
    readonly name: string;
    readonly state: ServerState;
    readonly reason?: StateReason;
  }[];
  readonly elapsedMs: number;
}

export interface CallOptions {
  readonly signal?: AbortSignal;
  /**
   * Deadline of the call, waiting and questions included. Default: the server's policy, 60 s, which stands
   * still while a question of this call waits for its answer, until the call is ten minutes old.
   */
  readonly timeoutMs?: number;
  /** Longest silence once it was sent; news of progress begins it anew. Default: the server's policy, none. */
  readonly idleTimeoutMs?: number;
  /**
   * Hears of progress. Without a `timeoutMs` of the caller, progress moves the deadline by the policy's
   * `timeoutMs`, at most to its `maxTimeoutMs`, 10 minutes.
   */
  readonly onProgress?: (progress: CallProgress) => void;
  /**
   * Answers what the server asks for this call, and nobody else is asked. Questions of which it is not
   * certain that they belong to this call never come here. Default: that of the troupe.
   */
  readonly onQuestion?: QuestionHandler;
  /** For a caller that passes on what a modern server asks, round by round. Default: `onQuestion` is asked. */
  readonly round?: InputRound;
  /** What the host calls this call; its questions carry it. */
  readonly requestId?: string;
  /** Asks a person about this call, in place of the troupe's `askPermission`. */
  readonly askPermission?: AskPermission;
  /** With `telemetry`, the trace that this call belongs to. Default: the one that is active at the call. */
  readonly traceContext?: TraceContext;
}

export interface CallReport {
  readonly result: ToolResult;
  readonly meta: {
    readonly server: string;
    readonly tool: string;
    /** How often the request was sent. */
    readonly attempts: number;
    readonly durationMs: number;
    /** The call goes on under this id, and the result is a receipt: see `collect`. Absent otherwise. */
    readonly background?: string;
  };
}

/** A call that goes on without its caller. */
export interface BackgroundCall {
  /** For `collect`. */
  readonly id: string;
  readonly server: string;
  readonly tool: string;
  /** When its caller got the receipt. ISO 8601. */
  readonly since: string;
  readonly state: 'running' | 'done' | 'failed';
}

/** The tools of one moment, for one step of a conversation: neither they nor what they mean change. */
export interface CatalogSnapshot {
  /** Sorted by exposed name; the same array for as long as the snapshot is held. */
  readonly tools: readonly ExposedTool[];
  /**
   * Calls a tool of this snapshot by its exposed name: the tool that was shown, or none. A server that
   * was replaced meanwhile is called when it lists that tool, unchanged. Otherwise as `callTool` of the troupe.
   * @throws TroupeError, never executed where the tool is gone: `SERVER_REMOVED`; `TOOL_UNKNOWN` when its
   * server has it no more, or the snapshot never had it; `TOOL_CHANGED` when its definition is another now.
   */
  callTool(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallReport>;
}

/** What a server answered to something else than a call of a tool. */
export interface RequestReport<Result> {
  readonly result: Result;
  readonly meta: {
    readonly server: string;
    /** How often the request was sent. */
    readonly attempts: number;
    readonly durationMs: number;
  };
}

export interface WaitOptions {
  readonly signal?: AbortSignal;
  /** Default: 60 s. `Infinity` = no limit. */
  readonly timeoutMs?: number;
}

/** One server by its name. Its stream gives the present status, then each change, and completes when the troupe stops. */
export interface ServerHandle extends Streamable<ServerStatus | undefined> {
  readonly name: string;
  /** Undefined while there is no such server. */
  status(): ServerStatus | undefined;
}

/**
 * Its stream gives the statuses of all servers, sorted by name: now, after each change, and at its
 * end. The comments of the methods are a table of `docs/library.md`.
 */
export interface Troupe extends AsyncDisposable, Streamable<readonly ServerStatus[]> {
  /**
   * What the charts do, as records, once recording has started, here or by the option `inspect`:
   * docs/library.md#recording-what-the-charts-do.
   */
  readonly inspection: Inspection;
  /**
   * Resolves after the startup gate, with the servers that are live, pending or failed by then.
   * Never rejects.
   *
   * The gate counts from the creation; reading the settings takes up to half of it. Servers without a
   * stored tool list hold it up longer where their `startup.withoutCache` is `block`.
   */
  ready(): Promise<StartReport>;
  /**
   * Resolves when every enabled server with `required` is ready, each within its own
   * `startupTimeoutMs`, counted from the first applied pass.
   * @throws RequiredServersError `TIMEOUT_WAITING` with the list; TroupeError `SHUTTING_DOWN`.
   */
  required(): Promise<void>;
  /** Lists all tools that may be called now, sorted by exposed name. */
  tools(): readonly ExposedTool[];
  /**
   * Finds tools by words of their names, titles, servers and descriptions, best match first, offline
   * and in a stable order (docs/library.md#finding-one-of-many-tools). Default limit: 10.
   * @throws TroupeError `INVALID_ARGUMENTS` for a query that is not text, or a limit below 1.
   */
  searchTools(query: string, options?: { readonly limit?: number }): readonly ToolMatch[];
  /**
   * Returns a snapshot of the tools, and `callTool` for them alone, for one step of a conversation
   * (docs/library.md#one-step-of-a-conversation). Later edits do not affect it.
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
   * Returns a connected server's name, version and capabilities as it declared them. Undefined while
   * it is not connected.
   */
  profile(server: string): ServerProfile | undefined;
  /** Returns the status of the troupe and of every server, as plain data. */
  snapshot(): TroupeSnapshot;
  /** Returns the status of one server. Undefined when there is no such server. */
  status(server: string): ServerStatus | undefined;
  /**
   * Returns a handle of one server, which may be added later: its status and a stream of its
   * statuses for `from()` of RxJS (docs/library.md#streams-of-statuses).
   */
  server(name: string): ServerHandle;
  /**
   * Explains a server's state: what decided it, what would change it, which timers run, and the past
   * attempts. Undefined when there is no such server.
   */
  explain(server: string): Explanation | undefined;
  /**
   * Returns the last lines that a server wrote and the troupe's notes about it, oldest first, at most
   * 64 KB; also for a removed server. Undefined when there is no such server.
   */
  logs(server: string): readonly ServerLogLine[] | undefined;
  /** Lists the servers' questions that `answer()` may answer now, oldest first. */
  questions(): readonly Question[];
  /**
   * Answers a question. The first answer counts, whatever its origin.
   * @throws TroupeError `INVALID_ARGUMENTS` when no such question waits, or the answer does not fit it.
   */
  answer(id: string, answer: QuestionAnswer): void;
  /** Reads the settings and lists the steps a pass would take now, and why; takes none. */
  plan(): Promise<readonly Step[]>;
  /** Lists what would run, for every gated server. */
  approvals(): readonly ApprovalRequest[];
  /**
   * Resolves when all decisions so far are on disk. False when they cannot be stored: without a
   * `stateDir`, or when writing failed; the problems of the snapshot then say why.
   */
  approvalsSaved(): Promise<boolean>;
  /** Lists the servers whose policy moves long calls to the background (`call.backgroundAfterMs`). */
  backgroundServers(): readonly string[];
  /**
   * Lists the calls that run in the background or have not been collected yet, at most 64
   * (docs/calls.md#in-the-background).
   */
  backgroundCalls(): readonly BackgroundCall[];
  /**
   * Waits for a background call and returns its result, once. A result is kept for an hour.
   * @throws TroupeError what the call failed with; `INVALID_ARGUMENTS` when there is no such call;
   * `TIMEOUT_WAITING` or `CANCELLED` when it still runs, which ends this wait alone.
   */
  collect(id: string, options?: WaitOptions): Promise<CallReport>;
  /**
   * Lists what users allowed for more than one call in this project, oldest first
   * (docs/calls.md#permissions).
   */
  permissions(): Promise<readonly PermissionChoice[]>;
  /**
   * Revokes what users allowed: for all servers, for one, or for one tool of it. Returns how many.
   * Rejects with the file system's error when it cannot be written.
   */
  forgetPermissions(which?: { readonly server?: string; readonly tool?: string }): Promise<number>;
  /**
   * Calls a tool by its exposed name, at most once; waits for a server that is starting.
   * @throws TroupeError with `code` and `outcome`.
   */
  callTool(
    name: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallReport>;
  /** Calls a tool by its server's name and its own name there; otherwise as `callTool`. */
  callServerTool(
    server: string,
    tool: string,
    args?: Readonly<Record<string, unknown>>,
    options?: CallOptions,
  ): Promise<CallReport>;
  /**
   * Reads a resource, also one that is not listed. Waits and fails as `callTool`.
   * @throws TroupeError; `CAPABILITY_MISSING` when the server offers no resources.
   */
  readResource(
    server: string,
    uri: string,
    options?: CallOptions,
  ): Promise<RequestReport<ResourceResult>>;
  /** Gets a prompt with its arguments filled in. Waits and fails as `callTool`. */
  getPrompt(
    server: string,
    name: string,
    args?: Readonly<Record<string, string>>,
    options?: CallOptions,
  ): Promise<RequestReport<PromptResult>>;
  /** Completes an argument of a prompt or of a resource template. Waits and fails as `callTool`. */
  complete(
    server: string,
    request: CompletionRequest,
    options?: CallOptions,
  ): Promise<RequestReport<CompletionResult>>;
  /**
   * Watches a resource across reconnects: emits `resource.updated`. Returns a function that ends it.
   *
   * The event is emitted when the server reports a change, and after each reconnect, because a
   * change may have been missed. It starts no server.
   * @throws TroupeError `SERVER_UNKNOWN`; `OVERLOADED` for more than 256 resources of a server.
   */
  subscribe(server: string, uri: string): () => void;
  /**
   * Requests log messages of servers from this level on, as the event `notification`. Returns a
   * function that withdraws the request.
   *
   * The most verbose request counts for all servers, also after reconnects. Without one each server
   * sends what it likes.
   * @throws TroupeError `INVALID_ARGUMENTS` for a level that does not exist.
   */
  wantLogs(level: LogLevel): () => void;
  /**
   * Subscribes to an event. Returns a function that ends the subscription. An exception of the
   * listener is reported and affects nothing else.
   * @throws TroupeError `INVALID_ARGUMENTS` for a name that no event has.
   */
  on<Name extends TroupeEventName>(
    name: Name,
    listener: (event: TroupeEvents[Name]) => void,
  ): () => void;
  /**
   * Adds one server, or replaces the one added under this name. It wins over every layer but managed
   * settings, and stays until it is removed.
   *
   * @param settings - an entry as in `mcpServers`; an invalid one makes the server `blocked`
   * @throws TroupeError `INVALID_ARGUMENTS` for an invalid name, or an entry that is not an object.
   */
  addServer(name: string, settings: Readonly<Record<string, unknown>>): void;
  /**
   * Removes what `addServer` added; a server of this name in another layer counts again.
   * @throws TroupeError `SERVER_UNKNOWN` when nothing was added under this name.
   */
  removeServer(name: string): void;
  /**
   * Sends one of the events below, as if the host had acted.
   * @throws TroupeError `INVALID_ARGUMENTS` for an event that is not one of {@link HostEvent}.
   */
  send(event: HostEvent): void;
  /**
   * Resolves when the server is in the state; `ready` accepts `degraded`. The server may be added
   * later.
   * @throws TroupeError `TIMEOUT_WAITING`, `CANCELLED` or `SHUTTING_DOWN`.
   */
  waitFor(server: string, state: ServerState, options?: WaitOptions): Promise<ServerStatus>;
  /** Restarts a server and resolves when a later session is ready. */
  restartAndWait(server: string, options?: WaitOptions): Promise<ServerStatus>;
  /** Ends every server and resolves when all are gone, at most 5 s later. Also `await using`. */
  stop(): Promise<void>;
}
