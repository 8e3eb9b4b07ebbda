// Two turns of a LangChain chat model with tools of a troupe. The models are fakes with
// scripted answers; replace them with a real one.
import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
  HumanMessage,
} from '@langchain/core/messages';
import { FakeStreamingChatModel } from '@langchain/core/utils/testing';
import { createTroupe } from 'mcp-troupe';
import { TroupeToolkit } from 'mcp-troupe/langchain';

const everything = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';
const troupe = createTroupe({
  settings: { mcpServers: { everything: { command: 'node', args: [everything] } } },
});

const sum = { name: 'mcp__everything__get-sum', args: { a: 2, b: 3 }, id: 'call-1' };
const turns = [
  new FakeStreamingChatModel({
    responses: [new AIMessage('I will add them.')],
    chunks: [new AIMessageChunk({ content: '', tool_calls: [sum] })],
  }),
  new FakeStreamingChatModel({ responses: [new AIMessage('That is all.')] }),
];

try {
  await troupe.waitFor('everything', 'ready');
  const toolkit = new TroupeToolkit(troupe, { servers: ['everything'] });
  const messages: BaseMessage[] = [new HumanMessage('What is 2 + 3?')];
  for (const model of turns) {
    // The current tools, for this turn.
    const said = (await model.bindTools(toolkit.getTools()).invoke(messages)) as AIMessage;
    messages.push(said, ...(await toolkit.runToolCalls(said)));
  }
  for (const message of messages) console.log(`${message.type}: ${message.text}`);
} finally {
  await troupe.stop();
}
