/** Twenty hosts in one project, whose ten servers they share through the troupe in the background. */

import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

import { chanceOf } from '../../src/policies/seeded-random.ts';
import { killAll, processesOf, processesWith, survivorsOf } from '../../test/lab/processes.ts';
import { Host } from './host.ts';
import type { Run, Verdict } from './verdict.ts';

export interface CrowdSetup {
  /** The command line's file. */
  readonly cli: string;
  /** An empty folder, for settings, state and what the servers write. */
  readonly folder: string;
  /** In the environment of every process. */
  readonly mark: string;
  readonly seed: number;
  readonly verdict: Verdict;
}

const clientCount = 20;
const callersEach = 2;
const serverFile = fileURLToPath(
  new URL('../../test/faults/servers/marking-server.mjs', import.meta.url),
);

/** Seven of one process for all, and one of each kind that the pool keeps apart. */
const shared = Array.from({ length: 7 }, (_, index) => `shared${index}`);
const names = [...shared, 'own', 'halves', 'guarded'] as const;

// A server that dies hundreds of times must restart immediately and forever.
const patient = {
  restart: {
    on: 'always',
    delays: [1],
    jitter: 'none',
    maxAttempts: null,
    budgetReset: 'immediate',
  },
  startup: { maxAttempts: null },
  storm: { crashLoop: null, reconnectStorm: null },
  breaker: { threshold: null },
};

const betweenCallsMs = 100;
const longestCallMs = 40;
const betweenKillsMs = 400;
// A gateway reconnects five times in a row, and a connection that has lasted a minute ends the row.
const troupeKills = { atSecond: [8, 20, 32], everySeconds: 110 };
// A background troupe, its servers and twenty attachments take seconds on a busy machine.
const settleMs = 90_000;
const goneMs = 10_000;
// The troupe in the background ends a minute after its last client.
const unusedMs = 60_000;

export class Crowd {
  readonly counts = { clients: 0, servers: 0, troupes: 0, left: 0 };
  readonly #setup: CrowdSetup;
  readonly #hosts = new Set<Host>();
  readonly #env: NodeJS.ProcessEnv;
  readonly #runs: string;
  readonly #startedAt = performance.now();
  #joined = 0;
  #calls = 0;
  #draws = 0;
  #isOver = false;

  constructor(setup: CrowdSetup) {
    this.#setup = setup;
    const { MCP_TROUPE_NO_BACKGROUND: _none, ...env } = process.env;
    this.#env = { ...env, TROUPE_CLIENTS: setup.mark };
    this.#runs = path.join(setup.folder, 'runs');
    writeFileSync(this.#runs, '');
    this.#writeSettings();
  }

  /** Kills, and counts in between; resolves once all hosts have left and nothing runs any more. */
  async run(runMs: number, settles: number, onSettled: () => void): Promise<readonly string[]> {
    const { folder, mark, verdict } = this.#setup;
    const living = Array.from({ length: clientCount }, (_, index) => this.#keepHost(index));
    for (let settled = 0; settled < settles; settled += 1) {
      await this.#disturb(runMs / settles);
      await this.#settle();
      onSettled();
    }
    this.#isOver = true;
    for (const host of this.#hosts) host.leave();
    if (!(await within(settleMs, Promise.all(living)))) verdict.broken('a client did not end');
    // The first of the two ways to end is the usual one, but takes its time.
    if (runMs > 2 * unusedMs) await survivorsOf(() => this.#troupes(), unusedMs + goneMs);
    else for (const pid of this.#troupes()) process.kill(pid, 'SIGTERM');
    const left = await survivorsOf(() => processesOf(mark, folder), goneMs);
    const leftOver = left.map((pid) => `${pid} ${commandOf(pid)}`);
    killAll(left);
    return verdict.close(this.#runsOnDisk(), leftOver);
  }

  #writeSettings(): void {
    const { folder, mark } = this.#setup;
    const entryOf = (server: string, more = {}): object => ({
      command: process.execPath,
      args: [serverFile, server, this.#runs],
      env: { TROUPE_CLIENTS: mark },
      ...more,
    });
    const open = {
      ...Object.fromEntries(shared.map((server) => [server, entryOf(server)])),
      own: entryOf('own', { sharing: 'client' }),
      halves: entryOf('halves', { env: { TROUPE_CLIENTS: mark, HALF: '${HALF}' } }),
    };
    const write = (file: string, mcpServers: object, more = {}): void =>
      writeFileSync(path.join(folder, file), JSON.stringify({ mcpServers, ...more }));
    const mcp = { policy: patient };
    // A user's own settings need no approval, those of a project do.
    write('some.json', open, { mcp });
    write('all.json', { ...open, guarded: entryOf('guarded') }, { mcp });
    write('.mcp.json', { guarded: entryOf('guarded') });
  }

  /** Keeps one of the twenty places taken. */
  async #keepHost(place: number): Promise<void> {
    const { cli, folder, verdict } = this.#setup;
    const half = place % 2;
    const state = ['--project', folder, '--state-dir', path.join(folder, 'state')];
    while (!this.#isOver) {
      this.#joined += 1;
      const settings = path.join(folder, half === 0 ? 'all.json' : 'some.json');
      const host = new Host({
        name: `client${this.#joined}`,
        words: [cli, 'serve', '--config', settings, ...state],
        env: { ...this.#env, HALF: String(half) },
        servers: names.filter((name) => half === 0 || name !== 'guarded'),
        verdict,
      });
      this.#hosts.add(host);
      const working = Array.from({ length: callersEach }, () => this.#keepCalling(host));
      await host.ended;
      this.#hosts.delete(host);
      await Promise.all(working);
    }
  }

  async #keepCalling(host: Host): Promise<void> {
    await host.start();
    while (!host.isLeaving) {
      const server = this.#pick(names);
      const patienceMs = this.#chance() < 0.05 ? Math.floor(this.#chance() * 50) : undefined;
      await this.#call(host, server, patienceMs);
      await pause(this.#chance() * betweenCallsMs);
    }
  }

  #call(host: Host, server: string, patienceMs?: number): ReturnType<Host['call']> {
    this.#calls += 1;
    return host.call(String(this.#calls), server, {
      asks: this.#chance() < 0.3,
      ms: Math.floor(this.#chance() * longestCallMs),
      ...(patienceMs !== undefined && { patienceMs }),
    });
  }

  async #disturb(ms: number): Promise<void> {
    const until = performance.now() + ms;
    for (;;) {
      await pause(this.#chance() * 2 * betweenKillsMs);
      const now = performance.now();
      if (now > until) return;
      if ((now - this.#startedAt) / 1_000 > troupeKillAt(this.counts.troupes)) {
        killAll(this.#troupes());
        this.counts.troupes += 1;
      } else if (this.#chance() < 0.5) {
        const servers = processesWith(serverFile, 'cmdline');
        killAll(servers.length === 0 ? [] : [this.#pick(servers)]);
        this.counts.servers += 1;
      } else if (this.#chance() < 0.75) {
        this.#pick([...this.#hosts]).kill();
        this.counts.clients += 1;
      } else {
        this.#pick([...this.#hosts]).leave();
        this.counts.left += 1;
      }
    }
  }

  /** Waits until every client reaches its servers again, and counts these servers' processes. */
  async #settle(): Promise<void> {
    const { verdict } = this.#setup;
    const deadline = performance.now() + settleMs;
    const hosts = [...this.#hosts].filter((host) => !host.isLeaving);
    const isReached = async (host: Host, server: string): Promise<boolean> => {
      while (performance.now() < deadline) {
        if ((await this.#call(host, server)) === 'ok') return true;
        await pause(betweenCallsMs);
      }
      return false;
    };
    await Promise.all(
      hosts.flatMap((host) =>
        host.servers.map(async (server) => {
          if (!(await isReached(host, server)))
            verdict.broken(`client ${host.name} does not reach ${server} again`);
        }),
      ),
    );
    for (const server of names) {
      const most = { own: clientCount, halves: 2 }[server as string] ?? 1;
      const find = (): readonly number[] => this.#processesOf(server).slice(most);
      await survivorsOf(find, goneMs);
      verdict.settled({ server, processes: this.#processesOf(server).length, most });
    }
  }

  #processesOf(server: string): readonly number[] {
    return processesWith(`${serverFile}\0${server}\0${this.#runs}`, 'cmdline');
  }

  #troupes(): readonly number[] {
    const { folder } = this.#setup;
    return processesWith('__background', 'cmdline').filter((pid) =>
      commandOf(pid).includes(folder),
    );
  }

  #runsOnDisk(): readonly Run[] {
    const lines = readFileSync(this.#runs, 'utf8').trimEnd().split('\n');
    return lines.map((line) => {
      const [call = '', server = '', client = ''] = line.split(' ');
      return { call, server, client };
    });
  }

  #chance(): number {
    this.#draws += 1;
    return chanceOf(this.#setup.seed, this.#draws);
  }

  #pick<Item>(items: readonly Item[]): Item {
    return items[Math.floor(this.#chance() * items.length)] as Item;
  }
}

/** The second at which the troupe is killed for this time, counted from 0. */
function troupeKillAt(index: number): number {
  const { atSecond, everySeconds } = troupeKills;
  const cycle = Math.floor(index / atSecond.length);
  return cycle * everySeconds + Number(atSecond[index % atSecond.length]);
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ').trim();
  } catch {
    return '';
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<boolean> {
  const controller = new AbortController();
  const { signal } = controller;
  const limit = pause(ms, false, { signal }).catch(() => false);
  const isDone = await Promise.race([work.then(() => true), limit]);
  controller.abort();
  return isDone;
}
