/**
 * Keeps the headers of an open session current: fetches them again when the server refuses them, and
 * shortly before a token in them expires, as far as the token says when.
 */

import type { Clock } from '../../src/domain/clock.ts';
import { isRecord } from '../../src/domain/data/is-record.ts';
import type { HeadersReason } from '../../src/domain/host/headers.ts';

type Headers = Readonly<Record<string, string>>;

interface FreshHeaders {
  readonly currentHeaders: () => Promise<Headers>;
  readonly refreshHeaders: () => Promise<Headers>;
}

/**
 * @param headers - those that the session opens with
 * @param read - fetches them again; rejects if a value is missing
 * @param aheadMs - how long before its expiry a token is replaced, at most half of its remaining life
 */
export function createFreshHeaders(
  headers: Headers,
  read: (reason: HeadersReason) => Promise<Headers>,
  { clock, aheadMs }: { readonly clock: Clock; readonly aheadMs: () => number },
): FreshHeaders {
  let present = headers;
  let renewAtMs = renewalOf(headers);
  let reading: Promise<Headers> | undefined;

  function renewalOf(next: Headers): number {
    const expiresAtMs = expiryOf(next);
    return expiresAtMs === undefined ? Number.POSITIVE_INFINITY : before(expiresAtMs);
  }

  /** Half of the rest if the rest is short, so that a short-lived token is not fetched every time. */
  function before(expiresAtMs: number): number {
    const restMs = Math.max(0, expiresAtMs - clock.wallNow());
    return expiresAtMs - Math.min(aheadMs(), restMs / 2);
  }

  async function readOnce(reason: HeadersReason): Promise<Headers> {
    present = await read(reason);
    renewAtMs = renewalOf(present);
    return present;
  }

  function readAgain(reason: HeadersReason): Promise<Headers> {
    reading ??= readOnce(reason).finally(() => {
      reading = undefined;
    });
    return reading;
  }

  return {
    refreshHeaders: () => readAgain('refused'),
    async currentHeaders() {
      if (reading === undefined && clock.wallNow() < renewAtMs) return present;
      try {
        return await readAgain('expiring');
      } catch {
        // The old ones are good until they expire; after that, the server's refusal is reported.
        const expiresAtMs = expiryOf(present) ?? 0;
        const isExpired = expiresAtMs <= clock.wallNow();
        renewAtMs = isExpired ? Number.POSITIVE_INFINITY : before(expiresAtMs);
        return present;
      }
    },
  };
}

// A signed token of an `Authorization` header or another one: three parts, the second of them JSON.
const signedToken = /\b([\w-]{4,})\.([\w-]{4,16384})\.[\w-]{4,}/u;

/** Returns when the first of the tokens expires, by the wall clock; undefined if none says. */
function expiryOf(headers: Headers): number | undefined {
  const times = Object.values(headers).flatMap((value) => {
    const claims = signedToken.exec(value)?.[2];
    const seconds = claims === undefined ? undefined : expiryClaim(claims);
    return seconds === undefined ? [] : [seconds * 1_000];
  });
  return times.length === 0 ? undefined : Math.min(...times);
}

function expiryClaim(claims: string): number | undefined {
  try {
    const parsed: unknown = JSON.parse(Buffer.from(claims, 'base64url').toString());
    const exp = isRecord(parsed) ? parsed['exp'] : undefined;
    return typeof exp === 'number' && Number.isFinite(exp) ? exp : undefined;
  } catch {
    return undefined;
  }
}
