/** The small parts of a session that a clock or a byte stream drives. */

import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { retryAfterOf } from '../../actors/http-fetch.ts';
import { createReopening } from '../../actors/http-reopening.ts';
import { createCoalescer } from '../../actors/session-list.ts';
import { readMessages } from '../../actors/session-messages.ts';
import { createThrottle } from '../../actors/session-throttle.ts';
import { createLineReader } from '../../actors/stdio-lines.ts';
import { createStderrRing } from '../../actors/stdio-stderr.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';

function linesOf(chunks: readonly Buffer[], maxLineBytes = 1_000): string[] {
  const lines: string[] = [];
  const reader = createLineReader(
    maxLineBytes,
    (line) => lines.push(line),
    () => lines.push('too long'),
  );
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return lines;
}

describe('the line reader', () => {
  it('gives the same lines however the bytes are split', () => {
    const bytes = Buffer.from('\ufeffone\r\ntwo ü €\n\n{"a":"\u{1f600}"}\nlast');
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 7 })), (sizes) => {
        const chunks: Buffer[] = [];
        let at = 0;
        for (const size of sizes) chunks.push(bytes.subarray(at, (at += size)));
        chunks.push(bytes.subarray(at));
        expect(linesOf(chunks)).toEqual(['one', 'two ü €', '', '{"a":"\u{1f600}"}', 'last']);
      }),
    );
  });

  it('takes a line at the cap, and none above it', () => {
    expect(linesOf([Buffer.from('1234\n')], 4)).toEqual(['1234']);
    expect(linesOf([Buffer.from('1\n12'), Buffer.from('345\n1\n')], 4)).toEqual(['1', 'too long']);
  });
});

describe('reading messages', () => {
  it('knows requests, notifications, answers and batches', () => {
    const request = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const answer = { jsonrpc: '2.0', id: 'a', result: {} };
    expect(readMessages(JSON.stringify(request))).toEqual([request]);
    expect(readMessages(JSON.stringify([request, answer]))).toEqual([request, answer]);
  });

  it.each([
    'hello',
    '7',
    'null',
    '{}',
    '{"level":"info"}',
    '{"method":"ping"}',
    '{"jsonrpc":"2.0","id":null,"error":{}}',
  ])('finds none in %s', (line) => {
    expect(readMessages(line)).toEqual([]);
  });

  it.each([
    '{"id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":1}',
    '{"jsonrpc":"2.0","id":1,"result":null}',
    '{"jsonrpc":"2.0","id":1,"error":"no"}',
  ])('turns the broken answer %s into an error for its request', (line) => {
    expect(readMessages(line)).toMatchObject([
      { id: 1, error: { data: { code: 'BAD_RESPONSE' } } },
    ]);
  });
});

describe('the throttle', () => {
  it('fires at once, then once per interval, and keeps the last', () => {
    const clock = new VirtualClock();
    const fired: number[] = [];
    const throttle = createThrottle(clock, 1_000, () => fired.push(clock.now()));
    throttle.trigger();
    throttle.trigger();
    clock.advanceBy(500);
    throttle.trigger();
    clock.advanceBy(5_000);
    throttle.trigger();
    expect(fired).toEqual([0, 1_000, 5_500]);
  });

  it('is silent once it was stopped', () => {
    const clock = new VirtualClock();
    const fired: number[] = [];
    const throttle = createThrottle(clock, 1_000, () => fired.push(clock.now()));
    throttle.trigger();
    throttle.trigger();
    throttle.stop();
    throttle.trigger();
    clock.advanceBy(5_000);
    expect(fired).toEqual([0]);
  });
});

describe('reopening an event stream', () => {
  it('is done at most ten times in thirty seconds, though the server says "at once"', () => {
    const clock = new VirtualClock();
    const opened: number[] = [];
    const reopening = createReopening(clock, () => {});
    const lose = (): void => {
      reopening.schedule(
        () => {
          opened.push(clock.now());
          lose();
        },
        0,
        0,
      );
    };
    lose();
    clock.advanceBy(30_000);
    expect(opened.length).toBeGreaterThan(2);
    expect(opened.length).toBeLessThanOrEqual(10);
    reopening.stop();
    clock.advanceBy(600_000);
    expect(opened.length).toBeLessThanOrEqual(10);
  });

  it('is done after a second when the stream had held for long', () => {
    const clock = new VirtualClock();
    const opened: number[] = [];
    const reopening = createReopening(clock, () => {});
    const lose = (): void => void reopening.schedule(() => opened.push(clock.now()), 0, 0);
    lose();
    clock.advanceBy(100_000);
    lose();
    clock.advanceBy(1_000);
    expect(opened).toEqual([1_000, 101_000]);
  });

  it('is given up when asked', () => {
    const clock = new VirtualClock();
    const opened: number[] = [];
    const cancel = createReopening(clock, () => {}).schedule(() => opened.push(1), 0, 0);
    cancel?.();
    clock.advanceBy(10_000);
    expect(opened).toEqual([]);
  });
});

describe('listing once more', () => {
  it('runs once after any number of wishes', async () => {
    let runs = 0;
    let release = (): void => {};
    const wish = createCoalescer(async () => {
      runs += 1;
      await new Promise<void>((resolve) => {
        release = resolve;
      });
    });
    wish();
    wish();
    wish();
    expect(runs).toBe(1);
    release();
    await Promise.resolve();
    await Promise.resolve();
    expect(runs).toBe(2);
  });
});

describe('Retry-After', () => {
  const clock = { wallNow: () => Date.parse('2026-01-01T00:00:00Z') };

  it.each([
    [null, undefined],
    ['7', 7_000],
    ['0', 1_000],
    ['99999', 300_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 1_000],
    ['soon', undefined],
  ])('%s is %s ms', (header, waitMs) => {
    expect(retryAfterOf(header, clock)).toBe(waitMs);
  });
});

describe('the stderr ring', () => {
  it('keeps the last lines, hides secrets that chunks split, and passes on a bounded number', () => {
    const clock = new VirtualClock();
    const passed: string[] = [];
    const ring = createStderrRing(clock, ['hunter2'], (line) => passed.push(line));
    ring.push(Buffer.from('the key is hun'));
    ring.push(Buffer.from('ter2\n'));
    for (let count = 0; count < 1_000; count += 1) ring.push(Buffer.from(`line ${count}\n`));
    ring.push(Buffer.from('no end'));
    ring.end();
    expect(passed[0]).toBe('the key is [redacted]');
    expect(passed).toHaveLength(200);
    expect(ring.tail()).toHaveLength(20);
    expect(ring.tail().at(-1)).toBe('no end');
    clock.advanceBy(1_000);
    ring.push(Buffer.from('later\n'));
    expect(passed.slice(-2)).toEqual(['802 lines of stderr were left out', 'later']);
  });
});
