import type { ServerSpec } from '../server-spec.ts';
import type { SourceRef, ToolFilter } from '../settings.ts';

/** One server of the settings, as a rule of the host sees it. */
export interface RuledServer {
  readonly name: string;
  readonly source: SourceRef;
  /** As written: its values may be secrets, or `${VAR}` references to them. */
  readonly spec: ServerSpec;
  readonly enabled: boolean;
  readonly trust: boolean;
  readonly tools: ToolFilter;
}

/** What a rule says of one server; nothing = let it be. */
export type RuleAnswer =
  | undefined
  /** The server does not run; the reason is shown to people, as "the host has a browser of its own". */
  | { readonly leaveOut: string }
  | { readonly change: { readonly trust?: boolean; readonly tools?: Partial<ToolFilter> } };

/**
 * A rule of the host about servers, whoever declared them. It is asked anew whenever
 * settings are read, must answer at once and always alike, and must not throw: a
 * server that a rule could not judge does not run.
 */
export type HostRule = (server: RuledServer) => RuleAnswer;
