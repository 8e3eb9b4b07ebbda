/** What the numbers of presets lead to in a whole troupe; what they lead to in charts is in `presets-in-time.test.ts`. */

import { describe, expect, it } from 'vitest';
import type { PresetName } from '../../src/domain/policy.ts';
import { createStore, known, shownBy } from './catalog/stored-catalogs.ts';
import { bringUp, call, crash, pong, remote, servers, stage, tool, watch } from './stage.ts';

/** Under a preset, without its question before each call. */
const under = (preset: PresetName, entries: Parameters<typeof servers>[0], more: object = {}) =>
  servers(entries, { policy: { preset, approval: { perCall: false }, ...more } });

async function callUnder(preset: PresetName, entry: string | typeof remote) {
  const there = await stage({ settings: under(preset, { db: entry }) });
  const made = call(there, 'db');
  await there.settle();
  return { there, made };
}

describe('a preset at work', () => {
  it.each([
    ['CB-24', 'codeBuddy', 2, 2],
    ['CC-10', 'claudeCode', 1, 1],
    ['DA-66', 'dockerResilient', 2, 2],
    ['OMP-77', 'ohMyPi', 2, 2],
    ['QW-85', 'qwenCode', 1, 2],
  ] as const)(
    '%s: a lost call under %s is sent %i times, a harmless one %i times',
    async (_rows, preset, ...counts) => {
      const sent: number[] = [];
      for (const trust of [false, true]) {
        const there = await stage({
          settings: under(preset, { db: { ...remote, trust } }),
          obedient: [],
        });
        there.troupe.send({ type: 'server.start', server: 'db' });
        there.obedient = null;
        there.tools.set('db', [tool('query', { annotations: { idempotentHint: true } })]);
        bringUp(there.sessions.of('db'), there.tools.get('db'));
        call(there, 'db');
        await there.settle();
        there.sessions.of('db').fail(crash());
        await there.advance(6_000);
        sent.push(there.sessions.scripts.reduce((sum, { calls }) => sum + calls.length, 0));
      }
      expect(sent).toEqual(counts);
    },
  );

  it.each([
    ['CB-13', 'codeBuddy', 'db.query', 'query'],
    ['CC-13', 'claudeCode', 'mcp__db__query', 'mcp__db__query'],
    ['DA-65', 'dockerBestEffort', 'db_query', 'db_query'],
    ['OMP-74', 'ohMyPi', 'mcp__db_query', 'mcp__db__query'],
    ['DA-65', 'dockerResilient', 'db_query', 'db_query'],
  ] as const)(
    '%s: a tool under %s is called %s, and reached by %s',
    async (_rows, preset, name, by) => {
      const there = await stage({ settings: under(preset, { db: 'srv' }) });
      there.troupe.send({ type: 'server.start', server: 'db' });
      await there.settle();
      expect(there.troupe.tools().map((each) => each.name)).toEqual([name]);
      const made = watch(there.troupe.callTool(by));
      await there.settle();
      there.sessions.of('db').calls[0]?.answer(pong);
      await there.settle();
      expect(made.state).toBe('done');
    },
  );

  it('OMP-76: a call under ohMyPi is not sent unless the user allows it', async () => {
    const there = await stage({ settings: servers({ db: 'srv' }, { policy: 'ohMyPi' }) });
    const made = call(there, 'db');
    await there.settle();
    expect(made.error).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('QW-07: a lost server under qwenCode shows no tools', async () => {
    const there = await stage({ settings: under('qwenCode', { db: 'srv' }) });
    expect(there.troupe.tools()).toHaveLength(1);
    there.sessions.of('db').fail(crash());
    await there.settle();
    expect(there.troupe.tools()).toEqual([]);
  });

  it('QW-91: long texts under qwenCode are cut at 25,000 characters, and images never', async () => {
    const image = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(100_000) };
    const { there, made } = await callUnder('qwenCode', 'srv');
    const content = [image, { type: 'text', text: 'x'.repeat(30_000) }];
    there.sessions.of('db').calls[0]?.answer({ content });
    await there.settle();
    expect(made.value).toMatchObject({
      result: { content: [image, { type: 'text', text: 'x'.repeat(25_000) }, { type: 'text' }] },
    });
  });

  it('CC-14: a description under claudeCode is cut at 2,048 characters', async () => {
    const there = await stage({ settings: under('claudeCode', { db: 'srv' }) });
    there.sessions.of('db').list([tool('query', { description: 'x'.repeat(9_000) })]);
    await there.settle();
    expect(there.troupe.tools()[0]?.description).toHaveLength(2_048);
  });

  it('CC-12: the last twenty lists are kept under claudeCode', async () => {
    const names = Array.from({ length: 22 }, (_, index) => [`s${index}`, remote] as const);
    const there = await stage({
      settings: under('claudeCode', Object.fromEntries(names), {
        catalog: { whileDown: 'keepStale' },
      }),
    });
    await there.advance(20_000);
    there.obedient = new Set();
    for (const [name] of names) there.sessions.of(name).fail(crash());
    await there.settle();
    expect(there.troupe.tools()).toHaveLength(20);
  });

  it('CC-33: a call under claudeCode moves to the background after two minutes', async () => {
    const { there, made } = await callUnder('claudeCode', 'srv');
    await there.advance(119_999);
    expect(made.state).toBe('pending');
    await there.advance(1);
    expect(made.value).toMatchObject({ meta: { background: 'call-1' } });
  });

  it('CC-33: a silent call under claudeCode ends after five minutes, on a remote server only', async () => {
    const ended: string[] = [];
    for (const entry of ['srv', remote]) {
      const { there } = await callUnder('claudeCode', entry);
      await there.advance(299_999);
      expect(there.troupe.backgroundCalls()).toMatchObject([{ state: 'running' }]);
      await there.advance(1);
      ended.push(there.troupe.backgroundCalls()[0]?.state ?? '');
    }
    expect(ended).toEqual(['running', 'failed']);
  });

  it('OMP-52: ready() does not wait under ohMyPi for a server whose tools are unknown', async () => {
    const there = await stage({ settings: under('ohMyPi', { db: 'srv' }), obedient: [] });
    const ready = watch(there.troupe.ready());
    await there.advance(250);
    expect(ready.value).toMatchObject({ pending: ['db'] });
  });

  it('OMP-57: lists are stored under ohMyPi, and read for 30 days', async () => {
    const store = createStore([known('db', 'query')]);
    const settings = under('ohMyPi', { db: 'srv' });
    const there = await stage({ settings, keepCatalogs: store.keepCatalogs, obedient: [] });
    expect(shownBy(there)).toEqual(['mcp__db_query deferred']);
    expect(store.maxAges).toEqual([30 * 86_400_000]);
    bringUp(there.sessions.of('db'), [tool('new')]);
    await there.settle();
    expect(store.saved.at(-1)).toMatchObject({ catalog: { tools: [{ name: 'new' }] } });
  });

  it('CB-16: ready() waits for no server under codeBuddy', async () => {
    const there = await stage({ settings: under('codeBuddy', { db: 'srv' }), obedient: [] });
    const ready = watch(there.troupe.ready());
    await there.settle();
    expect(ready.value).toMatchObject({ pending: ['db'] });
  });

  it.each([
    ['dockerStrict', 30_000, 'refused'],
    ['dockerBestEffort', 0, 'done'],
  ] as const)(
    'DA-46: required() under %s is settled after %i ms: %s',
    async (preset, afterMs, how) => {
      const there = await stage({ settings: under(preset, { db: 'srv' }), obedient: [] });
      const required = watch(there.troupe.required());
      await there.advance(Math.max(0, afterMs - 1));
      expect(required.state).toBe(afterMs === 0 ? how : 'pending');
      await there.advance(1);
      expect(required.state).toBe(how);
    },
  );
});
