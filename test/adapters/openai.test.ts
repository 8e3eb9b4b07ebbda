import { OpenAI } from 'openai';
import { describe, expect, it } from 'vitest';
import { troupeTools } from '../../src/adapters/openai.ts';
import { callFailure, pong, type Stage, servers, stageOf, tool } from '../runtime/stage.ts';

type Output = Parameters<ReturnType<typeof troupeTools>['runToolCalls']>[0]['output'];

const wants = (name: string, args = '{}', id = 'call-1') => ({
  type: 'function_call' as const,
  call_id: id,
  name,
  arguments: args,
});
const wantsInChat = (name: string, args = '{}', id = 'call-1') => ({
  id,
  type: 'function' as const,
  function: { name, arguments: args },
});

async function staged(options?: Parameters<typeof stageOf>[0]): Promise<Stage> {
  const stage = await stageOf({ settings: servers({ db: 'srv' }), ...options });
  stage.sessions.onCall = (_script, call) => call.answer(pong);
  return stage;
}

describe('tools for the Responses API', () => {
  it('are functions, strict where their schema allows it', async () => {
    const stage = await staged();
    const closed = {
      type: 'object',
      properties: { sql: { type: 'string' } },
      required: ['sql'],
      additionalProperties: false,
    };
    stage.tools.set('db', [
      tool('insert', { inputSchema: closed, description: 'Inserts.' }),
      tool('query', { title: 'Query' }),
    ]);
    stage.sessions.of('db').notify();
    await stage.settle();
    expect(troupeTools(stage.troupe).responses()).toEqual([
      {
        type: 'function',
        name: 'mcp__db__insert',
        description: 'Inserts.',
        parameters: closed,
        strict: true,
      },
      {
        type: 'function',
        name: 'mcp__db__query',
        description: 'Query',
        parameters: { type: 'object', properties: {} },
        strict: false,
      },
    ]);
  });

  it("answer every call in a response in order, except the host's own", async () => {
    const stage = await staged();
    const tools = troupeTools(stage.troupe, { own: ['weather'] });
    const output = [
      { type: 'reasoning', id: 'r', summary: [] },
      wants('mcp__db__query', '{"sql":"select 1"}', 'a'),
      wants('weather', '{}', 'b'),
      wants('mcp__db__query', '{"sql":', 'c'),
      wants('mcp__db__qeury', '{}', 'd'),
      wants('mcp__db__query', '', 'e'),
    ] as Output;
    const items = await tools.runToolCalls({ output });
    expect(items.map((item) => [item.call_id, item.output])).toEqual([
      ['a', 'pong'],
      ['c', 'MCP error: The arguments are not JSON. Correct them and call again.'],
      ['d', expect.stringMatching(/^MCP error: .*mcp__db__qeury/u)],
      ['e', 'pong'],
    ]);
    expect(stage.sessions.of('db').calls.map(({ args }) => args)).toEqual([
      { sql: 'select 1' },
      {},
    ]);
    const more = { output: [wants('clock', '{}', 'f'), wants('weather', '{}', 'g')] as Output };
    expect(await tools.runToolCalls(more, { own: ['clock'] })).toEqual([]);
  });

  it('run each call once, even when its response is passed in again', async () => {
    const stage = await staged();
    const tools = troupeTools(stage.troupe);
    const response = { output: [wants('mcp__db__query')] as Output };
    const [twice, again] = await Promise.all([
      tools.runToolCalls(response),
      tools.runToolCalls(response),
    ]);
    expect(again).toEqual(twice);
    expect(await tools.runToolCalls(response)).toEqual(twice);
    expect(stage.sessions.of('db').calls).toHaveLength(1);
    // A server that reuses its ids in each turn means another call by the same id.
    await tools.runToolCalls({ output: [wants('mcp__db__query', '{"n":2}')] as Output });
    expect(stage.sessions.of('db').calls).toHaveLength(2);
  });

  it('pass images and files through', async () => {
    const stage = await staged();
    const resource = { uri: 'file:///a.pdf', blob: 'CCCC', mimeType: 'application/pdf' };
    const content = [
      { type: 'text', text: 'see' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'resource', resource },
    ];
    stage.sessions.onCall = (_script, call) => call.answer({ content });
    const tools = troupeTools(stage.troupe);
    const response = { output: [wants('mcp__db__query')] as Output };
    expect((await tools.runToolCalls(response))[0]?.output).toEqual([
      { type: 'input_text', text: 'see' },
      { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' },
      {
        type: 'input_file',
        file_data: 'data:application/pdf;base64,CCCC',
        filename: 'a.pdf',
      },
    ]);
  });

  it('answer aborted calls and calls to removed tools, changed tools and crashed servers', async () => {
    const stage = await staged({ settings: servers({ db: 'srv', web: 'srv' }) });
    const tools = troupeTools(stage.troupe);
    tools.responses();
    const answerTo = async (name: string, id: string, signal?: AbortSignal) => {
      const response = { output: [wants(name, '{}', id)] as Output };
      const [item] = await tools.runToolCalls(response, signal === undefined ? {} : { signal });
      return item?.output;
    };
    stage.sessions.onCall = (_script, call) => call.fail(callFailure('crashed', true));
    expect(await answerTo('mcp__web__query', 'a')).toContain('It is unknown whether it ran');
    const controller = new AbortController();
    stage.sessions.onCall = () => controller.abort();
    await stage.advance(5_000);
    expect(await answerTo('mcp__web__query', 'b', controller.signal)).toMatch(/^MCP error: /u);
    expect(stage.sessions.of('web').calls.at(-1)?.isSettled).toBe(true);
    await stage.apply(servers({ web: 'srv' }));
    expect(await answerTo('mcp__db__query', 'c')).toMatch(/^MCP error: .*removed/u);
  });

  it("report a tool's error to the model", async () => {
    const stage = await staged();
    stage.sessions.onCall = (_script, call) => call.answer({ ...pong, isError: true });
    const response = { output: [wants('mcp__db__query')] as Output };
    const [item] = await troupeTools(stage.troupe).runToolCalls(response);
    expect(item?.output).toBe('The tool failed:\npong');
  });
});

describe('tools for the Chat Completions API', () => {
  it('are functions that answer with text messages', async () => {
    const stage = await staged();
    const tools = troupeTools(stage.troupe);
    expect(tools.chat()).toEqual([
      {
        type: 'function',
        function: {
          name: 'mcp__db__query',
          description: 'query',
          parameters: { type: 'object', properties: {} },
          strict: false,
        },
      },
    ]);
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
    stage.sessions.onCall = (_script, call) => call.answer({ content: [...pong.content, image] });
    const custom = { id: 'b', type: 'custom', custom: { name: 'x', input: '{}' } } as const;
    const message = { tool_calls: [wantsInChat('mcp__db__query'), custom] };
    expect(await tools.runChatToolCalls(message)).toEqual([
      {
        role: 'tool',
        tool_call_id: 'call-1',
        content: 'pong\n[image of 3 bytes, image/png, which cannot be shown here]',
      },
      { role: 'tool', tool_call_id: 'b', content: expect.stringMatching(/^MCP error: /u) },
    ]);
    expect(await tools.runChatToolCalls({})).toEqual([]);
    const own = { tool_calls: [wantsInChat('clock', '{}', 'c')] };
    expect(await tools.runChatToolCalls(own, { own: ['clock'] })).toEqual([]);
  });

  it("run in the client's runner, which survives failed calls", async () => {
    const stage = await staged();
    const asked: unknown[] = [];
    const turns = [
      [wantsInChat('mcp__db__query', '{"n":1}', 'a')],
      [wantsInChat('mcp__db__query', '{"n":2}', 'b')],
      [wantsInChat('mcp__db__query', 'no', 'c')],
      [],
    ];
    stage.sessions.onCall = (_script, call) =>
      call.args['n'] === 1 ? call.answer(pong) : call.fail(callFailure('crashed', true));
    const client = new OpenAI({
      apiKey: 'none',
      maxRetries: 0,
      fetch: async (_url, init) => {
        const body = typeof init?.body === 'string' ? init.body : '{}';
        const { messages } = JSON.parse(body) as { messages: unknown[] };
        asked.push(messages.at(-1));
        const calls = turns.shift() ?? [];
        const message = {
          role: 'assistant',
          content: calls.length === 0 ? 'done' : null,
          refusal: null,
          ...(calls.length === 0 ? {} : { tool_calls: calls }),
        };
        const choices = [{ index: 0, message, finish_reason: 'stop', logprobs: null }];
        return Response.json({
          id: 'x',
          object: 'chat.completion',
          created: 0,
          model: 'm',
          choices,
        });
      },
    });
    const runner = client.chat.completions.runTools({
      model: 'm',
      messages: [{ role: 'user', content: 'go' }],
      tools: troupeTools(stage.troupe).runnable(),
    });
    expect(await runner.finalContent()).toBe('done');
    expect(asked.slice(1)).toMatchObject([
      { role: 'tool', tool_call_id: 'a', content: 'pong' },
      { tool_call_id: 'b', content: expect.stringContaining('It is unknown') },
      { tool_call_id: 'c', content: expect.stringContaining('not JSON') },
    ]);
    expect(stage.sessions.of('db').calls.map(({ args }) => args)).toEqual([{ n: 1 }, { n: 2 }]);
  });
});
