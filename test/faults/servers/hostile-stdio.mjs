/**
 * A stdio MCP server with one bad habit per mode, written by hand to do what no SDK would:
 * `node hostile-stdio.mjs MODE --option value`. The habits are in hostile-stdio-modes.mjs.
 */

import { log, logged } from './event-log.mjs';
import { modes } from './hostile-stdio-modes.mjs';

const [modeName = 'ok', ...words] = process.argv.slice(2);
const mode = modes[modeName];
if (mode === undefined) throw new Error(`no mode ${modeName}`);

const tool = (name, more = {}) => ({
  name,
  description: `Tool ${name}.`,
  inputSchema: { type: 'object' },
  ...more,
});

/** The interface for modes. */
const it = {
  option: (name, fallback) => {
    const at = words.indexOf(`--${name}`);
    return at === -1 ? fallback : words[at + 1];
  },
  number: (name, fallback) => Number(it.option(name, fallback)),
  /** From 1. */
  life: logged('start') + 1,
  calls: 0,
  lists: 0,
  isModern: false,
  log,
  tool,
  text: (value) => ({ content: [{ type: 'text', text: String(value) }] }),
  raw: (bytes) => process.stdout.write(bytes),
  say: (message) => it.raw(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`),
  reply: ({ id }, result) =>
    it.say({
      id,
      result: it.isModern
        ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private', ...result }
        : result,
    }),
  fail: ({ id }, code, message, data) =>
    it.say({ id, error: { code, message, ...(data && { data }) } }),
  changed: () => it.say({ method: 'notifications/tools/list_changed' }),
  stayAlive: () => setInterval(() => {}, 1_000),
  after: (ms, action) => setTimeout(() => action(), ms),
  usual: (name, message) => usual[name](message),
  initializeResult: (version) => ({
    protocolVersion: version,
    capabilities: { tools: { listChanged: true } },
    serverInfo: { name: 'hostile', version: '1.0.0' },
  }),
};

const usual = {
  start() {},
  discover: (message) => it.fail(message, -32601, 'Method not found'),
  initialize: (message) => it.reply(message, it.initializeResult(message.params.protocolVersion)),
  initialized() {},
  list: (message) => it.reply(message, { tools: [tool('echo'), tool('slow')] }),
  call(message) {
    const { name, arguments: args = {} } = message.params;
    const answer = () => {
      log('effect', { n: args.n });
      it.reply(message, it.text(args.text ?? args.n ?? name));
    };
    if (name === 'slow') setTimeout(answer, args.ms ?? 200);
    else answer();
  },
  end: () => process.exit(0),
  other(message) {
    if (message.method === 'ping') it.reply(message, {});
    else if (message.method !== undefined && message.id !== undefined)
      it.fail(message, -32601, 'Method not found');
  },
};

function act(name, message) {
  if (mode[name] === undefined) usual[name](message);
  else mode[name](it, message);
}

const stepOf = {
  'server/discover': 'discover',
  initialize: 'initialize',
  'notifications/initialized': 'initialized',
  'tools/list': 'list',
  'tools/call': 'call',
};

function receive(message) {
  const { id, method, params } = message;
  log(method ?? 'answer', { id, n: params?.arguments?.n, error: message.error?.code });
  if (method === 'tools/call') it.calls += 1;
  if (method === 'tools/list') it.lists += 1;
  act(stepOf[method] ?? 'other', message);
}

log('start');
act('start');
let buffered = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (text) => {
  buffered += text;
  for (let end = buffered.indexOf('\n'); end !== -1; end = buffered.indexOf('\n')) {
    const line = buffered.slice(0, end);
    buffered = buffered.slice(end + 1);
    receive(JSON.parse(line));
  }
});
process.stdin.on('end', () => {
  log('stdin-end');
  act('end');
});
// The client may close the pipe during a write.
process.stdout.on('error', () => {});
