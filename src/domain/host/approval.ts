/** The user's decisions about gated servers, and what the user saw. */

import type { ServerStatus } from './status.ts';

/** `revoked` withdraws a grant or a rejection: the server needs a decision again. */
export type Decision = 'granted' | 'rejected' | 'revoked';

/** The user's decision about one server in its form at that time. */
export interface ApprovalDecision {
  readonly server: string;
  /** The approval fingerprint that the decision is about; it covers no other. */
  readonly fingerprint: string;
  readonly decision: 'granted' | 'rejected';
}

/** One fact that the user saw about a server, without secrets, to detect later edits. */
export interface SpecFact {
  /** As in settings: `command`, `args[0]`, `env.KEY`. */
  readonly field: string;
  /** Empty when the value is not to be kept. */
  readonly shown: string;
  /** Of the true value, so that a change shows even if the value is not kept. */
  readonly digest: string;
}

/** Kinds of pinned definitions besides tools. */
export const pinKinds = ['instructions', 'prompt', 'resource', 'resourceTemplate'] as const;
export type PinKind = (typeof pinKinds)[number];

/** A definition that a server announced, as it was at approval or when it first appeared afterwards. */
export interface ToolPin {
  /** Absent: a tool. */
  readonly kind?: PinKind;
  /** Name of the tool or prompt, or address of the resource; empty for the instructions. */
  readonly tool: string;
  readonly digest: string;
  /** The text of the digest, for the user to compare; left out when it is long. */
  readonly definition?: string;
}

/** A stored decision. */
export interface ApprovalRecord extends Omit<ApprovalDecision, 'decision'> {
  readonly decision: Decision;
  /** Wall milliseconds. */
  readonly decidedAt: number;
  /** When a server last ran on this grant, in wall-clock milliseconds, accurate to a month. Absent: never since the decision. */
  readonly usedAt?: number;
  readonly facts: readonly SpecFact[];
  readonly pins: readonly ToolPin[];
}

/** A difference from the server's last approved form. */
export interface ApprovalChange {
  readonly field: string;
  /** Absent: there was no such field. Empty: it is not shown. */
  readonly before?: string;
  readonly now?: string;
}

/** A tool or another definition that differs from what was approved. */
export interface ToolChange {
  /** Absent: a tool. */
  readonly kind?: PinKind;
  /** Name of the tool or prompt, or address of the resource; empty for the instructions. */
  readonly tool: string;
  /** Lines of a comparison: `- ` was approved, `+ ` is announced now. */
  readonly diff: readonly string[];
}

/** A source outside the settings whose value is inserted when the server connects. */
export interface ValueOrigin {
  /** Your environment, an input you are asked for, your keychain, or a program's output. */
  readonly kind: 'environment' | 'input' | 'keychain' | 'command';
  /** `${NAME}`, `${input:id}` or `${keychain:service/account}`; for a command, its words. */
  readonly reference: string;
}

/** A value that a server gets: the text from its settings, with references unresolved. */
export interface ApprovalValue {
  /** Key as in the settings: `env.TOKEN`, `headers.Authorization`, `args[2]`, `url`. */
  readonly field: string;
  /** Absent when your own settings hold it, because it may be a secret. */
  readonly text?: string;
  /** Sources that are inserted, each once. Absent: none. */
  readonly from?: readonly ValueOrigin[];
}

/** Why a decision is needed. */
export const approvalReasons = [
  'new',
  'changed',
  'executableMoved',
  'revoked',
  'toolsChanged',
] as const;
export type ApprovalReason = (typeof approvalReasons)[number];

/** What the user must see before deciding about a gated server. */
export interface ApprovalRequest {
  readonly server: string;
  /** The decision binds to this and to nothing else. */
  readonly fingerprint: string;
  readonly decision: 'pending' | 'rejected' | 'granted';
  /** Why a decision is needed; only while it is pending. */
  readonly because?: ApprovalReason;
  /** Differences from the last approved form, without values of secrets. */
  readonly changes?: readonly ApprovalChange[];
  /** Definitions that differ from what was approved and are held back: tools, instructions, prompts and resources. */
  readonly toolChanges?: readonly ToolChange[];
  /** Warnings for the user, one sentence each. */
  readonly warnings?: readonly string[];
  /** Where the server was declared. */
  readonly source: ServerStatus['source'];
  /** Program and arguments of a local server, whole. */
  readonly command?: string;
  readonly args?: readonly string[];
  /** Real path of what the command leads to at present. */
  readonly executable?: string;
  readonly cwd?: string;
  /** Names of the variables; {@link values} says what they are set to. */
  readonly envNames?: readonly string[];
  /** A file with more variables. Its names are approved; its values are read at each start. */
  readonly envFile?: string;
  /** Names of the variables in that file at present. Absent when it cannot be read. */
  readonly envFileNames?: readonly string[];
  readonly url?: string;
  /** The host that the URL leads to, when its text shows another: in other letters, or as a number. */
  readonly host?: string;
  /** Names of the headers; {@link values} says what they are set to. */
  readonly headerNames?: readonly string[];
  /** Every variable and header, and every other text with a reference to a source outside the settings. */
  readonly values?: readonly ApprovalValue[];
}
