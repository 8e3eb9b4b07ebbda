/** Permission for individual calls: rules, requests and answers. */

import type { ToolAnnotations } from './tool.ts';

/** What may happen to a call; `ask`: the user decides. */
export const permissionVerdicts = ['allow', 'ask', 'deny'] as const;

/** `ask`: the user decides. */
export type PermissionVerdict = (typeof permissionVerdicts)[number];

/** The tools that a rule covers: an exposed name, or a server's own names. `*` matches anything. */
export type PermissionPattern =
  | string
  | {
      /** The server's name in the settings. */
      readonly server: string;
      /** The tool's name. Default: `*`. */
      readonly tool?: string | undefined;
    };

/**
 * Rule lists by decision. `deny` wins; between the others, an exact name wins over a pattern, and
 * then `ask`.
 */
export type PermissionRules = {
  readonly [Verdict in PermissionVerdict]?: readonly PermissionPattern[] | undefined;
};

/** One call that needs a decision before it is sent. */
export interface PermissionRequest {
  /** The server's name in the settings. */
  readonly server: string;
  /** The server's own name for the tool. */
  readonly tool: string;
  /** The exposed name. */
  readonly name: string;
  /** The tool's label for users; if absent, show the name. */
  readonly title?: string;
  /** The server's description of the tool. */
  readonly description?: string;
  /** The call's arguments, as they will be sent. */
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The server's own description of the tool; reliable only if `isTrusted`. */
  readonly annotations?: ToolAnnotations;
  /** Whether the user's own settings trust the server. */
  readonly isTrusted: boolean;
}

/**
 * Decides about each call before it is sent, within 10 seconds. An exception, or a late or invalid
 * answer, denies the call.
 */
export type PermissionHook = (
  request: PermissionRequest,
  options: { readonly signal: AbortSignal },
) => PermissionVerdict | Promise<PermissionVerdict>;

/** The user's answers to a question about one call. */
export const permissionAnswers = ['allow', 'allowTool', 'allowServer', 'deny'] as const;

/**
 * The user's answer: allows this call; every call of this tool in its current form; every call to
 * this server with its current settings; or none.
 */
export type PermissionAnswer = (typeof permissionAnswers)[number];

/** Asks the user about one call, within two minutes. Anything but a valid answer denies the call. */
export type AskPermission = (
  request: PermissionRequest,
  options: { readonly signal: AbortSignal },
) => PermissionAnswer | Promise<PermissionAnswer>;

/** Why a call may not be sent. */
export type PermissionDenial =
  | 'rule'
  | 'host'
  | 'user'
  | 'noUser'
  | 'late'
  | 'broken'
  | 'nonsense'
  | 'hookNonsense'
  /** The tool's definition changed after the question. */
  | 'toolChanged';

/** The user's permission for more than one call. */
export interface PermissionChoice {
  /** The server's name in the settings. */
  readonly server: string;
  /** Fingerprint of the server's settings at that time; changed settings need a new permission. */
  readonly fingerprint: string;
  /** The tool; absent for every tool of the server. */
  readonly tool?: string | undefined;
  /** Digest of the tool's definition at that time. */
  readonly digest?: string | undefined;
  /** Wall-clock time in milliseconds. */
  readonly decidedAt: number;
  /** Where it is stored; absent if it lasts only until the run ends. */
  readonly file?: string | undefined;
}
