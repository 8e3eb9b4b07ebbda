import { describe, expect, it } from 'vitest';
import {
  type OfferedTool,
  type OfferOptions,
  offerTools,
  ShownTools,
} from '../../src/adapters/tool-offer.ts';
import { pong, type Stage, servers, stage, tool, watch } from '../runtime/stage.ts';

const namesOf = (there: Stage, options?: OfferOptions) =>
  offerTools(there.troupe, options).map(({ name }) => name);

async function calling(offered: OfferedTool | undefined, args: unknown) {
  if (offered === undefined) throw new Error('The tool is not offered.');
  return offered.call(args, {});
}

async function relist(there: Stage, server: string, ...tools: ReturnType<typeof tool>[]) {
  there.tools.set(server, tools);
  there.sessions.of(server).notify();
  await there.settle();
}

describe('offered tools', () => {
  it("leave out those that are for an app's user interface only", async () => {
    const there = await stage({ settings: servers({ db: 'db' }) });
    const visibility = (...to: string[]) => ({ _meta: { ui: { visibility: to } } });
    await relist(there, 'db', tool('ask', visibility('app')), tool('say', visibility('model')));
    expect(there.troupe.tools()[0]).toMatchObject({ tool: 'ask', appOnly: true });
    expect(namesOf(there)).toEqual(['mcp__db__say']);
    expect(there.troupe.searchTools('ask')).toEqual([]);
  });

  it("are all tools, some servers' tools or the tools that pass a filter", async () => {
    const there = await stage({ settings: servers({ db: 'srv', web: 'srv' }) });
    await relist(there, 'db', tool('drop'), tool('query'));
    expect(namesOf(there)).toEqual(['mcp__db__drop', 'mcp__db__query', 'mcp__web__query']);
    expect(namesOf(there, { servers: ['web', 'gone'] })).toEqual(['mcp__web__query']);
    expect(namesOf(there, { filter: (shown) => shown.tool !== 'drop' })).toEqual([
      'mcp__db__query',
      'mcp__web__query',
    ]);
  });

  it('have stable names that all providers accept and call the right tool', async () => {
    const naming = { template: '{server}__{tool}', maxLength: 128 };
    const there = await stage({ settings: servers({ db: 'srv' }), policy: { naming } });
    await relist(there, 'db', tool('query'), tool('a'.repeat(90)));
    const exposed = there.troupe.tools().map(({ name }) => name);
    expect(exposed.some((name) => !/^[A-Za-z0-9_-]{1,64}$/u.test(name))).toBe(true);
    const offered = offerTools(there.troupe);
    expect(new Set(offered.map(({ name }) => name)).size).toBe(2);
    for (const { name } of offered) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/u);
    expect(namesOf(there)).toEqual(offered.map(({ name }) => name));
    const called = watch(calling(offered[1], {}));
    await there.settle();
    const [sent] = there.sessions.of('db').calls;
    expect(sent?.tool).toBe(offered[1]?.shown?.tool);
    sent?.answer(pong);
    await called.promise;
    expect(called.value).toEqual(pong);
  });

  it('call the tool that was shown, never another with the same name', async () => {
    const there = await stage({ settings: servers({ db: 'srv' }) });
    await relist(there, 'db', tool('query', { description: 'Reads.' }));
    const [before] = offerTools(there.troupe);
    await relist(there, 'db', tool('query', { description: 'Deletes.' }));
    await there.advance(1_000);
    await expect(before?.call({}, {})).rejects.toMatchObject({
      code: 'TOOL_CHANGED',
      outcome: 'not_executed',
    });
    expect(there.sessions.of('db').calls).toEqual([]);
  });

  it('treat missing arguments as empty and otherwise accept only an object', async () => {
    const there = await stage({ settings: servers({ db: 'srv' }) });
    const [query] = offerTools(there.troupe);
    await expect(query?.call([1], {})).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
    const called = watch(calling(query, null));
    await there.settle();
    expect(there.sessions.of('db').calls[0]?.args).toEqual({});
    there.sessions.of('db').calls[0]?.answer(pong);
    await called.promise;
  });
});

describe('the find-and-call pair', () => {
  it('finds and calls offered tools only', async () => {
    const there = await stage({ settings: servers({ db: 'srv', web: 'srv' }) });
    const [search, call] = offerTools(there.troupe, { pair: true, servers: ['db'] });
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
    await there.settle();
    there.sessions.of('db').calls[0]?.answer(pong);
    await called.promise;
    expect(called.value).toEqual(pong);
    expect(there.sessions.of('web').calls).toEqual([]);
  });

  it('does not mention excluded servers', async () => {
    const settings = servers({
      db: { command: 'srv', startup: 'lazy' },
      off: { command: 'srv', enabled: false },
    });
    const there = await stage({ settings });
    const said = async (options: OfferOptions) => {
      const [search] = offerTools(there.troupe, { ...options, pair: { limit: 3 } });
      return String((await search?.call({ query: 'query' }, {}))?.content[0]?.['text']);
    };
    expect(await said({ servers: ['db'] })).not.toContain('"off"');
    expect(await said({ filter: () => true })).toContain('"off"');
  });
});

describe('shown tools', () => {
  it('are remembered, so a call to a removed server fails with the reason', async () => {
    const there = await stage({ settings: servers({ db: 'srv', web: 'srv' }) });
    const tools = new ShownTools(there.troupe, { servers: ['db'] });
    tools.show();
    await there.apply(servers({ web: 'srv' }));
    expect(tools.show()).toEqual([]);
    await expect(tools.named('mcp__db__query').call({}, {})).rejects.toMatchObject({
      code: 'SERVER_REMOVED',
      outcome: 'not_executed',
    });
  });

  it('can be called even if another process showed them', async () => {
    const there = await stage({ settings: servers({ db: 'srv' }) });
    const tools = new ShownTools(there.troupe, { servers: ['db'] });
    const called = watch(tools.named('mcp__db__query').call({}, {}));
    await there.settle();
    there.sessions.of('db').calls[0]?.answer(pong);
    await called.promise;
    expect(called.value).toEqual(pong);
  });

  it('wait for a starting server unless the host offers only some servers', async () => {
    const there = await stage({ settings: servers({ db: 'srv' }), obedient: [] });
    const waiting = watch(new ShownTools(there.troupe).named('mcp__db__query').call({}, {}));
    await there.settle();
    expect(waiting.state).toBe('pending');
    there.sessions.of('db').open();
    there.sessions.of('db').list([tool('query')]);
    await there.settle();
    there.sessions.of('db').calls[0]?.answer(pong);
    await waiting.promise;
    expect(waiting.value).toEqual(pong);
    const some = new ShownTools(there.troupe, { filter: () => false });
    await expect(some.named('mcp__db__query').call({}, {})).rejects.toMatchObject({
      code: 'TOOL_UNKNOWN',
    });
  });
});
