import { AIMessage, AIMessageChunk } from '@langchain/core/messages';
import { FakeStreamingChatModel } from '@langchain/core/utils/testing';
import { describe, expect, it } from 'vitest';
import { type LangChainOptions, TroupeToolkit, troupeTools } from '../../src/adapters/langchain.ts';
import { callFailure, pong, type Stage, servers, stageOf, tool } from '../runtime/stage.ts';

const asked = (name: string, args: Record<string, unknown> = {}, id = 'call-1') =>
  ({ type: 'tool_call', name, args, id }) as const;

async function staged(options?: Parameters<typeof stageOf>[0]): Promise<Stage> {
  const stage = await stageOf({ settings: servers({ db: 'srv' }), ...options });
  stage.sessions.onCall = (_script, call) => call.answer(pong);
  return stage;
}

function queryOf({ troupe }: Stage, options?: LangChainOptions) {
  const query = troupeTools(troupe, options).find(({ name }) => name === 'mcp__db__query');
  if (query === undefined) throw new Error('There is no tool query.');
  return query;
}

describe('tools for LangChain', () => {
  it("answer a model's call with a message that carries the whole result as an artifact", async () => {
    const stage = await staged();
    const query = queryOf(stage);
    expect(query.metadata).toEqual({ server: 'db', tool: 'query' });
    const message = await query.invoke(asked('mcp__db__query', { sql: 'select 1' }));
    expect(message).toMatchObject({
      content: 'pong',
      artifact: pong,
      status: 'success',
      tool_call_id: 'call-1',
    });
    expect(stage.sessions.of('db').calls[0]?.args).toEqual({ sql: 'select 1' });
  });

  it("return a plain result outside a model's call", async () => {
    const stage = await staged();
    expect(await queryOf(stage).invoke({ sql: 'select 1' })).toBe('pong');
    stage.sessions.onCall = (_script, call) => call.answer({ ...pong, isError: true });
    await expect(queryOf(stage).invoke({})).rejects.toMatchObject({
      code: 'SERVER_ERROR',
      outcome: 'executed',
      message: 'pong',
    });
  });

  it('refuse arguments that do not match the schema before the call', async () => {
    const stage = await staged();
    const inputSchema = { type: 'object', properties: { n: { type: 'number' } } };
    stage.tools.set('db', [tool('query', { inputSchema })]);
    stage.sessions.of('db').notify();
    await stage.settle();
    await expect(queryOf(stage).invoke({ n: 'one' })).rejects.toThrow('did not match');
    const toolkit = new TroupeToolkit(stage.troupe);
    const wrong = new AIMessage({ tool_calls: [asked('mcp__db__query', { n: 'one' })] });
    expect(await toolkit.runToolCalls(wrong)).toMatchObject([
      { status: 'error', tool_call_id: 'call-1' },
    ]);
    expect(stage.sessions.of('db').calls).toEqual([]);
  });

  it('report a failed call to the model, or throw if configured to', async () => {
    const stage = await staged();
    stage.sessions.onCall = (_script, call) => call.fail(callFailure('crashed', true));
    const message = await queryOf(stage).invoke(asked('mcp__db__query'));
    expect(message).toMatchObject({
      status: 'error',
      content: expect.stringContaining('It is unknown whether it ran'),
      artifact: { outcome: 'unknown' },
    });
    await stage.advance(5_000);
    const query = queryOf(stage, { onError: 'throw' });
    await expect(query.invoke(asked('mcp__db__query'))).rejects.toMatchObject({
      outcome: 'unknown',
      server: 'db',
    });
  });

  it('mark error results', async () => {
    const stage = await staged();
    stage.sessions.onCall = (_script, call) => call.answer({ ...pong, isError: true });
    expect(await queryOf(stage).invoke(asked('mcp__db__query'))).toMatchObject({
      status: 'error',
      content: 'pong',
      artifact: { isError: true },
    });
  });

  it('pass images, audio and files as LangChain blocks', async () => {
    const stage = await staged();
    const resource = { uri: 'file:///a.pdf', blob: 'CCCC', mimeType: 'application/pdf' };
    const content = [
      { type: 'text', text: 'see' },
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'audio', data: 'BBBB', mimeType: 'audio/wav' },
      { type: 'resource', resource },
    ];
    stage.sessions.onCall = (_script, call) => call.answer({ content });
    const message = await queryOf(stage).invoke(asked('mcp__db__query'));
    expect(message.contentBlocks).toMatchObject([
      { type: 'text', text: 'see' },
      { type: 'image', mimeType: 'image/png', data: 'AAAA' },
      { type: 'audio', mimeType: 'audio/wav', data: 'BBBB' },
      {
        type: 'file',
        mimeType: 'application/pdf',
        data: 'CCCC',
        metadata: { filename: 'a.pdf' },
      },
    ]);
  });

  it("abort with their run's signal even when errors are returned as messages", async () => {
    const stage = await staged();
    const controller = new AbortController();
    stage.sessions.onCall = () => controller.abort();
    const { signal } = controller;
    await expect(queryOf(stage).invoke(asked('mcp__db__query'), { signal })).rejects.toMatchObject({
      code: 'CANCELLED',
    });
  });
});

describe('the toolkit', () => {
  it("contains the current tools and answers each of a message's calls in order", async () => {
    const stage = await staged({ settings: servers({ db: 'srv', web: 'srv' }) });
    const toolkit = new TroupeToolkit(stage.troupe);
    const names = () => toolkit.getTools().map(({ name }) => name);
    expect(names()).toEqual(['mcp__db__query', 'mcp__web__query']);
    await stage.apply(servers({ web: 'srv' }));
    expect(names()).toEqual(['mcp__web__query']);
    const message = new AIMessage({
      tool_calls: [
        asked('mcp__db__query', {}, 'gone'),
        asked('mcp__web__query', {}, 'there'),
        asked('mcp__web__qeury', {}, 'never'),
      ],
    });
    expect(await toolkit.runToolCalls(message)).toMatchObject([
      { tool_call_id: 'gone', status: 'error', artifact: { code: 'SERVER_REMOVED' } },
      { tool_call_id: 'there', status: 'success', content: 'pong' },
      { tool_call_id: 'never', status: 'error', artifact: { code: 'TOOL_UNKNOWN' } },
    ]);
  });

  it('throws only after every call has ended when configured to throw', async () => {
    const stage = await staged();
    const toolkit = new TroupeToolkit(stage.troupe, { onError: 'throw' });
    let answered = false;
    stage.sessions.onCall = (_script, call) =>
      void stage.settle().then(() => {
        answered = true;
        call.answer(pong);
      });
    const message = new AIMessage({
      tool_calls: [asked('missing', {}, 'a'), asked('mcp__db__query', {}, 'b')],
    });
    await expect(toolkit.runToolCalls(message)).rejects.toMatchObject({ code: 'TOOL_UNKNOWN' });
    expect(answered).toBe(true);
  });

  it('returns nothing for a message without calls', async () => {
    const toolkit = new TroupeToolkit((await staged()).troupe);
    expect(await toolkit.runToolCalls(new AIMessage('hello'))).toEqual([]);
  });

  it('can be bound to a chat model', async () => {
    const stage = await staged();
    const model = new FakeStreamingChatModel({
      chunks: [new AIMessageChunk({ content: '', tool_calls: [asked('mcp__db__query')] })],
    });
    const toolkit = new TroupeToolkit(stage.troupe);
    const said = await model.bindTools(toolkit.getTools()).invoke('go');
    expect(await toolkit.runToolCalls(said as AIMessage)).toMatchObject([{ content: 'pong' }]);
  });
});
