/**
 * What decides a connection, as written in the settings. A change of anything
 * here is a new generation: the old session is closed and a new one opened.
 * Values still hold their `${VAR}` references; they are resolved at connect time.
 */

/** Which protocol era to speak; `auto` asks the server once. */
export type Era = 'auto' | 'legacy' | 'modern';

export interface StdioSpec {
  readonly type: 'stdio';
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Absolute path of the folder the process starts in. */
  readonly cwd: string;
  readonly era: Era;
}

export interface HttpSpec {
  readonly type: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly era: Era;
  /** The settings leave the type open: a server that knows no Streamable HTTP is met with SSE. */
  readonly fallback?: 'sse';
}

/** HTTP with SSE, as of 2024-11-05, or a WebSocket. */
export interface StreamSpec {
  readonly type: 'sse' | 'ws';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly era: Era;
}

/** A server inside the host, which hands it in under this name. */
export interface MemorySpec {
  readonly type: 'memory';
  readonly server: string;
  readonly era: Era;
}

export type RemoteSpec = HttpSpec | StreamSpec;
export type ServerSpec = StdioSpec | RemoteSpec | MemorySpec;

/** What carries a session; the word shown in the status. */
export type TransportKind = 'stdio' | 'http' | 'sse' | 'ws' | 'memory';

/** Says whether the server lives on the other side of a network address. */
export function isRemote(transport: TransportKind): boolean {
  return transport === 'http' || transport === 'sse' || transport === 'ws';
}
