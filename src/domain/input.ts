/** Values that only the user, or the host on their behalf, can give. */

import type { Scope } from './scope.ts';

export interface InputChoice {
  readonly label: string;
  readonly value: string;
}

/** One item of `inputs` in settings. Its texts are printable. */
export interface InputDefinition {
  readonly id: string;
  /** A text, one of several texts, or the output of a command of the host. */
  readonly type: 'promptString' | 'pickString' | 'command';
  readonly description?: string;
  /** The value when the user just confirms. */
  readonly default?: string;
  /** Of `pickString` only. */
  readonly options?: readonly InputChoice[];
  /** It is never shown, not even while it is typed. */
  readonly password: boolean;
  /** Of `command` only: the name of a command of the host, and its arguments. */
  readonly command?: string;
  readonly args?: unknown;
}

/** A request to the host for an input, and the server that needs it. */
export interface InputRequest extends InputDefinition {
  /** The server that needs it first; others may get the same answer. */
  readonly server: string;
  /** Where the input is declared. */
  readonly source: { readonly file?: string; readonly scope: Scope };
}

/**
 * Asks for the value of an input. Undefined = it is not given. The signal aborts the question when
 * the answer is no longer needed.
 */
export type AskForInput = (
  request: InputRequest,
  options: { readonly signal: AbortSignal },
) => Promise<string | undefined>;
