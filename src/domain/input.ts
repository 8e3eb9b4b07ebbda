/** Values that only a person, or the host for them, can give. */

import type { Scope } from './scope.ts';

export interface InputChoice {
  readonly label: string;
  readonly value: string;
}

/** One item of `inputs` in settings. Its texts are printable. */
export interface InputDefinition {
  readonly id: string;
  /** A text, one of several texts, or what a command of the host gives. */
  readonly type: 'promptString' | 'pickString' | 'command';
  readonly description?: string;
  /** What a person who just agrees means. */
  readonly default?: string;
  /** Of `pickString` only. */
  readonly options?: readonly InputChoice[];
  /** It must not be seen while it is typed, nor ever after. */
  readonly password: boolean;
  /** Of `command` only: the name of a command of the host, and what belongs to it. */
  readonly command?: string;
  readonly args?: unknown;
}

/** A question to the host: the input, and who wants to know. */
export interface InputRequest extends InputDefinition {
  /** The server that needs it first; others may get the same answer. */
  readonly server: string;
  /** Where the input is declared. */
  readonly source: { readonly file?: string; readonly scope: Scope };
}

/**
 * Asks for the value of an input. Undefined = it is not given. The signal ends the question:
 * nobody waits for the answer any more.
 */
export type AskForInput = (
  request: InputRequest,
  options: { readonly signal: AbortSignal },
) => Promise<string | undefined>;
