/** The tools of one row: a fresh troupe of real servers, and its observable behaviour. */

import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import {
  createTroupe,
  type ServerState,
  type ServerStatus,
  type Troupe,
  TroupeError,
  type TroupeOptions,
} from '../../src/index.ts';
import { processesWith, survivorsOf } from '../lab/processes.ts';
import { type Canary, startCanary } from './canary.ts';
import { EventLog } from './event-log.ts';
import type { Seen } from './expectation.ts';
import { type HttpPeer, startHttpPeer } from './http-peer.ts';
import { scaledClock } from './scaled-clock.ts';
import { TcpProxy } from './tcp-proxy.ts';
import { type TroupeLaunch, TroupeProcess } from './troupe-process.ts';
import { until } from './until.ts';

export type Entry = Readonly<Record<string, unknown>>;

export interface Peer {
  /** For `mcpServers`. */
  readonly entry: Entry;
  readonly log: EventLog;
}

/** The outcome of a call. */
export interface CallEnd {
  readonly isOk: boolean;
  readonly code?: string;
  readonly outcome?: string;
  readonly message: string;
  readonly text?: string;
  readonly attempts?: number;
  readonly retryAfterMs?: number;
  readonly ms: number;
}

type Servers = Readonly<Record<string, Peer | HttpPeer | Entry>>;

export interface StagePlace {
  /** In the environment of all the row's processes. */
  readonly mark: string;
  /** For everything the row writes; removed after its last process has exited. */
  readonly folder: string;
  readonly serversFolder: string;
  /** Compiled command line. */
  readonly cliFile: string;
}

type Call = [tool: string, args?: Readonly<Record<string, unknown>>, timeoutMs?: number];

export class Stage {
  readonly folder: string;
  /** Lines of the servers' stderr, prefixed with the server's name. */
  readonly remarks: string[] = [];
  /** The troupe's own log lines about its servers, prefixed in the same way. */
  readonly warnings: string[] = [];
  /** Names of the servers whose tools changed, one entry per event. */
  readonly toolChanges: string[] = [];

  readonly #place: StagePlace;
  readonly #speed: number;
  readonly #history = new Map<string, ServerStatus[]>();
  readonly #cleaners: (() => Promise<unknown> | void)[] = [];
  readonly #expectedWarnings: RegExp[] = [];
  #peers = 0;
  #troupe: Troupe | undefined;

  constructor(place: StagePlace, { speed = 1 }: { readonly speed?: number }) {
    this.#place = place;
    this.folder = place.folder;
    this.#speed = speed;
  }

  /** The troupe of the row; each row has one. */
  get troupe(): Troupe {
    if (this.#troupe === undefined) throw new Error('The row has not started its troupe.');
    return this.#troupe;
  }

  /** A hostile server over stdio. */
  stdio(mode: string, args: readonly string[] = [], more: Entry = {}): Peer {
    const script = path.join(this.#place.serversFolder, 'hostile-stdio.mjs');
    const words = [script, mode, ...args];
    return this.#local(process.execPath, words, more);
  }

  /** The smallest server, for rows with many of them. */
  least(more: Entry = {}): Peer {
    return this.#local(path.join(this.#place.serversFolder, 'least-server.sh'), [], more);
  }

  /** Any program, marked as one of ours. */
  #local(command: string, args: readonly string[], { env, ...more }: Entry): Peer {
    const log = this.#newLog();
    const marks = { [this.#place.mark]: '1', FAULTS_LOG: log.file };
    const entry = { command, args, env: { ...marks, ...(env as object) }, ...more };
    return { entry, log };
  }

  /** Any program, with the row's mark. */
  program(command: string, args: readonly string[], more: Entry = {}): Peer {
    return this.#local(command, args, more);
  }

  /** A hostile server over HTTP, in a process of its own. */
  async http(mode: string, args: readonly string[] = []): Promise<HttpPeer> {
    const script = path.join(this.#place.serversFolder, 'hostile-http.mjs');
    const peer = await startHttpPeer(script, [mode, ...args], this.#newLog(), this.#place.mark);
    this.cleanUp(() => peer.kill());
    return peer;
  }

  async proxy(port: number): Promise<TcpProxy> {
    const proxy = await TcpProxy.start(port);
    this.cleanUp(() => proxy.close());
    return proxy;
  }

  async canary(): Promise<Canary> {
    const canary = await startCanary();
    this.cleanUp(() => canary.close());
    return canary;
  }

  cleanUp(action: () => Promise<unknown> | void): void {
    this.#cleaners.push(action);
  }

  /** Starts the troupe with these servers. */
  start(servers: Servers, more: Entry = {}): Troupe {
    const settings = { mcpServers: entriesOf(servers), ...more };
    const options: TroupeOptions = {
      projectRoot: this.folder,
      settings,
      ...(this.#speed === 1 ? {} : { clock: scaledClock(this.#speed) }),
    };
    const troupe = createTroupe(options);
    troupe.on('status.changed', ({ status }) => {
      const known = this.#history.get(status.name) ?? [];
      this.#history.set(status.name, [...known, status]);
    });
    troupe.on('server.log', ({ server, line, stream }) => {
      const lines = stream === 'troupe' ? this.warnings : this.remarks;
      lines.push(`${server}: ${line}`);
    });
    troupe.on('tools.changed', ({ servers: names }) => this.toolChanges.push(names.join(' ')));
    this.#troupe = troupe;
    return troupe;
  }

  /** Writes the settings file of the command line. */
  write(servers: Servers): void {
    writeFileSync(this.#settingsFile, JSON.stringify({ mcpServers: entriesOf(servers) }));
  }

  get #settingsFile(): string {
    return path.join(this.folder, 'troupe.json');
  }

  /** Runs the command line as a process, with these servers in its settings. */
  up(servers: Servers, more: Pick<TroupeLaunch, 'words' | 'wrap' | 'node'> = {}): TroupeProcess {
    this.write(servers);
    const process = new TroupeProcess({
      cliFile: this.#place.cliFile,
      folder: this.folder,
      settings: this.#settingsFile,
      mark: this.#place.mark,
      ...more,
    });
    this.cleanUp(() => process.kill());
    return process;
  }

  status(server: string): ServerStatus {
    const status = this.troupe.status(server);
    if (status === undefined) throw new Error(`There is no server ${server}.`);
    return status;
  }

  /** Every status the server has had, oldest first. */
  history(server: string): readonly ServerStatus[] {
    return this.#history.get(server) ?? [];
  }

  /** Resolves once the server is, or has been since its start, in one of these states. */
  async reaches(server: string, ...states: readonly ServerState[]): Promise<ServerStatus> {
    const isThere = ({ state }: ServerStatus): boolean => states.includes(state);
    return until(
      () => this.history(server).find(isThere),
      `${server} to be ${states.join(' or ')}`,
    );
  }

  /** Resolves once the server is in one of these states. */
  async rests(server: string, ...states: readonly ServerState[]): Promise<ServerStatus> {
    return until(
      () => {
        const status = this.troupe.status(server);
        return status !== undefined && states.includes(status.state) ? status : undefined;
      },
      `${server} to rest in ${states.join(' or ')}`,
    );
  }

  /** The public fields of a status. */
  seen(status: ServerStatus): Seen {
    const { state, reason, lastError } = status;
    return { state, reason, code: lastError?.code, says: lastError?.message };
  }

  async call(server: string, ...[tool, args = {}, timeoutMs]: Call): Promise<CallEnd> {
    const startedAt = performance.now();
    const took = (): number => Math.round(performance.now() - startedAt);
    try {
      const options = timeoutMs === undefined ? {} : { timeoutMs };
      const { result, meta } = await this.troupe.callServerTool(server, tool, args, options);
      const text = result.content.map((block) => String(block['text'] ?? block['type'])).join('');
      return {
        isOk: result.isError !== true,
        message: '',
        text,
        attempts: meta.attempts,
        ms: took(),
      };
    } catch (error) {
      if (!(error instanceof TroupeError)) throw error;
      const { code, outcome, message, retryAfterMs } = error;
      const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
      return { isOk: false, code, outcome, message, ...wait, ms: took() };
    }
  }

  /** The row's living processes, except HTTP servers and proxies. */
  processes(): readonly number[] {
    return processesWith(this.#place.mark, 'environ');
  }

  /** The number of these processes that are still alive after the limit. */
  async leftOver(limitMs: number): Promise<number> {
    return (await survivorsOf(() => this.processes(), limitMs)).length;
  }

  /** Measures by how many megabytes the peak of the host's memory grows. */
  measureMemory(): () => number {
    const before = process.resourceUsage().maxRSS;
    return () => Math.round((process.resourceUsage().maxRSS - before) / 1_024);
  }

  /** Measures how long the host's event loop was blocked at most, in milliseconds. */
  measureStalls(): () => number {
    const delays = monitorEventLoopDelay({ resolution: 5 });
    delays.enable();
    return () => Math.round(delays.max / 1e6);
  }

  /** Calls a server in a loop; the returned function stops it and returns the p99 in milliseconds. */
  keepCalling(server: string): () => Promise<number> {
    const times: number[] = [];
    let isOver = false;
    const loop = (async () => {
      while (!isOver) {
        const { isOk, ms } = await this.call(server, 'echo');
        times.push(isOk ? ms : Number.POSITIVE_INFINITY);
        await pause(5);
      }
    })();
    return async () => {
      isOver = true;
      await loop;
      const sorted = times.sort((a, b) => a - b);
      return sorted[Math.floor(sorted.length * 0.99)] ?? 0;
    };
  }

  /** Declares a warning to the host as expected; any other is a fault. */
  expectWarning(pattern: RegExp): void {
    this.#expectedWarnings.push(pattern);
  }

  isExpectedWarning(message: string): boolean {
    return this.#expectedWarnings.some((pattern) => pattern.test(message));
  }

  /** Ends everything the row started except the troupe's servers, which the troupe must end. */
  async clear(): Promise<void> {
    for (const clean of this.#cleaners.reverse()) await clean();
  }

  /** Stops the troupe and returns the time that took; undefined if the row has no troupe. */
  async stop(): Promise<number | undefined> {
    if (this.#troupe === undefined) return undefined;
    const from = performance.now();
    await this.#troupe.stop();
    return Math.round(performance.now() - from);
  }

  #newLog(): EventLog {
    this.#peers += 1;
    return new EventLog(path.join(this.folder, `events-${this.#peers}.ndjson`));
  }
}

function entriesOf(servers: Servers): Entry {
  return Object.fromEntries(
    Object.entries(servers).map(([name, server]) => [
      name,
      'entry' in server ? server['entry'] : server,
    ]),
  );
}
