/**
 * The protocol of the control socket: one JSON document per line.
 *
 * ```text
 * -> {"id": 1, "command": "status", "args": {}}
 * <- {"id": 1, "result": {…}}   or   {"id": 1, "error": {…}}
 * <- {"id": 2, "event": {"type": "status.changed", …}}   after the result of `events`
 * ```
 *
 * A line that is not a request is answered with `"id": null`.
 */

import type { Account, StoredLogin } from '../../domain/authorization.ts';
import type { ErrorDocument } from '../../domain/caller-code.ts';
import type {
  ExposedPrompt,
  ExposedResource,
  ExposedResourceTemplate,
  PromptResult,
  ResourceResult,
} from '../../domain/catalog.ts';
import type { ApprovalRequest } from '../../domain/host/approval.ts';
import type { TroupeEventName, TroupeEvents } from '../../domain/host/event.ts';
import type { Explanation } from '../../domain/host/explanation.ts';
import type { ServerStatus, ServerUsage, TroupeStatus } from '../../domain/host/status.ts';
import type { PermissionChoice } from '../../domain/permission.ts';
import type { Step } from '../../domain/plan.ts';
import type { Question } from '../../domain/question.ts';
import type { ServerLogLine } from '../../domain/server-log.ts';
import type { ReportedProblem } from '../../domain/settings.ts';
import type { ExposedTool } from '../../domain/tool.ts';
import type { CallReport, RequestReport } from '../../runtime/troupe.ts';

/** A request is a command with small arguments; more than this is a mistake or an attack. */
export const maxRequestBytes = 1_048_576;

/** A result may hold all tools, or one tool's result of at most 16 MB, escaped. */
export const maxAnswerBytes = 134_217_728;

/** As long as the first start by a package runner may take; other servers settle by their own deadlines. */
export const settleTimeoutMs = 120_000;

/** The longest name of a server or tool. */
export const longestName = 300;

/** More lines than a log ever holds. */
export const maxLogLines = 10_000;

/** The troupe on the socket, and the flags it was launched with. */
export interface Identity {
  readonly pid: number;
  readonly version: string;
  readonly projectRoot: string;
  readonly stateFolder: string;
  /** Files named by `--config`, absolute. */
  readonly config: readonly string[];
  /** The servers named by `--allow`; null = no limit. */
  readonly allow: readonly string[] | null;
  /** Whether `--bare` was given; older versions omit it. */
  readonly bare?: boolean;
  /** Whether it runs in the background: it was started by a command that needed it, and ends by itself. */
  readonly background?: true;
}

export interface DecisionReport {
  readonly approval: ApprovalRequest;
  readonly status: ServerStatus;
  /** Whether the decision outlives the running troupe. */
  readonly saved: boolean;
}

export interface ControlResults {
  identify: Identity;
  status: { readonly troupe: TroupeStatus; readonly servers: readonly ServerStatus[] };
  /** Older versions do not know this command. */
  usage: { readonly usage: readonly ServerUsage[] };
  explain: Explanation;
  logs: { readonly server: string; readonly lines: readonly ServerLogLine[] };
  tools: { readonly tools: readonly ExposedTool[] };
  resources: {
    readonly resources: readonly ExposedResource[];
    readonly resourceTemplates: readonly ExposedResourceTemplate[];
  };
  prompts: { readonly prompts: readonly ExposedPrompt[] };
  readResource: RequestReport<ResourceResult>;
  getPrompt: RequestReport<PromptResult>;
  call: CallReport;
  questions: { readonly questions: readonly Question[] };
  answer: { readonly id: string };
  permissions: { readonly permissions: readonly PermissionChoice[] };
  forgetPermissions: { readonly forgotten: number };
  /** Older versions omit the problems. */
  plan: { readonly steps: readonly Step[]; readonly problems?: readonly ReportedProblem[] };
  approvals: { readonly approvals: readonly ApprovalRequest[] };
  approve: DecisionReport;
  reject: DecisionReport;
  revoke: DecisionReport;
  start: { readonly status: ServerStatus };
  stop: { readonly status: ServerStatus };
  restart: { readonly status: ServerStatus };
  refresh: { readonly status: ServerStatus };
  login: { readonly status: ServerStatus };
  finishLogin: { readonly server: string };
  logout: { readonly server: string } | StoredLogin;
  accounts: { readonly accounts: readonly Account[] };
  reload: { readonly troupe: TroupeStatus };
  /** A link that works in one browser, and on request a file that redirects to it. */
  /** After this answer, the connection carries MCP, one message per line, and {@link relayNote}s from the troupe. */
  attach: { readonly pid: number };
  /** After this answer, the connection's requests are those of a client with the caller's environment. */
  join: { readonly pid: number };
  /** Whether the troupe ends, because nothing else uses it. */
  retire: { readonly ends: boolean };
  inspect: { readonly url: string; readonly file?: string };
  events: { readonly types: readonly TroupeEventName[] };
}

// No message of MCP begins like this.
const noteStart = '{"note":';

/** The line that brings an attached client a note for its log, between the messages of MCP. */
export function relayNote(note: string): string {
  return `${noteStart}${JSON.stringify(note)}}\n`;
}

/** The note that such a line brings; undefined for a message of MCP. */
export function noteIn(line: string): string | undefined {
  return line.startsWith(noteStart)
    ? String(JSON.parse(line.slice(noteStart.length, -1)))
    : undefined;
}

/** An event of the troupe, or a note that some were dropped. */
export type ControlEvent =
  | { [Name in TroupeEventName]: { readonly type: Name } & TroupeEvents[Name] }[TroupeEventName]
  | { readonly type: 'events.dropped'; readonly count: number };

export type ControlId = string | number | null;
export type ControlAnswer =
  | { readonly id: ControlId; readonly result: unknown }
  | { readonly id: ControlId; readonly error: ErrorDocument }
  | { readonly id: ControlId; readonly event: ControlEvent };
