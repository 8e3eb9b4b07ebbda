import { describe, expect, it } from 'vitest';

import { OutputRing } from '../../../../actors/transports/stdio/stderr.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { silentEvents } from '../../../fixtures/silent-input.ts';

/** A stderr ring, its output, and its reports of drops. */
function createRing(secrets: readonly string[] = []) {
  const clock = new VirtualClock();
  const passed: string[] = [];
  const drops: string[] = [];
  const events = { ...silentEvents, remark: (line: string) => passed.push(line) };
  const ring = new OutputRing({ clock, secrets, events }, 'stderr', (why) => drops.push(why));
  return { clock, passed, drops, ring };
}

describe('the stderr ring', () => {
  it('reads 1,000 lines per second even from one chunk and keeps the last lines of the rest', () => {
    const { clock, passed, drops, ring } = createRing();
    const lines = Array.from({ length: 5_000 }, (_, at) => `line ${at}\n`);
    ring.push(Buffer.from(lines.join('')));
    expect(drops).toHaveLength(1);
    expect(ring.tail().at(-1)).toBe('line 4999');
    clock.advanceBy(1_000);
    ring.push(Buffer.from('later\n'));
    expect(passed.at(-1)).toBe('4800 lines of stderr were left out');
  });

  it('keeps the last lines, redacts secrets split across chunks and passes on a bounded number of lines', () => {
    const { clock, passed, ring } = createRing(['hunter2']);
    ring.push(Buffer.from('the key is hun'));
    ring.push(Buffer.from('ter2\n'));
    for (let count = 0; count < 998; count += 1) ring.push(Buffer.from(`line ${count}\n`));
    ring.push(Buffer.from('no end'));
    ring.end();
    expect(passed[0]).toBe('the key is [redacted]');
    expect(passed).toHaveLength(200);
    expect(ring.tail()).toHaveLength(20);
    expect(ring.tail().at(-1)).toBe('no end');
    clock.advanceBy(1_000);
    ring.push(Buffer.from('later\n'));
    expect(passed.slice(-2)).toEqual(['800 lines of stderr were left out', 'later']);
  });

  it('drops and counts lines beyond 1,000 per second and reports the flood', () => {
    const { clock, passed, drops, ring } = createRing();
    const chunk = Buffer.from('a\n'.repeat(32_768));
    for (let count = 0; count < 10; count += 1) ring.push(chunk);
    expect(passed).toHaveLength(200);
    // The rest of the first chunk, and nine whole ones.
    expect(drops).toHaveLength(10);
    expect(drops[0]).toContain('more than 1000 lines or 1 MB a second to stderr');
    clock.advanceBy(1_000);
    ring.push(Buffer.from('later\n'));
    ring.push(Buffer.from('calm\n'));
    expect(passed).toContain(`${32_768 * 10 - 200} lines of stderr were left out`);
    expect(passed.at(-1)).toBe('calm');
  });

  it('shows the last lines of a flood, without their secrets', () => {
    const { ring } = createRing(['hunter2']);
    ring.push(Buffer.from('noise\n'.repeat(1_000)));
    ring.push(Buffer.from('more\n'.repeat(10_000)));
    ring.push(Buffer.from('the key is hun'));
    ring.push(Buffer.from('ter2\nout of memory'));
    ring.end();
    expect(ring.tail()).toHaveLength(20);
    expect(ring.tail().slice(-3)).toEqual(['more', 'the key is [redacted]', 'out of memory']);
  });

  it('drains 64 MB of long lines or a million short lines per second', () => {
    const pausesOf = (line: string): readonly number[] => {
      const { clock, ring } = createRing();
      const chunk = Buffer.from(line.repeat(65_536 / line.length));
      const pauses = Array.from({ length: 1_100 }, () => ring.push(chunk));
      clock.advanceBy(Number(pauses.at(-1)));
      expect(ring.push(Buffer.from('\n'))).toBeLessThan(20);
      return pauses;
    };
    const long = pausesOf(`${'a'.repeat(32_767)}\n`);
    expect(long.slice(0, 900).every((ms) => ms === 0)).toBe(true);
    expect(long.at(-1)).toBeGreaterThan(100);
    const short = pausesOf('a\n');
    expect(short.slice(0, 25).every((ms) => ms === 0)).toBe(true);
    expect(short[40]).toBeGreaterThan(100);
  });

  it('redacts a secret wherever an endless line is split', () => {
    const secret = 'hunter2-hunter2-hunter2';
    for (let before = 7_990; before < 8_060; before += 1) {
      const { passed, ring } = createRing([secret]);
      // Only the beginning of a cut line is shown, so it starts with blanks that are shown as one.
      ring.push(Buffer.from(' '.repeat(before) + secret.slice(0, 12)));
      ring.push(Buffer.from(secret.slice(12)));
      ring.push(Buffer.from(`${'.'.repeat(100)}\n`));
      expect(passed.join('')).not.toMatch(/hunter2/u);
    }
  });
});
