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
  /** JSON Schema of the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  readonly annotations?: ToolAnnotations;
}

/**
 * Traits that a host may rely on when it decides about a call. Annotations of an untrusted server never make
 * a tool look safer than one without annotations.
 */
export interface ToolTraits {
  readonly readOnly: boolean;
  /** Whether calls of it may run side by side. */
  readonly concurrencySafe: boolean;
  readonly destructive: boolean;
  /** Whether it reaches beyond what its server holds. */
  readonly openWorld: boolean;
}

/** A tool under the name by which callers reach it. */
export interface ExposedTool {
  /** Exposed name, for example `mcp__db__query`; at most 64 characters, unless a policy says otherwise. */
  readonly name: string;
  readonly server: string;
  /** The server's own name of the tool. */
  readonly tool: string;
  readonly title?: string;
  readonly description?: string;
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** JSON Schema of the structured content of results, if the server declares it. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** As the server has them, whether or not it is trusted. */
  readonly annotations?: ToolAnnotations;
  /** The reliable part of the annotations; present whenever they are. */
  readonly traits?: ToolTraits;
  /** `live` = listed in the current session; else the last list known. */
  readonly catalog: 'live' | 'deferred' | 'stale';
}

/** A tool's result. `isError: true` is a result, not a failure. */
export interface ToolResult {
  readonly content: readonly Readonly<Record<string, unknown>>[];
  readonly structuredContent?: Readonly<Record<string, unknown>>;
  readonly isError?: boolean;
  readonly _meta?: Readonly<Record<string, unknown>>;
}
