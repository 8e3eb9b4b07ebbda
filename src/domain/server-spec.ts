/**
 * The settings that decide a connection, as written. Any change here is a new
 * generation: the old session is closed and a new one opened.
 * Values still hold their `${VAR}` references; they are resolved at connect time.
 */

import type { InputDefinition } from './input.ts';
import type { Scope } from './scope.ts';

/** Which protocol era to speak; `auto` asks the server once. */
export type Era = 'auto' | 'legacy' | 'modern';

/** Sources of values besides texts and variables, as written. */
export interface ValueRules {
  /** No text is a reference: every text is literal. */
  readonly literal?: true;
  /** A file of variables for the process. */
  readonly envFile?: {
    /** Absolute, or it begins with a reference. */
    readonly path: string;
    /** The folder that the file must be in, links followed. */
    readonly within?: string;
  };
  /** Programs whose output is a value: of `env.NAME` or `headers.NAME`. */
  readonly commands?: readonly ValueCommand[];
  /** The inputs that the values refer to, of this document. */
  readonly inputs?: {
    readonly file?: string;
    readonly scope: Scope;
    readonly definitions: readonly InputDefinition[];
  };
}

export interface ValueCommand {
  readonly key: string;
  /** The program and its arguments. */
  readonly words: readonly string[];
}

export interface StdioSpec {
  readonly type: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute path of the folder the process starts in. */
  readonly cwd: string;
  readonly era: Era;
  readonly values?: ValueRules;
}

export interface HttpSpec {
  readonly type: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly era: Era;
  /** The settings leave the type open: a server that knows no Streamable HTTP is met with SSE. */
  readonly fallback?: 'sse';
  readonly values?: ValueRules;
}

/** HTTP with SSE (protocol version 2024-11-05) or WebSocket. */
export interface StreamSpec {
  readonly type: 'sse' | 'ws';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly era: Era;
  readonly values?: ValueRules;
}

/** A server inside the host, which hands it in under this name. */
export interface MemorySpec {
  readonly type: 'memory';
  readonly server: string;
  readonly era: Era;
}

export type RemoteSpec = HttpSpec | StreamSpec;
export type ServerSpec = StdioSpec | RemoteSpec | MemorySpec;

/** The transport of a session, as shown in the status. */
export type TransportKind = 'stdio' | 'http' | 'sse' | 'ws' | 'memory';

/** Returns whether the server lives on the other side of a network address. */
export function isRemote(transport: TransportKind): boolean {
  return transport === 'http' || transport === 'sse' || transport === 'ws';
}
