/**
 * Events that a host may send to a troupe, and events that it may listen to. The comments here are
 * the tables of `docs/library.md`.
 */

import type { Step } from '../plan.ts';
import type { Question, QuestionEnd, RootFolder } from '../question.ts';
import type { ServerLogLine } from '../server-log.ts';
import type { Problem } from '../settings.ts';
import type { ServerStatus } from './status.ts';

/** The servers of a host's plugin: in a file, or as an object in the same format. */
export interface PluginSource {
  /** The plugin's name. Its servers are called `plugin:<plugin>:<server>`. */
  readonly plugin: string;
  /** A settings file of the plugin. */
  readonly file?: string;
  /** The plugin's settings as an object, instead of a file. */
  readonly settings?: Readonly<Record<string, unknown>>;
}

/**
 * Events that a host may send. Checked at the boundary: anything else is refused with
 * `INVALID_ARGUMENTS`, as is every name that begins with `xstate.`.
 */
export type HostEvent =
  /** Replaces the host's own settings: an object in the format of a settings file. */
  | { readonly type: 'settings.changed'; readonly settings: Readonly<Record<string, unknown>> }
  /** Replaces the plugins that bring servers, as in the option `plugins`. */
  | { readonly type: 'plugins.changed'; readonly plugins: readonly PluginSource[] }
  /** Reads all settings files again, without waiting for the watcher. */
  | { readonly type: 'settings.reload' }
  /** Undoes a stop and starts the server. */
  | { readonly type: 'server.start'; readonly server: string }
  /** Stops the server until it is started or its connection settings change. */
  | { readonly type: 'server.stop'; readonly server: string }
  /** Opens a new session with fresh budgets, from any state but `blocked` and `disabled`. */
  | { readonly type: 'server.restart'; readonly server: string }
  /** Opens a new session; the restart budgets keep counting. */
  | { readonly type: 'server.reconnect'; readonly server: string }
  /** Lists a ready server's tools, resources and prompts again, in its session. */
  | { readonly type: 'server.refresh'; readonly server: string }
  /** Lets a gated server start. Without a fingerprint, it approves the current settings. */
  | { readonly type: 'approval.grant'; readonly server: string; readonly fingerprint?: string }
  /** Keeps a gated server from starting. */
  | { readonly type: 'approval.reject'; readonly server: string; readonly fingerprint?: string }
  /** Withdraws a decision; the server waits for approval again. */
  | { readonly type: 'approval.revoke'; readonly server: string; readonly fingerprint?: string }
  /** Declares whether the project folder's files count at all. */
  | { readonly type: 'trust.changed'; readonly trusted: boolean }
  /** Replaces the host's allow-list, within the bound given at the start; `null` removes it. */
  | { readonly type: 'allow.changed'; readonly allowed: readonly string[] | null }
  /** The host completed a login for the server. */
  | { readonly type: 'auth.completed'; readonly server: string }
  /**
   * Replaces the folders that the work is about: paths or `file:` URLs. Servers that were given
   * roots are notified.
   */
  | { readonly type: 'roots.changed'; readonly roots: readonly (string | RootFolder)[] }
  /** The machine woke from sleep: waits are checked again. */
  | { readonly type: 'system.woke' }
  /** Does the same as `stop()`. */
  | { readonly type: 'troupe.stop' }
  /** Ends everything by force within 600 ms. */
  | { readonly type: 'troupe.kill' };

/** Events that a host may listen to, by name. */
export interface TroupeEvents {
  /** The state, reason or any other field of a server's status changed. */
  'status.changed': { readonly status: ServerStatus };
  /** The tools of these servers changed; `tools()` returns them. */
  'tools.changed': { readonly servers: readonly string[] };
  /** The list of a server's resources or templates changed; `resources()` returns them. */
  'resources.changed': { readonly server: string };
  /**
   * A resource watched with `subscribe()` changed, or may have changed while there was no
   * connection.
   */
  'resource.updated': { readonly server: string; readonly uri: string };
  /** The list of a server's prompts changed; `prompts()` returns them. */
  'prompts.changed': { readonly server: string };
  /** A server is waiting for a decision; see `approvals()`. */
  'approval.needed': { readonly server: string; readonly fingerprint: string };
  /** A server requires a login. Nothing happens until `login()` is called. */
  'auth.needed': {
    readonly server: string;
    /** The server's address, without query; absent if only the settings' values know it. */
    readonly url?: string;
    /** The scopes that the server asked for; absent if it named none. */
    readonly scopes?: readonly string[];
    /** The account in the settings. */
    readonly account?: string;
  };
  /**
   * A login waits for the user, who must open the URL in a browser. The URL and the code belong to
   * this login only; anyone who completes it logs this troupe in.
   */
  'auth.started': {
    readonly server: string;
    readonly url: string;
    /** The scopes that the issuer is asked for; empty = it decides. */
    readonly scopes: readonly string[];
    /** ISO 8601: until when the login waits. */
    readonly expiresAt: string;
    /** On another device: the code to enter at `verificationUri`. `url` may contain it already. */
    readonly userCode?: string;
    /** On another device: the page to open, short enough to type. */
    readonly verificationUri?: string;
    /** In a browser: the issuer also offers a login on another device. */
    readonly offersDevice?: true;
    /**
     * What the token is for, if the server's metadata names another resource than the server's
     * address, such as its whole origin. The server can use the token there.
     */
    readonly resource?: string;
  };
  /**
   * A server asks a question for `answer()`. Not emitted for a question that its own caller
   * answers.
   */
  'question.asked': { readonly question: Question };
  /**
   * The question is no longer open: `accept`, `decline`, `cancel`, `timedOut` or `withdrawn`. The
   * answer itself is not included.
   */
  'question.settled': { readonly id: string; readonly server: string; readonly end: QuestionEnd };
  /** A reconciliation pass finished; `plan` lists its steps. */
  reconciled: { readonly plan: readonly Step[]; readonly durationMs: number };
  /**
   * The problems changed: those of settings, of stored catalogs, or of processes that cannot be
   * guarded or ended.
   */
  'settings.invalid': { readonly problems: readonly Problem[] };
  /** The views in the settings changed, or the rules about who may use them; `views` are their names. */
  'views.changed': { readonly views: readonly string[] };
  /**
   * One line of `logs()`: what a server wrote to stderr, or to stdout other than MCP, redacted;
   * `stream: "troupe"` marks a line from the troupe itself.
   */
  'server.log': { readonly server: string } & ServerLogLine;
  /** A server sent a log message (`notifications/message`): level, logger and data, not redacted. */
  notification: {
    readonly server: string;
    readonly method: string;
    readonly params: Readonly<Record<string, unknown>>;
  };
}
/** The name of an event that `Troupe.on` accepts. */
export type TroupeEventName = keyof TroupeEvents;

const isEvent: Readonly<Record<TroupeEventName, true>> = {
  'status.changed': true,
  'tools.changed': true,
  'resources.changed': true,
  'resource.updated': true,
  'prompts.changed': true,
  'approval.needed': true,
  'auth.needed': true,
  'auth.started': true,
  'question.asked': true,
  'question.settled': true,
  reconciled: true,
  'settings.invalid': true,
  'views.changed': true,
  'server.log': true,
  notification: true,
};

/** Every event that a host may listen to. */
export const troupeEventNames = Object.keys(isEvent) as readonly TroupeEventName[];
