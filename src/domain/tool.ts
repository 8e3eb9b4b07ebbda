/** Tools as servers announce them and as callers see them. */

/** What a server says about any item of a list besides its meaning; passed on as it is. */
export interface ListedExtras {
  /** Icons with `src`, `mimeType` and `sizes`, as the protocol defines them. */
  readonly icons?: readonly Readonly<Record<string, unknown>>[];
  /** For hosts, for example those that render MCP Apps. */
  readonly _meta?: Readonly<Record<string, unknown>>;
  /** Fields that this version does not know, at most 64 KB. */
  readonly extra?: Readonly<Record<string, unknown>>;
}

/** A server's own claims about a tool, as the protocol defines them. Not verified; see `ToolTraits`. */
export interface ToolAnnotations {
  /** A label for users. */
  readonly title?: string;
  /** Whether it changes nothing. Default: false. */
  readonly readOnlyHint?: boolean;
  /** Whether it may delete or overwrite. Default: true. */
  readonly destructiveHint?: boolean;
  /** Whether repeating a call changes nothing more. Default: false. */
  readonly idempotentHint?: boolean;
  /** Whether it reaches beyond its own data. Default: true. */
  readonly openWorldHint?: boolean;
  /** Hints that this version does not know. */
  readonly [unknownHint: string]: unknown;
}

/** A tool as its server announced it, in its own words. */
export interface ListedTool extends ListedExtras {
  /** The server's own name for it. */
  readonly name: string;
  /** A label for users; if absent, show the name. */
  readonly title?: string;
  /** What it does, for users and models. */
  readonly description?: string;
  /** JSON Schema for the arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** JSON Schema for the structured content of results. Default: none. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** The server's claims about it. Default: none. */
  readonly annotations?: ToolAnnotations;
  /** How it runs, as the server declares it. */
  readonly execution?: Readonly<Record<string, unknown>>;
}

/**
 * Traits that a host may rely on when it decides about a call. An untrusted server's annotations
 * never make a tool look safer than one without annotations.
 */
export interface ToolTraits {
  /** Whether it changes nothing. */
  readonly readOnly: boolean;
  /** Whether its calls may run concurrently. */
  readonly concurrencySafe: boolean;
  /** Whether it may delete or overwrite. */
  readonly destructive: boolean;
  /** Whether it reaches beyond its own server's data. */
  readonly openWorld: boolean;
}

/** A tool under the name by which callers reach it. */
export interface ExposedTool extends ListedExtras {
  /** Exposed name, for example `mcp__db__query`; at most 64 characters, unless a policy says otherwise. */
  readonly name: string;
  /** The name of the server that offers it. */
  readonly server: string;
  /** The server's own name for the tool. */
  readonly tool: string;
  /** A label for users; if absent, show the name. */
  readonly title?: string;
  /** What it does, for users and models. */
  readonly description?: string;
  /** The JSON Schema of its arguments. */
  readonly inputSchema: Readonly<Record<string, unknown>>;
  /** JSON Schema for the structured content of results, if the server declares it. */
  readonly outputSchema?: Readonly<Record<string, unknown>>;
  /** The annotations as the server declares them, whether or not it is trusted. */
  readonly annotations?: ToolAnnotations;
  /** The reliable part of the annotations; present whenever they are. */
  readonly traits?: ToolTraits;
  /** The server's own words on how it runs, unchanged. */
  readonly execution?: Readonly<Record<string, unknown>>;
  /**
   * Present if the tool is for an app's user interface only (`_meta.ui.visibility` of MCP Apps): do not offer it to a
   * model. The adapters leave it out.
   */
  readonly appOnly?: true;
  /** Present if the policy's `catalog.descriptionMaxLength` cuts its descriptions. */
  readonly isCut?: true;
  /** `live` if listed in the current session; otherwise the state of the last known list. */
  readonly catalog: 'live' | 'deferred' | 'stale';
}

/** A tool's result. `isError: true` is a result, not a failure. */
export interface ToolResult {
  /** Content blocks, as the protocol defines them. */
  readonly content: readonly Readonly<Record<string, unknown>>[];
  /** JSON that matches the tool's output schema, if it has one. */
  readonly structuredContent?: unknown;
  /** Whether the tool reports a failure; such a call still succeeded. Default: false. */
  readonly isError?: boolean;
  /** The server's metadata, unchanged. */
  readonly _meta?: Readonly<Record<string, unknown>>;
}
