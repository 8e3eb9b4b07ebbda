/** Keeps a troupe busy with calls, edits, restarts and kills. Equal seeds make equal choices. */

import { setTimeout as pause } from 'node:timers/promises';

import { type Troupe, TroupeError } from '../../src/index.ts';
import { chanceOf } from '../../src/policies/seeded-random.ts';
import { killAll } from '../../test/lab/processes.ts';
import type { Member } from './servers.ts';
import type { CallCounts } from './verdict.ts';

// Enough that every server has calls in flight whenever something happens to it.
const workerCount = 6;
const betweenCallsMs = 15;
const callTimeoutMs = 1_500;
// Beyond its own deadline, a call may take this much longer on a busy machine.
const settleMs = callTimeoutMs + 10_000;
// Every tenth call is aborted.
const abortShare = 0.1;
const betweenDisturbancesMs = 1_200;

export class Workload {
  readonly counts: Record<keyof CallCounts, number> = {
    sent: 0,
    ok: 0,
    answered: 0,
    unknown: 0,
    refused: 0,
    mixedUp: 0,
    odd: 0,
  };
  readonly #troupe: Troupe;
  readonly #members: readonly Member[];
  readonly #seed: number;
  readonly #editions = new Map<string, number>();
  /** The name of the server that is currently removed from the settings. */
  #absent: string | undefined;
  #draws = 0;
  #isOver = false;
  #underWay = 0;
  /** Resolves when the pause is over; undefined while there is work. */
  #rest: Promise<unknown> | undefined;

  constructor(troupe: Troupe, members: readonly Member[], seed: number) {
    this.#troupe = troupe;
    this.#members = members;
    this.#seed = seed;
  }

  /** Resolves after {@link end}, once calls had time to settle and every server is back. */
  async run(): Promise<void> {
    const calling = Array.from({ length: workerCount }, () => this.#keepCalling());
    await this.#keepDisturbing();
    // A call that never settles is counted, not awaited.
    await Promise.race([Promise.all(calling), pause(settleMs, undefined, { ref: false })]);
    this.#absent = undefined;
    this.#apply();
    // No event reports this: the edit may undo one that no pass has read yet.
    while (this.#known().length < this.#members.length) await pause(20);
    for (const { name } of this.#members) this.#send('server.restart', name);
  }

  end(): void {
    this.#isOver = true;
  }

  /** Inspects the troupe while no call is in flight and nothing is disturbed. */
  async atRest<Seen>(inspect: () => Promise<Seen>): Promise<Seen> {
    const untilMs = performance.now() + settleMs;
    const seen = (async () => {
      while (this.#underWay > 0 && performance.now() < untilMs) await pause(10);
      return inspect();
    })();
    this.#rest = seen;
    try {
      return await seen;
    } finally {
      this.#rest = undefined;
    }
  }

  /** The servers that the troupe knows at this moment. */
  #known(): readonly Member[] {
    return this.#members.filter(({ name }) => this.#troupe.status(name) !== undefined);
  }

  async #keepCalling(): Promise<void> {
    while (!this.#isOver) {
      await this.#rest;
      this.#underWay += 1;
      await this.#call(this.#pick(this.#members));
      this.#underWay -= 1;
      await pause(betweenCallsMs);
    }
  }

  async #call({ name, tools }: Member): Promise<void> {
    this.counts.sent += 1;
    const text = `call ${this.counts.sent}`;
    const signal =
      this.#chance() < abortShare
        ? AbortSignal.timeout(Math.floor(this.#chance() * 20))
        : new AbortController().signal;
    const options = { timeoutMs: callTimeoutMs, signal };
    try {
      const tool = this.#pick(tools);
      const { result } = await this.#troupe.callServerTool(name, tool, { text }, options);
      this.counts.ok += 1;
      if (!JSON.stringify(result).includes(`"${text}"`)) this.counts.mixedUp += 1;
    } catch (error) {
      const kinds = { unknown: 'unknown', executed: 'answered', not_executed: 'refused' } as const;
      this.counts[error instanceof TroupeError ? kinds[error.outcome] : 'odd'] += 1;
    }
  }

  async #keepDisturbing(): Promise<void> {
    const disturbances = [
      () => this.#edit(),
      () => this.#toggle(),
      () => this.#send('server.restart', this.#pick(this.#known()).name),
      () => this.#send('server.reconnect', this.#pick(this.#known()).name),
      () => this.#stopAndStart(),
      () => killAll([this.#pick(this.#known().flatMap((it) => this.#pidOf(it)))]),
      // Otherwise faulty servers would end up suspended and do nothing.
      () => this.#revive(),
    ];
    while (!this.#isOver) {
      await this.#rest;
      this.#pick(disturbances)();
      await pause(betweenDisturbancesMs);
    }
  }

  #pidOf({ name }: Member): readonly number[] {
    const { pid } = this.#troupe.status(name) ?? {};
    return pid === undefined ? [] : [pid];
  }

  #edit(): void {
    const { name } = this.#pick(this.#members);
    this.#editions.set(name, (this.#editions.get(name) ?? 0) + 1);
    this.#apply();
  }

  /** Removes a server, or restores the removed one. */
  #toggle(): void {
    this.#absent = this.#absent === undefined ? this.#pick(this.#members).name : undefined;
    this.#apply();
  }

  #send(type: 'server.restart' | 'server.reconnect', server: string): void {
    this.#troupe.send({ type, server });
  }

  #stopAndStart(): void {
    const { name: server } = this.#pick(this.#known());
    this.#troupe.send({ type: 'server.stop', server });
    this.#troupe.send({ type: 'server.start', server });
  }

  #revive(): void {
    for (const { name } of this.#members) {
      const state = this.#troupe.status(name)?.state;
      if (state === 'suspended' || state === 'failed') this.#send('server.restart', name);
    }
  }

  #apply(): void {
    const present = this.#members.filter(({ name }) => name !== this.#absent);
    const settings = settingsOf(present, this.#editions);
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
): Readonly<Record<string, unknown>> {
  return {
    mcpServers: Object.fromEntries(
      members.map(({ name, entry }) => [name, entry(editions.get(name) ?? 0)]),
    ),
  };
}
