/** Whether a single call may go out: who is asked, and what is answered. */

import type { ToolAnnotations } from './tool.ts';

export const permissionVerdicts = ['allow', 'ask', 'deny'] as const;

/** `ask`: a person decides. */
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

/** One call before it is sent, as whoever decides about it sees it. */
export interface PermissionRequest {
  readonly server: string;
  /** The server's own name of the tool. */
  readonly tool: string;
  /** The exposed name. */
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** What the server says of the tool. Only to be believed when `isTrusted`. */
  readonly annotations?: ToolAnnotations;
  /** Whether the user's own settings trust the server. */
  readonly isTrusted: boolean;
}

/**
 * Decides about each call before it is sent, within 10 seconds. What it throws, a late answer and one
 * that is no verdict deny the call.
 */
export type PermissionHook = (
  request: PermissionRequest,
  options: { readonly signal: AbortSignal },
) => PermissionVerdict | Promise<PermissionVerdict>;

export const permissionAnswers = ['allow', 'allowTool', 'allowServer', 'deny'] as const;

/**
 * What a person said: this call; every call of this tool as it is now; every call of this server as its
 * settings are now; or none.
 */
export type PermissionAnswer = (typeof permissionAnswers)[number];

/** Asks a person about one call, within two minutes. Whatever is no answer denies the call. */
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
  /** The tool's definition changed after it was asked about. */
  | 'toolChanged';

/** A person's yes to more than one call. */
export interface PermissionChoice {
  readonly server: string;
  /** Of the server's settings as they were: other settings are asked for anew. */
  readonly fingerprint: string;
  /** Absent = every tool of the server. */
  readonly tool?: string | undefined;
  /** Of the tool as it was. */
  readonly digest?: string | undefined;
  /** Wall milliseconds. */
  readonly decidedAt: number;
  /** Where it is kept; absent = until the run ends. */
  readonly file?: string | undefined;
}
