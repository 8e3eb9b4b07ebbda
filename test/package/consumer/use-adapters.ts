// A caller who has the frameworks: each adapter gives tools of its own types, and calls the server.
import assert from 'node:assert/strict';
import type { StructuredToolInterface } from '@langchain/core/tools';
import { generateText, stepCountIs, type ToolSet } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { createTroupe } from 'mcp-troupe';
import { liveTools } from 'mcp-troupe/ai-sdk';
import { TroupeToolkit } from 'mcp-troupe/langchain';
import { type OpenAITools, troupeTools } from 'mcp-troupe/openai';
import { inspectWithStately } from 'mcp-troupe/stately';
import { OpenAI } from 'openai';

const troupe = createTroupe({ sources: ['troupe.json'] });
await troupe.waitFor('fixture', 'ready', { timeoutMs: 30_000 });
const name = 'mcp__fixture__echo';

const { tools, prepareStep }: { tools: ToolSet; prepareStep: () => { activeTools: string[] } } =
  liveTools(troupe);
assert.ok(prepareStep().activeTools.includes(name));
const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};
const model = new MockLanguageModelV3({
  doGenerate: async ({ prompt }) => {
    const answer = prompt.at(-1);
    const call = { type: 'tool-call', toolCallId: '1', toolName: name, input: '{"a":4}' } as const;
    const text = answer?.role === 'tool' ? JSON.stringify(answer.content) : undefined;
    const finish = text === undefined ? 'tool-calls' : 'stop';
    return {
      content: [text === undefined ? call : { type: 'text', text }],
      finishReason: { unified: finish, raw: finish },
      usage,
      warnings: [],
    };
  },
});
const { text } = await generateText({
  model,
  tools,
  prepareStep,
  stopWhen: stepCountIs(2),
  prompt: 'go',
});
assert.match(text, /"output":\{"type":"text","value":"\{\\"a\\":4\}"\}/);

const structured: StructuredToolInterface[] = new TroupeToolkit(troupe).getTools();
assert.equal(await structured.find((tool) => tool.name === name)?.invoke({ a: 2 }), '{"a":2}');

const functions: OpenAITools = troupeTools(troupe);
assert.ok(functions.responses().some((tool) => tool.name === name));
const [item] = await functions.runToolCalls({
  output: [{ type: 'function_call', call_id: '3', name, arguments: '{"a":3}' }],
});
assert.equal(item?.output, '{"a":3}');

const client = new OpenAI({
  apiKey: 'none',
  fetch: async (_url, init) => {
    const { messages } = JSON.parse(String(init?.body)) as { messages: { content?: string }[] };
    const shown = messages.at(-1)?.content;
    const call = { id: '5', type: 'function', function: { name, arguments: '{"a":5}' } };
    const more = shown === 'go' ? { content: null, tool_calls: [call] } : { content: shown };
    const message = { role: 'assistant', refusal: null, ...more };
    const choices = [{ index: 0, message, finish_reason: 'stop', logprobs: null }];
    return Response.json({ id: 'x', object: 'chat.completion', created: 0, model: 'm', choices });
  },
});
const runner = client.chat.completions.runTools({
  model: 'm',
  messages: [{ role: 'user', content: 'go' }],
  tools: functions.runnable(),
});
assert.equal(await runner.finalContent(), '{"a":5}');

const sent: string[] = [];
inspectWithStately(troupe, { adapter: { send: ({ sessionId }) => void sent.push(sessionId) } })();
assert.ok(sent.length > 0);
await troupe.stop();
