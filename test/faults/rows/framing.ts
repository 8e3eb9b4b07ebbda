/** B: how messages are put on the wire. */

import type { Seen } from '../expectation.ts';
import type { AnyRow, Row } from '../row.ts';
import type { Stage } from '../stage.ts';
import { backingOff, callOf, readyServer, seenOf, startOf } from './one-server.ts';

const answered = { isOk: true, state: 'ready', text: 'hi' } as const;

/** Starts a server that talks besides its protocol, and counts how often people are warned of it. */
async function noisy(stage: Stage, mode: string): Promise<Seen> {
  await readyServer(stage, stage.stdio(mode));
  const seen = seenOf(stage, await stage.call('bad', 'echo', { text: 'hi' }));
  return { ...seen, warnings: stage.warnings.filter((line) => line.includes('not MCP')).length };
}

const noise: readonly Row[] = [
  {
    id: 'F22',
    variant: 'text',
    inject: 's:noise',
    expect: { ...answered, warnings: 1 },
    run: (stage) => noisy(stage, 'noise'),
  },
  {
    id: 'F22',
    variant: 'json',
    inject: 's:noise-json',
    expect: { ...answered, warnings: 1 },
    run: (stage) => noisy(stage, 'noise-json'),
  },
  {
    id: 'F23',
    // The young generation of V8 alone takes up to 48 MB of garbage before it collects.
    inject: 's:noise-flood --mb 50',
    expect: {
      state: ['ready', 'backingOff'],
      grownMb: { atMost: 64 },
      othersP99Ms: { atMost: 250 },
    },
    isAlone: true,
    async run(stage) {
      stage.start({
        good: stage.stdio('ok'),
        bad: stage.stdio('noise-flood', [], { startup: 'lazy' }),
      });
      await stage.reaches('good', 'ready');
      const endCalling = stage.keepCalling('good');
      const grown = stage.measureMemory();
      stage.troupe.send({ type: 'server.start', server: 'bad' });
      const status = await stage.reaches('bad', 'ready', 'backingOff');
      return { ...stage.seen(status), grownMb: grown(), othersP99Ms: await endCalling() };
    },
  },
];

/** What cannot be understood must not be waited for without a word about why. */
const saysWhy = /not MCP|Content-Length|one message per line|jsonrpc|wrote/iu;

const foreign: readonly Row[] = [
  {
    id: 'F26',
    variant: 'crlf',
    inject: 's:crlf',
    expect: answered,
    run: (stage) => callOf(stage, 'crlf'),
  },
  {
    id: 'F26',
    variant: 'bare-cr',
    inject: 's:bare-cr (connectTimeoutMs 2000)',
    expect: { ...backingOff, code: ['BAD_RESPONSE', 'TIMEOUT'] },
    run: (stage) => startOf(stage, 'bare-cr'),
  },
  {
    id: 'F27',
    variant: 'pretty-json',
    inject: 's:pretty-json (connectTimeoutMs 2000)',
    expect: { ...backingOff, code: ['BAD_RESPONSE', 'TIMEOUT'], says: saysWhy },
    run: (stage) => startOf(stage, 'pretty-json'),
  },
  {
    id: 'F27',
    variant: 'content-length',
    inject: 's:content-length',
    expect: {
      ...backingOff,
      code: 'BAD_RESPONSE',
      says: /Content-Length/u,
      settledMs: { atMost: 3_000 },
    },
    run: (stage) => startOf(stage, 'content-length', [], { connectTimeoutMs: 10_000 }),
  },
  {
    id: 'F27',
    variant: 'nul-bytes',
    inject: 's:nul-bytes (connectTimeoutMs 2000)',
    expect: { ...backingOff, code: ['BAD_RESPONSE', 'TIMEOUT'], says: saysWhy },
    run: (stage) => startOf(stage, 'nul-bytes'),
  },
  {
    id: 'F27',
    variant: 'batch',
    // The 2025-03-26 revision allowed them, so they may be read.
    inject: 's:batch',
    expect: { state: 'ready' },
    run: (stage) => startOf(stage, 'batch'),
  },
  {
    id: 'F27',
    variant: 'no-jsonrpc',
    inject: 's:no-jsonrpc',
    expect: { ...backingOff, code: 'BAD_RESPONSE', says: /jsonrpc/u, settledMs: { atMost: 3_000 } },
    run: (stage) => startOf(stage, 'no-jsonrpc', [], { connectTimeoutMs: 10_000 }),
  },
];

const umlauts = 'grüße 🦉 日本';

async function saidBack(stage: Stage, mode: string, args: readonly string[] = []): Promise<Seen> {
  await readyServer(stage, stage.stdio(mode, args));
  const { isOk, text } = await stage.call('bad', 'echo', { text: umlauts });
  return { isOk, isExact: text === umlauts };
}

const bytes: readonly Row[] = [
  {
    id: 'F28',
    variant: 'invalid-utf8',
    inject: 's:invalid-utf8',
    expect: { isOk: true, state: 'ready', text: /^a\uFFFD+z$/u },
    run: (stage) => callOf(stage, 'invalid-utf8'),
  },
  {
    id: 'F28',
    variant: 'slow-drip',
    inject: 's:slow-drip, one byte at a time',
    expect: { isOk: true, isExact: true },
    run: (stage) => saidBack(stage, 'slow-drip'),
  },
  ...[1, 2, 3].map(
    (seed): Row => ({
      id: 'F29',
      variant: `seed-${seed}`,
      inject: `s:random-splits --seed ${seed}`,
      expect: { isOk: true, isExact: true },
      run: (stage) => saidBack(stage, 'random-splits', ['--seed', String(seed)]),
    }),
  ),
];

/** A big answer while five other calls are at work. */
async function bigResult(stage: Stage, megabytes: number): Promise<Seen> {
  await readyServer(stage, stage.stdio('big-result', ['--mb', String(megabytes)]));
  const others = Array.from({ length: 5 }, () => stage.call('bad', 'slow', { ms: 300 }, 8_000));
  const big = await stage.call('bad', 'echo', {}, 8_000);
  const ends = await Promise.all(others);
  const { state, reason } = stage.status('bad');
  return {
    state,
    reason,
    code: big.code,
    outcome: big.outcome,
    says: big.message.slice(0, 200),
    megabytes: Math.round((big.text?.length ?? 0) / 1024 / 1024),
    othersOk: ends.filter(({ isOk }) => isOk).length,
    slowestMs: Math.max(big.ms, ...ends.map(({ ms }) => ms)),
  };
}

const sizes: readonly Row[] = [
  {
    id: 'F31',
    variant: 'below',
    inject: 's:big-result --mb 12, beside 5 calls',
    expect: { state: 'ready', megabytes: 12, othersOk: 5 },
    run: (stage) => bigResult(stage, 12),
  },
  {
    id: 'F31',
    variant: 'above',
    inject: 's:big-result --mb 17, beside 5 calls',
    expect: {
      state: 'ready',
      code: 'RESULT_TOO_LARGE',
      outcome: 'executed',
      othersOk: 5,
      says: /16 MB/u,
      slowestMs: { atMost: 4_000 },
    },
    run: (stage) => bigResult(stage, 17),
  },
  {
    id: 'F33',
    variant: 'line',
    inject: 's:deep-array, 200,000 brackets',
    expect: answered,
    run: (stage) => callOf(stage, 'deep-array'),
  },
  {
    id: 'F33',
    variant: 'result',
    inject: 's:deep-result --n 5000',
    expect: { isOk: false, code: 'RESULT_TOO_LARGE', state: 'ready', callMs: { atMost: 2_000 } },
    run: (stage) => callOf(stage, 'deep-result', ['--n', '5000']),
  },
  {
    id: 'F34',
    variant: 'partial',
    inject: 's:partial-exit',
    expect: { code: 'CRASHED', outcome: 'unknown', callMs: { atMost: 1_000 } },
    run: (stage) => callOf(stage, 'partial-exit'),
  },
  {
    id: 'F34',
    variant: 'whole',
    inject: 's:no-final-newline-exit',
    expect: { isOk: true, text: 'whole' },
    run: (stage) => callOf(stage, 'no-final-newline-exit'),
  },
  {
    id: 'F35',
    inject: 's:dup-keys',
    expect: { isOk: true, text: 'last', state: 'ready' },
    run: (stage) => callOf(stage, 'dup-keys'),
  },
];

export const framingRows: readonly AnyRow[] = [...noise, ...foreign, ...bytes, ...sizes];
