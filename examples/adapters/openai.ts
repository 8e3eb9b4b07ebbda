// The loop of the Responses API with tools of a troupe. The API is a stub in this process that calls the
// first tool that adds numbers; omit `baseURL` to use the real API.
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text as textOf } from 'node:stream/consumers';
import { createTroupe } from 'mcp-troupe';
import { troupeTools } from 'mcp-troupe/openai';
import { OpenAI } from 'openai';

const everything = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';
const troupe = createTroupe({
  settings: { mcpServers: { everything: { command: 'node', args: [everything] } } },
});

async function answer(request: IncomingMessage): Promise<string> {
  const asked = JSON.parse(await textOf(request)) as OpenAI.Responses.ResponseCreateParams;
  const last = Array.isArray(asked.input) ? asked.input.at(-1) : undefined;
  const sum = asked.tools?.find((tool) => tool.type === 'function' && tool.name.endsWith('sum'));
  const name = sum?.type === 'function' ? sum.name : 'none';
  const item =
    last?.type === 'function_call_output'
      ? { type: 'message', content: [{ type: 'output_text', text: last.output }] }
      : { type: 'function_call', call_id: 'call-1', name, arguments: '{"a":2,"b":3}' };
  return JSON.stringify({ id: 'response', object: 'response', output: [item] });
}
const stub = createServer((request, response) => {
  response.setHeader('content-type', 'application/json');
  void answer(request).then((body) => response.end(body));
});
await new Promise<void>((resolve) => stub.listen(0, '127.0.0.1', resolve));
const { port } = stub.address() as AddressInfo;
const client = new OpenAI({ apiKey: 'none', baseURL: `http://127.0.0.1:${port}/v1` });

try {
  await troupe.waitFor('everything', 'ready');
  const tools = troupeTools(troupe, { servers: ['everything'] });
  const input: OpenAI.Responses.ResponseInput = [{ role: 'user', content: 'What is 2 + 3?' }];
  for (let turn = 0; turn < 5; turn += 1) {
    // The current tools, for this turn.
    const response = await client.responses.create({
      model: 'stub',
      input,
      tools: tools.responses(),
    });
    const answers = await tools.runToolCalls(response);
    input.push(...(response.output as OpenAI.Responses.ResponseInput), ...answers);
    if (answers.length > 0) continue;
    console.log(response.output_text);
    break;
  }
} finally {
  stub.close();
  stub.closeAllConnections();
  await troupe.stop();
}
