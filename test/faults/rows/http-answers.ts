/** G: bad and slow responses of HTTP servers. */

import { setTimeout as pause } from 'node:timers/promises';

import type { Expectation, Seen } from '../expectation.ts';
import { eachOf, type Row, type Rows } from '../row.ts';
import type { CallEnd, Stage } from '../stage.ts';
import { faultIn, readyHttp, readyServer, seenOf } from './one-server.ts';

/** Calls a tool of a server in one mode; returns the outcome and the number of requests. */
async function callOf(
  stage: Stage,
  mode: string,
  args: readonly string[] = [],
  timeoutMs = 5_000,
): Promise<Seen> {
  const peer = await stage.http(mode, args);
  await readyServer(stage, peer.with({ headers: { 'X-API-Key': 'hunter2-hunter2' } }));
  const grown = stage.measureMemory();
  const call = await stage.call('bad', 'echo', { text: 'hi' }, timeoutMs);
  // The server logs the consequences of the call a moment later.
  await pause(100);
  const calls = peer.log.count('tools/call');
  return { ...seenOf(stage, call), calls, hungUp: peer.log.count('hung-up'), grownMb: grown() };
}

/** A row that calls a tool of the HTTP server it describes. */
function answerRow(inject: string, expect: Expectation): Row {
  const { mode, args, timeoutMs } = faultIn(inject);
  return { inject, expect, run: (stage) => callOf(stage, mode, args, timeoutMs) };
}

/** One such row for each mode. */
const answerRows = (id: string, modes: readonly string[], expect: Expectation, note = '') =>
  eachOf(modes, (mode) => [`${id}/${mode}`, answerRow(`h:${mode}${note}`, expect)]);

const fast = { callMs: { atMost: 1_500 } } as const;
const badResponse = { code: 'BAD_RESPONSE', outcome: 'unknown', calls: 1, ...fast } as const;
const lost = { code: 'STREAM_LOST', outcome: 'unknown', calls: 1, ...fast } as const;
const late = {
  code: 'TIMEOUT',
  outcome: 'unknown',
  hungUp: { atLeast: 1 },
  callMs: { atMost: 2_000 },
} as const;

const slow: Rows = {
  ...answerRows('F102', ['hang', 'slow-headers', 'slow-body'], late, ' (timeoutMs 600)'),
  ...answerRows('F118', ['sse-never'], late, ' (timeoutMs 600)'),
  ...answerRows('F66', ['sse-progress-forever'], late, ' (timeoutMs 600)'),
  ...answerRows('F103', ['reset-call', 'reset-mid-body', 'sse-drop'], lost),
};

const answers: Rows = {
  'F113/500-call': answerRow('h:500-call', {
    code: 'UNAVAILABLE',
    outcome: 'unknown',
    calls: 1,
    ...fast,
  }),
  'F113/502-html': answerRow('h:502-html', {
    code: 'UNAVAILABLE',
    outcome: 'unknown',
    says: /^(?!.*<script>)/u,
    ...fast,
  }),
  ...answerRows(
    'F115',
    ['200-html', '200-empty', '200-truncated', '202-on-request', '204-on-request'],
    badResponse,
  ),
  ...answerRows('F122', ['bad-chunk', 'not-http', 'header-flood', 'gzip-lie'], badResponse),
  'F122/short-length': answerRow('h:short-length', {
    ...lost,
    code: ['STREAM_LOST', 'BAD_RESPONSE'],
  }),
  'F122/endless-body': answerRow('h:endless-body', {
    code: ['RESULT_TOO_LARGE', 'BAD_RESPONSE'],
    says: /16 MB/u,
    grownMb: { atMost: 160 },
  }),
  'F122/sse-huge-event': answerRow('h:sse-huge-event', {
    code: ['RESULT_TOO_LARGE', 'BAD_RESPONSE', 'STREAM_LOST'],
    grownMb: { atMost: 160 },
    callMs: { atMost: 4_000 },
  }),
  ...answerRows('F120', ['ok-sse', 'sse-odd-legal'], { isOk: true, text: 'hi', state: 'ready' }),
};

const redirects: Rows = {
  ...eachOf(['other', 'loop', 'file'], (kind) => [
    `F116/${kind}`,
    {
      inject: `h:redirect-${kind}`,
      expect: {
        state: ['backingOff', 'failed'],
        code: 'REDIRECT_BLOCKED',
        visits: 0,
        requests: { atMost: 25 },
      },
      async run(stage) {
        const canary = await stage.canary();
        const peer = await stage.http(`redirect-${kind}`, ['--to', canary.url]);
        stage.start({
          bad: peer.with({ headers: { 'X-API-Key': 'hunter2-hunter2' }, connectTimeoutMs: 3_000 }),
        });
        const status = await stage.reaches('bad', 'ready', 'backingOff', 'failed');
        return { ...stage.seen(status), visits: canary.visits(), requests: peer.log.all().length };
      },
    },
  ]),
  'F116/late': {
    inject: 'h:redirect-late, of a call',
    expect: { code: 'REDIRECT_BLOCKED', visits: 0, state: 'ready', ...fast },
    async run(stage) {
      const canary = await stage.canary();
      const seen = await callOf(stage, 'redirect-late', ['--to', canary.url]);
      return { ...seen, visits: canary.visits() };
    },
  },
};

const streams: Rows = {
  ...eachOf(['retry-0', 'retry-huge'], (kind) => [
    `F119/${kind}`,
    {
      inject: `h:sse-${kind}, 30 s of the troupe`,
      expect: { state: 'ready', listens: { atMost: 10 }, isOk: true },
      speed: 8,
      async run(stage) {
        const peer = await readyHttp(stage, `sse-${kind}`);
        await pause(30_000 / 8);
        const { isOk } = await stage.call('bad', 'echo');
        return { state: stage.status('bad').state, listens: peer.log.count('GET'), isOk };
      },
    },
  ]),
  'F59/http-storm': {
    inject: 'h:sse-storm, 10,000 changes',
    expect: {
      state: ['ready', 'degraded'],
      lists: { atMost: 4 },
      isOk: true,
      callMs: { atMost: 2_000 },
    },
    isAlone: true,
    async run(stage) {
      const peer = await readyHttp(stage, 'sse-storm');
      await peer.log.nth('GET');
      const { isOk, ms } = await stage.call('bad', 'echo');
      await pause(2_500);
      return {
        state: stage.status('bad').state,
        lists: peer.log.count('tools/list'),
        isOk,
        callMs: ms,
      };
    },
  },
  'F72/http': {
    inject: 'h:sse-server-requests, 200 in one answer',
    expect: { isOk: true, granted: 0, state: 'ready' },
    async run(stage) {
      const peer = await readyHttp(stage, 'sse-server-requests');
      const { isOk, text } = await stage.call('bad', 'echo');
      await pause(500);
      const answered = peer.log.all('answer');
      const granted = answered.filter(({ error }) => error === undefined).length;
      return { isOk, text, answers: answered.length, granted, state: stage.status('bad').state };
    },
  },
};

/** A row that reports which of its bad session ids the server got back. */
function sessionRow(inject: string, expect: Expectation): Row {
  const { mode, args } = faultIn(inject);
  return {
    inject,
    expect,
    async run(stage) {
      const peer = await stage.http(mode, args);
      stage.start({ bad: peer.with({ connectTimeoutMs: 3_000 }) });
      const status = await stage.reaches('bad', 'ready', 'backingOff', 'failed');
      const call = (): Promise<CallEnd> => stage.call('bad', 'echo', {}, 500);
      const ends = [await call(), await call()];
      const sent = new Set(peer.log.all().flatMap(({ session }) => session ?? []));
      const isOk = ends.every((end) => end.isOk);
      const isSent = [...sent].some((id) => id.includes(' ') || id.length > 4_096);
      return { ...stage.seen(status), ids: sent.size, isSent, isOk };
    },
  };
}

const sessions: Rows = {
  'F121/spaces': sessionRow('h:session-bad-id "a b c"', { isSent: false }),
  'F121/long': sessionRow('h:session-bad-id --long 12000', { isSent: false }),
  'F121/rotates': sessionRow('h:session-rotates with every answer', {
    state: 'ready',
    ids: 1,
    isOk: true,
  }),
};

export const httpAnswerRows: Rows = {
  ...slow,
  ...answers,
  ...redirects,
  ...streams,
  ...sessions,
};
