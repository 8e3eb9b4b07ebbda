/** Servers that write one line endlessly, as fast as the pipe accepts it. */

import { writeSync } from 'node:fs';

const rpc = (message) => JSON.stringify({ jsonrpc: '2.0', ...message });
const ping = rpc({ id: 'p', method: 'ping' });
const note = (data) => rpc({ method: 'notifications/message', params: { level: 'info', data } });

const lines = {
  'one-letter': 'a',
  blank: '',
  text: 'this is a line of a log and not of MCP',
  'broken-json': '{"jsonrpc":"2.0","id":1,"meth',
  pings: ping,
  batches: `[${Array(2_000).fill(ping).join()}]`,
  answers: rpc({ id: 999_999_999, result: {} }),
  questions: rpc({
    id: 'q',
    method: 'elicitation/create',
    params: { message: 'm', requestedSchema: { type: 'object', properties: {} } },
  }),
  notifications: note('x'),
  'large-notifications': note(Array.from({ length: 1_500_000 }, () => ({}))),
  'list-changed': rpc({ method: 'notifications/tools/list_changed' }),
};
const chunkBytes = 65_536;
// The server reads its input between two bursts.
const burstMs = 100;

function flood(descriptor, line) {
  const text = `${line}\n`;
  const chunk = Buffer.from(text.repeat(Math.max(1, Math.floor(chunkBytes / text.length))));
  // A pipe accepts only a part of a long line.
  let written = 0;
  const burst = () => {
    const until = Date.now() + burstMs;
    while (Date.now() < until) {
      try {
        written = (written + writeSync(descriptor, chunk, written)) % chunk.length;
      } catch (error) {
        if (error.code !== 'EAGAIN') process.exit();
      }
    }
    setImmediate(burst);
  };
  burst();
}

export const floodModes = {
  flood: {
    call(it, message) {
      it.usual('call', message);
      const descriptor = it.option('to', 'stdout') === 'stderr' ? 2 : 1;
      it.after(50, () => flood(descriptor, lines[it.option('line', 'text')]));
    },
  },
  'huge-result': {
    call: (it, { id }) =>
      it.say({ id, result: { content: [], structuredContent: { a: Array(8_000_000).fill(1) } } }),
  },
};
