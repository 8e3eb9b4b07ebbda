/** Tools as servers announce them and as callers see them. */

export interface ToolAnnotations {
  readonly title?: string;
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** A tool as its server announced it. */
export interface ListedTool {
  readonly name: string;
  readonly title?: string;
  readonly description?: string;
  /** JSON Schema for the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations?: ToolAnnotations;
}

/**
 * Traits that a host may rely on when it decides about a call. An untrusted server's annotations
 * never make a tool look safer than one without annotations.
 */
export interface ToolTraits {
  readonly readOnly: boolean;
  /** Whether its calls may run concurrently. */
  readonly concurrencySafe: boolean;
  readonly destructive: boolean;
  /** Whether it reaches beyond its own server's data. */
  readonly openWorld: boolean;
}

/** A tool under the name by which callers reach it. */
export interface ExposedTool {
  /** Exposed name, for example `mcp__db__query`; at most 64 characters, unless a policy says otherwise. */
  readonly name: string;
  readonly server: string;
  /** The server's own name for the tool. */
  readonly tool: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** JSON Schema for the structured content of results, if the server declares it. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** The annotations as the server declares them, whether or not it is trusted. */
  readonly annotations?: ToolAnnotations;
  /** The reliable part of the annotations; present whenever they are. */
  readonly traits?: ToolTraits;
  /** `live` if listed in the current session; otherwise the state of the last known list. */
  readonly catalog: 'live' | 'deferred' | 'stale';
}

/** A tool's result. `isError: true` is a result, not a failure. */
export interface ToolResult {
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}
