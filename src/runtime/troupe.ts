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

/** Its stream gives the statuses of all servers, sorted by name: now, after each change, and at its end. */
export interface Troupe extends AsyncDisposable, Streamable<readonly ServerStatus[]> {
  /** What the charts do, for people who develop: recorded once it was started, here or by `inspect` of the options. */
  readonly inspection: Inspection;
  /**
   * Settles when the startup gate has passed, counted from the creation, though reading the
   * settings takes half of it at most; never rejects.
   * Servers whose tools are not known hold it up longer where their `startup.withoutCache` is `block`.
   */
  ready(): Promise<StartReport>;
  /**
   * Settles when every enabled server with `required` is ready, each within its own startup
   * timeout, counted from the first applied pass.
   * @throws RequiredServersError `TIMEOUT_WAITING` with the list; TroupeError `SHUTTING_DOWN`.
   */
  required(): Promise<void>;
  /** All tools that may be called now, sorted by exposed name. */
  tools(): readonly ExposedTool[];
  /**
   * Finds tools by words of their names, titles, servers and descriptions, the best first; offline, and
   * always in the same order. Default limit: 10.
   * @throws TroupeError `INVALID_ARGUMENTS` for a query that is no text, or a limit below 1.
   */
  searchTools(query: string, options?: { readonly limit?: number }): readonly ToolMatch[];
  /** The tools of now, held for one step of a conversation: what is edited meanwhile, the next step sees. */
  catalog(): CatalogSnapshot;
  /** All resources that are known now, sorted by server and address. */
  resources(): readonly ExposedResource[];
  /** All resource templates that are known now, sorted by server and template. */
  resourceTemplates(): readonly ExposedResourceTemplate[];
  /** All prompts that are known now, sorted by server and name. */
  prompts(): readonly ExposedPrompt[];
  /** How servers want to be used, sorted by server; those that do not say are left out. */
  instructions(): readonly ExposedInstructions[];
  /** Who a connected server says it is, and what it can do. Undefined while it is not connected. */
  profile(server: string): ServerProfile | undefined;
  snapshot(): TroupeSnapshot;
  /** Undefined when there is no such server. */
  status(server: string): ServerStatus | undefined;
  /** One server, which may be yet to be added; a stream of its statuses for `from()` of RxJS. */
  server(name: string): ServerHandle;
  /**
   * Says why a server is as it is: what decided, what would move it, which timers
   * run, what was tried. Undefined when there is no such server.
   */
  explain(server: string): Explanation | undefined;
  /**
   * The last lines that a server wrote, and what became of it, the oldest first; at
   * most 64 KB. Also of a server that was removed. Undefined when there is no such server.
   */
  logs(server: string): readonly ServerLogLine[] | undefined;
  /** What servers ask and `answer()` may answer now, oldest first. */
  questions(): readonly Question[];
  /**
   * Answers a question. The first answer counts, whoever gives it.
   * @throws TroupeError `INVALID_ARGUMENTS` when no such question waits, or the answer does not fit it.
   */
  answer(id: string, answer: QuestionAnswer): void;
  /** Reads the settings and lists the steps a pass would take now, and why; takes none. */
  plan(): Promise<readonly Step[]>;
  /** What would run, for every gated server. */
  approvals(): readonly ApprovalRequest[];
  /**
   * Settles when all that was decided so far is on disk. False when it is not: without a
   * `stateDir`, or because it cannot be written, of which the problems of the snapshot tell.
   */
  approvalsSaved(): Promise<boolean>;
  /** The servers whose policy puts calls in the background (`call.backgroundAfterMs`). */
  backgroundServers(): readonly string[];
  /** Calls that a policy's `call.backgroundAfterMs` has put there and that nobody collected yet; at most 64. */
  backgroundCalls(): readonly BackgroundCall[];
  /**
   * Hands out what such a call answered, once; waits for it. It is kept for an hour after its end.
   * @throws TroupeError what the call failed with; `INVALID_ARGUMENTS` when there is no such call;
   * `TIMEOUT_WAITING` or `CANCELLED` when it still runs, which ends this wait alone.
   */
  collect(id: string, options?: WaitOptions): Promise<CallReport>;
  /** What persons allowed for more than one call, in this project; the oldest first. */
  permissions(): Promise<readonly PermissionChoice[]>;
  /**
   * Takes back what persons allowed: for all servers, for one, or for one tool of it. Returns how many.
   * Rejects with the error of the file system when it cannot be written.
   */
  forgetPermissions(which?: { readonly server?: string; readonly tool?: string }): Promise<number>;
  /**
   * Calls a tool by its exposed name, at most once.
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
   * Reads a resource, also one that no list names. Waits and fails as `callTool`.
   * @throws TroupeError; `CAPABILITY_MISSING` when the server offers no resources.
   */
  readResource(
    server: string,
    uri: string,
    options?: CallOptions,
  ): Promise<RequestReport<ResourceResult>>;
  /** Gets a prompt, filled in with its arguments. Waits and fails as `callTool`. */
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
   * Watches a resource: `resource.updated` is emitted when its server says that it changed,
   * and whenever the watch began anew, because a change may have been missed by then. Starts
   * no server; holds over reconnects. Returns a function that ends it.
   * @throws TroupeError `SERVER_UNKNOWN`; `OVERLOADED` for more than 256 resources of a server.
   */
  subscribe(server: string, uri: string): () => void;
  /**
   * Asks the servers that keep a log for its lines from this level on; they come as the event `notification`.
   * The most verbose wish counts for all, also after reconnects. Default: servers send what they like.
   * Returns a function that takes the wish back.
   * @throws TroupeError `INVALID_ARGUMENTS` for a level that does not exist.
   */
  wantLogs(level: LogLevel): () => void;
  /**
   * Returns a function that ends the subscription. A listener that throws harms nobody.
   * @throws TroupeError `INVALID_ARGUMENTS` for a name that no event has.
   */
  on<Name extends TroupeEventName>(
    name: Name,
    listener: (event: TroupeEvents[Name]) => void,
  ): () => void;
  /**
   * Adds one server, or replaces the one added under this name; it wins over every other layer but
   * managed settings. It stays until it is removed, whatever becomes of files and host settings.
   *
   * @param settings - an entry as in `mcpServers`; when it is wrong, the server is `blocked`
   * @throws TroupeError `INVALID_ARGUMENTS` for a name that cannot be used, or an entry that is no object.
   */
  addServer(name: string, settings: Readonly<Record<string, unknown>>): void;
  /**
   * Takes back what `addServer` added; what it covered in another layer counts again.
   * @throws TroupeError `SERVER_UNKNOWN` when nothing was added under this name.
   */
  removeServer(name: string): void;
  /** @throws TroupeError `INVALID_ARGUMENTS` for an event that is not one of {@link HostEvent}. */
  send(event: HostEvent): void;
  /**
   * Settles when the server is in the state; `ready` accepts `degraded`. The
   * server may be one that is yet to be added.
   * @throws TroupeError `TIMEOUT_WAITING`, `CANCELLED` or `SHUTTING_DOWN`.
   */
  waitFor(server: string, state: ServerState, options?: WaitOptions): Promise<ServerStatus>;
  /** Restarts a server and settles when a later session is ready. */
  restartAndWait(server: string, options?: WaitOptions): Promise<ServerStatus>;
  /** Ends every server and settles when all are gone, at most 5 s later. */
  stop(): Promise<void>;
}
