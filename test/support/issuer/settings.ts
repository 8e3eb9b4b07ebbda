/** How the test issuer behaves. A test may change everything while it runs. */

import type { JsonWebKey } from 'node:crypto';

import type { SigningKey } from './signing.ts';

/** A client that is known without registration. */
export interface KnownClient {
  readonly id: string;
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt';
  readonly secret?: string;
  /** For `private_key_jwt`. */
  readonly publicJwk?: JsonWebKey;
  /** None: any of this machine. */
  readonly redirectUris?: readonly string[];
}

/** An answer that repeats the secrets of its request: an OAuth error, a page, or one of JSON-RPC. */
export interface Echo {
  readonly echo: 'oauth' | 'page' | 'rpc';
  readonly status: number;
  /** Default: `invalid_request`. */
  readonly error?: string;
}

/** What happens instead of an answer. */
export type Fault =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
  /** No answer until the end of the test. */
  | 'hang'
  | 'reset'
  /** A body of five megabytes. */
  | 'huge'
  | Echo;

export interface IssuerSettings {
  /** The issuer's path: its metadata then stands at other places. */
  issuerPath: string;
  metadata: 'oauth' | 'oidcInserted' | 'oidcAppended' | 'none';
  /** Where the server's metadata stands. */
  resourceMetadata: 'challenge' | 'path' | 'root' | 'none';
  /** Changes metadata before it is sent. */
  tamper: {
    issuer?: (metadata: Record<string, unknown>) => unknown;
    resource?: (metadata: Record<string, unknown>) => unknown;
    token?: (response: Record<string, unknown>) => unknown;
    device?: (response: Record<string, unknown>) => unknown;
  };
  /** By path; answers so many requests, or all. */
  faults: Map<string, { readonly fault: Fault; times?: number }>;
  /** By path; an answer waits for this after its request has had its effect. */
  holds: Map<string, Promise<void>>;
  clients: KnownClient[];
  registersClients: boolean;
  acceptsClientIdMetadata: boolean;
  authMethods: string[];
  checksPkce: boolean;
  /** The scopes of the server's metadata, and of the issuer's. */
  scopes: { resource?: string[]; issuer?: string[] };
  /** The scope of challenges after a 401, and the scopes that a tool needs. */
  challengeScope?: string;
  toolScopes: Record<string, string[]>;
  /** Whether the server has prompts and resources as well as tools. */
  offersAll: boolean;
  /** Whether tools say in their results what they need, instead of the server by its status. */
  challengesInResults: boolean;
  /** `family`: a refresh token that is used twice revokes everything that came from it. */
  rotation: 'none' | 'rotate' | 'family';
  expiresInSeconds: number;
  /** Access tokens are JWTs, signed with the last of these keys; all are published. Empty: opaque. */
  signingKeys: SigningKey[];
  /** Resources beside the issuer's own server for which it issues tokens. */
  otherResources: string[];
  /** How far the issuer's clock is ahead. */
  clockSkewMs: number;
  issuesRefreshTokens: boolean;
  /** Whether a renewal names the resource; issuers that do not know the parameter refuse it. */
  resourceOfRenewals: 'needed' | 'refused';
  /** Tokens are for this resource instead of the one asked for. */
  audience?: string;
  iss: 'correct' | 'wrong' | 'none';
  advertisesIss: boolean;
  /** What the user decides; `ask`: with the buttons of a page. */
  consent: 'allow' | 'deny' | 'ask';
  dpop: 'none' | 'offered' | 'required' | 'nonce';
  offersDevice: boolean;
  /** Identities that count as signed: of users at the identity provider, and of workloads. */
  idTokens: string[];
  workloads: string[];
}

export function defaultSettings(): IssuerSettings {
  return {
    issuerPath: '',
    metadata: 'oauth',
    resourceMetadata: 'challenge',
    tamper: {},
    faults: new Map(),
    holds: new Map(),
    clients: [],
    registersClients: true,
    acceptsClientIdMetadata: false,
    authMethods: ['none', 'client_secret_basic', 'client_secret_post', 'private_key_jwt'],
    checksPkce: true,
    scopes: {},
    toolScopes: {},
    offersAll: false,
    challengesInResults: false,
    rotation: 'family',
    expiresInSeconds: 3600,
    clockSkewMs: 0,
    signingKeys: [],
    otherResources: [],
    issuesRefreshTokens: true,
    resourceOfRenewals: 'needed',
    iss: 'correct',
    advertisesIss: true,
    consent: 'allow',
    dpop: 'none',
    offersDevice: false,
    idTokens: [],
    workloads: [],
  };
}

/** What happened, for a test to count. */
export interface IssuerCounts {
  registrations: number;
  authorizations: number;
  /** Tokens issued, by grant. */
  codes: number;
  redemptions: number;
  otherGrants: number;
  /** Refresh tokens used twice. */
  reuses: number;
  revocations: number;
  /** Requests to the server without a valid token. */
  unauthorized: number;
  /** Tool calls that ran. */
  calls: number;
}

export const noCounts = (): IssuerCounts => ({
  registrations: 0,
  authorizations: 0,
  codes: 0,
  redemptions: 0,
  otherGrants: 0,
  reuses: 0,
  revocations: 0,
  unauthorized: 0,
  calls: 0,
});
