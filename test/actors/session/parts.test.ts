/** The small parts of a session that a clock or a byte stream drives. */

import {
  ProtocolError,
  SdkErrorCode,
  SdkHttpError,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCoalescer } from '../../../actors/session/catalog/reconcile.ts';
import { describeError } from '../../../actors/transports/connection/failure.ts';
import { retryAfterOf } from '../../../actors/transports/http/fetch.ts';
import { Reopening } from '../../../actors/transports/http/reopening.ts';
import { LineReader } from '../../../actors/transports/stdio/lines.ts';
import { resolveSpec } from '../../../actors/values/target.ts';
import { redact } from '../../../src/policies/text/redact.ts';
import { toolKind } from '../../../src/protocol/items.ts';
import { listAll } from '../../../src/protocol/lists.ts';
import type { Client } from '../../../src/protocol/mcp-client.ts';
import { EnvelopeReader, streamLost } from '../../../src/protocol/messages.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { turn } from '../../support/turn.ts';

function linesOf(chunks: readonly Buffer[], maxLineBytes = 1_000): string[] {
  const lines: string[] = [];
  const reader = new LineReader(maxLineBytes, {
    onLine: (line) => lines.push(line),
    onTooLong: () => lines.push('too long'),
    onSkipping: () => lines.push('skipping'),
    onSkipped: ({ id }) => lines.push(`skipped ${id}`),
  });
  for (const chunk of chunks) reader.push(chunk);
  reader.end();
  return lines;
}

describe('the line reader', () => {
  it('returns the same lines however the bytes are split', () => {
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

  it('accepts a line at the limit but none above it', () => {
    expect(linesOf([Buffer.from('1234\n')], 4)).toEqual(['1234']);
    expect(linesOf([Buffer.from('1\n12'), Buffer.from('345\n1\n')], 4)).toEqual(['1', 'too long']);
  });

  const message = (text: string) => Buffer.from(`{"id":7,"a":"${text}"}\n`);

  it('skips a message above the limit and continues with the next line', () => {
    const cap = message('12').length - 1;
    expect(linesOf([message('12'), message('123'), Buffer.from('next')], cap)).toEqual([
      '{"id":7,"a":"12"}',
      'skipping',
      'skipped 7',
      'next',
    ]);
  });

  it('skips up to four times the limit, and ends one byte above that', () => {
    const frame = message('').length - 1;
    const of = (bytes: number) => message('x'.repeat(bytes - frame));
    expect(linesOf([of(80), Buffer.from('1\n')], 20)).toEqual(['skipping', 'skipped 7', '1']);
    expect(linesOf([of(81), Buffer.from('1\n')], 20)).toEqual(['too long']);
  });

  it('reports every byte that it skips', () => {
    const [counts, nothing]: [number[], () => void] = [[], () => {}];
    const reader = new LineReader(20, {
      ...{ onLine: nothing, onTooLong: nothing, onSkipping: nothing, onSkipped: nothing },
      onSkippedBytes: (count) => counts.push(count),
    });
    for (const byte of message('x'.repeat(50))) reader.push(Buffer.of(byte));
    expect(counts.reduce((sum, count) => sum + count)).toBe(message('x'.repeat(50)).length - 1);
  });

  it('behaves the same however the bytes are split', () => {
    const bytes = Buffer.concat([message('x'.repeat(50)), Buffer.from('next\n'), message('')]);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 20 })), (sizes) => {
        const chunks: Buffer[] = [];
        let at = 0;
        for (const size of sizes) chunks.push(bytes.subarray(at, (at += size)));
        chunks.push(bytes.subarray(at));
        expect(linesOf(chunks, 20)).toEqual(['skipping', 'skipped 7', 'next', '{"id":7,"a":""}']);
      }),
    );
  });

  it('does not report a skipped message whose end never arrives', () => {
    expect(linesOf([Buffer.from(`{"id":7,"a":"${'x'.repeat(20)}`)], 20)).toEqual(['skipping']);
  });

  it('ends at a line above the limit that is not a message', () => {
    expect(linesOf([Buffer.from(`[${'1,'.repeat(20)}1]\n1\n`)], 20)).toEqual(['too long']);
  });
});

describe("a message's envelope", () => {
  const read = (text: string, size = text.length) => {
    const reader = new EnvelopeReader();
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) reader.push(bytes.subarray(at, at + size));
    return reader.envelope();
  };

  it.each([
    ['{"jsonrpc":"2.0","id":5,"result":{}}', { id: 5, isResult: true, isError: false }],
    [
      '{"result":{"id":1},"id":"a\\"b","jsonrpc":"2.0"}',
      { id: 'a"b', isResult: true, isError: false },
    ],
    ['{"error":{"code":1},"id":-1.5e2}', { id: -150, isResult: false, isError: true }],
    [' { "id" : 5 , "result" : [ { } ] } ', { id: 5, isResult: true, isError: false }],
    // An id in the text of a tool does not count.
    ['{"id":1,"result":{"text":"\\",\\"id\\":9}"}}', { id: 1, isResult: true, isError: false }],
    ['{"id":1,"result":{"id":9,"error":[]}}', { id: 1, isResult: true, isError: false }],
    ['{"id":1,"result":"\\\\","x":{"id":2}}', { id: 1, isResult: true, isError: false }],
    ['{"id":1,"id":2,"result":{}}', { id: 2, isResult: true, isError: false }],
    ['{"id":null,"result":{}}', { isResult: true, isError: false }],
    ['{"id":{"id":3},"result":{}}', { isResult: true, isError: false }],
    ['{"id":tru,"result":{}}', { isResult: true, isError: false }],
    [`{"id":"${'x'.repeat(200)}","result":{}}`, { isResult: true, isError: false }],
    ['{"method":"a","params":{"id":4}}', { isResult: false, isError: false }],
    ['{}', { isResult: false, isError: false }],
  ])('is read from %s as %j', (text, expected) => {
    const whole = { ...expected, isMethod: text.startsWith('{"method"') };
    expect(read(text)).toEqual(whole);
    expect(read(text, 1)).toEqual(whole);
  });

  it('matches the fully parsed message', () => {
    const json = fc.json({ maxDepth: 3 });
    fc.assert(
      fc.property(
        json,
        fc.oneof(fc.integer(), fc.string({ maxLength: 20 })),
        fc.nat(7),
        (inner, id, size) => {
          const text = `{"result":${inner},"id":${JSON.stringify(id)}}`;
          expect(read(text, size + 1)).toEqual({
            id: JSON.parse(text).id,
            isResult: true,
            isError: false,
            isMethod: false,
          });
        },
      ),
    );
  });
});

describe('reopening an event stream', () => {
  /** When a stream was opened that ends in this way as soon as it is opened. */
  function openings(wait: (of: Reopening, signal: AbortSignal) => Promise<void>) {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const reopening = new Reopening(clock, () => 0);
    const opened: number[] = [];
    const run = async (): Promise<void> => {
      for (;;) {
        await wait(reopening, controller.signal);
        if (controller.signal.aborted) return;
        opened.push(clock.now());
      }
    };
    void run();
    const pass = async (seconds: number): Promise<void> => {
      for (let second = 0; second < seconds; second += 1) {
        clock.advanceBy(1_000);
        await turn();
      }
    };
    return { clock, controller, opened, pass };
  }

  it('waits twice as long after each loss', async () => {
    const { opened, pass } = openings((of, signal) => of.afterLoss(signal));
    await pass(31);
    expect(opened).toEqual([1_000, 3_000, 7_000, 15_000, 31_000]);
  });

  it('waits at most five minutes, whatever the server requests', async () => {
    const { opened, pass } = openings((of, signal) => of.afterLoss(signal, 999_999_999_999));
    await pass(600);
    expect(opened).toEqual([300_000, 600_000]);
  });

  it.each([
    [0, [1_000, 2_000, 3_000, 4_000]],
    [2_000, [2_000, 4_000]],
  ])(
    'waits as long as requested by a server that ended it on purpose (%i ms)',
    async (askedMs, times) => {
      const { opened, pass } = openings((of, signal) => of.afterPause(signal, askedMs));
      await pass(4);
      expect(opened).toEqual(times);
    },
  );

  it('waits one second after a stream that lasted a long time or ended on purpose', async () => {
    const clock = new VirtualClock();
    const { signal } = new AbortController();
    const reopening = new Reopening(clock, () => 0);
    const waitMs = async (wait: Promise<void>): Promise<number> => {
      const before = clock.now();
      clock.runNext();
      await wait;
      return clock.now() - before;
    };
    expect(await waitMs(reopening.afterLoss(signal))).toBe(1_000);
    expect(await waitMs(reopening.afterLoss(signal))).toBe(2_000);
    clock.advanceBy(100_000);
    expect(await waitMs(reopening.afterLoss(signal))).toBe(1_000);
    expect(await waitMs(reopening.afterLoss(signal))).toBe(2_000);
    expect(await waitMs(reopening.afterPause(signal, 0))).toBe(1_000);
    expect(await waitMs(reopening.afterLoss(signal))).toBe(1_000);
  });

  it('stops immediately and leaves no timer', async () => {
    const { clock, controller, opened, pass } = openings((of, signal) => of.afterLoss(signal));
    controller.abort();
    expect(clock.pendingCount).toBe(0);
    await pass(10);
    expect(opened).toEqual([]);
  });
});

/** Lists these pages; the last one is repeated. */
async function listOf(...pages: readonly Record<string, unknown>[]) {
  let asked = 0;
  const client = {
    request: () => Promise.resolve(pages[Math.min((asked += 1), pages.length) - 1]),
  };
  const list = await listAll(client as unknown as Client, toolKind, new AbortController().signal);
  return { ...list, asked, names: list.items.map(({ name }) => name) };
}

const toolOf = (name: string, inputSchema: Record<string, unknown> = {}) => ({
  name,
  inputSchema: { type: 'object', ...inputSchema },
});
const toolsOf = (count: number, schema?: Record<string, unknown>) =>
  Array.from({ length: count }, (_, index) => toolOf(`t${index}`, schema));

describe('a tool list', () => {
  it('contains at most a thousand tools', async () => {
    for (const nextCursor of [undefined, null])
      expect(await listOf({ tools: toolsOf(1_000), nextCursor })).toMatchObject({ gapCount: 0 });
    const { names, gaps } = await listOf({ tools: toolsOf(1_001) });
    expect(names).toHaveLength(1_000);
    expect(gaps).toEqual(['only 1000 of 1001 tools are kept']);
  });

  it('does not request a page whose items could not be kept', async () => {
    const list = await listOf({ tools: toolsOf(1_000), nextCursor: 'a' }, { tools: [] });
    expect(list).toMatchObject({ asked: 1, gaps: ['only 1000 of more than 1000 tools are kept'] });
  });

  it('is read up to two thousand entries across all pages', async () => {
    const bad = (count: number) => Array.from({ length: count }, () => 7);
    const whole = await listOf({ tools: bad(1_000), nextCursor: 'a' }, { tools: bad(1_000) });
    expect(whole).toMatchObject({ gapCount: 2_000, asked: 2 });
    expect(whole.gaps).toHaveLength(5);
    const cut = await listOf({ tools: [...bad(2_000), toolOf('last')], nextCursor: 'a' });
    expect(cut).toMatchObject({ gapCount: 2_001, names: [], asked: 1 });
  });

  it('contains at most 64 MB', async () => {
    const schema = { description: 'x'.repeat(262_000) };
    const { names, gaps } = await listOf({ tools: toolsOf(300, schema), nextCursor: 'a' });
    expect(names).toHaveLength(Math.floor((64 * 1024 * 1024) / 262_048));
    expect(gaps).toEqual(['only 64 MB of tools are kept']);
  });

  it('keeps schemas of up to 256 KB, whatever their shape', async () => {
    // The characters that JSON adds to the text.
    const frame = JSON.stringify({ type: 'object', description: '' }).length;
    const fits = 'x'.repeat(262_144 - frame);
    const { names, gaps } = await listOf({
      tools: [
        toolOf('fits', { description: fits }),
        toolOf('long', { description: `${fits}x` }),
        toolOf('quoted', { description: '"'.repeat(200_000) }),
        toolOf('wide', { enum: Array.from({ length: 200_000 }, () => 1) }),
        toolOf('many', Object.fromEntries(toolsOf(50_000).map(({ name }) => [name, 1]))),
      ],
    });
    expect(names).toEqual(['fits']);
    expect(gaps).toHaveLength(4);
    for (const gap of gaps) expect(gap).toContain('has a schema of more than 256 KB');
  });

  it('keeps schemas of up to 32 levels', async () => {
    const nested = (levels: number): Record<string, unknown> =>
      levels === 1 ? {} : { not: nested(levels - 1) };
    const { names, gaps } = await listOf({
      tools: [toolOf('flat', nested(32)), toolOf('deep', nested(33))],
    });
    expect(names).toEqual(['flat']);
    expect(gaps).toEqual(['tool "deep": has a schema of more than 32 levels']);
  });

  it('stops at an overlong cursor', async () => {
    const list = await listOf({ tools: [], nextCursor: 'x'.repeat(65_537) });
    expect(list).toMatchObject({ asked: 1, gapCount: 1 });
  });
});

describe('the coalescer', () => {
  it('runs once more, however many requests arrive', async () => {
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

describe('the Retry-After header', () => {
  const clock = { wallNow: () => Date.parse('2026-01-01T00:00:00Z') };

  it.each([
    [undefined, undefined],
    ['7', 7_000],
    ['0', 1_000],
    ['99999', 300_000],
    ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
    ['Wed, 31 Dec 2025 00:00:00 GMT', 1_000],
    ['soon', undefined],
  ])('%s is parsed as %s ms', (header, waitMs) => {
    expect(retryAfterOf(header, clock)).toBe(waitMs);
  });
});

describe('a resolved spec', () => {
  it('lists the secrets written in its settings', () => {
    const spec = {
      type: 'stdio',
      command: 'node',
      args: ['--token', 'arg-secret', '--header', 'X: Bearer head-secret'],
      env: { DATABASE_URL: 'postgres://me:url-secret@db/x', PORT: '8080' },
      cwd: '/tmp',
      era: 'auto',
    } as const;
    const { secrets } = resolveSpec(spec, {});
    expect(secrets).toEqual(expect.arrayContaining(['head-secret', 'url-secret', 'arg-secret']));
    expect(redact('8080 node /tmp', secrets)).toBe('8080 node /tmp');
  });
});

describe("an error's description", () => {
  it.each([
    new ProtocolError(-32_603, 'not today'),
    new UrlElicitationRequiredError([], 'not today'),
  ])('contains the code of an error response: $constructor.name', (error) => {
    expect(describeError(error, [])).toMatchObject({ message: 'not today', rpcCode: error.code });
  });

  it('contains no code for an abort, an HTTP refusal or an internal error', () => {
    const own = new ProtocolError(1, 'broken off', streamLost);
    const refusal = new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'no', { status: 404 });
    for (const error of [AbortSignal.abort().reason, refusal, own])
      expect(describeError(error, [])).not.toHaveProperty('rpcCode');
    expect(describeError(own, []).code).toBe('STREAM_LOST');
  });

  const refusalOf = (text: string, status = 400) =>
    new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `Error POSTing to endpoint: ${text}`, {
      status,
      statusText: 'x',
      text,
    });

  it.each([
    ['<p>No valid session ID</p>', 400, 'The server answered with status 400 (Bad Request).'],
    ['', 502, 'The server answered with status 502 (Bad Gateway).'],
    ['<p>', 599, 'The server answered with status 599.'],
    ['{', 500, 'The server answered with status 500 (Internal Server Error).'],
    ['{"error":{"code":7,"message":"not now"}}', 400, 'not now'],
    [
      '{"error":{"code":7,"message":""}}',
      400,
      'The server answered with status 400 (Bad Request).',
    ],
    ['{"error":"<p>"}', 400, 'The server answered with status 400 (Bad Request).'],
  ])('explains an HTTP refusal without the HTML in its body: %s', (text, status, message) => {
    expect(describeError(refusalOf(text, status), [])).toMatchObject({ message, body: text });
  });

  it("omits an HTTP refusal's HTML from errors that wrap it", () => {
    const cause = refusalOf('<p>secret page</p>');
    const error = new Error(`The probe failed: ${cause.message}`, { cause });
    const seen = describeError(new Error(`No session: ${error.message}`, { cause: error }), []);
    expect(JSON.stringify(seen)).not.toContain('page');
    expect(seen.message).toMatch(/^No session: The probe failed: The server answered/u);
  });

  it('stops at an error that is its own cause', () => {
    const error: Error & { cause?: unknown } = new Error('round');
    error.cause = error;
    expect(describeError(error, []).message).toBe('round');
  });
});
