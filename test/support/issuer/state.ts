/** What the parts of the test issuer share. */

import type { IncomingMessage } from 'node:http';

import type { IssuerCounts, IssuerSettings, KnownClient } from './settings.ts';
import type { TokenBook } from './tokens.ts';

/** The nonce that proofs must contain, if the issuer and the server want one. */
export const nonce = 'nonce-of-the-test-issuer';

/** A request as it arrived. */
export interface Seen {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly form: URLSearchParams;
  readonly body: string;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly html?: string;
}

export interface DeviceRequest {
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly resource: string;
  readonly userCode: string;
  readonly endsAtMs: number;
  decision: 'pending' | 'allowed' | 'denied';
  /** Answers to the next polls, before the decision counts. */
  readonly answers: string[];
}

/** All that the parts of the issuer share. */
export interface IssuerState {
  readonly settings: IssuerSettings;
  readonly counts: IssuerCounts;
  readonly book: TokenBook;
  readonly clients: Map<string, KnownClient>;
  readonly devices: Map<string, DeviceRequest>;
  /** Ids of proofs and assertions, which are valid once. */
  readonly seenIds: Set<string>;
  /** Grants of the identity provider. */
  readonly grants: Map<
    string,
    { readonly audience: string; readonly resource: string; readonly scopes: readonly string[] }
  >;
  /** `http://127.0.0.1:PORT`. */
  readonly origin: string;
  /** The issuer's identifier. */
  readonly issuer: () => string;
  /** The server's URL. */
  readonly server: string;
  readonly now: () => number;
}
