// An MCP server that sends mutated messages: fuzz-server.mjs stdio|http legacy|modern SEED PER_REQUEST
import { createServer } from 'node:http';
import { createInterface } from 'node:readline';

import { mutated, otherAnswer, resultFor, seeded, unasked } from './wire-messages.mjs';

const [carrier, era, seed, perRequest] = process.argv.slice(2);
const isModern = era === 'modern';
// A restarted server must not repeat the run that broke its session.
const random = seeded(Number(seed) + process.pid);
const handshake = new Set(['initialize', 'server/discover', 'tools/list']);
let sent = 0;
const count = (texts) => {
  const before = Math.floor(sent / 500);
  sent += texts.length;
  if (Math.floor(sent / 500) > before) process.stderr.write('sent 500\n');
  return texts;
};

function answerTo({ id, method, params }) {
  const result = resultFor(method, params, isModern);
  const answer =
    result === undefined
      ? { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } }
      : { jsonrpc: '2.0', id, result };
  // Most sessions must open, because most of the code runs after the handshake.
  if (handshake.has(method))
    return random() < 0.1 ? mutated(random, answer) : JSON.stringify(answer);
  const roll = random();
  if (roll < 0.3) return JSON.stringify(answer);
  if (roll < 0.5) return mutated(random, otherAnswer(random, id, isModern));
  return mutated(random, answer);
}

function textsFor(message) {
  const texts = [];
  const extra = handshake.has(message.method) ? 1 : Number(perRequest);
  for (let made = 0; made < extra; made += 1)
    texts.push(mutated(random, unasked(random, isModern)));
  if (message.id !== undefined && message.method !== undefined) texts.push(answerTo(message));
  return count(texts);
}

if (carrier === 'stdio') {
  createInterface({ input: process.stdin })
    .on('line', (line) =>
      process.stdout.write(
        textsFor(JSON.parse(line))
          .map((text) => `${text}\n`)
          .join(''),
      ),
    )
    .on('close', () => process.exit());
} else {
  const server = createServer((request, response) => {
    const chunks = [];
    request
      .on('data', (chunk) => chunks.push(chunk))
      .on('end', () => {
        if (request.method === 'GET') {
          response.writeHead(200, { 'content-type': 'text/event-stream' });
          const texts = count(
            Array.from({ length: Number(perRequest) }, () =>
              mutated(random, unasked(random, isModern)),
            ),
          );
          return response.end(texts.map((text) => `data: ${text}\n\n`).join(''));
        }
        if (request.method !== 'POST') return response.writeHead(200).end();
        const message = JSON.parse(Buffer.concat(chunks).toString('utf8'));
        if (message.id === undefined || message.method === undefined)
          return response.writeHead(202).end();
        const session = message.method === 'initialize' ? { 'mcp-session-id': 'fuzz' } : {};
        if (random() < 0.5) {
          const status = random() < 0.9 ? 200 : [202, 400, 404, 500][Math.floor(random() * 4)];
          const [text] = count([answerTo(message)]);
          return response
            .writeHead(handshake.has(message.method) ? 200 : status, {
              'content-type': 'application/json',
              ...session,
            })
            .end(text);
        }
        response.writeHead(200, { 'content-type': 'text/event-stream', ...session });
        return response.end(
          textsFor(message)
            .map((text) => `data: ${text}\n\n`)
            .join(''),
        );
      });
  });
  server.listen(0, '127.0.0.1', () => console.log(server.address().port));
  process.stdin.resume().on('end', () => process.exit());
}
