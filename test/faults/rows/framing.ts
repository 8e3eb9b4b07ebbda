/** B: badly framed messages. */

import type { Seen } from '../expectation.ts';
import { eachOf, type Rows } from '../row.ts';
import type { Stage } from '../stage.ts';
import { backingOff, besideCalls, called, readyServer, soon, started } from './one-server.ts';

const answered = { isOk: true, state: 'ready', text: 'hi' } as const;

const noise: Rows = {
  'F22/text': called('s:noise', { ...answered, warnings: 1 }),
  'F22/json': called('s:noise-json', { ...answered, warnings: 1 }),
  F23: {
    // V8's young generation alone takes up to 48 MB before it is collected.
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
      return besideCalls(stage, async () => {
        const grown = stage.measureMemory();
        stage.troupe.send({ type: 'server.start', server: 'bad' });
        const status = await stage.reaches('bad', 'ready', 'backingOff');
        return { ...stage.seen(status), grownMb: grown() };
      });
    },
  },
};

/** The reason that a timeout must report when the output could not be parsed. */
const saysWhy = /not MCP|Content-Length|one message per line|jsonrpc|wrote/iu;

const foreign: Rows = {
  'F26/crlf': called('s:crlf', answered),
  'F26/bare-cr': started('s:bare-cr (connectTimeoutMs 2000)', {
    ...backingOff,
    code: ['BAD_RESPONSE', 'TIMEOUT'],
  }),
  'F27/pretty-json': started('s:pretty-json (connectTimeoutMs 2000)', {
    ...backingOff,
    code: ['BAD_RESPONSE', 'TIMEOUT'],
    says: saysWhy,
  }),
  'F27/content-length': started('s:content-length (connectTimeoutMs 10000)', {
    ...backingOff,
    code: 'BAD_RESPONSE',
    says: /Content-Length/u,
    settledMs: soon,
  }),
  'F27/nul-bytes': started('s:nul-bytes (connectTimeoutMs 2000)', {
    ...backingOff,
    code: ['BAD_RESPONSE', 'TIMEOUT'],
    says: saysWhy,
  }),
  // The 2025-03-26 revision allowed batches, so reading them is fine.
  'F27/batch': started('s:batch', { state: 'ready', settledMs: soon }),
  'F27/no-jsonrpc': started('s:no-jsonrpc (connectTimeoutMs 10000)', {
    ...backingOff,
    code: 'BAD_RESPONSE',
    says: /jsonrpc/u,
    settledMs: soon,
  }),
};

const umlauts = 'grüße 🦉 日本';
const unchanged = { isOk: true, text: umlauts } as const;

const bytes: Rows = {
  'F28/invalid-utf8': called('s:invalid-utf8', {
    isOk: true,
    state: 'ready',
    text: /^a\uFFFD+z$/u,
  }),
  'F28/slow-drip': called('s:slow-drip, one byte at a time', unchanged, umlauts),
  ...eachOf([1, 2, 3], (seed) => [
    `F29/seed-${seed}`,
    called(`s:random-splits --seed ${seed}`, unchanged, umlauts),
  ]),
};

/** A big result while five other calls are in flight. */
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

const sizes: Rows = {
  'F31/below': {
    inject: 's:big-result --mb 12, beside 5 calls',
    expect: { state: 'ready', megabytes: 12, othersOk: 5 },
    run: (stage) => bigResult(stage, 12),
  },
  'F31/above': {
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
  'F33/line': called('s:deep-array, 200,000 brackets', answered),
  'F33/result': called('s:deep-result --n 5000', {
    isOk: false,
    code: 'RESULT_TOO_LARGE',
    state: 'ready',
    callMs: { atMost: 2_000 },
  }),
  'F34/partial': called('s:partial-exit', {
    code: 'CRASHED',
    outcome: 'unknown',
    callMs: { atMost: 1_000 },
  }),
  'F34/whole': called('s:no-final-newline-exit', { isOk: true, text: 'whole' }),
  F35: called('s:dup-keys', { isOk: true, text: 'last', state: 'ready' }),
};

export const framingRows: Rows = { ...noise, ...foreign, ...bytes, ...sizes };
