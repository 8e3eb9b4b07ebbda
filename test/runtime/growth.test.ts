/**
 * Counts how much work grows with the number of servers: elements that array methods, maps and sets
 * visit, and events that charts handle. Times depend on the machine; these numbers depend on the
 * code alone.
 */

import { afterEach, describe, expect, it } from 'vitest';
import type { AnyActorRef, AnyMachineSnapshot } from 'xstate';
import { machineIdOf } from '../../machines/xstate/internals.ts';
import { setUp, stageOf } from './stage.ts';

const restores: (() => void)[] = [];
let visits = 0;

function replace(holder: object, name: PropertyKey, wrap: (method: Method) => Method): void {
  const before = Object.getOwnPropertyDescriptor(holder, name) as PropertyDescriptor;
  Object.defineProperty(holder, name, { ...before, value: wrap(before.value as Method) });
  restores.push(() => Object.defineProperty(holder, name, before));
}

type Method = (this: unknown, ...args: unknown[]) => unknown;

const arrayMethods = [
  'map',
  'filter',
  'flatMap',
  'forEach',
  'every',
  'some',
  'find',
  'includes',
  'indexOf',
  'slice',
  'sort',
  'toSorted',
  'reduce',
] as const;

/** Counts from now on until the test ends. */
function countVisits(): void {
  visits = 0;
  for (const name of arrayMethods)
    replace(
      Array.prototype,
      name,
      (method) =>
        function (...args) {
          visits += (this as readonly unknown[]).length;
          return method.apply(this, args);
        },
    );
  for (const collection of [new Map(), new Set()])
    replace(
      Object.getPrototypeOf(collection.entries()) as object,
      'next',
      (method) =>
        function (...args) {
          visits += 1;
          return method.apply(this, args);
        },
    );
}

afterEach(() => {
  for (const restore of restores.splice(0)) restore();
});

async function visitsOf(work: () => Promise<void>): Promise<number> {
  countVisits();
  await work();
  const counted = visits;
  for (const restore of restores.splice(0)) restore();
  return counted;
}

interface Counts {
  readonly start: number;
  readonly change: number;
  readonly stop: number;
  readonly children: number;
}

async function countsWith(count: number): Promise<Counts> {
  const entries = Array.from({ length: count }, (_, index) => [
    `s${index}`,
    { command: 'node', args: [`${index}.mjs`], startup: 'lazy' },
  ]);
  const made = setUp({ settings: { mcpServers: Object.fromEntries(entries) as object } });
  const { troupe } = made;
  let isApplied = false;
  troupe.on('reconciled', () => {
    isApplied = true;
  });
  const start = await visitsOf(async () => {
    // Reading many entries lets the event loop run in between.
    while (!isApplied) {
      await made.advance(10);
      await new Promise((resolve) => {
        setImmediate(resolve);
      });
    }
    await made.advance(1_000);
  });
  expect(troupe.snapshot().servers.filter(({ state }) => state === 'dormant').length).toBe(count);
  const change = await visitsOf(async () => {
    troupe.send({ type: 'server.start', server: 's3' });
    await made.settle();
    troupe.send({ type: 'server.stop', server: 's3' });
    await made.settle();
  });
  expect(made.story.slice(-2)).toEqual(['s3 stopping', 's3 stopped']);
  const { children } = made.rootOf().getSnapshot() as AnyMachineSnapshot;
  const stop = await visitsOf(() => Promise.all([troupe.stop(), made.settle()]).then(() => {}));
  return { start, change, stop, children: Object.keys(children).length };
}

describe('a troupe of lazy servers', () => {
  it('starts and stops in linear time, and changes one server in constant time', async () => {
    const few = await countsWith(10);
    const some = await countsWith(100);
    const many = await countsWith(1_000);
    const exponent = (of: keyof Counts): number => Math.log10(many[of] / some[of]);
    expect(exponent('start')).toBeLessThan(1.15);
    expect(exponent('stop')).toBeLessThan(1.15);
    expect(exponent('change')).toBeLessThan(0.2);
    // XState copies them whenever one of them starts or ends.
    expect([few, some, many].map(({ children }) => children)).toEqual([2, 2, 2]);
  });
});

describe('decisions about all servers in one turn', () => {
  it('read each server once', async () => {
    const some = await decisionsOn(50);
    const many = await decisionsOn(300);
    for (const [place, { type, planned, visits: visited }] of many.entries()) {
      expect({ type, planned }).toEqual({ type, planned: 300 });
      // Six times as many servers: six times the work, rather than 36 times.
      expect(visited / (some[place]?.visits ?? 0)).toBeLessThan(12);
    }
  });
});

/** Decides three times about all of so many gated servers. */
async function decisionsOn(count: number) {
  const names = Array.from({ length: count }, (_, index) => `s${index}`);
  const entries = names.map((name) => [name, { command: 'srv', args: [name], startup: 'lazy' }]);
  const made = await stageOf({
    projectSettings: { mcpServers: Object.fromEntries(entries) as object },
  });
  const { troupe } = made;
  await troupe.ready();
  let planned = 0;
  troupe.on('reconciled', ({ plan }) => {
    planned += plan.length;
  });
  const decisions = [];
  for (const type of ['approval.grant', 'approval.reject', 'approval.revoke'] as const) {
    planned = 0;
    const visited = await visitsOf(async () => {
      for (const server of names) troupe.send({ type, server });
      await made.settle();
    });
    decisions.push({ type, planned, visits: visited });
  }
  return decisions;
}

describe('a troupe of eager servers', () => {
  it('handles a bounded number of events for the start and the stop of each', async () => {
    const few = await eventsWith(10);
    const many = await eventsWith(30);
    const perServer = (of: 'start' | 'stop'): Readonly<Record<string, number>> =>
      Object.fromEntries(
        [...many[of]]
          .map(([chart, count]) => [chart, (count - (few[of].get(chart) ?? 0)) / 20] as const)
          .filter(([, count]) => count > 0)
          .sort(([one], [other]) => (one < other ? -1 : 1)),
      );
    // Start permits are requested and granted together, and returned one by one.
    expect(perServer('start')).toEqual({ server: 4, session: 4, slots: 1, troupe: 2 });
    expect(perServer('stop')).toEqual({ server: 2, session: 2, troupe: 1 });
  });
});

/** Counts the events that charts of each kind handle while so many servers start and stop. */
async function eventsWith(count: number) {
  let counted = new Map<string, number>();
  const names = Array.from({ length: count }, (_, index) => `s${index}`);
  const entries = names.map((name) => [name, { type: 'http', url: `http://localhost/${name}` }]);
  const made = setUp({
    settings: { mcpServers: Object.fromEntries(entries) as object },
    inspect: ({ type, actorRef }) => {
      const chart = machineIdOf(actorRef as AnyActorRef);
      if (type === '@xstate.event' && typeof chart === 'string')
        counted.set(chart, (counted.get(chart) ?? 0) + 1);
    },
  });
  const { troupe } = made;
  await Promise.all([made.advance(1_000), ...names.map((name) => troupe.waitFor(name, 'ready'))]);
  const start = counted;
  counted = new Map();
  await Promise.all([troupe.stop(), made.settle()]);
  return { start, stop: counted };
}
