/** What the ledger keeps of one call. */

import type { CallerCode, Outcome } from './caller-code.ts';

/** One call, as one line of JSON. */
export interface CallRecord {
  /** When the call began, in ISO 8601. */
  readonly time: string;
  /** The real path of the project folder. */
  readonly project: string;
  /** The name that the client chose; `host` without one. */
  readonly client: string;
  /** The user of the client's access token. Absent without a token. */
  readonly user?: string;
  /** The view through which it was made. Absent without one. */
  readonly view?: string;
  readonly server: string;
  /** The method of MCP, such as `tools/call`. */
  readonly method: string;
  /** The server's own name for the tool, or the caller's if the tool was not found. Absent for other methods. */
  readonly tool?: string;
  readonly outcome: Outcome;
  /** The error's code. Absent if the server answered. */
  readonly code?: CallerCode;
  /** The tool answered with an error of its own. */
  readonly isError?: true;
  readonly durationMs: number;
  /** Size of the arguments as JSON. */
  readonly argumentsBytes: number;
  /** SHA-256 of the arguments as canonical JSON (RFC 8785), in 64 hex digits. Absent if they are recorded. */
  readonly argumentsSha256?: string;
  /** The arguments. Absent unless the settings ask for them. */
  readonly arguments?: unknown;
  /** Size of the result as its caller got it, as JSON. Absent without a result. */
  readonly resultBytes?: number;
}
