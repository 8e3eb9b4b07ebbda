/**
 * A stdio MCP server, written by hand so that it costs almost nothing.
 *
 * Options: `--tool NAME` names its tool (default: echo), `--delay MS` waits before the answer
 * to `initialize`, `--hang` never answers anything, `--big BYTES` adds a tool `big` that
 * answers with that much text, `--flood COUNT` sends that many notifications before each answer
 * to a call, `--stubborn` ignores the end of its input and SIGTERM.
 */

const options = new Map(
  process.argv.slice(2).flatMap((word, index, words) => {
    return word.startsWith('--') ? [[word.slice(2), words[index + 1] ?? '']] : [];
  }),
);
const tool = options.get('tool') ?? 'echo';
const delayMs = Number(options.get('delay') ?? 0);
const hangs = options.has('hang');
const bigBytes = Number(options.get('big') ?? 0);
const floodCount = Number(options.get('flood') ?? 0);
const schema = { type: 'object', properties: { text: { type: 'string' } } };
const tools = [{ name: tool, description: 'Echoes.', inputSchema: schema }];
if (bigBytes > 0) tools.push({ name: 'big', description: 'Answers much.', inputSchema: schema });
// Built once, because building a megabyte for each result would dominate the cost.
const bigResult = JSON.stringify({ content: [{ type: 'text', text: 'x'.repeat(bigBytes) }] });

const news = '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n';

function write(id, json) {
  process.stdout.write(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},${json}}\n`);
}

function answer({ id, method, params }) {
  if (id === undefined || hangs) return;
  if (method === 'initialize') {
    const result = JSON.stringify({
      protocolVersion: params.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: 'bench', version: '1.0.0' },
    });
    if (delayMs === 0) write(id, `"result":${result}`);
    else setTimeout(() => write(id, `"result":${result}`), delayMs);
  } else if (method === 'tools/list') {
    write(id, `"result":${JSON.stringify({ tools })}`);
  } else if (method === 'tools/call') {
    for (let count = 0; count < floodCount; count += 1) process.stdout.write(news);
    const text = params.arguments?.text ?? '';
    const result =
      params.name === 'big' ? bigResult : JSON.stringify({ content: [{ type: 'text', text }] });
    write(id, `"result":${result}`);
  } else if (method === 'ping') {
    write(id, '"result":{}');
  } else {
    write(id, '"error":{"code":-32601,"message":"Method not found"}');
  }
}

let held = '';
process.stdin.setEncoding('utf8');
process.stdin.on('data', (chunk) => {
  const lines = (held + chunk).split('\n');
  held = lines.pop() ?? '';
  for (const line of lines) if (line !== '') answer(JSON.parse(line));
});
process.stdin.on('end', () => {
  if (!options.has('stubborn')) process.exit(0);
});
if (options.has('stubborn')) {
  process.on('SIGTERM', () => {});
  setInterval(() => {}, 60_000);
}
