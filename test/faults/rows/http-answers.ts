/** G: what an HTTP server answers, and how slowly. */

import type { Expectation, Seen } from '../expectation.ts';
import { pause } from '../pause.ts';
import type { AnyRow, Row } from '../row.ts';
import type { Stage } from '../stage.ts';
import { seenOf } from './one-server.ts';

/** Calls a tool of one mode, and tells how that ended and what the server was asked. */
async function callOf(
  stage: Stage,
  mode: string,
  args: readonly string[] = [],
  timeoutMs = 5_000,
): Promise<Seen> {
  const peer = await stage.http(mode, args);
  stage.start({ bad: peer.with({ headers: { 'X-API-Key': 'hunter2-hunter2' } }) });
  await stage.reaches('bad', 'ready');
  const grown = stage.measureMemory();
  const call = await stage.call('bad', 'echo', { text: 'hi' }, timeoutMs);
  // What follows from the call is known only after a moment.
  await pause(100);
  const calls = peer.log.count('tools/call');
  return { ...seenOf(stage, call), calls, hungUp: peer.log.count('hung-up'), grownMb: grown() };
}

function answerRow(id: string, mode: string, expect: Expectation, timeoutMs?: number): Row {
  const note = timeoutMs === undefined ? '' : ` (timeoutMs ${timeoutMs})`;
  return {
    id,
    variant: mode,
    inject: `h:${mode}${note}`,
    expect,
    run: (stage) => callOf(stage, mode, [], timeoutMs),
  };
}

const fast = { callMs: { atMost: 1_500 } } as const;
const badResponse = { code: 'BAD_RESPONSE', outcome: 'unknown', calls: 1, ...fast } as const;
const lost = { code: 'STREAM_LOST', outcome: 'unknown', calls: 1, ...fast } as const;
const late = {
  code: 'TIMEOUT',
  outcome: 'unknown',
  hungUp: { atLeast: 1 },
  callMs: { atMost: 2_000 },
} as const;

const slow: readonly Row[] = [
  ...['hang', 'slow-headers', 'slow-body'].map((mode) => answerRow('F102', mode, late, 600)),
  answerRow('F118', 'sse-never', late, 600),
  answerRow('F66', 'sse-progress-forever', late, 600),
  answerRow('F103', 'reset-call', lost),
  answerRow('F103', 'reset-mid-body', lost),
  answerRow('F103', 'sse-drop', lost),
];

const answers: readonly Row[] = [
  answerRow('F113', '500-call', { code: 'UNAVAILABLE', outcome: 'unknown', calls: 1, ...fast }),
  answerRow('F113', '502-html', {
    code: 'UNAVAILABLE',
    outcome: 'unknown',
    says: /^(?!.*<script>)/u,
    ...fast,
  }),
  ...['200-html', '200-empty', '200-truncated', '202-on-request', '204-on-request'].map((mode) =>
    answerRow('F115', mode, badResponse),
  ),
  ...['bad-chunk', 'not-http', 'header-flood', 'gzip-lie'].map((mode) =>
    answerRow('F122', mode, badResponse),
  ),
  answerRow('F122', 'short-length', { ...lost, code: ['STREAM_LOST', 'BAD_RESPONSE'] }),
  answerRow('F122', 'endless-body', {
    code: ['RESULT_TOO_LARGE', 'BAD_RESPONSE'],
    says: /16 MB/u,
    grownMb: { atMost: 160 },
  }),
  answerRow('F122', 'sse-huge-event', {
    code: ['RESULT_TOO_LARGE', 'BAD_RESPONSE', 'STREAM_LOST'],
    grownMb: { atMost: 160 },
    callMs: { atMost: 4_000 },
  }),
  answerRow('F120', 'ok-sse', { isOk: true, text: 'hi', state: 'ready' }),
  answerRow('F120', 'sse-odd-legal', { isOk: true, text: 'hi', state: 'ready' }),
];

const redirects: readonly Row[] = [
  ...['redirect-other', 'redirect-loop', 'redirect-file'].map(
    (mode): Row => ({
      id: 'F116',
      variant: mode.slice('redirect-'.length),
      inject: `h:${mode}`,
      expect: {
        state: ['backingOff', 'failed'],
        code: 'REDIRECT_BLOCKED',
        visits: 0,
        requests: { atMost: 25 },
      },
      async run(stage) {
        const canary = await stage.canary();
        const peer = await stage.http(mode, ['--to', canary.url]);
        stage.start({
          bad: peer.with({ headers: { 'X-API-Key': 'hunter2-hunter2' }, connectTimeoutMs: 3_000 }),
        });
        const status = await stage.reaches('bad', 'ready', 'backingOff', 'failed');
        return { ...stage.seen(status), visits: canary.visits(), requests: peer.log.all().length };
      },
    }),
  ),
  {
    id: 'F116',
    variant: 'late',
    inject: 'h:redirect-late, of a call',
    expect: { code: 'REDIRECT_BLOCKED', visits: 0, state: 'ready', ...fast },
    async run(stage) {
      const canary = await stage.canary();
      const seen = await callOf(stage, 'redirect-late', ['--to', canary.url]);
      return { ...seen, visits: canary.visits() };
    },
  },
];

const streams: readonly Row[] = [
  ...['sse-retry-0', 'sse-retry-huge'].map(
    (mode): Row => ({
      id: 'F119',
      variant: mode.slice('sse-'.length),
      inject: `h:${mode}, 30 s of the troupe`,
      expect: { state: 'ready', listens: { atMost: 10 }, isOk: true },
      speed: 8,
      async run(stage) {
        const peer = await stage.http(mode);
        stage.start({ bad: peer });
        await stage.reaches('bad', 'ready');
        await pause(30_000 / 8);
        const { isOk } = await stage.call('bad', 'echo');
        return { state: stage.status('bad').state, listens: peer.log.count('GET'), isOk };
      },
    }),
  ),
  {
    id: 'F59',
    variant: 'http-storm',
    inject: 'h:sse-storm, 10,000 changes',
    expect: {
      state: ['ready', 'degraded'],
      lists: { atMost: 4 },
      isOk: true,
      callMs: { atMost: 2_000 },
    },
    isAlone: true,
    async run(stage) {
      const peer = await stage.http('sse-storm');
      stage.start({ bad: peer });
      await stage.reaches('bad', 'ready');
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
  {
    id: 'F72',
    variant: 'http',
    inject: 'h:sse-server-requests, 200 in one answer',
    expect: { isOk: true, granted: 0, state: 'ready' },
    async run(stage) {
      const peer = await stage.http('sse-server-requests');
      stage.start({ bad: peer });
      await stage.reaches('bad', 'ready');
      const { isOk, text } = await stage.call('bad', 'echo');
      await pause(500);
      const answered = peer.log.all('answer');
      const granted = answered.filter(({ error }) => error === undefined).length;
      return { isOk, text, answers: answered.length, granted, state: stage.status('bad').state };
    },
  },
];

const sessions: readonly Row[] = [
  {
    id: 'F121',
    variant: 'spaces',
    inject: 'h:session-bad-id "a b c"',
    expect: { isSent: false },
    run: (stage) => sessionIdOf(stage, 'session-bad-id', []),
  },
  {
    id: 'F121',
    variant: 'long',
    inject: 'h:session-bad-id of 12 KB',
    expect: { isSent: false },
    run: (stage) => sessionIdOf(stage, 'session-bad-id', ['--long', '12000']),
  },
  {
    id: 'F121',
    variant: 'rotates',
    inject: 'h:session-rotates with every answer',
    expect: { state: 'ready', ids: 1, isOk: true },
    run: (stage) => sessionIdOf(stage, 'session-rotates', []),
  },
];

/** Which ids of sessions came back to the server that gave out bad ones. */
async function sessionIdOf(stage: Stage, mode: string, args: readonly string[]): Promise<Seen> {
  const peer = await stage.http(mode, args);
  stage.start({ bad: peer.with({ connectTimeoutMs: 3_000 }) });
  const status = await stage.reaches('bad', 'ready', 'backingOff', 'failed');
  const ends = [await stage.call('bad', 'echo', {}, 500), await stage.call('bad', 'echo', {}, 500)];
  const sent = new Set(peer.log.all().flatMap(({ session }) => session ?? []));
  const isOk = ends.every((end) => end.isOk);
  const isSent = [...sent].some((id) => id.includes(' ') || id.length > 4_096);
  return { ...stage.seen(status), ids: sent.size, isSent, isOk };
}

export const httpAnswerRows: readonly AnyRow[] = [
  ...slow,
  ...answers,
  ...redirects,
  ...streams,
  ...sessions,
];
