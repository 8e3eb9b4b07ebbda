/** Hooks that see each tool call before it is sent, and its result afterwards. */

import type { PermissionPattern, PermissionRequest } from '../permission.ts';
import type { ToolResult } from '../tool.ts';

/** A tool call as a hook sees it. Its arguments are those that the hooks before it left. */
export interface HookedCall extends PermissionRequest {
  /** The name that the caller's client chose; `host` without one. */
  readonly client: string;
  /** The user of the client's access token. Absent without a token. */
  readonly user?: string;
}

/** A tool call that was answered. */
export interface AnsweredCall extends HookedCall {
  /** The result as the server sent it, or as the hooks before this one left it. */
  readonly result: ToolResult;
}

/** Refuses a call, or withholds its result. */
export interface HookRefusal {
  /** Why; shown to the caller and in the server's log. */
  readonly refuse: string;
}

/** What all hooks have. */
export interface HookBase {
  /** Named in errors and in the server's log. */
  readonly name: string;
  /** The tools that it sees, as in permission rules. Default: all. */
  readonly tools?: readonly PermissionPattern[];
  /** Its own deadline in milliseconds. Default: 10,000. */
  readonly timeoutMs?: number;
}

/**
 * Decides about a call before its permission is checked. An exception, or a late or invalid answer,
 * refuses the call.
 */
export interface BeforeHook extends HookBase {
  /** Returns other arguments, a refusal, or undefined to change nothing. */
  readonly run: (
    call: HookedCall,
    options: { readonly signal: AbortSignal },
  ) => BeforeAnswer | Promise<BeforeAnswer>;
}

/** What a hook before a call answers. */
export type BeforeAnswer =
  | undefined
  | HookRefusal
  | { readonly arguments: Readonly<Record<string, unknown>> };

/**
 * Sees a result before anything else does. An exception, or a late or invalid answer, withholds the
 * result; the call has run all the same.
 */
export interface AfterHook extends HookBase {
  /** Returns another result, a refusal, or undefined to change nothing. */
  readonly run: (
    call: AnsweredCall,
    options: { readonly signal: AbortSignal },
  ) => AfterAnswer | Promise<AfterAnswer>;
}

/** What a hook after a call answers. */
export type AfterAnswer = undefined | HookRefusal | { readonly result: ToolResult };

/** Hooks in the order in which they run. */
export interface CallHooks {
  /** Those that see a call before its permission is checked. Default: none. */
  readonly before?: readonly BeforeHook[];
  /** Those that see the result of a call. Default: none. */
  readonly after?: readonly AfterHook[];
}
