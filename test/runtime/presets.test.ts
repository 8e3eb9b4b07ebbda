/** What the numbers of presets lead to in a whole troupe; what they lead to in charts is in `presets-in-time.test.ts`. */

import { describe, expect, it } from 'vitest';
import type { PresetName } from '../../src/domain/policy.ts';
import { createStore, known, shownBy } from './catalog/stored-catalogs.ts';
import { bringUp, call, crash, pong, remote, servers, stageOf, tool, watch } from './stage.ts';

/** Under a preset, without its question before each call. */
const under = (preset: PresetName, entries: Parameters<typeof servers>[0], more: object = {}) =>
  servers(entries, { policy: { preset, approval: { perCall: false }, ...more } });

async function callUnder(preset: PresetName, entry: string | typeof remote) {
  const stage = await stageOf({ settings: under(preset, { db: entry }) });
  const made = call(stage, 'db');
  await stage.settle();
  return { stage, made };
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
        const stage = await stageOf({
          settings: under(preset, { db: { ...remote, trust } }),
          obedient: [],
        });
        stage.troupe.send({ type: 'server.start', server: 'db' });
        stage.obedient = null;
        stage.tools.set('db', [tool('query', { annotations: { idempotentHint: true } })]);
        bringUp(stage.sessions.of('db'), stage.tools.get('db'));
        call(stage, 'db');
        await stage.settle();
        stage.sessions.of('db').fail(crash());
        await stage.advance(6_000);
        sent.push(stage.sessions.scripts.reduce((sum, { calls }) => sum + calls.length, 0));
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
      const stage = await stageOf({ settings: under(preset, { db: 'srv' }) });
      stage.troupe.send({ type: 'server.start', server: 'db' });
      await stage.settle();
      expect(stage.troupe.tools().map((each) => each.name)).toEqual([name]);
      // The tool decides what null means.
      const given = { where: null, limit: 3 };
      const made = watch(stage.troupe.callTool(by, given));
      await stage.settle();
      const [sent] = stage.sessions.of('db').calls;
      expect(sent).toMatchObject({ tool: 'query', args: given });
      sent?.answer(pong);
      await stage.settle();
      expect(made.value?.result).toEqual(pong);
    },
  );

  it('OMP-76: a call under ohMyPi is not sent unless the user allows it', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }, { policy: 'ohMyPi' }) });
    const made = call(stage, 'db');
    await stage.settle();
    expect(made.error).toMatchObject({ code: 'PERMISSION_DENIED' });
  });

  it('QW-07: a lost server under qwenCode shows no tools', async () => {
    const stage = await stageOf({ settings: under('qwenCode', { db: 'srv' }) });
    expect(stage.troupe.tools()).toHaveLength(1);
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    expect(stage.troupe.tools()).toEqual([]);
  });

  it('QW-91: long texts under qwenCode are cut at 25,000 characters, and images never', async () => {
    const image = { type: 'image', mimeType: 'image/png', data: 'A'.repeat(100_000) };
    const { stage, made } = await callUnder('qwenCode', 'srv');
    const content = [image, { type: 'text', text: 'x'.repeat(30_000) }];
    stage.sessions.of('db').calls[0]?.answer({ content });
    await stage.settle();
    expect(made.value).toMatchObject({
      result: { content: [image, { type: 'text', text: 'x'.repeat(25_000) }, { type: 'text' }] },
    });
  });

  it('CC-14: a description under claudeCode is cut at 2,048 characters', async () => {
    const stage = await stageOf({ settings: under('claudeCode', { db: 'srv' }) });
    stage.sessions.of('db').list([tool('query', { description: 'x'.repeat(9_000) })]);
    await stage.settle();
    expect(stage.troupe.tools()[0]?.description).toHaveLength(2_048);
  });

  it('CC-12: the last twenty lists are kept under claudeCode', async () => {
    const names = Array.from({ length: 22 }, (_, index) => [`s${index}`, remote] as const);
    const stage = await stageOf({
      settings: under('claudeCode', Object.fromEntries(names), {
        catalog: { whileDown: 'keepStale' },
      }),
    });
    await stage.advance(20_000);
    stage.obedient = new Set();
    for (const [name] of names) stage.sessions.of(name).fail(crash());
    await stage.settle();
    expect(stage.troupe.tools()).toHaveLength(20);
  });

  it('CC-33: a call under claudeCode moves to the background after two minutes', async () => {
    const { stage, made } = await callUnder('claudeCode', 'srv');
    await stage.advance(119_999);
    expect(made.state).toBe('pending');
    await stage.advance(1);
    expect(made.value).toMatchObject({ meta: { background: 'call-1' } });
  });

  it('CC-33: a silent call under claudeCode ends after five minutes, on a remote server only', async () => {
    const ended: string[] = [];
    for (const entry of ['srv', remote]) {
      const { stage } = await callUnder('claudeCode', entry);
      await stage.advance(299_999);
      expect(stage.troupe.backgroundCalls()).toMatchObject([{ state: 'running' }]);
      await stage.advance(1);
      ended.push(stage.troupe.backgroundCalls()[0]?.state ?? '');
    }
    expect(ended).toEqual(['running', 'failed']);
  });

  it('OMP-52: ready() does not wait under ohMyPi for a server whose tools are unknown', async () => {
    const stage = await stageOf({ settings: under('ohMyPi', { db: 'srv' }), obedient: [] });
    const ready = watch(stage.troupe.ready());
    await stage.advance(250);
    expect(ready.value).toMatchObject({ pending: ['db'] });
  });

  it('OMP-57: lists are stored under ohMyPi, and read for 30 days', async () => {
    const store = createStore([known('db', 'query')]);
    const settings = under('ohMyPi', { db: 'srv' });
    const stage = await stageOf({ settings, keepCatalogs: store.keepCatalogs, obedient: [] });
    expect(shownBy(stage)).toEqual(['mcp__db_query deferred']);
    expect(store.maxAges).toEqual([30 * 86_400_000]);
    bringUp(stage.sessions.of('db'), [tool('new')]);
    await stage.settle();
    expect(store.saved.at(-1)).toMatchObject({ catalog: { tools: [{ name: 'new' }] } });
  });

  it('CB-16: ready() waits for no server under codeBuddy', async () => {
    const stage = await stageOf({ settings: under('codeBuddy', { db: 'srv' }), obedient: [] });
    const ready = watch(stage.troupe.ready());
    await stage.settle();
    expect(ready.value).toMatchObject({ pending: ['db'] });
  });

  it.each([
    ['dockerStrict', 30_000, 'refused'],
    ['dockerBestEffort', 0, 'done'],
  ] as const)(
    'DA-46: required() under %s is settled after %i ms: %s',
    async (preset, afterMs, how) => {
      const stage = await stageOf({ settings: under(preset, { db: 'srv' }), obedient: [] });
      const required = watch(stage.troupe.required());
      await stage.advance(Math.max(0, afterMs - 1));
      expect(required.state).toBe(afterMs === 0 ? how : 'pending');
      await stage.advance(1);
      expect(required.state).toBe(how);
    },
  );
});
