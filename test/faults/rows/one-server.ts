/** The two stories that most rows tell: one server that starts, and one that is called. */

import type { Seen } from '../expectation.ts';
import type { CallEnd, Peer, Stage } from '../stage.ts';

export const backingOff = { state: 'backingOff', reason: 'retrying' } as const;

/** Lets one mode start, and tells where it first comes to rest. */
export async function startOf(
  stage: Stage,
  mode: string,
  args: readonly string[] = [],
  more: object = {},
): Promise<Seen> {
  const peer = stage.stdio(mode, args, { connectTimeoutMs: 2_000, ...more });
  const from = performance.now();
  stage.start({ bad: peer });
  const status = await stage.reaches('bad', 'ready', 'degraded', 'backingOff', 'failed', 'blocked');
  const settledMs = Math.round(performance.now() - from);
  const { exitCode, signal, stderrTail } = status.lastError ?? {};
  const lastWords = stderrTail?.at(-1);
  const { restarts } = status;
  return { ...stage.seen(status), exitCode, signal, lastWords, settledMs, restarts };
}

/** Starts a server as `bad`, and settles when it is ready. */
export async function readyServer(stage: Stage, peer: Peer, others: object = {}): Promise<Peer> {
  stage.start({ bad: peer, ...others });
  await stage.reaches('bad', 'ready', 'degraded');
  return peer;
}

/** Calls a tool of one mode, and tells how that ended and how the server is then. */
export async function callOf(
  stage: Stage,
  mode: string,
  args: readonly string[] = [],
  timeoutMs = 5_000,
): Promise<Seen> {
  await readyServer(stage, stage.stdio(mode, args));
  return seenOf(stage, await stage.call('bad', 'echo', { text: 'hi' }, timeoutMs));
}

export function seenOf(stage: Stage, call: CallEnd): Seen {
  const { isOk, code, outcome, message, text, ms } = call;
  const { state, reason } = stage.status('bad');
  const shown = text?.slice(0, 40);
  const says = message.slice(0, 300);
  return { state, reason, isOk, code, outcome, says, text: shown, callMs: ms };
}
