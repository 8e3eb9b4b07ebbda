/**
 * A stdio MCP server whose only tool appends a number to a file, and which dies at the point that the
 * call names: `node effect-counter.mjs FILE`.
 */

import { appendFileSync, writeSync } from 'node:fs';

const [, , file] = process.argv;

const die = () => process.kill(process.pid, 'SIGKILL');
const say = (message) => writeSync(1, `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);

const answers = {
  initialize: ({ protocolVersion }) => ({
    protocolVersion,
    capabilities: { tools: {} },
    serverInfo: { name: 'effect-counter', version: '1.0.0' },
  }),
  'tools/list': () => ({ tools: [{ name: 'count', inputSchema: { type: 'object' } }] }),
  ping: () => ({}),
};

function count(id, { n, dies, ms = 0 }) {
  if (dies === 'beforeEffect') die();
  appendFileSync(file, `${n}\n`);
  if (dies === 'afterEffect') die();
  const answer = `${JSON.stringify({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: String(n) }] } })}\n`;
  if (dies === 'midAnswer') {
    writeSync(1, answer.slice(0, answer.length / 2));
    die();
  }
  const send = () => {
    writeSync(1, answer);
    if (dies === 'afterAnswer') die();
  };
  if (ms === 0) send();
  else setTimeout(send, ms);
}

let buffered = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  buffered += text;
  // Only the beginning of a long request has arrived.
  if (!buffered.includes('\n') && buffered.includes('"dies":"midRequest"')) die();
  for (let end = buffered.indexOf('\n'); end !== -1; end = buffered.indexOf('\n')) {
    const { id, method, params } = JSON.parse(buffered.slice(0, end));
    buffered = buffered.slice(end + 1);
    if (id === undefined) continue;
    if (method === 'tools/call') count(id, params.arguments);
    else if (answers[method] === undefined) say({ id, error: { code: -32601, message: 'No.' } });
    else say({ id, result: answers[method](params) });
  }
});
process.stdin.on('end', () => process.exit(0));
