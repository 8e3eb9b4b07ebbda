/** The operations of a running troupe, each repeated as fast as possible. */

import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { createTroupe, type HostPolicy, type Troupe, TroupeError } from '../../src/index.ts';
import { startHttpHost } from '../../test/lab/http-host.ts';

type Settings = Readonly<Record<string, unknown>>;

/** Repeats the operation; nothing is in progress when it resolves. */
type Repeat = (count: number) => Promise<void>;

interface Running {
  readonly repeat: Repeat;
  readonly end: () => Promise<void>;
}

interface Counts {
  /** Enough to fill a server's log, which fills last of everything bounded. */
  readonly warmUpCount: number;
  /** Repetitions in one half of the measurement. */
  readonly count: number;
  /** Limit per operation. */
  readonly mostBytes: number;
}

export interface Operation extends Counts {
  readonly start: () => Promise<Running>;
}

// A busy host makes two hundred thousand calls an hour; at five bytes each, that is a megabyte.
// The limit also allows for the inaccuracy of a snapshot.
const manyCalls: Counts = { warmUpCount: 5_000, count: 20_000, mostBytes: 5 };
const calls: Counts = { warmUpCount: 2_000, count: 5_000, mostBytes: 8 };
// A busy host has hundreds of these an hour, and each starts a process or a session.
const starts: Counts = { warmUpCount: 80, count: 80, mostBytes: 500 };
const sessions: Counts = { warmUpCount: 100, count: 200, mostBytes: 400 };

const fileOf = (path: string): string => fileURLToPath(new URL(`../../${path}`, import.meta.url));

// The limit of concurrent calls to one server.
const atOnce = 16;

const echo: Settings = {
  command: process.execPath,
  args: [fileOf('test/bench/servers/stdio-echo.mjs')],
};
// A shell, because a process of Node costs ten times as much.
const shell = (edition = 0): Settings => ({
  command: '/bin/sh',
  args: [fileOf('test/faults/servers/least-server.sh'), String(edition)],
});
const hostile = (mode: string): Settings => ({
  command: process.execPath,
  args: [fileOf('test/faults/servers/hostile-stdio.mjs'), mode],
});

// Restarts immediately and without limit; counting losses would delay it.
const tireless: HostPolicy = {
  restart: { on: 'always', delays: [1], jitter: 'none', maxAttempts: null },
  storm: { crashLoop: null, reconnectStorm: null },
  breaker: { threshold: null },
};

function troupeOf(mcpServers: Settings, policy = tireless): Troupe {
  return createTroupe({ settings: { mcpServers }, seed: 1, policy });
}

/** An operation on one ready server. */
type Doing = (troupe: Troupe) => Repeat;

const local =
  (entry: Settings, doing: Doing): Operation['start'] =>
  async () => {
    const troupe = troupeOf({ server: entry });
    await troupe.waitFor('server', 'ready');
    return { repeat: doing(troupe), end: () => troupe.stop() };
  };

const remote =
  (doing: (origin: string) => Doing, ...words: readonly string[]): Operation['start'] =>
  async () => {
    const file = words.length === 0 ? 'test/bench/servers/http-echo.mjs' : hostileHttp;
    const host = await startHttpHost(fileOf(file), words);
    const troupe = troupeOf({ server: http(host.origin) });
    await troupe.waitFor('server', 'ready');
    return {
      repeat: doing(host.origin)(troupe),
      async end() {
        await troupe.stop();
        await host.stop();
      },
    };
  };

const hostileHttp = 'test/faults/servers/hostile-http.mjs';

function http(origin: string, edition = 0): Settings {
  return { type: 'http', url: `${origin}/mcp?edition=${edition}` };
}

async function inParallel(count: number, act: (index: number) => Promise<unknown>): Promise<void> {
  let begun = 0;
  const work = async (): Promise<void> => {
    while (begun < count) await act((begun += 1));
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

async function inTurn(count: number, act: () => Promise<unknown>): Promise<void> {
  for (let done = 0; done < count; done += 1) await act();
}

/** An error with a code is a valid end of a call. */
function expected(error: unknown): void {
  if (!(error instanceof TroupeError)) throw error;
}

const calling =
  (tool = 'echo', options = {}): Doing =>
  (troupe) =>
  (count) =>
    inParallel(count, (index) =>
      troupe
        .callServerTool('server', tool, { text: `call ${index}` }, options)
        .then(() => {}, expected),
    );

/** Aborts each call, every other one before it is sent. */
const givingUp =
  (tool: string): Doing =>
  (troupe) =>
  (count) =>
    inParallel(count, async (index) => {
      const controller = new AbortController();
      const call = troupe.callServerTool('server', tool, {}, { signal: controller.signal });
      const settled = call.then(() => {}, expected);
      if (index % 2 === 0) await pause(1);
      controller.abort();
      await settled;
    });

/** Resolves when the server was lost and is ready again. */
function readyAgain(troupe: Troupe): Promise<void> {
  return new Promise((resolve) => {
    let wasLost = false;
    const end = troupe.on('status.changed', ({ status }) => {
      if (status.state !== 'ready') wasLost = true;
      else if (wasLost) {
        end();
        resolve();
      }
    });
  });
}

const killing: Doing = (troupe) => (count) =>
  inTurn(count, async () => {
    const pid = troupe.status('server')?.pid;
    if (pid === undefined) throw new Error('The server has no process.');
    const ready = readyAgain(troupe);
    process.kill(pid, 'SIGKILL');
    await ready;
  });

const restarting: Doing = (troupe) => (count) =>
  inTurn(count, () => troupe.restartAndWait('server').then(() => {}, expected));

const reconnecting: Doing = (troupe) => (count) =>
  inTurn(count, async () => {
    const ready = readyAgain(troupe);
    troupe.send({ type: 'server.reconnect', server: 'server' });
    await ready;
  });

/** Another generation of the server each time. */
const editing =
  (entry: (edition: number) => Settings): Doing =>
  (troupe) => {
    let edition = 0;
    return (count) =>
      inTurn(count, async () => {
        edition += 1;
        const ready = readyAgain(troupe);
        apply(troupe, { server: entry(edition) });
        await ready;
      });
  };

/** Adds and removes a second server, under the same name or a new one each time. */
const visiting =
  (hasNewName: boolean): Doing =>
  (troupe) => {
    let visits = 0;
    return (count) =>
      inTurn(count, async () => {
        visits += 1;
        const guest = hasNewName ? `guest${visits}` : 'guest';
        apply(troupe, { server: shell(), [guest]: shell() });
        await troupe.waitFor(guest, 'ready');
        apply(troupe, { server: shell() });
        // No event reports that a server was removed.
        while (troupe.status(guest) !== undefined) await pause(1);
      });
  };

function apply(troupe: Troupe, mcpServers: Settings): void {
  troupe.send({ type: 'settings.changed', settings: { mcpServers } });
}

async function failingStarts(): Promise<Running> {
  const troupe = troupeOf(
    { server: { command: '/bin/false' } },
    { startup: { maxAttempts: 1, afterGiveUp: 'stop' } },
  );
  await troupe.waitFor('server', 'failed');
  return { repeat: restarting(troupe), end: () => troupe.stop() };
}

export const operations: Readonly<Record<string, Operation>> = {
  'call over stdio': { ...manyCalls, start: local(echo, calling()) },
  'call over HTTP': { ...manyCalls, start: remote(() => calling()) },
  'call answered by events': { ...calls, start: remote(() => calling(), '0', 'ok-sse') },
  'call that is reset': { ...calls, start: remote(() => calling(), '0', 'reset-call') },
  'call given up, stdio': { ...calls, start: local(hostile('ok'), givingUp('slow')) },
  'call given up, HTTP': { ...calls, start: remote(() => givingUp('echo')) },
  'call that runs out of time': {
    ...calls,
    // A call of `slow` is never answered there.
    start: local(hostile('crash-on-call'), calling('slow', { timeoutMs: 5 })),
  },
  'call of an unknown tool': { ...manyCalls, start: local(echo, calling('none')) },
  'call that changes the list': { ...calls, start: local(hostile('flip-flop'), calling()) },
  crash: { ...starts, start: local(shell(), killing) },
  restart: { ...starts, start: local(shell(), restarting) },
  'failed start': { ...starts, start: failingStarts },
  'reconnect over HTTP': { ...sessions, start: remote(() => reconnecting) },
  'edit of a local server': { ...starts, start: local(shell(), editing(shell)) },
  'edit of a remote server': {
    ...sessions,
    start: remote((origin) => editing((edition) => http(origin, edition))),
  },
  'server that comes and goes': { ...starts, start: local(shell(), visiting(false)) },
  'server that comes once': {
    ...starts,
    // The logs, attempts and catalogs of the last thousand names, and what XState keeps for every name.
    mostBytes: 5_000,
    start: local(shell(), visiting(true)),
  },
};
