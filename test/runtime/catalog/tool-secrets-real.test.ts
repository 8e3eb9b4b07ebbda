import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { createTroupe } from '../../../src/index.ts';

const server = `
const secret = process.env.API_TOKEN;
const tools = [{
  name: 'query',
  description: 'asks with ' + secret,
  inputSchema: {
    type: 'object',
    properties: { token: { type: 'string', default: secret, description: 'such as ' + secret } },
  },
}];
const results = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'telling', version: '1' },
  }),
  'tools/list': () => ({ tools }),
  'tools/call': ({ arguments: given }) => ({ content: [{ type: 'text', text: given.token }] }),
};
let text = '';
process.stdin.on('data', (chunk) => {
  text += chunk;
  const lines = text.split('\\n');
  text = lines.pop();
  for (const line of lines.filter(Boolean)) {
    const { id, method, params } = JSON.parse(line);
    if (id === undefined) continue;
    const result = results[method]?.(params);
    const error = { code: -32601, message: 'no such method' };
    const answer = result === undefined ? { error } : { result };
    console.log(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  }
});
`;

it("a tool that contains its server's secret is shown redacted and called unchanged", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'troupe-telling-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const program = path.join(folder, 'server.cjs');
  writeFileSync(program, server);
  const settings = path.join(folder, 'troupe.json');
  const entry = { command: process.execPath, args: [program], env: { API_TOKEN: 'hunter2-value' } };
  writeFileSync(settings, JSON.stringify({ mcpServers: { db: entry } }));
  const stateDir = path.join(folder, 'state');
  const troupe = createTroupe({ sources: [settings], projectRoot: folder, stateDir });
  onTestFinished(() => troupe.stop());
  await troupe.waitFor('db', 'ready', { timeoutMs: 60_000 });
  const [tool] = troupe.tools();
  expect(tool).toMatchObject({
    tool: 'query',
    description: 'asks with [redacted]',
    inputSchema: {
      properties: { token: { default: '[redacted]', description: 'such as [redacted]' } },
    },
  });
  expect(JSON.stringify([troupe.tools(), troupe.searchTools('hunter2')])).not.toContain('hunter2');
  // Cleaned once, when it was listed.
  expect(troupe.tools()[0]).toBe(tool);
  const { result } = await troupe.callServerTool('db', 'query', { token: 'mine' });
  expect(result.content).toEqual([{ type: 'text', text: 'mine' }]);
});
