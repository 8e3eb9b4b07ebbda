import type { ServerSpec } from '../server-spec.ts';
import type { SourceRef, ToolFilter } from '../settings.ts';

/** A server from the settings, as passed to a host rule. */
export interface RuledServer {
  /** The server's name in the settings. */
  readonly name: string;
  /** Where it was declared. */
  readonly source: SourceRef;
  /** The spec as written: its values may be secrets, or `${VAR}` references to them. */
  readonly spec: ServerSpec;
  /** Whether its entry enables it. */
  readonly enabled: boolean;
  /** Whether its entry declares it as trusted. */
  readonly trust: boolean;
  /** Which of its tools its entry shows. */
  readonly tools: ToolFilter;
}

/** A rule's decision about one server; undefined makes no change. */
export type RuleAnswer =
  | undefined
  /**
   * The server does not run; the reason is shown to users, for example "the host has its own
   * browser".
   */
  | { readonly leaveOut: string }
  | { readonly change: { readonly trust?: boolean; readonly tools?: Partial<ToolFilter> } };

/**
 * A host rule about servers from every source. It is called whenever settings are read, must return
 * synchronously and deterministically, and must not throw: a server whose rule failed does not run.
 */
export type HostRule = (server: RuledServer) => RuleAnswer;
