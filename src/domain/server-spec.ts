/**
 * The settings that decide a connection, as written. Any change here makes a new generation: the
 * old session is closed and a new one opened. Values still contain their `${VAR}` references, which
 * are resolved at connect time.
 */

import type { Grant } from './authorization.ts';
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
  /**
   * Programs whose output is the value of `env.NAME`, `headers.NAME`, `proxy`, `tls.KEY` or
   * `oauth.NAME`. That of `headersCommand` is a JSON object of headers.
   */
  readonly commands?: readonly ValueCommand[];
  /** Absolute path of the folder in which they run. Default: the project. */
  readonly commandFolder?: string;
  /** The document's inputs that the values refer to. */
  readonly inputs?: {
    readonly file?: string;
    readonly scope: Scope;
    readonly definitions: readonly InputDefinition[];
  };
}

/** A program whose output is a value. */
export interface ValueCommand {
  /** What its output is the value of, for example `env.TOKEN`. */
  readonly key: string;
  /** The program and its arguments. */
  readonly words: readonly string[];
}

/** A local server: a process that speaks MCP over stdin and stdout. */
export interface StdioSpec {
  /** Tells the kinds of specs apart. */
  readonly type: 'stdio';
  /** The program, as written: a path, or a name that is looked up on `PATH`. */
  readonly command: string;
  /** Its arguments. Default: none. */
  readonly args: readonly string[];
  /** Environment variables besides the few that every server gets. Default: none. */
  readonly env: Readonly<Record<string, string>>;
  /** Absolute path of the folder in which the process starts. */
  readonly cwd: string;
  /** The protocol era to speak. Default: `auto`. */
  readonly era: Era;
  /** Where its values come from. Default: from the settings and the environment. */
  readonly values?: ValueRules;
}

/** How a remote server is reached, as written. Values from commands are in {@link ValueRules}. */
export interface ReachRules {
  /** Address of a proxy; false: none, whatever the environment names. */
  readonly proxy?: string | false;
  /** Certificates for the connection. Default: those of Node. */
  readonly tls?: TlsRules;
}

/**
 * Certificates: `ca` lists authorities to trust besides Node's; `cert`, `key` and `passphrase` are
 * the client certificate. All but the last are absolute paths, texts in PEM form, or begin with a
 * reference.
 */
export interface TlsRules {
  /** Authorities to trust besides Node's. Default: none. */
  readonly ca?: string;
  /** The client's certificate. Default: none. */
  readonly cert?: string;
  /** The certificate's private key. Default: none. */
  readonly key?: string;
  /** Decrypts the key. Default: the key is not encrypted. */
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

/** How the client proves its identity at the token endpoint. */
export const tokenEndpointAuthMethods = [
  'none',
  'client_secret_basic',
  'client_secret_post',
  'private_key_jwt',
] as const;
/** How the client proves its identity at the token endpoint. */
export type TokenEndpointAuthMethod = (typeof tokenEndpointAuthMethods)[number];

/** Signatures of a client assertion (RFC 7518, RFC 8037). */
export const signatureAlgorithms = [
  'ES256',
  'ES384',
  'ES512',
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'EdDSA',
] as const;
/** A signature of a client assertion (RFC 7518, RFC 8037). */
export type SignatureAlgorithm = (typeof signatureAlgorithms)[number];

/** A file with a value of `oauth`. */
export interface SecretFile {
  /** Absolute path, or one that begins with a reference. */
  readonly path: string;
  /** The folder that the file must be in once links are followed. */
  readonly within?: string;
}

/**
 * How to log in to a remote server, as written. A text that a command provides is absent; so is
 * whatever the server's metadata decides.
 */
export interface OAuthSpec {
  /** How a token is obtained. Default: `authorization_code`. */
  readonly grant: Grant;
  /** The id that the issuer knows the client by. Default: one that is registered. */
  readonly clientId?: string;
  /** The client's secret. Default: none. */
  readonly clientSecret?: string;
  /** Address of the client's metadata document, which is then its id. */
  readonly clientMetadataUrl?: string;
  /** Scopes to request, instead of those that the server names. */
  readonly scopes?: readonly string[];
  /** Address of the issuer's metadata, instead of the well-known ones. */
  readonly metadataUrl?: string;
  /** The only issuer that may be used. */
  readonly issuer?: string;
  /** Port of the redirect address on this machine. Default: any free port. */
  readonly callbackPort?: number;
  /** The whole redirect address. Default: one on this machine. */
  readonly redirectUri?: string;
  /** The client's private key, in PEM or as a JWK, for `private_key_jwt`. */
  readonly privateKey?: string;
  /** A file with the private key. */
  readonly keyFile?: SecretFile;
  /** Signature of the assertion. Default: what fits the key. */
  readonly algorithm?: SignatureAlgorithm;
  /** Names the key among several of the client (`kid`). */
  readonly keyId?: string;
  /** How the client proves its identity. Default: what the issuer's metadata allows. */
  readonly tokenEndpointAuthMethod?: TokenEndpointAuthMethod;
  /** The identity provider of an enterprise, which vouches for the user. */
  readonly identity?: {
    readonly issuer: string;
    readonly clientId?: string;
    readonly clientSecret?: string;
    readonly idToken?: string;
  };
  /** A token that the workload's platform issued. */
  readonly assertion?: string;
  /** A file with that token, read at each use. */
  readonly assertionFile?: SecretFile;
  /** Whether tokens are bound to a key of this client (RFC 9449). */
  readonly dpop?: true;
}

/** The login of a remote server. */
export interface LogInSpec {
  /** False: never log in. Absent: as the server's metadata says. */
  readonly oauth?: OAuthSpec | false;
  /** The user's account at the server; absent for the only one. */
  readonly account?: string;
}

/** A server reached over Streamable HTTP. */
export interface HttpSpec extends ReachRules, LogInSpec {
  /** Tells the kinds of specs apart. */
  readonly type: 'http';
  /** Its address. */
  readonly url: string;
  /** Headers of each request. Default: none. */
  readonly headers: Readonly<Record<string, string>>;
  /** The protocol era to speak. Default: `auto`. */
  readonly era: Era;
  /**
   * Whether the settings leave the type open: SSE is then used for a server that does not support
   * Streamable HTTP.
   */
  readonly fallback?: 'sse';
  /** Where its values come from. Default: from the settings and the environment. */
  readonly values?: ValueRules;
}

/** HTTP with SSE (protocol version 2024-11-05) or WebSocket. */
export interface StreamSpec extends ReachRules, LogInSpec {
  /** `sse` for HTTP with SSE, `ws` for WebSocket. */
  readonly type: 'sse' | 'ws';
  /** Its address. */
  readonly url: string;
  /** Headers of each request. Default: none. */
  readonly headers: Readonly<Record<string, string>>;
  /** The protocol era to speak. Default: `auto`. */
  readonly era: Era;
  /** Where its values come from. Default: from the settings and the environment. */
  readonly values?: ValueRules;
}

/** A server inside the host, which provides it under this name. */
export interface MemorySpec {
  /** Tells the kinds of specs apart. */
  readonly type: 'memory';
  /** The name under which the host provides it. */
  readonly server: string;
  /** The protocol era to speak. Default: `auto`. */
  readonly era: Era;
}

/** A server reached at a network address. */
export type RemoteSpec = HttpSpec | StreamSpec;
/** How a server is reached, after variables and defaults: by a process, an address, or inside the host. */
export type ServerSpec = StdioSpec | RemoteSpec | MemorySpec;

/** A session's transport, as shown in the status. */
export type TransportKind = 'stdio' | 'http' | 'sse' | 'ws' | 'memory';

/** Returns whether the server is reached at a network address. */
export function isRemote(transport: TransportKind): boolean {
  return transport === 'http' || transport === 'sse' || transport === 'ws';
}
