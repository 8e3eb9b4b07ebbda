/**
 * The settings that decide a connection, as written. Any change here makes a new generation: the
 * old session is closed and a new one opened. Values still contain their `${VAR}` references, which
 * are resolved at connect time.
 */

import type { InputDefinition } from './input.ts';
import type { Scope } from './scope.ts';

/** The protocol era to speak; `auto` asks the server once. */
export type Era = 'auto' | 'legacy' | 'modern';

/** Sources of values other than strings and variables, as written. */
export interface ValueRules {
  /** No string is a reference: every string is literal. */
  readonly literal?: true;
  /** A file of variables for the process. */
  readonly envFile?: {
    /** Absolute path, or one that begins with a reference. */
    readonly path: string;
    /** The folder that the file must be in once links are followed. */
    readonly within?: string;
  };
  /** Programs whose output is the value of `env.NAME`, `headers.NAME`, `proxy` or `tls.KEY`. */
  readonly commands?: readonly ValueCommand[];
  /** The document's inputs that the values refer to. */
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
  /** Absolute path of the folder in which the process starts. */
  readonly cwd: string;
  readonly era: Era;
  readonly values?: ValueRules;
}

/** How a remote server is reached, as written. Values from commands are in {@link ValueRules}. */
export interface ReachRules {
  /** Address of a proxy; false: none, whatever the environment names. */
  readonly proxy?: string | false;
  readonly tls?: TlsRules;
}

/**
 * Certificates: `ca` lists authorities to trust besides Node's; `cert`, `key` and `passphrase` are
 * the client certificate. All but the last are absolute paths, texts in PEM form, or begin with a
 * reference.
 */
export interface TlsRules {
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
  readonly passphrase?: string;
  /** The folder in which a file must be once links are followed, if its path is in this folder. */
  readonly within?: string;
}

export const tlsKeys = [
  'ca',
  'cert',
  'key',
  'passphrase',
] as const satisfies readonly (keyof TlsRules)[];

export interface HttpSpec extends ReachRules {
  readonly type: 'http';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly era: Era;
  /**
   * Whether the settings leave the type open: SSE is then used for a server that does not support
   * Streamable HTTP.
   */
  readonly fallback?: 'sse';
  readonly values?: ValueRules;
}

/** HTTP with SSE (protocol version 2024-11-05) or WebSocket. */
export interface StreamSpec extends ReachRules {
  readonly type: 'sse' | 'ws';
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly era: Era;
  readonly values?: ValueRules;
}

/** A server inside the host, which provides it under this name. */
export interface MemorySpec {
  readonly type: 'memory';
  readonly server: string;
  readonly era: Era;
}

export type RemoteSpec = HttpSpec | StreamSpec;
export type ServerSpec = StdioSpec | RemoteSpec | MemorySpec;

/** A session's transport, as shown in the status. */
export type TransportKind = 'stdio' | 'http' | 'sse' | 'ws' | 'memory';

/** Returns whether the server is reached at a network address. */
export function isRemote(transport: TransportKind): boolean {
  return transport === 'http' || transport === 'sse' || transport === 'ws';
}
