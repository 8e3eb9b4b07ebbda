/**
 * A stdio MCP server that shows for which client it works: `node marking-server.mjs NAME FILE`.
 *
 * Its only tool appends the call and its client to a file, and says both in a line of the log, progress,
 * an update of the client's resource, a question and the answer. So it is seen when one of these
 * reaches another client, and when a call runs twice.
 */

import { appendFileSync } from 'node:fs';

const [, , name, file] = process.argv;

const write = (message) =>
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const notify = (method, params) => write({ method: `notifications/${method}`, params });

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {}, resources: { subscribe: true }, logging: {} },
    serverInfo: { name, version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: [{ name: 'work', inputSchema: { type: 'object' } }] }),
  'resources/list': () => ({ resources: [] }),
  'resources/templates/list': () => ({
    resourceTemplates: [{ name: 'box', uriTemplate: 'box://{client}' }],
  }),
  'resources/subscribe': () => ({}),
  'resources/unsubscribe': () => ({}),
  'logging/setLevel': () => ({}),
  ping: () => ({}),
};

/** The calls whose answers wait, by the id of their question. */
const asking = new Map();
const cancelled = new Set();
let questions = 0;

function work(id, { arguments: { call, client, asks, ms }, _meta: meta }) {
  appendFileSync(file, `${call} ${name} ${client}\n`);
  notify('message', { level: 'info', data: { client, server: name } });
  notify('resources/updated', { uri: `box://${client}` });
  setTimeout(() => {
    // A cancelled call must not ask: its client may be gone.
    if (cancelled.delete(id)) return;
    if (meta?.progressToken !== undefined)
      notify('progress', { progressToken: meta.progressToken, progress: 1, message: client });
    const end = (word) => {
      if (cancelled.delete(id)) return;
      write({ id, result: { content: [{ type: 'text', text: `${call} ${client} ${word}` }] } });
    };
    if (!asks) return end('unasked');
    questions += 1;
    const question = `question-${questions}`;
    asking.set(question, end);
    const requestedSchema = { type: 'object', properties: { word: { type: 'string' } } };
    const params = { mode: 'form', message: `${name} ${client}`, requestedSchema };
    write({ id: question, method: 'elicitation/create', params });
  }, ms);
}

function receive({ id, method, params, result }) {
  if (method === undefined) {
    const end = asking.get(id);
    asking.delete(id);
    end?.(result?.content?.word ?? 'refused');
  } else if (method === 'notifications/cancelled') {
    cancelled.add(params.requestId);
  } else if (id === undefined) {
    // Another notification.
  } else if (method === 'tools/call') {
    work(id, params);
  } else if (answers[method] === undefined) {
    write({ id, error: { code: -32601, message: 'No.' } });
  } else {
    write({ id, result: answers[method](params) });
  }
}

let buffered = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  const lines = (buffered + text).split('\n');
  buffered = lines.pop();
  for (const line of lines) receive(JSON.parse(line));
});
process.stdin.on('end', () => process.exit(0));
