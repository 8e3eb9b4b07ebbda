/** The user's decisions about gated servers, and what the user saw. */

import type { ServerStatus } from './status.ts';

/** `revoked` withdraws a grant or a rejection: the server needs a decision again. */
export type Decision = 'granted' | 'rejected' | 'revoked';

/** The user's decision about one server in its form at that time. */
export interface ApprovalDecision {
  readonly server: string;
  /** The approval fingerprint that the decision covers; it covers no other. */
  readonly fingerprint: string;
  readonly decision: 'granted' | 'rejected';
}

/** One fact that the user saw about a server, without secrets; used to detect later edits. */
export interface SpecFact {
  /** The field's name in settings, for example `command`, `args[0]`, `env.KEY`. */
  readonly field: string;
  /** The displayed value; empty if the value is not stored. */
  readonly shown: string;
  /** Digest of the actual value, so that a change is detected even if the value is not stored. */
  readonly digest: string;
}

/** Kinds of pinned definitions other than tools. */
export const pinKinds = ['instructions', 'prompt', 'resource', 'resourceTemplate'] as const;
/** A kind of pinned definition other than a tool. */
export type PinKind = (typeof pinKinds)[number];

/** A definition that a server announced, as it was at approval or when it first appeared afterwards. */
export interface ToolPin {
  /** Kind of definition; absent for a tool. */
  readonly kind?: PinKind;
  /** Name of the tool or prompt, or address of the resource; empty for the instructions. */
  readonly tool: string;
  readonly digest: string;
  /** The digested definition, for the user to compare; omitted if it is long. */
  readonly definition?: string;
}

/** A stored decision. */
export interface ApprovalRecord extends Omit<ApprovalDecision, 'decision'> {
  readonly decision: Decision;
  /** Wall-clock time in milliseconds. */
  readonly decidedAt: number;
  /**
   * When a server last ran on this grant, in wall-clock milliseconds, accurate to a month. Absent
   * if it has not run since the decision.
   */
  readonly usedAt?: number;
  readonly facts: readonly SpecFact[];
  readonly pins: readonly ToolPin[];
}

/** A difference from the server's last approved form. */
export interface ApprovalChange {
  /** Key in the settings, for example `command`, `args[0]`, `env.KEY`. */
  readonly field: string;
  /** The previous value. Absent if the field did not exist; empty if it is not shown. */
  readonly before?: string;
  /** The current value. Absent if the field was removed; empty if it is not shown. */
  readonly now?: string;
}

/** A tool or another definition that differs from what was approved. */
export interface ToolChange {
  /** Kind of definition; absent for a tool. */
  readonly kind?: PinKind;
  /** Name of the tool or prompt, or address of the resource; empty for the instructions. */
  readonly tool: string;
  /** Lines of a diff: `- ` was approved, `+ ` is announced now. */
  readonly diff: readonly string[];
}

/** A source outside the settings whose value is inserted when the server connects. */
export interface ValueOrigin {
  /** Your environment, an input you are asked for, your keychain, or a program's output. */
  readonly kind: 'environment' | 'input' | 'keychain' | 'command';
  /**
   * The reference: `${NAME}`, `${input:id}` or `${keychain:service/account}`; for a command, its
   * argument list.
   */
  readonly reference: string;
}

/** A value that a server gets: the string from its settings, with references unresolved. */
export interface ApprovalValue {
  /** Key in the settings, for example `env.TOKEN`, `headers.Authorization`, `args[2]`, `url`. */
  readonly field: string;
  /** The value as written. Absent if your own settings contain it, because it may be a secret. */
  readonly text?: string;
  /** The sources that are inserted, without duplicates. Absent if there are none. */
  readonly from?: readonly ValueOrigin[];
}

/** Why a decision is needed. */
export const approvalReasons = [
  'new',
  'changed',
  'executableMoved',
  'folderFiles',
  'revoked',
  'toolsChanged',
] as const;
/** Why a decision is needed. */
export type ApprovalReason = (typeof approvalReasons)[number];

/** What the user must see before deciding about a gated server. */
export interface ApprovalRequest {
  /** The server's name in the settings. */
  readonly server: string;
  /** The fingerprint that the decision binds to; it binds to nothing else. */
  readonly fingerprint: string;
  /** `pending` until the user decides about this form of the server. */
  readonly decision: 'pending' | 'rejected' | 'granted';
  /** Why a decision is needed; present only while it is pending. */
  readonly because?: ApprovalReason;
  /** Differences from the last approved form, without secret values. */
  readonly changes?: readonly ApprovalChange[];
  /**
   * Definitions that differ from what was approved and are withheld: tools, instructions, prompts
   * and resources.
   */
  readonly toolChanges?: readonly ToolChange[];
  /** Warnings for the user, one sentence each. */
  readonly warnings?: readonly string[];
  /** Where the server was declared. */
  readonly source: ServerStatus['source'];
  /** A local server's complete program and arguments. */
  readonly command?: string;
  /** Arguments of {@link command}, as written; absent for a remote server. */
  readonly args?: readonly string[];
  /** Real path that the command currently leads to. */
  readonly executable?: string;
  /** Absolute path of the folder in which the process starts; absent for a remote server. */
  readonly cwd?: string;
  /** Names of the variables; {@link values} says what they are set to. */
  readonly envNames?: readonly string[];
  /** A file with further variables. Its names are approved; its values are read at each start. */
  readonly envFile?: string;
  /** Names of the variables currently in that file. Absent if it cannot be read. */
  readonly envFileNames?: readonly string[];
  /**
   * Files that decide what a package runner runs, relative to the folder in which it starts, usually
   * `cwd`: configuration, packages and modules. Their content is approved; of a folder, its presence.
   */
  readonly folderFiles?: readonly string[];
  /** A remote server's address, as written; absent for a local server. */
  readonly url?: string;
  /**
   * The host that the URL leads to, if the URL shows another one: in other letters, or as a number.
   */
  readonly host?: string;
  /** Names of the headers; {@link values} says what they are set to. */
  readonly headerNames?: readonly string[];
  /**
   * The user's account at the server whose login it may use; null for the only one. Absent for a
   * server that never logs in. {@link values} lists the client.
   */
  readonly account?: string | null;
  /**
   * Every variable, header, proxy and certificate, everything that decides a login, and every other
   * string with a reference to a source outside the settings.
   */
  readonly values?: readonly ApprovalValue[];
}
