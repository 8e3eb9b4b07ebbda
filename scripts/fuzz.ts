/**
 * npm run fuzz: starts servers of both eras, over stdio and HTTP, that mutate every message they send.
 *
 *     npm run fuzz -- --messages 1000000 --seed 7
 *
 * Checks that the host survives, that every call settles and that a neighbouring server answers; exit
 * code 1 when a check fails.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { createTroupe, type Troupe } from '../src/index.ts';
import { scaledClock } from '../test/faults/scaled-clock.ts';

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '1000000' },
    seed: { type: 'string', default: String(Date.now() % 100_000) },
  },
});
const wanted = Number(values.messages);
const seed = Number(values.seed);

// An accelerated clock shortens backoffs and deadlines, so that every message is processed.
const clock = scaledClock(20);
const concurrency = 4;
const perRequest = 25;
// Far beyond every deadline of the accelerated clock: a call that has not settled by then never will.
const settleMs = 20_000;
const neighbourMs = 5_000;

const script = new URL('./fuzz/fuzz-server.mjs', import.meta.url).pathname;
const neighbour = new URL('../test/fixtures/modern-server.mjs', import.meta.url).pathname;

const uncaught: unknown[] = [];
process.on('uncaughtException', (error) => uncaught.push(error));
process.on('unhandledRejection', (error) => uncaught.push(error));

const children: ChildProcess[] = [];

async function httpServer(era: string): Promise<string> {
  const args = [script, 'http', era, String(seed), String(perRequest)];
  const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'pipe'] });
  children.push(child);
  child.stderr.on('data', (chunk: Buffer) => note(chunk.toString('utf8')));
  const [port] = (await once(child.stdout, 'data')) as [Buffer];
  return `http://127.0.0.1:${port.toString('utf8').trim()}/mcp`;
}

let sent = 0;
function note(text: string): void {
  sent += (text.match(/sent 500/gu)?.length ?? 0) * 500;
}

async function create(): Promise<Troupe> {
  const local = (era: string) => ({
    command: process.execPath,
    args: [script, 'stdio', era, String(seed), String(perRequest)],
  });
  // A busy machine needs seconds to start a process, which are minutes on the accelerated clock.
  const connect = { localTimeoutMs: 1_500_000, remoteTimeoutMs: 300_000, listTimeoutMs: 300_000 };
  const policy = {
    connect,
    restart: { maxAttempts: null },
    startup: { maxAttempts: null },
    storm: { crashLoop: null, reconnectStorm: null },
    breaker: { threshold: null },
  };
  const fuzzed = {
    stdioLegacy: { ...local('legacy'), policy },
    stdioModern: { ...local('modern'), policy },
    httpLegacy: { type: 'http', url: await httpServer('legacy'), policy },
    httpModern: { type: 'http', url: await httpServer('modern'), policy },
  };
  const quiet = { command: process.execPath, args: [neighbour], policy };
  return createTroupe({
    bare: true,
    clock,
    settings: { mcpServers: { ...fuzzed, quiet } },
    onQuestion: () => Promise.resolve({ action: 'decline' }),
  });
}

const outcomes = new Map<string, number>();
const unsettled: string[] = [];
let calls = 0;

/** Resolves with the code of the outcome, or with `unsettled`. */
function within<Result>(ms: number, work: Promise<Result>): Promise<string> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<string>((resolve) => {
    timer = setTimeout(() => resolve('unsettled'), ms);
  });
  const ended = work.then(
    () => 'ok',
    (error: unknown) => String((error as { code?: unknown }).code),
  );
  return Promise.race([ended, late]).finally(() => clearTimeout(timer));
}

async function callForEver(troupe: Troupe, server: string, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    calls += 1;
    const end = await within(
      settleMs,
      troupe.callServerTool(server, 't', { a: 1 }, { timeoutMs: 30_000, onProgress: () => {} }),
    );
    outcomes.set(end, (outcomes.get(end) ?? 0) + 1);
    if (end === 'unsettled') unsettled.push(server);
    // A refused call fails immediately; give the server time to reconnect.
    await new Promise((resolve) => setTimeout(resolve, end === 'ok' ? 0 : 2));
  }
}

let slowestMs = 0;
let unanswered = 0;
async function callNeighbour(troupe: Troupe, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const from = performance.now();
    // Long enough even for a busy machine on the accelerated clock.
    const end = await within(
      neighbourMs,
      troupe.callServerTool('quiet', 'echo', { text: 'x' }, { timeoutMs: neighbourMs * 200 }),
    );
    slowestMs = Math.max(slowestMs, performance.now() - from);
    if (end !== 'ok') unanswered += 1;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

const troupe = await create();
troupe.on('server.log', ({ line }) => note(line));
// The usual limit is three seconds on the accelerated clock, in which a busy machine starts nothing.
await troupe.waitFor('quiet', 'ready', { timeoutMs: Number.POSITIVE_INFINITY });
const startedAt = performance.now();
// Ten minutes for a million messages: twice the usual time.
const limitMs = 30_000 + wanted * 0.6;
const isOver = (): boolean => sent >= wanted || performance.now() - startedAt > limitMs;
const servers = ['stdioLegacy', 'stdioModern', 'httpLegacy', 'httpModern'];
await Promise.all([
  callNeighbour(troupe, isOver),
  ...servers.flatMap((server) =>
    Array.from({ length: concurrency }, () => callForEver(troupe, server, isOver)),
  ),
]);
const states = servers.map((server) => `${server} ${troupe.status(server)?.restarts} restarts`);
const isStopped = await within(settleMs, troupe.stop());
for (const child of children) child.kill();

const seconds = Math.round((performance.now() - startedAt) / 1_000);
const ends = [...outcomes].map(([end, count]) => `${end} ${count}`).join(', ');
console.log(`calls: ${ends}\nservers: ${states.join(', ')}`);
for (const error of uncaught.slice(0, 10)) console.log('uncaught:', error);
if (isStopped !== 'ok') console.log(`stop: ${isStopped}`);
if (sent < wanted) console.log(`only ${sent} of ${wanted} messages within ${limitMs / 1_000} s`);
console.log(
  `${sent} messages, ${calls} calls, seed ${seed}, ${seconds} s: ${uncaught.length} uncaught, ` +
    `${unsettled.length} unsettled, ${unanswered} unanswered by the neighbour (slowest ${Math.round(slowestMs)} ms)`,
);
const isWell =
  uncaught.length + unsettled.length + unanswered === 0 && isStopped === 'ok' && sent >= wanted;
process.exit(isWell ? 0 : 1);
