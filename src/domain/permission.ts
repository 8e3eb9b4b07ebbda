/** Permission for single calls: rules, requests and answers. */

import type { ToolAnnotations } from './tool.ts';

export const permissionVerdicts = ['allow', 'ask', 'deny'] as const;

/** `ask`: the user decides. */
export type PermissionVerdict = (typeof permissionVerdicts)[number];

/** Which tools a rule is about: an exposed name, or a server's own names. `*` stands for anything. */
export type PermissionPattern =
  | string
  | {
      readonly server: string;
      /** Default: `*`. */
      readonly tool?: string | undefined;
    };

/** Lists by verdict. `deny` wins; between the others an exact name wins over a pattern, and then `ask`. */
export type PermissionRules = {
  readonly [Verdict in PermissionVerdict]?: readonly PermissionPattern[] | undefined;
};

/** One call that needs a decision before it is sent. */
export interface PermissionRequest {
  readonly server: string;
  /** The server's own name of the tool. */
  readonly tool: string;
  /** The exposed name. */
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** The server's own description of the tool; reliable only when `isTrusted`. */
  readonly annotations?: ToolAnnotations;
  /** Whether the user's own settings trust the server. */
  readonly isTrusted: boolean;
}

/**
 * Decides about each call before it is sent, within 10 seconds. An exception, a late answer or an
 * invalid one denies the call.
 */
export type PermissionHook = (
  request: PermissionRequest,
  options: { readonly signal: AbortSignal },
) => PermissionVerdict | Promise<PermissionVerdict>;

export const permissionAnswers = ['allow', 'allowTool', 'allowServer', 'deny'] as const;

/**
 * The user's answer: this call; every call of this tool in its present form; every call of this
 * server with its current settings; or none.
 */
export type PermissionAnswer = (typeof permissionAnswers)[number];

/** Asks the user about one call, within two minutes. Anything but a valid answer denies the call. */
export type AskPermission = (
  request: PermissionRequest,
  options: { readonly signal: AbortSignal },
) => PermissionAnswer | Promise<PermissionAnswer>;

/** Why a call may not go out. */
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
  readonly server: string;
  /** Of the server's settings at that time; changed settings need a new permission. */
  readonly fingerprint: string;
  /** Absent = every tool of the server. */
  readonly tool?: string | undefined;
  /** Of the tool's definition at that time. */
  readonly digest?: string | undefined;
  /** Wall milliseconds. */
  readonly decidedAt: number;
  /** Where it is stored; absent = until the run ends. */
  readonly file?: string | undefined;
}
