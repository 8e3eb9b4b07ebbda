import { afterEach, describe, expect, it } from 'vitest';

import { createRelisting } from '../../../../actors/session/catalog/relisting.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { type Bench, callOptions, createBench, fixtureSpec } from '../bench.ts';

let bench: Bench | undefined;
afterEach(() => bench?.stop());

describe('lists that come after the tools', () => {
  it('cost the tools nothing when they fail, and are told with the reason', async () => {
    bench = createBench(fixtureSpec('bad-prompts'))();
    bench.send('session.open');
    await bench.next('session.opened');
    bench.send('session.list');
    expect(await bench.next('session.listed')).toMatchObject({ toolCount: 4 });
    await bench.logged('no prompts today');
    await bench.logged('Not all resources are listed');
    expect(bench.side).toEqual({
      resources: [
        { uri: 'a:1', name: 'one' },
        { uri: 'a:2', name: 'a:2' },
      ],
      // It does not know the request, and so has none.
      resourceTemplates: [],
    });
    const impaired = bench.facts.filter((fact) => fact.type === 'session.impaired');
    expect(impaired.map(({ reason }) => reason)).toEqual(['partialCatalog', 'partialCatalog']);
    expect(impaired.every(({ failure }) => failure?.kind === 'protocol')).toBe(true);
    expect(bench.lines.find((line) => line.includes('resources'))).toContain(
      'resource "none": has no address; resource "again" is listed twice',
    );
  });

  it('are not asked of a server that does not offer them', async () => {
    bench = createBench(fixtureSpec('ok'))();
    bench.send('session.open');
    await bench.next('session.opened');
    bench.send('session.list');
    await bench.next('session.listed');
    expect(bench.side).toEqual({ resources: [], resourceTemplates: [], prompts: [] });
    const request = { method: 'prompts/get', params: { name: 'greet' } } as const;
    expect(await bench.handle().request(request, callOptions())).toEqual({
      failure: {
        reason: 'unsupported',
        written: false,
        message: 'The server does not offer prompts.',
      },
    });
  });
});

/** Loads that end when the test says so. */
function createLoads() {
  const clock = new VirtualClock();
  const ends: ((isDone: boolean) => void)[] = [];
  const relisting = createRelisting(clock, () => new Promise((resolve) => ends.push(resolve)));
  return {
    clock,
    relisting,
    /** How many were begun. */
    begun: () => ends.length,
    end: (isDone = true): Promise<void> => {
      ends.at(-1)?.(isDone);
      return clock.advanceAndSettle(0);
    },
  };
}

describe('listing again', () => {
  it('never overlaps, and a storm of wishes is one more list, a second later', async () => {
    const { relisting, begun, end, clock } = createLoads();
    for (let count = 0; count < 1_000; count += 1) relisting.wish();
    expect(begun()).toBe(1);
    await end();
    for (let count = 0; count < 1_000; count += 1) relisting.wish();
    await clock.advanceAndSettle(999);
    expect(begun()).toBe(1);
    await clock.advanceAndSettle(1);
    expect(begun()).toBe(2);
    await end();
    await clock.advanceAndSettle(600_000);
    expect(begun()).toBe(2);
    relisting.wish();
    expect(begun()).toBe(3);
  });

  it('is tried again after a failure, ever more rarely, and sooner when the server speaks', async () => {
    const { relisting, begun, end, clock } = createLoads();
    relisting.wish();
    for (const [index, waitMs] of [30_000, 60_000, 120_000, 240_000, 300_000, 300_000].entries()) {
      await end(false);
      await clock.advanceAndSettle(waitMs - 1);
      expect(begun()).toBe(index + 1);
      await clock.advanceAndSettle(1);
      expect(begun()).toBe(index + 2);
    }
    await end(false);
    relisting.wish();
    await clock.advanceAndSettle(1_000);
    expect(begun()).toBe(8);
    await end();
    relisting.wish();
    await clock.advanceAndSettle(1_000);
    await end(false);
    // A success in between begins the waits anew.
    await clock.advanceAndSettle(30_000);
    expect(begun()).toBe(10);
  });

  it('ends with the session', async () => {
    const { relisting, begun, end, clock } = createLoads();
    relisting.wish();
    relisting.wish();
    relisting.stop();
    await end(false);
    await clock.advanceAndSettle(600_000);
    relisting.wish();
    expect(begun()).toBe(1);
    expect(clock.pendingCount).toBe(0);
  });
});
