import { describe, expect, it } from 'vitest';
import { crash, nextAttempt, pong, type Stage, servers, stage, tool, watch } from '../stage.ts';

const query = 'mcp__db__query';
const db = servers({ db: 'srv' });
const answerLast = (there: Stage, server = 'db'): void =>
  there.sessions.of(server).calls.at(-1)?.answer(pong);

describe('a catalog snapshot', () => {
  it('keeps its tools while servers come and go', async () => {
    const there = await stage({ settings: db });
    const catalog = there.troupe.catalog();
    const before = JSON.stringify(catalog.tools);
    await there.apply(servers({ web: 'srv' }));
    expect(JSON.stringify(catalog.tools)).toBe(before);
    expect(catalog.tools.map(({ name }) => name)).toEqual([query]);
    expect(there.troupe.catalog().tools.map(({ name }) => name)).toEqual(['mcp__web__query']);
  });

  it("calls the shown tool with the caller's arguments and options", async () => {
    const there = await stage({ settings: db });
    const called = watch(there.troupe.catalog().callTool(query, { sql: 'select 1' }));
    await there.settle();
    const [sent] = there.sessions.of('db').calls;
    expect(sent).toMatchObject({ tool: 'query', args: { sql: 'select 1' } });
    answerLast(there);
    await called.promise;
    expect(called.value).toMatchObject({ result: pong, meta: { server: 'db', tool: 'query' } });
  });

  it('calls a replaced server that lists the same tool', async () => {
    const there = await stage({ settings: db });
    const catalog = there.troupe.catalog();
    const before = there.sessions.of('db');
    await there.apply(servers({ db: 'newer', web: 'srv' }));
    const called = watch(catalog.callTool(query));
    await there.settle();
    expect(there.sessions.of('db')).not.toBe(before);
    answerLast(there);
    await called.promise;
    expect(called.value?.result).toEqual(pong);
  });

  it('waits for a crashed server and calls an unchanged tool', async () => {
    const there = await stage({ settings: db });
    const catalog = there.troupe.catalog();
    there.sessions.of('db').fail(crash());
    await there.settle();
    const called = watch(catalog.callTool(query));
    await nextAttempt(there, 'db');
    answerLast(there);
    await called.promise;
    expect(called.value?.meta.attempts).toBe(1);
  });

  it("reports a removed server even if another server has its tool's name", async () => {
    const there = await stage({ settings: servers({ a: 'srv' }), obedient: [] });
    there.sessions.of('a').open();
    there.sessions.of('a').list([tool('b__c')]);
    await there.settle();
    const catalog = there.troupe.catalog();
    there.obedient = null;
    there.tools.set('a__b', [tool('c')]);
    await there.apply(servers({ a__b: 'srv' }));
    expect(there.troupe.tools()).toMatchObject([{ name: 'mcp__a__b__c', server: 'a__b' }]);
    await expect(catalog.callTool('mcp__a__b__c')).rejects.toMatchObject({
      code: 'SERVER_REMOVED',
      outcome: 'not_executed',
    });
    expect(there.sessions.of('a__b').calls).toEqual([]);
  });

  it('calls the shown tool even if another now has its exposed name', async () => {
    const there = await stage({ settings: servers({ a__b: 'srv' }), obedient: [] });
    there.sessions.of('a__b').open();
    there.sessions.of('a__b').list([tool('c')]);
    await there.settle();
    const catalog = there.troupe.catalog();
    there.obedient = null;
    there.tools.set('a', [tool('b__c')]);
    await there.apply(servers({ a: 'srv', a__b: 'srv' }));
    expect(there.troupe.tools()).toMatchObject([{ name: 'mcp__a__b__c', server: 'a' }, {}]);
    const called = watch(catalog.callTool('mcp__a__b__c'));
    await there.settle();
    answerLast(there, 'a__b');
    await called.promise;
    expect(called.value?.meta).toMatchObject({ server: 'a__b', tool: 'c' });
    expect(there.sessions.of('a').calls).toEqual([]);
  });

  it.each([
    ['is gone', [tool('other')], 'TOOL_UNKNOWN'],
    [
      'has another schema',
      [tool('query', { inputSchema: { type: 'object', required: ['x'] } })],
      'TOOL_CHANGED',
    ],
    [
      'has another description',
      [tool('query', { description: 'Deletes all rows.' })],
      'TOOL_CHANGED',
    ],
    [
      'has other annotations',
      [tool('query', { annotations: { destructiveHint: true } })],
      'TOOL_CHANGED',
    ],
  ])('refuses a call when the tool %s', async (_, tools, code) => {
    const there = await stage({ settings: db });
    const catalog = there.troupe.catalog();
    there.tools.set('db', tools);
    await there.apply(servers({ db: 'newer' }));
    await expect(catalog.callTool(query)).rejects.toMatchObject({ code, outcome: 'not_executed' });
    expect(there.sessions.of('db').calls).toEqual([]);
  });

  it('is outdated by the next, which calls the changed tool', async () => {
    const there = await stage({ settings: db });
    there.tools.set('db', [tool('query', { title: 'Another' })]);
    await there.apply(servers({ db: 'newer' }));
    const called = watch(there.troupe.catalog().callTool(query));
    await there.settle();
    answerLast(there);
    await called.promise;
    expect(called.value?.result).toEqual(pong);
  });

  it('checks the tool when the call is sent, not when it is queued', async () => {
    const there = await stage({ settings: servers({ db: { command: 'srv', startup: 'lazy' } }) });
    const start = watch(there.troupe.callServerTool('db', 'query'));
    await there.settle();
    answerLast(there);
    await start.promise;
    const catalog = there.troupe.catalog();
    there.obedient = new Set();
    there.sessions.of('db').fail(crash());
    await there.settle();
    const called = watch(catalog.callTool(query));
    await nextAttempt(there, 'db');
    expect(called.state).toBe('pending');
    there.sessions.of('db').open();
    there.sessions.of('db').list([tool('query', { title: 'Another' })]);
    await called.promise;
    expect(called.error?.code).toBe('TOOL_CHANGED');
  });

  it('rejects later tools and invalid names', async () => {
    const there = await stage({ settings: db });
    const catalog = there.troupe.catalog();
    await there.apply(servers({ db: 'srv', web: 'srv' }));
    await expect(catalog.callTool('mcp__web__query')).rejects.toMatchObject({
      code: 'TOOL_UNKNOWN',
    });
    await expect(catalog.callTool(7 as unknown as string)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENTS',
    });
    expect(there.sessions.of('web').calls).toEqual([]);
  });

  it('does not bypass admission', async () => {
    const there = await stage({ settings: db });
    const catalog = there.troupe.catalog();
    await there.apply(servers({ db: 'srv' }, { excluded: ['db'] }));
    await expect(catalog.callTool(query)).rejects.toMatchObject({ code: 'EXCLUDED' });
  });
});
