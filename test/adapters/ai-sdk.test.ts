import {
  generateText,
  jsonSchema,
  type ModelMessage,
  tool as ownTool,
  stepCountIs,
  streamText,
} from 'ai';
import { MockLanguageModelV3, simulateReadableStream } from 'ai/test';
import { describe, expect, it } from 'vitest';
import { type AiSdkOptions, liveTools, troupeTools } from '../../src/adapters/ai-sdk.ts';
import { callFailure, pong, type Stage, servers, stageOf, tool } from '../runtime/stage.ts';

type Generated = Awaited<ReturnType<MockLanguageModelV3['doGenerate']>>;

const usage = {
  inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 1, text: 1, reasoning: 0 },
};

function says(text: string): Generated {
  return {
    content: [{ type: 'text', text }],
    finishReason: { unified: 'stop', raw: 'stop' },
    usage,
    warnings: [],
  };
}

function calls(toolName: string, input: unknown = {}, toolCallId = 'call-1'): Generated {
  return {
    content: [{ type: 'tool-call', toolCallId, toolName, input: JSON.stringify(input) }],
    finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
    usage,
    warnings: [],
  };
}

/** A model that does one thing after the other, and remembers what it was shown. */
function modelThat(...turns: ((shown: readonly string[]) => Generated)[]) {
  const shown: string[][] = [];
  const model = new MockLanguageModelV3({
    doGenerate: async ({ tools = [] }) => {
      const names = tools.map(({ name }) => name);
      shown.push(names);
      const turn = turns[shown.length - 1];
      if (turn === undefined) throw new Error('The model was asked once too often.');
      return turn(names);
    },
  });
  return { model, shown };
}

const twoSteps = stepCountIs(2);
const lastOutput = ({ doGenerateCalls }: MockLanguageModelV3) => {
  const last = doGenerateCalls.at(-1)?.prompt.at(-1);
  if (last?.role !== 'tool' || last.content[0]?.type !== 'tool-result')
    throw new Error('The model was shown no result.');
  return last.content[0].output;
};

async function staged(options?: Parameters<typeof stageOf>[0]): Promise<Stage> {
  const stage = await stageOf({ settings: servers({ db: 'srv' }), ...options });
  stage.sessions.onCall = (_script, call) => call.answer(pong);
  return stage;
}

describe('tools for the AI SDK', () => {
  it("are called with the model's arguments and return the result to it", async () => {
    const stage = await staged();
    const { model, shown } = modelThat(
      () => calls('mcp__db__query', { sql: 'select 1' }),
      () => says('done'),
    );
    const tools = troupeTools(stage.troupe);
    const { text, steps } = await generateText({ model, tools, prompt: 'go', stopWhen: twoSteps });
    expect(text).toBe('done');
    expect(shown[0]).toEqual(['mcp__db__query']);
    expect(stage.sessions.of('db').calls[0]?.args).toEqual({ sql: 'select 1' });
    expect(steps[0]?.toolResults[0]?.output).toEqual(pong);
    expect(steps[0]?.toolCalls[0]).toMatchObject({
      dynamic: true,
      toolMetadata: { server: 'db', tool: 'query' },
    });
    expect(lastOutput(model)).toEqual({ type: 'text', value: 'pong' });
    expect(model.doGenerateCalls[0]?.tools?.[0]).toMatchObject({
      inputSchema: { type: 'object', properties: {} },
    });
  });

  it("report a failed call's outcome to the model and the error to the host", async () => {
    const stage = await staged();
    stage.sessions.onCall = (_script, call) => call.fail(callFailure('crashed', true));
    const { model } = modelThat(
      () => calls('mcp__db__query'),
      () => says('sorry'),
    );
    const tools = troupeTools(stage.troupe);
    const { steps } = await generateText({ model, tools, prompt: 'go', stopWhen: twoSteps });
    const error = steps[0]?.content.find((part) => part.type === 'tool-error')?.error;
    expect(error).toMatchObject({ outcome: 'unknown', server: 'db' });
    expect(lastOutput(model)).toMatchObject({
      type: 'error-text',
      value: expect.stringContaining('It is unknown whether it ran'),
    });
  });

  it('pass images and files through and mark error results', async () => {
    const stage = await staged();
    const outputOf = async (output: unknown) =>
      troupeTools(stage.troupe)['mcp__db__query']?.toModelOutput?.({
        toolCallId: 'call-1',
        input: {},
        output,
      });
    const image = { type: 'image', data: 'AAAA', mimeType: 'image/png' };
    const sound = { type: 'audio', data: 'BBBB', mimeType: 'audio/wav' };
    expect(await outputOf({ content: [image, sound], isError: true })).toEqual({
      type: 'content',
      value: [
        { type: 'text', text: 'The tool failed:' },
        { type: 'image-data', data: 'AAAA', mediaType: 'image/png' },
        { type: 'file-data', data: 'BBBB', mediaType: 'audio/wav', filename: 'audio' },
      ],
    });
    expect(await outputOf({ ...pong, isError: true })).toEqual({
      type: 'error-text',
      value: 'pong',
    });
    expect(await outputOf({ content: [], structuredContent: { sum: 5 } })).toEqual({
      type: 'json',
      value: { sum: 5 },
    });
  });

  it('abort with their run', async () => {
    const stage = await staged();
    const controller = new AbortController();
    stage.sessions.onCall = () => controller.abort();
    const { model } = modelThat(() => calls('mcp__db__query'));
    const tools = troupeTools(stage.troupe);
    const { signal: abortSignal } = controller;
    const run = generateText({ model, tools, prompt: 'go', stopWhen: twoSteps, abortSignal });
    await expect(run).rejects.toMatchObject({ name: 'AbortError' });
    expect(stage.sessions.of('db').calls).toHaveLength(1);
  });

  it('answer calls to removed tools with the reason', async () => {
    const stage = await staged({ settings: servers({ db: 'srv', web: 'srv' }) });
    const tools = troupeTools(stage.troupe);
    await stage.apply(servers({ web: 'srv' }));
    const { model } = modelThat(
      () => calls('mcp__db__query'),
      () => says('sorry'),
    );
    const { steps } = await generateText({ model, tools, prompt: 'go', stopWhen: twoSteps });
    expect(steps[0]?.content.find((part) => part.type === 'tool-error')?.error).toMatchObject({
      code: 'SERVER_REMOVED',
      outcome: 'not_executed',
    });
  });
});

describe('live tools for the AI SDK', () => {
  const reloadDuring = (stage: Stage) => {
    stage.sessions.onCall = (script, call) => {
      if (call.tool === 'query') {
        stage.tools.set('db', [tool('insert')]);
        script.notify();
        void stage.settle().then(() => call.answer(pong));
      } else call.answer(pong);
    };
  };

  it('are current in each step, even after a reload during the run', async () => {
    const stage = await staged();
    reloadDuring(stage);
    const { model, shown } = modelThat(
      () => calls('mcp__db__query', {}, 'call-1'),
      () => calls('mcp__db__insert', {}, 'call-2'),
      () => says('done'),
    );
    const live = liveTools(stage.troupe);
    const run = { model, prompt: 'go', stopWhen: stepCountIs(3), ...live };
    const { text } = await generateText(run);
    expect(text).toBe('done');
    expect(shown).toEqual([['mcp__db__query'], ['mcp__db__insert'], ['mcp__db__insert']]);
    expect(stage.sessions.of('db').calls.map((call) => call.tool)).toEqual(['query', 'insert']);
  });

  it("are current in a stream too, alongside the host's tools", async () => {
    const stage = await staged();
    reloadDuring(stage);
    const shown: string[][] = [];
    const model = new MockLanguageModelV3({
      doStream: async ({ tools = [] }) => {
        shown.push(tools.map(({ name }) => name));
        const turn = shown.length === 1 ? calls('mcp__db__query') : says('done');
        const { finishReason } = turn;
        const [part] = turn.content;
        const chunks =
          part?.type === 'text'
            ? [
                { type: 'text-start', id: '1' } as const,
                { type: 'text-delta', id: '1', delta: part.text } as const,
                { type: 'text-end', id: '1' } as const,
              ]
            : part?.type === 'tool-call'
              ? [part]
              : [];
        const end = { type: 'finish', finishReason, usage } as const;
        return { stream: simulateReadableStream({ chunks: [...chunks, end] }) };
      },
    });
    const inputSchema = jsonSchema<object>({ type: 'object', properties: {} });
    const clock = ownTool({ inputSchema, execute: () => 'noon' });
    const live = liveTools(stage.troupe, {}, { clock });
    const run = streamText({ model, prompt: 'go', stopWhen: twoSteps, ...live });
    expect(await run.text).toBe('done');
    expect(shown.map((names) => names.toSorted())).toEqual([
      ['clock', 'mcp__db__query'],
      ['clock', 'mcp__db__insert'],
    ]);
  });
});

describe('approval in the AI SDK', () => {
  const ask = { permissions: { ask: [{ server: 'db' }] } };

  async function approvalOf(options: AiSdkOptions, isApproved: boolean) {
    const stage = await staged({ settings: servers({ db: 'srv' }, ask) });
    const tools = troupeTools(stage.troupe, options);
    const { model } = modelThat(
      () => calls('mcp__db__query', { sql: 'drop' }),
      () => says('done'),
    );
    const prompt: ModelMessage = { role: 'user', content: 'go' };
    const first = await generateText({ model, tools, messages: [prompt] });
    const request = first.content.find((part) => part.type === 'tool-approval-request');
    const called = stage.sessions.of('db').calls.length;
    const response: ModelMessage = {
      role: 'tool',
      content: [
        {
          type: 'tool-approval-response',
          approvalId: request?.approvalId ?? '',
          approved: isApproved,
        },
      ],
    };
    const messages = [prompt, ...first.response.messages, response];
    const second = await generateText({ model, tools, messages });
    return { stage, request, called, text: second.text };
  }

  it('is requested before the call and satisfies ask rules', async () => {
    const seen: unknown[] = [];
    const needsApproval: AiSdkOptions['needsApproval'] = (shown, input) => {
      seen.push([shown.tool, input]);
      return true;
    };
    const { stage, request, called, text } = await approvalOf({ needsApproval }, true);
    expect(request).toBeDefined();
    expect(called).toBe(0);
    expect(text).toBe('done');
    expect(stage.sessions.of('db').calls).toHaveLength(1);
    expect(seen[0]).toEqual(['query', { sql: 'drop' }]);
  });

  it('can be refused, in which case the tool is not called', async () => {
    const { stage, text } = await approvalOf({ needsApproval: () => true }, false);
    expect(text).toBe('done');
    expect(stage.sessions.of('db').calls).toEqual([]);
  });

  it('does not carry over a refusal to a later call with the same id', async () => {
    const stage = await staged({ settings: servers({ db: 'srv' }, ask) });
    const { model } = modelThat(
      () => calls('mcp__db__query', { sql: 'drop' }),
      () => calls('mcp__db__query', { sql: 'select' }),
    );
    const tools = troupeTools(stage.troupe, { needsApproval: (_tool, { sql }) => sql === 'drop' });
    await generateText({ model, tools, prompt: 'go' });
    const { content } = await generateText({ model, tools, prompt: 'go on' });
    expect(content.at(-1)).toMatchObject({
      type: 'tool-error',
      error: { code: 'PERMISSION_DENIED' },
    });
    expect(stage.sessions.of('db').calls).toEqual([]);
  });

  it('does not apply to a call that needed none: ask rules still prompt the user', async () => {
    const stage = await staged({ settings: servers({ db: 'srv' }, ask) });
    const run = async (options: AiSdkOptions) => {
      const { model } = modelThat(() => calls('mcp__db__query'));
      const tools = troupeTools(stage.troupe, options);
      const { content } = await generateText({ model, tools, prompt: 'go' });
      return content.at(-1);
    };
    expect(await run({ needsApproval: () => false })).toMatchObject({
      type: 'tool-error',
      error: { code: 'PERMISSION_DENIED' },
    });
    expect(await run({ call: { askPermission: () => 'allow' } })).toMatchObject({
      type: 'tool-result',
      output: pong,
    });
  });
});
