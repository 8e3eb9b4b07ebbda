import { describe, expect, it, onTestFinished } from 'vitest';
import type { WatchListener } from '../../../actors/files/watcher.ts';
import {
  createSettingsReader,
  type SettingsReader,
} from '../../../actors/settings/last-good-settings.ts';
import type { Settings } from '../../../src/domain/settings.ts';
import { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { type BenchPorts, namesOf, serversText, startSettings } from './bench.ts';

const file = '/me/troupe.json';
const ports = { files: [{ file, scope: 'config' }], projectRoot: '/project' } as const;

/** A source on virtual time. */
function start(more: Partial<BenchPorts> = {}) {
  const clock = new VirtualClock();
  let text = serversText({ a: 'x' });
  let listener: WatchListener | undefined;
  let isWatching = false;
  const bench = startSettings({
    ...ports,
    clock,
    readFile: async () => ({ text }),
    watch: (_files, changes) => {
      listener = changes;
      isWatching = true;
      return () => {
        isWatching = false;
      };
    },
    ...more,
  });
  onTestFinished(() => bench.stop());
  return {
    ...bench,
    clock,
    isWatching: () => isWatching,
    write(name: string) {
      text = serversText({ [name]: 'x' });
      listener?.changed();
    },
    advance: (ms: number) => clock.advanceAndSettle(ms),
    times: () => bench.facts.map(({ at }) => at),
    lastNames: () => namesOf(bench.facts.at(-1)?.settings as Settings),
  };
}

describe('a settings source that starts', () => {
  it('reads immediately and debounces edits from the start', async () => {
    const source = start();
    await source.advance(0);
    expect(source.lastNames()).toEqual(['a']);
    source.write('b');
    source.write('c');
    await source.advance(299);
    expect(source.times()).toEqual([0]);
    await source.advance(1);
    source.write('d');
    await source.advance(300);
    expect(source.lastNames()).toEqual(['d']);
    expect(source.times()).toEqual([0, 300, 600]);
    expect(source.clock.pendingCount).toBe(0);
  });

  it('yields before it emits an edit, but not before its first fact', async () => {
    const yields: (() => void)[] = [];
    const source = start({
      yieldToServers: () => new Promise<void>((resolve) => yields.push(resolve)),
    });
    await source.advance(0);
    expect(source.times()).toEqual([0]);

    source.write('b');
    await source.advance(300);
    expect(source.times()).toEqual([0]);
    yields.shift()?.();
    await source.advance(0);
    expect(source.lastNames()).toEqual(['b']);

    source.write('c');
    await source.advance(300);
    source.leave();
    yields.shift()?.();
    await source.advance(0);
    expect(source.times()).toEqual([0, 300]);
  });

  it('reads again for a command that arrives during the first read', async () => {
    const source = start();
    source.send({ type: 'settings.changed', settings: JSON.parse(serversText({ b: 'y' })) });
    await source.advance(0);
    source.write('c');
    source.send({ type: 'settings.reload' });
    await source.advance(0);
    expect(source.lastNames()).toEqual(['c', 'b']);
    expect(source.times()).toEqual([0, 0]);
  });

  it('reads again when the first read requests it', async () => {
    const reader = createSettingsReader({ ...ports, readFile: async () => ({ text: '{}' }) });
    const reads: number[] = [];
    const asking: SettingsReader = {
      ...reader,
      async read(now, scope) {
        reads.push(now);
        const reading = await reader.read(now, scope);
        return reads.length < 3 ? { ...reading, againInMs: 5_000 } : reading;
      },
    };
    const source = start({ reader: asking });
    await source.advance(300);
    await source.advance(60_000);
    expect(reads).toEqual([0, 300, 5_300]);
  });

  it.each([
    ['before the first read', 0],
    ['after it', 1],
  ])('emits nothing and leaves no timer or watch when stopped %s', async (_when, readings) => {
    const source = start();
    if (readings > 0) await source.next();
    source.write('b');
    source.send({ type: 'settings.reload' });
    source.stop();
    expect(source.clock.pendingCount).toBe(0);
    expect(source.isWatching()).toBe(false);
    await source.advance(10_000);
    expect(source.facts).toHaveLength(readings);
  });
});

describe('an exception in the settings stream', () => {
  it('fails the actor without leaving a timer or watch', async () => {
    const fault = new Error('a fault');
    const reader = createSettingsReader({ ...ports, readFile: async () => ({ text: '{}' }) });
    let reads = 0;
    const failing: SettingsReader = {
      ...reader,
      async read(now, scope) {
        reads += 1;
        if (reads > 1) throw fault;
        return reader.read(now, scope);
      },
    };
    const source = start({ reader: failing });
    await source.advance(0);
    source.write('b');
    await source.advance(300);
    expect(source.failures).toEqual([fault]);
    expect(source.isWatching()).toBe(false);
    expect(source.facts).toHaveLength(1);
  });

  it('fails the actor when the first read throws', async () => {
    const reader = createSettingsReader(ports);
    const fault = new Error('a fault');
    const source = start({ reader: { ...reader, read: () => Promise.reject(fault) } });
    await source.advance(0);
    expect(source.failures).toEqual([fault]);
    expect(source.isWatching()).toBe(false);
    expect(source.clock.pendingCount).toBe(0);
  });
});
