import { describe, expect, it } from 'vitest';
import {
  type OfferedTool,
  type OfferOptions,
  offerTools,
  ShownTools,
} from '../../src/adapters/tool-offer.ts';
import { pong, type Stage, servers, stageOf, tool, watch } from '../runtime/stage.ts';

const namesOf = (stage: Stage, options?: OfferOptions) =>
  offerTools(stage.troupe, options).map(({ name }) => name);

async function calling(offered: OfferedTool | undefined, args: unknown) {
  if (offered === undefined) throw new Error('The tool is not offered.');
  return offered.call(args, {});
}

async function relist(stage: Stage, server: string, ...tools: ReturnType<typeof tool>[]) {
  stage.tools.set(server, tools);
  stage.sessions.of(server).notify();
  await stage.settle();
}

describe('offered tools', () => {
  it("leave out those that are for an app's user interface only", async () => {
    const stage = await stageOf({ settings: servers({ db: 'db' }) });
    const visibility = (...to: string[]) => ({ _meta: { ui: { visibility: to } } });
    await relist(stage, 'db', tool('ask', visibility('app')), tool('say', visibility('model')));
    expect(stage.troupe.tools()[0]).toMatchObject({ tool: 'ask', appOnly: true });
    expect(namesOf(stage)).toEqual(['mcp__db__say']);
    expect(stage.troupe.searchTools('ask')).toEqual([]);
  });

  it("are all tools, some servers' tools or the tools that pass a filter", async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv', web: 'srv' }) });
    await relist(stage, 'db', tool('drop'), tool('query'));
    expect(namesOf(stage)).toEqual(['mcp__db__drop', 'mcp__db__query', 'mcp__web__query']);
    expect(namesOf(stage, { servers: ['web', 'gone'] })).toEqual(['mcp__web__query']);
    expect(namesOf(stage, { filter: (shown) => shown.tool !== 'drop' })).toEqual([
      'mcp__db__query',
      'mcp__web__query',
    ]);
  });

  it('have stable names that all providers accept and call the right tool', async () => {
    const naming = { template: '{server}__{tool}', maxLength: 128 };
    const stage = await stageOf({ settings: servers({ db: 'srv' }), policy: { naming } });
    await relist(stage, 'db', tool('query'), tool('a'.repeat(90)));
    const exposed = stage.troupe.tools().map(({ name }) => name);
    expect(exposed.some((name) => !/^[A-Za-z0-9_-]{1,64}$/u.test(name))).toBe(true);
    const offered = offerTools(stage.troupe);
    expect(new Set(offered.map(({ name }) => name)).size).toBe(2);
    for (const { name } of offered) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/u);
    expect(namesOf(stage)).toEqual(offered.map(({ name }) => name));
    const called = watch(calling(offered[1], {}));
    await stage.settle();
    const [sent] = stage.sessions.of('db').calls;
    expect(sent?.tool).toBe(offered[1]?.shown?.tool);
    sent?.answer(pong);
    await called.promise;
    expect(called.value).toEqual(pong);
  });

  it('call the tool that was shown, never another with the same name', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    await relist(stage, 'db', tool('query', { description: 'Reads.' }));
    const [before] = offerTools(stage.troupe);
    await relist(stage, 'db', tool('query', { description: 'Deletes.' }));
    await stage.advance(1_000);
    await expect(before?.call({}, {})).rejects.toMatchObject({
      code: 'TOOL_CHANGED',
      outcome: 'not_executed',
    });
    expect(stage.sessions.of('db').calls).toEqual([]);
  });

  it('treat missing arguments as empty and otherwise accept only an object', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    const [query] = offerTools(stage.troupe);
    await expect(query?.call([1], {})).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    const called = watch(calling(query, null));
    await stage.settle();
    expect(stage.sessions.of('db').calls[0]?.args).toEqual({});
    stage.sessions.of('db').calls[0]?.answer(pong);
    await called.promise;
  });
});

describe('the find-and-call pair', () => {
  it('finds and calls offered tools only', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv', web: 'srv' }) });
    const [search, call] = offerTools(stage.troupe, { pair: true, servers: ['db'] });
    expect([search?.name, call?.name]).toEqual(['search_tools', 'call_tool']);
    const found = await search?.call({ query: 'query' }, {});
    expect(String(found?.content[0]?.['text'])).toContain('mcp__db__query');
    expect(String(found?.content[0]?.['text'])).not.toContain('web');
    const refused = await call?.call({ name: 'mcp__web__query' }, {});
    expect(refused).toMatchObject({
      isError: true,
      _meta: { 'mcp-troupe/error': { code: 'TOOL_UNKNOWN' } },
    });
    const called = watch(calling(call, { name: 'mcp__db__query' }));
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await called.promise;
    expect(called.value).toEqual(pong);
    expect(stage.sessions.of('web').calls).toEqual([]);
  });

  it('does not mention excluded servers', async () => {
    const settings = servers({
      db: { command: 'srv', startup: 'lazy' },
      off: { command: 'srv', enabled: false },
    });
    const stage = await stageOf({ settings });
    const said = async (options: OfferOptions) => {
      const [search] = offerTools(stage.troupe, { ...options, pair: { limit: 3 } });
      return String((await search?.call({ query: 'query' }, {}))?.content[0]?.['text']);
    };
    expect(await said({ servers: ['db'] })).not.toContain('"off"');
    expect(await said({ filter: () => true })).toContain('"off"');
  });
});

describe('shown tools', () => {
  it('are remembered, so a call to a removed server fails with the reason', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv', web: 'srv' }) });
    const tools = new ShownTools(stage.troupe, { servers: ['db'] });
    tools.show();
    await stage.apply(servers({ web: 'srv' }));
    expect(tools.show()).toEqual([]);
    await expect(tools.named('mcp__db__query').call({}, {})).rejects.toMatchObject({
      code: 'SERVER_REMOVED',
      outcome: 'not_executed',
    });
  });

  it('can be called even if another process showed them', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    const tools = new ShownTools(stage.troupe, { servers: ['db'] });
    const called = watch(tools.named('mcp__db__query').call({}, {}));
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await called.promise;
    expect(called.value).toEqual(pong);
  });

  it('wait for a starting server unless the host offers only some servers', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }), obedient: [] });
    const waiting = watch(new ShownTools(stage.troupe).named('mcp__db__query').call({}, {}));
    await stage.settle();
    expect(waiting.state).toBe('pending');
    stage.sessions.of('db').open();
    stage.sessions.of('db').list([tool('query')]);
    await stage.settle();
    stage.sessions.of('db').calls[0]?.answer(pong);
    await waiting.promise;
    expect(waiting.value).toEqual(pong);
    const some = new ShownTools(stage.troupe, { filter: () => false });
    await expect(some.named('mcp__db__query').call({}, {})).rejects.toMatchObject({
      code: 'TOOL_UNKNOWN',
    });
  });
});
