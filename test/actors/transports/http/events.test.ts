/** How event streams are read, compared with the SDK's parser. */

import { createParser, type EventSourceMessage } from 'eventsource-parser';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';

import {
  EventReader,
  readEvents,
  type StreamEvent,
} from '../../../../actors/transports/http/events.ts';

afterEach(() => vi.restoreAllMocks());

/** The events in the chunks, `retry` included. */
function told(chunks: readonly string[]): unknown[] {
  const all: unknown[] = [];
  const reader = new EventReader({
    onEvent: (event) => all.push(event),
    onRetry: (ms) => all.push(ms),
  });
  for (const chunk of chunks) expect(reader.read(chunk)).toBe(true);
  return all;
}

function toldByTwin(text: string): unknown[] {
  const all: unknown[] = [];
  const onEvent = ({ id, event, data }: EventSourceMessage) => all.push({ id, event, data });
  createParser({ onEvent, onRetry: (ms) => all.push(ms) }).feed(text);
  return all;
}

/** Cut into pieces of these lengths; the last one takes the rest. */
function cut(text: string, sizes: readonly number[]): string[] {
  const chunks: string[] = [];
  let at = 0;
  for (const size of sizes) {
    chunks.push(text.slice(at, at + size));
    at += size;
  }
  return [...chunks, text.slice(at)];
}

const parts = fc.array(
  fc.constantFrom(
    'data:',
    'data',
    'id:',
    'event:',
    'retry:',
    ':',
    ' ',
    'a',
    '7',
    '\0',
    '\n',
    '\r',
    '\r\n',
  ),
  { maxLength: 40 },
);
const sizes = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 40 });

describe('the event reader', () => {
  it("agrees with the SDK's parser, however the text is split", () => {
    fc.assert(
      fc.property(parts, sizes, (words, cuts) => {
        // A return at the very end may be half of a pair: the SDK's parser waits, this reader does not.
        const text = `${words.join('')}\n`;
        const isKnown = (one: unknown) =>
          typeof one === 'number' || (one as StreamEvent).data !== '';
        const normal = (all: unknown[]) =>
          all
            .map((one) =>
              typeof one === 'number'
                ? one
                : { ...(one as StreamEvent), event: (one as StreamEvent).event || undefined },
            )
            .filter(isKnown);
        expect(normal(told(cut(text, cuts)))).toEqual(normal(toldByTwin(text)));
      }),
      { numRuns: 3_000 },
    );
  });

  it('reports an event as soon as it ends, with each of the three line endings', () => {
    for (const end of ['\n\n', '\r\r', '\r\n\r\n'])
      expect(told([`data: a${end}`])).toEqual([{ id: undefined, event: undefined, data: 'a' }]);
  });

  it('reports an event with only an id', () => {
    expect(told(['id: 7\n\n'])).toEqual([{ id: '7', event: undefined, data: '' }]);
  });

  it.each(['data: 9\n\n', 'data:\ndata:\n\n', ':comment\n\r', 'unknown\n\r\n', 'data: 9\r\r'])(
    'accepts an event at the limit but none above it (%j)',
    (event) => {
      const [line = ''] = event.split(/\n\n|\n\r|\r\r/u);
      const reader = (maxCharacters: number) =>
        new EventReader({ onEvent: () => {} }, maxCharacters);
      const read = (one: EventReader) => [event, event, line].every((text) => one.read(text));
      expect(read(reader(event.length))).toBe(true);
      expect(read(reader(line.length))).toBe(false);
    },
  );

  it.each([
    ['line feeds', '\n'],
    ['carriage returns', '\r'],
    ['CRLF pairs', '\r\n'],
    ['short lines that end with a carriage return', 'x\r'],
    ['comments', ':\n'],
    ['fields without a value', 'data:\n'],
    ['empty events', 'data:\n\n'],
    ['an unterminated line', 'x'],
  ])('scans each character of %s only a few times', (_what, unit) => {
    const text = unit.repeat(60_000 / unit.length);
    const reader = new EventReader({ onEvent: () => {} });
    const looked = countLooks(() => {
      for (let count = 0; count < 3; count += 1) reader.read(text);
    });
    expect(looked).toBeGreaterThanOrEqual(3 * text.length);
    expect(looked).toBeLessThan(3 * text.length * 8);
  });

  it('stops reading at an event that is too long', async () => {
    let wasCancelled = false;
    const chunk = new TextEncoder().encode('x'.repeat(1_048_576));
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(chunk),
      cancel() {
        wasCancelled = true;
      },
    });
    await expect(readEvents(body, { onEvent: () => {} })).rejects.toThrow('more than 16 MB');
    expect(wasCancelled).toBe(true);
  });
});

/** How many characters were scanned during the run. */
function countLooks(run: () => void): number {
  const searches = vi.spyOn(String.prototype, 'indexOf');
  const wholes = [vi.spyOn(String.prototype, 'includes'), vi.spyOn(String.prototype, 'split')];
  run();
  let count = 0;
  searches.mock.calls.forEach(([, from = 0], index) => {
    const at = searches.mock.results[index]?.value as number;
    count += (at === -1 ? String(searches.mock.contexts[index]).length : at + 1) - from;
  });
  for (const { mock } of wholes) for (const text of mock.contexts) count += String(text).length;
  vi.restoreAllMocks();
  return count;
}

describe("an event stream's budget", () => {
  it('is charged for every line, and for the length of lines without data', () => {
    const workOf = (text: string): number => {
      let work = 0;
      const budget = { charge: (units: number) => void (work += units), free: () => undefined };
      new EventReader({ budget, onEvent: () => {} }).read(text);
      return work;
    };
    expect(workOf('data:\n'.repeat(1_600))).toBe(100);
    expect(workOf('\n'.repeat(1_600))).toBe(100);
    expect(workOf(`:${'x'.repeat(204_799)}\n`)).toBeGreaterThan(100);
  });
});
