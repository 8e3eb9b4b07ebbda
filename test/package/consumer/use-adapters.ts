// A caller who has the frameworks: each adapter gives tools of its own types, and calls the server.
import assert from 'node:assert/strict';
import type { StructuredToolInterface } from '@langchain/core/tools';
import type { ToolSet } from 'ai';
import { createTroupe } from 'mcp-troupe';
import { liveTools } from 'mcp-troupe/ai-sdk';
import { TroupeToolkit } from 'mcp-troupe/langchain';
import { type OpenAITools, troupeTools } from 'mcp-troupe/openai';
import { inspectWithStately } from 'mcp-troupe/stately';

const troupe = createTroupe({ sources: ['troupe.json'] });
await troupe.waitFor('fixture', 'ready', { timeoutMs: 30_000 });
const name = 'mcp__fixture__echo';

const { tools, prepareStep }: { tools: ToolSet; prepareStep: () => { activeTools: string[] } } =
  liveTools(troupe);
assert.ok(prepareStep().activeTools.includes(name));
const echoed: unknown = await tools[name]?.execute?.({ a: 1 }, { toolCallId: '1', messages: [] });
assert.deepEqual(echoed, { content: [{ type: 'text', text: '{"a":1}' }] });

const structured: StructuredToolInterface[] = new TroupeToolkit(troupe).getTools();
assert.equal(await structured.find((tool) => tool.name === name)?.invoke({ a: 2 }), '{"a":2}');

const functions: OpenAITools = troupeTools(troupe);
assert.ok(functions.responses().some((tool) => tool.name === name));
const [item] = await functions.runToolCalls({
  output: [{ type: 'function_call', call_id: '3', name, arguments: '{"a":3}' }],
});
assert.equal(item?.output, '{"a":3}');

const sent: string[] = [];
inspectWithStately(troupe, { adapter: { send: ({ sessionId }) => void sent.push(sessionId) } })();
assert.ok(sent.length > 0);
await troupe.stop();
