// A run of the AI SDK with tools of a troupe. The model is a stub that calls the first tool that adds
// numbers; replace it with a real one.
import { generateText, stepCountIs } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { createTroupe } from 'mcp-troupe';
import { liveTools } from 'mcp-troupe/ai-sdk';

const everything = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';
const troupe = createTroupe({
  settings: { mcpServers: { everything: { command: 'node', args: [everything] } } },
});

const usage = {
  inputTokens: { total: 0, noCache: 0, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 0, text: 0, reasoning: 0 },
};
const model = new MockLanguageModelV3({
  doGenerate: async ({ tools = [], prompt }) => {
    const answer = prompt.at(-1);
    if (answer?.role === 'tool') {
      const [part] = answer.content;
      const output = part?.type === 'tool-result' ? part.output : undefined;
      const text = output?.type === 'text' ? output.value : 'What?';
      const content = [{ type: 'text' as const, text }];
      return { content, finishReason: { unified: 'stop', raw: 'stop' }, usage, warnings: [] };
    }
    const toolName = tools.find(({ name }) => name.endsWith('sum'))?.name ?? 'none';
    const input = JSON.stringify({ a: 2, b: 3 });
    return {
      content: [{ type: 'tool-call', toolCallId: 'call-1', toolName, input }],
      finishReason: { unified: 'tool-calls', raw: 'tool_calls' },
      usage,
      warnings: [],
    };
  },
});

try {
  await troupe.waitFor('everything', 'ready');
  const { tools, prepareStep } = liveTools(troupe, { servers: ['everything'] });
  const { text } = await generateText({
    model,
    tools,
    prepareStep,
    stopWhen: stepCountIs(5),
    prompt: 'What is 2 + 3?',
  });
  console.log(text);
} finally {
  await troupe.stop();
}
