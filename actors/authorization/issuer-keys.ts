/**
 * The public keys with which an issuer signs access tokens (JWKS). They are fetched again when a token
 * names an unknown one, and regularly, because an issuer withdraws keys. Failures are not repeated at
 * once, so that no client can cause requests without end.
 */

import { createLocalJWKSet, errors, type JWTVerifyGetKey } from 'jose';
import { z } from 'zod';

import type { Clock } from '../../src/domain/clock.ts';
import { addressOf } from '../transports/connection/failure.ts';
import type { FetchOptions } from '../transports/http/fetch.ts';
import {
  assertAvailable,
  createIssuerConnection,
  type IssuerAccess,
  type IssuerConnection,
} from './login-fetch.ts';
import { fetchMetadata, jsonOf } from './metadata.ts';
import { attempt, type Outcome, quoted, refused } from './outcome.ts';

// Issuers announce a new key well before they use it, so an unknown one is rare.
const shortestIntervalMs = 30_000;
const longestAgeMs = 600_000;
// An issuer that is down withdraws no key; an hour is long enough to repair it.
const latestUseMs = 3_600_000;

export class IssuerKeys {
  /** Exactly as the issuer writes it, and as its tokens name it. */
  readonly issuer: string;
  readonly #clock: Clock;
  readonly #fetchKeys: () => Promise<JWTVerifyGetKey>;
  readonly #connection: Pick<IssuerConnection, 'close'>;
  readonly #onFailure: (error: Error) => void;
  #known: { readonly find: JWTVerifyGetKey; readonly fetchedAt: number };
  #askedAt: number;
  #asking: Promise<void> | undefined;

  constructor(ports: {
    readonly issuer: string;
    readonly clock: Clock;
    readonly find: JWTVerifyGetKey;
    readonly fetchKeys: () => Promise<JWTVerifyGetKey>;
    readonly connection: Pick<IssuerConnection, 'close'>;
    readonly onFailure: (error: Error) => void;
  }) {
    this.issuer = ports.issuer;
    this.#clock = ports.clock;
    this.#fetchKeys = ports.fetchKeys;
    this.#connection = ports.connection;
    this.#onFailure = ports.onFailure;
    this.#askedAt = this.#clock.now();
    this.#known = { find: ports.find, fetchedAt: this.#askedAt };
  }

  /**
   * Finds the key of a token.
   * @throws jose's error if the issuer has no such key, another one if its keys are not known
   */
  readonly find: JWTVerifyGetKey = async (header, token) => {
    if (this.#ageMs() > longestAgeMs) await this.#fetchAgain();
    // The issuer does not answer.
    if (this.#ageMs() > latestUseMs) throw new Error('the keys are too old');
    try {
      return await this.#known.find(header, token);
    } catch (error) {
      const before = this.#known;
      if (error instanceof errors.JWKSNoMatchingKey) await this.#fetchAgain();
      if (this.#known === before) throw error;
      return this.#known.find(header, token);
    }
  };

  close(): void {
    this.#connection.close();
  }

  #ageMs(): number {
    return this.#clock.now() - this.#known.fetchedAt;
  }

  /** Resolves after a request that is under way; does nothing shortly after the last one. */
  async #fetchAgain(): Promise<void> {
    const now = this.#clock.now();
    if (this.#asking === undefined && now - this.#askedAt < shortestIntervalMs) return;
    if (this.#asking === undefined) this.#askedAt = now;
    this.#asking ??= this.#fetchKeys()
      .then((find) => {
        this.#known = { find, fetchedAt: now };
      }, this.#onFailure)
      .finally(() => {
        this.#asking = undefined;
      });
    await this.#asking;
  }
}

const withKeys = z.looseObject({ issuer: z.string(), jwks_uri: z.string() });
const keySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

/** Reads an issuer's metadata and its keys. */
export async function openIssuerKeys(
  issuer: string,
  ports: {
    readonly clock: Clock;
    readonly options: Omit<FetchOptions, 'authenticator'>;
    /** Receives failures to fetch the keys again. */
    readonly onFailure: (error: Error) => void;
  },
): Promise<Outcome<IssuerKeys>> {
  const { clock, onFailure } = ports;
  const { signal } = new AbortController();
  const connection = createIssuerConnection(new URL(issuer), clock, ports.options);
  const access = connection.access(signal);
  const opened = await attempt(signal, async () => {
    const metadata = withKeys.safeParse(await fetchMetadata(access, issuer));
    if (!metadata.success)
      throw refused(
        'discovery',
        `the issuer ${quoted(issuer)} publishes no keys, so its tokens cannot be checked`,
      );
    const url = await access.check(metadata.data.jwks_uri, `the jwks_uri of ${quoted(issuer)}`);
    const fetchKeys = (): Promise<JWTVerifyGetKey> => fetchKeySet(access, url);
    const find = await fetchKeys();
    const { issuer: named } = metadata.data;
    return new IssuerKeys({ issuer: named, clock, find, fetchKeys, connection, onFailure });
  });
  if (opened.failed !== undefined) connection.close();
  return opened;
}

async function fetchKeySet(access: IssuerAccess, url: URL): Promise<JWTVerifyGetKey> {
  const response = await access.fetch(url);
  assertAvailable(response, url, access.clock);
  const read = keySet.safeParse(response.ok ? jsonOf(await response.text()) : undefined);
  if (!read.success) throw refused('discovery', `${addressOf(url)} has no keys of an issuer`);
  return createLocalJWKSet({ keys: read.data.keys });
}
