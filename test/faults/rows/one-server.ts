/** What most rows do: start a server, and call one of its tools. */

import type { EventLog } from '../event-log.ts';
import type { Expectation, Seen } from '../expectation.ts';
import type { HttpPeer } from '../http-peer.ts';
import type { Row } from '../row.ts';
import type { CallEnd, Entry, Stage } from '../stage.ts';

export const backingOff = { state: 'backingOff', reason: 'retrying' } as const;

/** How soon a server that does not wait must settle; the time of Node's own start is most of it. */
export const soon = { atMost: 3_000 };

/** Parses the description of a fault: `s:MODE --option value (timeoutMs 800), a remark`. */
export function faultIn(inject: string) {
  const [, mode = '', options = ''] = /^[sh]:([\w-]+)((?: --\w+ [^\s,]+)*)/u.exec(inject) ?? [];
  const limit = (name: string): number | undefined => {
    const [, ms] = new RegExp(`\\(${name} (\\d+)\\)`, 'u').exec(inject) ?? [];
    return ms === undefined ? undefined : Number(ms);
  };
  const args = options.split(' ').filter((word) => word !== '');
  return { mode, args, timeoutMs: limit('timeoutMs'), connectTimeoutMs: limit('connectTimeoutMs') };
}

/** A row that starts the server it describes and reports the first state that lasts. */
export function started(inject: string, expect: Expectation, more: Entry = {}): Row {
  const { mode, args, connectTimeoutMs = 30_000 } = faultIn(inject);
  return {
    inject,
    expect,
    async run(stage) {
      const peer = stage.stdio(mode, args, { connectTimeoutMs, ...more });
      const from = performance.now();
      const troupe = stage.start({ bad: peer });
      const states = ['ready', 'degraded', 'backingOff', 'failed', 'blocked'] as const;
      const status = await stage.reaches('bad', ...states);
      const settledMs = Math.round(performance.now() - from);
      const { exitCode, signal, stderrTail } = status.lastError ?? {};
      return {
        ...stage.seen(status),
        exitCode,
        signal,
        lastWords: stderrTail?.at(-1),
        settledMs,
        restarts: status.restarts,
        era: status.era,
        tools: troupe.tools().length,
        alive: stage.processes().length,
        starts: peer.log.count('start'),
        inits: peer.log.count('initialize'),
      };
    },
  };
}

/** A row that calls a tool of the server it describes; `(2026-07-28)` pins the era. */
export function called(inject: string, expect: Expectation, text = 'hi'): Row {
  const { mode, args, timeoutMs = 5_000 } = faultIn(inject);
  // A start that is slow on a busy machine must not make the server a legacy one.
  const more: Entry = inject.includes('(2026-07-28)') ? { era: 'modern' } : {};
  return {
    inject,
    expect,
    async run(stage) {
      const { log } = await readyServer(stage, stage.stdio(mode, args, more));
      const seen = seenOf(stage, await stage.call('bad', 'echo', { text }, timeoutMs));
      const warnings = stage.warnings.filter((line) => line.includes('not MCP')).length;
      return { ...seen, warnings, calls: log.count('tools/call') };
    },
  };
}

/** Starts a server as `bad`; resolves when it is ready. */
export async function readyServer<Some extends { readonly entry: Entry }>(
  stage: Stage,
  peer: Some,
  others: object = {},
): Promise<Some> {
  stage.start({ bad: peer, ...others });
  await stage.reaches('bad', 'ready', 'degraded');
  return peer;
}

export async function readyHttp(stage: Stage, mode: string): Promise<HttpPeer> {
  return readyServer(stage, await stage.http(mode));
}

/** Acts while a healthy neighbour is called, and adds the p99 of those calls. */
export async function besideCalls(stage: Stage, act: () => Promise<Seen>): Promise<Seen> {
  await stage.reaches('good', 'ready');
  const endCalling = stage.keepCalling('good');
  const seen = await act();
  return { ...seen, othersP99Ms: await endCalling() };
}

export function seenOf(stage: Stage, call: CallEnd): Seen {
  const { isOk, code, outcome, message, text, ms } = call;
  const { state, reason } = stage.status('bad');
  const shown = text?.slice(0, 40);
  const says = message.slice(0, 300);
  const { length } = message;
  return { state, reason, isOk, code, outcome, says, length, text: shown, callMs: ms };
}

/** Compares the outcomes of numbered calls with the calls that the server ran. */
export function tallyOf(
  calls: readonly { readonly n: number; readonly end: CallEnd }[],
  log: EventLog,
): Seen {
  const effects = log.all('effect').map(({ n = -1 }) => n);
  const ran = new Set(effects);
  return {
    settled: calls.length,
    isOk: calls.filter(({ end }) => end.isOk).length,
    unknown: calls.filter(({ end }) => end.outcome === 'unknown').length,
    effects: effects.length,
    twice: effects.length - ran.size,
    lost: calls.filter(({ n, end }) => end.isOk && !ran.has(n)).length,
    ranAnyway: calls.filter(({ n, end }) => end.outcome === 'not_executed' && ran.has(n)).length,
  };
}
