/** Values that only the user, or the host on the user's behalf, can provide. */

import type { Scope } from './scope.ts';

/** One choice of a `pickString` input: what the user sees, and the value it stands for. */
export interface InputChoice {
  /** What the user sees. */
  readonly label: string;
  /** What it stands for. */
  readonly value: string;
}

/** One item of `inputs` in settings. Its strings are printable. */
export interface InputDefinition {
  /** The name in references: `${input:id}`. */
  readonly id: string;
  /** A string, one of several strings, or the output of a host command. */
  readonly type: 'promptString' | 'pickString' | 'command';
  /** What to ask the user. */
  readonly description?: string;
  /** The value if the user just confirms. */
  readonly default?: string;
  /** The choices, for `pickString` only. */
  readonly options?: readonly InputChoice[];
  /** Whether the value is a secret that is never shown, not even while it is typed. */
  readonly password: boolean;
  /** The name of a host command, and its arguments, for `command` only. */
  readonly command?: string;
  /** Arguments of the host command. Default: none. */
  readonly args?: unknown;
}

/** A request to the host for an input, and the server that needs it. */
export interface InputRequest extends InputDefinition {
  /** The first server that needs it; others may get the same answer. */
  readonly server: string;
  /** Where the input is declared. */
  readonly source: { readonly file?: string; readonly scope: Scope };
}

/**
 * Asks for an input's value. Undefined means that it is not given. The signal aborts the question
 * when the answer is no longer needed.
 */
export type AskForInput = (
  request: InputRequest,
  options: { readonly signal: AbortSignal },
) => Promise<string | undefined>;
