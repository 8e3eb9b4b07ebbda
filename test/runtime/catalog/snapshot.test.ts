import { describe, expect, it } from 'vitest';
import { crash, nextAttempt, pong, type Stage, servers, stageOf, tool, watch } from '../stage.ts';

const query = 'mcp__db__query';
const db = servers({ db: 'srv' });
const answerLast = (stage: Stage, server = 'db'): void =>
  stage.sessions.of(server).calls.at(-1)?.answer(pong);

describe('a catalog snapshot', () => {
  it('keeps its tools while servers come and go', async () => {
    const stage = await stageOf({ settings: db });
    const catalog = stage.troupe.catalog();
    const before = JSON.stringify(catalog.tools);
    await stage.apply(servers({ web: 'srv' }));
    expect(JSON.stringify(catalog.tools)).toBe(before);
    expect(catalog.tools.map(({ name }) => name)).toEqual([query]);
    expect(stage.troupe.catalog().tools.map(({ name }) => name)).toEqual(['mcp__web__query']);
  });

  it("calls the shown tool with the caller's arguments and options", async () => {
    const stage = await stageOf({ settings: db });
    const called = watch(stage.troupe.catalog().callTool(query, { sql: 'select 1' }));
    await stage.settle();
    const [sent] = stage.sessions.of('db').calls;
    expect(sent).toMatchObject({ tool: 'query', args: { sql: 'select 1' } });
    answerLast(stage);
    await called.promise;
    expect(called.value).toMatchObject({ result: pong, meta: { server: 'db', tool: 'query' } });
  });

  it('calls a replaced server that lists the same tool', async () => {
    const stage = await stageOf({ settings: db });
    const catalog = stage.troupe.catalog();
    const before = stage.sessions.of('db');
    await stage.apply(servers({ db: 'newer', web: 'srv' }));
    const called = watch(catalog.callTool(query));
    await stage.settle();
    expect(stage.sessions.of('db')).not.toBe(before);
    answerLast(stage);
    await called.promise;
    expect(called.value?.result).toEqual(pong);
  });

  it('waits for a crashed server and calls an unchanged tool', async () => {
    const stage = await stageOf({ settings: db });
    const catalog = stage.troupe.catalog();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    const called = watch(catalog.callTool(query));
    await nextAttempt(stage, 'db');
    answerLast(stage);
    await called.promise;
    expect(called.value?.meta.attempts).toBe(1);
  });

  it("reports a removed server even if another server has its tool's name", async () => {
    const stage = await stageOf({ settings: servers({ a: 'srv' }), obedient: [] });
    stage.sessions.of('a').open();
    stage.sessions.of('a').list([tool('b__c')]);
    await stage.settle();
    const catalog = stage.troupe.catalog();
    stage.obedient = null;
    stage.tools.set('a__b', [tool('c')]);
    await stage.apply(servers({ a__b: 'srv' }));
    expect(stage.troupe.tools()).toMatchObject([{ name: 'mcp__a__b__c', server: 'a__b' }]);
    await expect(catalog.callTool('mcp__a__b__c')).rejects.toMatchObject({
      code: 'SERVER_REMOVED',
      outcome: 'not_executed',
    });
    expect(stage.sessions.of('a__b').calls).toEqual([]);
  });

  it('calls the shown tool even if another now has its exposed name', async () => {
    const stage = await stageOf({ settings: servers({ a__b: 'srv' }), obedient: [] });
    stage.sessions.of('a__b').open();
    stage.sessions.of('a__b').list([tool('c')]);
    await stage.settle();
    const catalog = stage.troupe.catalog();
    stage.obedient = null;
    stage.tools.set('a', [tool('b__c')]);
    await stage.apply(servers({ a: 'srv', a__b: 'srv' }));
    expect(stage.troupe.tools()).toMatchObject([{ name: 'mcp__a__b__c', server: 'a' }, {}]);
    const called = watch(catalog.callTool('mcp__a__b__c'));
    await stage.settle();
    answerLast(stage, 'a__b');
    await called.promise;
    expect(called.value?.meta).toMatchObject({ server: 'a__b', tool: 'c' });
    expect(stage.sessions.of('a').calls).toEqual([]);
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
    const stage = await stageOf({ settings: db });
    const catalog = stage.troupe.catalog();
    stage.tools.set('db', tools);
    await stage.apply(servers({ db: 'newer' }));
    await expect(catalog.callTool(query)).rejects.toMatchObject({ code, outcome: 'not_executed' });
    expect(stage.sessions.of('db').calls).toEqual([]);
  });

  it('is outdated by the next, which calls the changed tool', async () => {
    const stage = await stageOf({ settings: db });
    stage.tools.set('db', [tool('query', { title: 'Another' })]);
    await stage.apply(servers({ db: 'newer' }));
    const called = watch(stage.troupe.catalog().callTool(query));
    await stage.settle();
    answerLast(stage);
    await called.promise;
    expect(called.value?.result).toEqual(pong);
  });

  it('checks the tool when the call is sent, not when it is queued', async () => {
    const stage = await stageOf({ settings: servers({ db: { command: 'srv', startup: 'lazy' } }) });
    const start = watch(stage.troupe.callServerTool('db', 'query'));
    await stage.settle();
    answerLast(stage);
    await start.promise;
    const catalog = stage.troupe.catalog();
    stage.obedient = new Set();
    stage.sessions.of('db').fail(crash());
    await stage.settle();
    const called = watch(catalog.callTool(query));
    await nextAttempt(stage, 'db');
    expect(called.state).toBe('pending');
    stage.sessions.of('db').open();
    stage.sessions.of('db').list([tool('query', { title: 'Another' })]);
    await called.promise;
    expect(called.error?.code).toBe('TOOL_CHANGED');
  });

  it('rejects tools added later and invalid names', async () => {
    const stage = await stageOf({ settings: db });
    const catalog = stage.troupe.catalog();
    await stage.apply(servers({ db: 'srv', web: 'srv' }));
    await expect(catalog.callTool('mcp__web__query')).rejects.toMatchObject({
      code: 'TOOL_UNKNOWN',
    });
    await expect(catalog.callTool(7 as unknown as string)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENTS',
    });
    expect(stage.sessions.of('web').calls).toEqual([]);
  });

  it('does not bypass admission', async () => {
    const stage = await stageOf({ settings: db });
    const catalog = stage.troupe.catalog();
    await stage.apply(servers({ db: 'srv' }, { excluded: ['db'] }));
    await expect(catalog.callTool(query)).rejects.toMatchObject({ code: 'EXCLUDED' });
  });
});
