import { describe, expect, it } from 'vitest';
import { createFreshHeaders } from '../../../actors/values/fresh-headers.ts';
import type { HeadersReason } from '../../../src/domain/host/headers.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';

const minute = 60_000;

/** A signed token, as far as its expiry is concerned. */
function bearer(expiresAtMs: number): Record<string, string> {
  const claims = Buffer.from(JSON.stringify({ exp: expiresAtMs / 1_000 })).toString('base64url');
  return { Authorization: `Bearer eyJhbGciOiJ.${claims}.c2lnbmF0dXJl` };
}

function stage(first: Record<string, string>) {
  const clock = new VirtualClock();
  const reasons: HeadersReason[] = [];
  let next: () => Promise<Record<string, string>> = () => Promise.resolve({ A: 'new' });
  const read = (reason: HeadersReason) => {
    reasons.push(reason);
    return next();
  };
  const fresh = createFreshHeaders(first, read, { clock, aheadMs: () => 5 * minute });
  return { clock, reasons, fresh, answer: (given: typeof next) => void (next = given) };
}

describe('the headers of an open session', () => {
  it('stay as they are while no one refuses them and no token says when it expires', async () => {
    const { fresh, reasons, clock } = stage({
      Authorization: 'Bearer opaque',
      A: 'a.b.c',
      B: '....',
    });
    await clock.advanceAndSettle(1_000 * minute);
    expect(await fresh.currentHeaders()).toMatchObject({ Authorization: 'Bearer opaque' });
    expect(reasons).toEqual([]);
  });

  it('are fetched once for concurrent refusals, and again for a later one', async () => {
    const { fresh, reasons } = stage({ A: 'old' });
    const both = await Promise.all([fresh.refreshHeaders(), fresh.refreshHeaders()]);
    expect(both).toEqual([{ A: 'new' }, { A: 'new' }]);
    expect(await fresh.currentHeaders()).toEqual({ A: 'new' });
    expect(reasons).toEqual(['refused']);
    await fresh.refreshHeaders();
    expect(reasons).toEqual(['refused', 'refused']);
  });

  it('are fetched before a token expires, and a request in between waits for them', async () => {
    const clock = new VirtualClock();
    const start = clock.wallNow();
    const { fresh, reasons, clock: own, answer } = stage(bearer(start + 60 * minute));
    await own.advanceAndSettle(55 * minute - 1);
    await fresh.currentHeaders();
    expect(reasons).toEqual([]);
    await own.advanceAndSettle(1);
    const later = bearer(start + 120 * minute);
    answer(() => Promise.resolve(later));
    expect(await Promise.all([fresh.currentHeaders(), fresh.currentHeaders()])).toEqual([
      later,
      later,
    ]);
    expect(reasons).toEqual(['expiring']);
  });

  it('are fetched at half of the life of a short token', async () => {
    const start = new VirtualClock().wallNow();
    const { fresh, reasons, clock } = stage(bearer(start + 4 * minute));
    await clock.advanceAndSettle(2 * minute - 1);
    await fresh.currentHeaders();
    expect(reasons).toEqual([]);
    await clock.advanceAndSettle(1);
    await fresh.currentHeaders();
    expect(reasons).toEqual(['expiring']);
  });

  it('are kept when they cannot be fetched, and seldom requested again', async () => {
    const start = new VirtualClock().wallNow();
    const old = bearer(start + 4 * minute);
    const { fresh, reasons, clock, answer } = stage(old);
    answer(() => Promise.reject(new Error('no token')));
    await clock.advanceAndSettle(2 * minute);
    expect(await fresh.currentHeaders()).toBe(old);
    expect(await fresh.currentHeaders()).toBe(old);
    expect(reasons).toEqual(['expiring']);
    await clock.advanceAndSettle(minute);
    expect(await fresh.currentHeaders()).toBe(old);
    expect(reasons).toEqual(['expiring', 'expiring']);
    await clock.advanceAndSettle(10 * minute);
    await fresh.currentHeaders();
    await fresh.currentHeaders();
    expect(reasons).toEqual(['expiring', 'expiring', 'expiring']);
    await expect(fresh.refreshHeaders()).rejects.toThrow('no token');
  });
});
