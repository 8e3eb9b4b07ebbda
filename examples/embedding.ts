import { createTroupe, type TroupeError } from 'mcp-troupe';

const everything = 'node_modules/@modelcontextprotocol/server-everything/dist/index.js';
const troupe = createTroupe({
  settings: { mcpServers: { everything: { command: 'node', args: [everything] } } },
});
troupe.on('status.changed', ({ status }) => console.log(status.name, status.state));

try {
  await troupe.ready();
  // The server is still starting: the call waits for it, within its own deadline.
  const sum = { a: 2, b: 3 };
  const { result } = await troupe.callTool('mcp__everything__get-sum', sum, { timeoutMs: 20_000 });
  console.log(result.content[0]?.['text']);
} catch (error) {
  const { code, outcome, message } = error as TroupeError;
  console.error(`${code} (${outcome}): ${message}`);
} finally {
  await troupe.stop();
}
