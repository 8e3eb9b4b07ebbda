/** Keeps a troupe busy: calls without a pause, edits, restarts, kills. Repeatable but for the timing. */

import { setTimeout as pause } from 'node:timers/promises';

import { type Troupe, TroupeError } from '../../src/index.ts';
import { chanceOf } from '../../src/policies/chance.ts';
import type { Member, Settings } from './cast.ts';
import type { CallCounts } from './verdict.ts';

// Enough that every server has calls under way at any moment when something happens to it.
const workerCount = 6;
const betweenCallsMs = 15;
const callTimeoutMs = 1_500;
// What a call may take beyond its own time, on a machine that does something else as well.
const settleMs = callTimeoutMs + 10_000;
// Every tenth call changes its mind.
const abortShare = 0.1;
const betweenDisturbancesMs = 1_200;

type Counts = { -readonly [Name in keyof CallCounts]: number };

export class Workload {
  readonly counts: Counts = {
    sent: 0,
    ok: 0,
    answered: 0,
    unknown: 0,
    refused: 0,
    mixedUp: 0,
    odd: 0,
  };
  readonly disturbances: Record<string, number> = {};
  readonly codes: Record<string, number> = {};
  readonly #troupe: Troupe;
  readonly #members: readonly Member[];
  readonly #seed: number;
  readonly #editions = new Map<string, number>();
  readonly #absent = new Set<string>();
  #draws = 0;
  #isOver = false;
  #underWay = 0;
  /** Settles when the rest is over; absent while there is work. */
  #rest: Promise<void> | undefined;

  constructor(troupe: Troupe, members: readonly Member[], seed: number) {
    this.#troupe = troupe;
    this.#members = members;
    this.#seed = seed;
  }

  /** Settles once {@link end} was asked for, calls had the time to settle and every server is back. */
  async run(): Promise<void> {
    const calling = Promise.all(Array.from({ length: workerCount }, () => this.#keepCalling()));
    await this.#keepDisturbing();
    // A call that never settles must be counted as one, and not be waited for.
    const waiting = new AbortController();
    await Promise.race([
      calling,
      pause(settleMs, undefined, { signal: waiting.signal, ref: false }),
    ]);
    waiting.abort();
    await this.#bringAllBack();
    for (const { name } of this.#members) this.#send('server.restart', name);
  }

  end(): void {
    this.#isOver = true;
  }

  /** Looks at the troupe while it has nothing to do: no call is under way, nothing is disturbed. */
  async atRest<Seen>(look: () => Promise<Seen>): Promise<Seen> {
    let resume = (): void => {};
    this.#rest = new Promise((resolve) => {
      resume = resolve;
    });
    const untilMs = performance.now() + settleMs;
    while (this.#underWay > 0 && performance.now() < untilMs) await pause(10);
    try {
      return await look();
    } finally {
      this.#rest = undefined;
      resume();
    }
  }

  async #bringAllBack(): Promise<void> {
    this.#absent.clear();
    this.#apply();
    // No event says so: the edit may have taken back one that no pass had seen yet.
    while (this.#known().length < this.#members.length) await pause(20);
  }

  /** Those that the troupe knows at this moment. */
  #known(): readonly Member[] {
    return this.#members.filter(({ name }) => this.#troupe.status(name) !== undefined);
  }

  async #keepCalling(): Promise<void> {
    while (!this.#isOver) {
      await this.#rest;
      const member = this.#pick(this.#members);
      this.#underWay += 1;
      await this.#call(member, this.#pick(member.tools));
      this.#underWay -= 1;
      await pause(betweenCallsMs);
    }
  }

  async #call({ name }: Member, tool: string): Promise<void> {
    this.counts.sent += 1;
    const text = `call ${this.counts.sent}`;
    const controller = new AbortController();
    const timer =
      this.#chance() < abortShare
        ? setTimeout(() => controller.abort(), this.#chance() * 20)
        : undefined;
    const options = { timeoutMs: callTimeoutMs, signal: controller.signal };
    await this.#troupe.callServerTool(name, tool, { text }, options).then(
      ({ result }) => {
        this.counts.ok += 1;
        if (!JSON.stringify(result).includes(`"${text}"`)) this.counts.mixedUp += 1;
      },
      (error: unknown) => {
        this.counts[this.#kindOf(error)] += 1;
      },
    );
    clearTimeout(timer);
  }

  #kindOf(error: unknown): keyof Counts {
    if (!(error instanceof TroupeError)) return 'odd';
    this.codes[error.code] = (this.codes[error.code] ?? 0) + 1;
    const kinds = { unknown: 'unknown', executed: 'answered', not_executed: 'refused' } as const;
    return kinds[error.outcome];
  }

  async #keepDisturbing(): Promise<void> {
    const kinds = {
      edit: () => this.#edit(),
      remove: () => this.#toggle(),
      restart: () => this.#send('server.restart'),
      reconnect: () => this.#send('server.reconnect'),
      stop: () => this.#stopAndStart(),
      kill: () => this.#kill(),
      // They would come to rest, suspended; a soak wants them to go on.
      revive: () => this.#revive(),
    };
    while (!this.#isOver) {
      await this.#rest;
      const [kind, disturb] = this.#pick(Object.entries(kinds));
      this.disturbances[kind] = (this.disturbances[kind] ?? 0) + 1;
      disturb();
      await pause(betweenDisturbancesMs);
    }
  }

  #edit(): void {
    const { name } = this.#pick(this.#members);
    this.#editions.set(name, (this.#editions.get(name) ?? 0) + 1);
    this.#apply();
  }

  /** Removes a server, or brings back the one that is away. */
  #toggle(): void {
    if (this.#absent.size > 0) this.#absent.clear();
    else this.#absent.add(this.#pick(this.#members).name);
    this.#apply();
  }

  #send(
    type: 'server.restart' | 'server.reconnect',
    server = this.#pick(this.#known()).name,
  ): void {
    this.#troupe.send({ type, server });
  }

  #stopAndStart(): void {
    const { name: server } = this.#pick(this.#known());
    this.#troupe.send({ type: 'server.stop', server });
    this.#troupe.send({ type: 'server.start', server });
  }

  #kill(): void {
    const pids = this.#members.flatMap(({ name }) => this.#troupe.status(name)?.pid ?? []);
    if (pids.length === 0) return;
    try {
      process.kill(this.#pick(pids), 'SIGKILL');
    } catch {
      // It left in between.
    }
  }

  #revive(): void {
    for (const { name } of this.#members) {
      const state = this.#troupe.status(name)?.state;
      if (state === 'suspended' || state === 'failed') this.#send('server.restart', name);
    }
  }

  #apply(): void {
    const settings = settingsOf(this.#members, this.#editions, this.#absent);
    this.#troupe.send({ type: 'settings.changed', settings });
  }

  #chance(): number {
    this.#draws += 1;
    return chanceOf(this.#seed, this.#draws);
  }

  #pick<Value>(values: readonly Value[]): Value {
    return values[Math.floor(this.#chance() * values.length)] as Value;
  }
}

export function settingsOf(
  members: readonly Member[],
  editions: ReadonlyMap<string, number> = new Map(),
  absent: ReadonlySet<string> = new Set(),
): Settings {
  const present = members.filter(({ name }) => !absent.has(name));
  return {
    mcpServers: Object.fromEntries(
      present.map(({ name, entry }) => [name, entry(editions.get(name) ?? 0)]),
    ),
  };
}
