import type { ServerSpec } from '../server-spec.ts';
import type { SourceRef, ToolFilter } from '../settings.ts';

/** One server of the settings, as passed to a rule of the host. */
export interface RuledServer {
  readonly name: string;
  readonly source: SourceRef;
  /** As written: its values may be secrets, or `${VAR}` references to them. */
  readonly spec: ServerSpec;
  readonly enabled: boolean;
  readonly trust: boolean;
  readonly tools: ToolFilter;
}

/** A rule's decision about one server; undefined = no change. */
export type RuleAnswer =
  | undefined
  /** The server does not run; the reason is shown to people, as "the host has a browser of its own". */
  | { readonly leaveOut: string }
  | { readonly change: { readonly trust?: boolean; readonly tools?: Partial<ToolFilter> } };

/**
 * A rule of the host about servers of every source. It is called whenever settings are
 * read, must return synchronously and deterministically, and must not throw: a server
 * whose rule failed does not run.
 */
export type HostRule = (server: RuledServer) => RuleAnswer;
