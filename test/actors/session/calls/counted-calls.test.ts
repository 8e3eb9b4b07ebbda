/** What 64 calls in one turn cost, in counts, which hold on any machine, rather than times. */

import { Socket } from 'node:net';

import { expect, it, onTestFinished, vi } from 'vitest';

import { realClock } from '../../../../src/runtime/real-clock.ts';
import { callOptions, createBench } from '../bench.ts';

// Answers nothing until it has received 64 calls, and then all of them in one write.
const server = `
const held = [];
const line = (message) => JSON.stringify({ jsonrpc: '2.0', ...message }) + '\\n';
require('node:readline').createInterface({ input: process.stdin }).on('line', (text) => {
  const { id, method, params } = JSON.parse(text);
  if (id === undefined) return;
  if (method === 'initialize') {
    const { protocolVersion } = params;
    const serverInfo = { name: 'counted', version: '1' };
    process.stdout.write(line({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo } }));
  } else if (method === 'tools/call') {
    held.push(line({ id, result: { content: [{ type: 'text', text: String(id) }] } }));
    if (held.length === 64) process.stdout.write(held.join(''));
  } else process.stdout.write(line({ id, result: { tools: [] } }));
});
`;

it('64 calls in one turn need one write and one timer, and settle in one turn', async () => {
  const command = process.execPath;
  const spec = { type: 'stdio', command, args: ['-e', server], env: {}, cwd: '/tmp' } as const;
  const clock = { ...realClock };
  const session = createBench({ ...spec, era: 'legacy' })({ clock });
  onTestFinished(() => session.stop());
  session.send('session.open');
  await session.next('session.opened');
  const handle = session.handle();
  const write = vi.spyOn(Socket.prototype, 'write');
  const setTimer = vi.spyOn(clock, 'setTimeout');
  onTestFinished(() => void vi.restoreAllMocks());
  let turn = 0;
  const endTurn = (): void => {
    turn += 1;
    next = setImmediate(endTurn);
  };
  let next = setImmediate(endTurn);
  onTestFinished(() => clearImmediate(next));
  const turns = new Set<number>();
  const calls = Array.from({ length: 64 }, () =>
    handle.callTool('echo', {}, callOptions()).then((answer) => {
      turns.add(turn);
      return answer;
    }),
  );
  const answers = await Promise.all(calls);
  expect(answers.filter((answer) => 'result' in answer)).toHaveLength(64);
  expect(write).toHaveBeenCalledTimes(1);
  expect(setTimer).toHaveBeenCalledTimes(1);
  expect(turns.size).toBe(1);
});
