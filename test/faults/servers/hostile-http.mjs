/**
 * A streamable HTTP MCP server with one bad habit per mode, written by hand:
 * `node hostile-http.mjs PORT MODE --option value`. Prints its port.
 */

import { createServer } from 'node:http';

import { log } from './event-log.mjs';
import { modes } from './hostile-http-modes.mjs';

const [port, modeName = 'ok', ...words] = process.argv.slice(2);
const mode = modes[modeName];
if (mode === undefined) throw new Error(`no mode ${modeName}`);

/** State of the whole process; modes keep their counts here. */
const server = { requests: 0, sessions: 0, calls: 0, option: optionOf };

function optionOf(name, fallback) {
  const at = words.indexOf(`--${name}`);
  return at === -1 ? fallback : words[at + 1];
}

/** One request, with the operations for modes. */
function exchangeOf(request, response, message) {
  const { id, method } = message;
  const it = {
    ...{ server, request, response, message, id, method, option: optionOf },
    isCall: method === 'tools/call',
    isNotification: method !== undefined && id === undefined,
    socket: response.socket,
    send(status, body, headers = {}) {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(typeof body === 'string' ? body : JSON.stringify(body));
    },
    reply: (result, headers) => it.send(200, { jsonrpc: '2.0', id, result }, headers),
    fail: (status, code, text, data) =>
      it.send(status, {
        jsonrpc: '2.0',
        id,
        error: { code, message: text, ...(data && { data }) },
      }),
    /** Writes bytes of its own instead of an answer that HTTP allows. */
    raw: (bytes) => response.socket.write(bytes),
    text: (value) => ({ content: [{ type: 'text', text: String(value) }] }),
    events(lines = '') {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
      response.write(lines);
    },
    event: (message_, fields = '') =>
      `${fields}data: ${JSON.stringify({ jsonrpc: '2.0', ...message_ })}\n\n`,
    initialize: (headers = { 'mcp-session-id': `session-${(server.sessions += 1)}` }) =>
      it.reply(
        {
          protocolVersion: message.params?.protocolVersion,
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'hostile', version: '1.0.0' },
        },
        headers,
      ),
    usual: () => usual(it),
  };
  return it;
}

function usual(it) {
  const { request, method, message } = it;
  if (request.method === 'GET') return it.events();
  if (request.method === 'DELETE') return it.send(200, '');
  if (method === 'server/discover') return it.fail(400, -32601, 'Method not found');
  if (method === 'initialize') return it.initialize();
  if (it.isNotification) return it.response.writeHead(202).end();
  if (method === 'ping') return it.reply({});
  if (method === 'tools/list')
    return it.reply({
      tools: ['echo', 'slow'].map((name) => ({ name, inputSchema: { type: 'object' } })),
    });
  if (!it.isCall) return it.fail(404, -32601, 'Method not found');
  const { name, arguments: args = {} } = message.params;
  const answer = () => {
    log('effect', { n: args.n });
    it.reply(it.text(args.text ?? args.n ?? name));
  };
  if (name === 'slow') setTimeout(answer, args.ms ?? 200);
  else answer();
}

async function bodyOf(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}

const listener = createServer(async (request, response) => {
  server.requests += 1;
  try {
    const body = await bodyOf(request);
    const message = body === '' ? {} : JSON.parse(body);
    const what = request.method === 'POST' ? (message.method ?? 'answer') : request.method;
    log(what, {
      session: request.headers['mcp-session-id'],
      key: request.headers['x-api-key'],
      n: message.params?.arguments?.n,
      error: message.error?.code,
    });
    response.on('close', () => {
      if (!response.writableFinished) log('hung-up', { method: message.method });
    });
    if (message.method === 'tools/call') server.calls += 1;
    mode(exchangeOf(request, response, message));
  } catch {
    // The client hung up during its request.
    response.destroy();
  }
});
if (optionOf('keep') !== undefined) listener.keepAliveTimeout = Number(optionOf('keep'));
listener.on('clientError', (_error, socket) => socket.destroy());
listener.listen(Number(port), '127.0.0.1', () => {
  process.stdout.write(`${listener.address().port}\n`);
});
// Ends with its parent process.
process.stdin.on('end', () => process.exit(0)).resume();
