import { describe, expect, it } from 'vitest';
import type { ToolResult } from '../../../src/domain/tool.ts';
import { createToolPair, type ToolPairOptions } from '../../../src/runtime/catalog/tool-pair.ts';
import { pong, servers, stageOf, thrownBy, tool, watch } from '../stage.ts';

async function pairOf(entries: Parameters<typeof servers>[0], options?: ToolPairOptions) {
  const stage = await stageOf({ settings: servers(entries) });
  return { stage, pair: createToolPair(stage.troupe, options) };
}

function answerOf(result: ToolResult | undefined) {
  const text = result?.content[0]?.['text'];
  return JSON.parse(String(text)) as {
    tools: { name: string; inputSchema: unknown; note?: string }[];
    unavailable?: unknown[];
  };
}

describe('search_tools and call_tool', () => {
  it('find and call every tool', async () => {
    const { stage, pair } = await pairOf({ db: 'srv', web: 'srv' });
    stage.tools.set('db', [tool('query', { description: 'Asks the database.' }), tool('drop')]);
    stage.sessions.of('db').notify();
    await stage.settle();
    expect(pair.tools.map(({ name }) => name)).toEqual(['search_tools', 'call_tool']);
    const { tools, unavailable } = answerOf(await pair.call('search_tools', { query: 'database' }));
    expect(tools).toEqual([
      {
        name: 'mcp__db__query',
        server: 'db',
        description: 'Asks the database.',
        inputSchema: { type: 'object' },
      },
    ]);
    expect(unavailable).toBeUndefined();
    const called = watch(
      pair.call('call_tool', { name: tools[0]?.name, arguments: { sql: 'select 1' } }),
    );
    await stage.settle();
    const [sent] = stage.sessions.of('db').calls;
    expect(sent).toMatchObject({ tool: 'query', args: { sql: 'select 1' } });
    sent?.answer(pong);
    await called.promise;
    expect(called.value).toEqual(pong);
  });

  it('can be renamed', async () => {
    const names = { search: 'find', call: 'use' };
    const { pair } = await pairOf({ db: 'srv' }, { names });
    expect(pair.tools.map(({ name }) => name)).toEqual(['find', 'use']);
    expect(pair.tools[0].description).toContain('with use.');
    expect(answerOf(await pair.call('find', { query: 'query' })).tools).toHaveLength(1);
    await expect(pair.call('search_tools')).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
  });

  it('list unavailable servers with their next steps', async () => {
    const { pair } = await pairOf({
      db: { command: 'srv', startup: 'lazy' },
      off: { command: 'srv', enabled: false },
      web: 'srv',
    });
    const { unavailable } = answerOf(await pair.call('search_tools', { query: 'query' }));
    expect(unavailable).toEqual([
      { server: 'db', state: 'dormant' },
      { server: 'off', state: 'disabled', next: expect.any(String) },
    ]);
  });

  it('do not list a dormant server with known tools as unavailable', async () => {
    const { stage, pair } = await pairOf({ db: { command: 'srv', idleStopMs: 5_000 } });
    await stage.advance(5_000);
    expect(stage.stateOf('db')).toBe('dormant');
    const { tools, unavailable } = answerOf(await pair.call('search_tools', { query: 'query' }));
    expect(tools).toHaveLength(1);
    expect(unavailable).toBeUndefined();
  });

  it('report a removed server and other failures as results', async () => {
    const { stage, pair } = await pairOf({ db: 'srv', web: 'srv' });
    await stage.apply(servers({ web: 'srv' }));
    const result = await pair.call('call_tool', { name: 'mcp__db__query' });
    expect(result).toMatchObject({
      isError: true,
      content: [
        { type: 'text', text: expect.stringMatching(/^MCP error: .*removed.*Add it again/) },
      ],
      _meta: { 'mcp-troupe/error': { code: 'SERVER_REMOVED', outcome: 'not_executed' } },
    });
  });

  it.each([
    ['search_tools', {}],
    ['search_tools', { query: ' ' }],
    ['search_tools', { query: 1 }],
    ['search_tools', { query: 'a', limit: 0 }],
    ['search_tools', { query: 'a', limit: 1.5 }],
    ['call_tool', {}],
    ['call_tool', { name: '' }],
    ['call_tool', { name: 'a', arguments: 'b' }],
    ['call_tool', { name: 'a', arguments: null }],
    ['call_tool', { name: 'a', arguments: [] }],
  ])('reject %s arguments with an error result: %j', async (name, args) => {
    const { pair } = await pairOf({ db: 'srv' });
    expect(await pair.call(name, args)).toMatchObject({
      isError: true,
      _meta: { 'mcp-troupe/error': { code: 'INVALID_ARGUMENTS' } },
    });
  });

  it('show ten tools by default and fifty at most', async () => {
    const { stage, pair } = await pairOf({ db: 'srv' });
    stage.tools.set(
      'db',
      Array.from({ length: 60 }, (_, index) => tool(`tool_${index}`)),
    );
    stage.sessions.of('db').notify();
    await stage.settle();
    for (const [limit, shown] of [
      [undefined, 10],
      [1, 1],
      [50, 50],
      [51, 50],
    ] as const) {
      const args = { query: 'tool', ...(limit !== undefined && { limit }) };
      expect(answerOf(await pair.call('search_tools', args)).tools).toHaveLength(shown);
    }
    expect(thrownBy(() => createToolPair(stage.troupe, { limit: 0 })).code).toBe(
      'INVALID_ARGUMENTS',
    );
  });

  it('omit a schema of more than 16,384 characters', async () => {
    const { stage, pair } = await pairOf({ db: 'srv' });
    const frame = JSON.stringify({ type: 'object', default: '' }).length;
    const schema = (length: number) => ({
      type: 'object',
      default: 'x'.repeat(length - frame),
    });
    stage.tools.set('db', [
      tool('fits', { inputSchema: schema(16_384) }),
      tool('over', { inputSchema: schema(16_385) }),
    ]);
    stage.sessions.of('db').notify();
    await stage.settle();
    const { tools } = answerOf(await pair.call('search_tools', { query: 'fits over' }));
    expect(tools[0]).toMatchObject({ inputSchema: schema(16_384) });
    expect(tools[1]).toMatchObject({
      inputSchema: { type: 'object' },
      note: expect.stringContaining('too large'),
    });
  });

  it('rethrow other errors', async () => {
    const pair = createToolPair({
      searchTools: () => {
        throw new RangeError('a bug');
      },
      callTool: () => Promise.reject(new RangeError('a bug')),
      snapshot: () => {
        throw new RangeError('a bug');
      },
    });
    await expect(pair.call('search_tools', { query: 'a' })).rejects.toThrow(RangeError);
    await expect(pair.call('call_tool', { name: 'a' })).rejects.toThrow(RangeError);
  });
});

describe('searchTools', () => {
  it('searches the current tools', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    const names = () =>
      stage.troupe.searchTools('added query').map(({ tool: { tool: name } }) => name);
    expect(names()).toEqual(['query']);
    stage.tools.set('db', [tool('added')]);
    stage.sessions.of('db').notify();
    await stage.settle();
    expect(names()).toEqual(['added']);
  });

  it('rejects an invalid query or limit', async () => {
    const stage = await stageOf({ settings: servers({ db: 'srv' }) });
    for (const search of [
      () => stage.troupe.searchTools(''),
      () => stage.troupe.searchTools(1 as never),
      () => stage.troupe.searchTools('a', { limit: 0 }),
      () => stage.troupe.searchTools('a', { limit: Number.NaN }),
    ]) {
      expect(thrownBy(search).code).toBe('INVALID_ARGUMENTS');
    }
  });
});
