/**
 * Any number of MCP servers over HTTP in one process, written by hand on `node:http`; every
 * path is a server, and every answer is plain JSON.
 *
 * Options in the URL: `?delay=MS` waits before the answer to `initialize`, `?hang` never
 * answers, `?tool=NAME` names the tool. `--big BYTES` sets the size of what `big` answers. `GET
 * /sessions` returns how many sessions were begun and not yet terminated.
 * Prints its port when it listens and ends with its standard input.
 */

import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';

const sessions = new Set();
const bigBytes = Number(process.argv[process.argv.indexOf('--big') + 1] ?? 0) || 1;
const schema = { type: 'object', properties: { text: { type: 'string' } } };
const bigResult = JSON.stringify({ content: [{ type: 'text', text: 'x'.repeat(bigBytes) }] });

function resultOf({ method, params }, tool) {
  if (method === 'initialize') {
    return JSON.stringify({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'bench', version: '1.0.0' },
    });
  }
  if (method === 'tools/list') {
    const tools = [tool, 'big'].map((name) => ({ name, description: 'It.', inputSchema: schema }));
    return JSON.stringify({ tools });
  }
  if (method === 'tools/call') {
    if (params.name === 'big') return bigResult;
    return JSON.stringify({ content: [{ type: 'text', text: params.arguments?.text ?? '' }] });
  }
  return method === 'ping' ? '{}' : undefined;
}

function beginSession() {
  const id = randomUUID();
  sessions.add(id);
  return id;
}

function answer(message, query, response) {
  const { id, method } = message;
  if (id === undefined) {
    response.writeHead(202).end();
    return;
  }
  const result = resultOf(message, query.get('tool') ?? 'echo');
  const rest =
    result === undefined
      ? '"error":{"code":-32601,"message":"Method not found"}'
      : `"result":${result}`;
  const body = Buffer.from(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${rest}}`);
  const send = () => {
    response
      .writeHead(200, {
        'content-type': 'application/json',
        'content-length': body.length,
        ...(method === 'initialize' && { 'mcp-session-id': beginSession() }),
      })
      .end(body);
  };
  const delayMs = method === 'initialize' ? Number(query.get('delay') ?? 0) : 0;
  if (delayMs === 0) send();
  else setTimeout(send, delayMs);
}

const server = createServer((request, response) => {
  const query = new URL(request.url ?? '/', 'http://bench').searchParams;
  if (request.url === '/sessions') {
    response.end(String(sessions.size));
    return;
  }
  if (request.method !== 'POST') {
    if (request.method === 'DELETE') sessions.delete(request.headers['mcp-session-id']);
    response.writeHead(request.method === 'DELETE' ? 200 : 405).end();
    return;
  }
  const chunks = [];
  request.on('data', (chunk) => chunks.push(chunk));
  request.on('end', () => {
    if (!query.has('hang')) answer(JSON.parse(Buffer.concat(chunks).toString()), query, response);
  });
});
// Idle connections stay: a server that closes them would make every other call reconnect.
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => process.stdout.write(`${server.address().port}\n`));
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));
