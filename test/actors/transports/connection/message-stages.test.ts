/** The path of a server's text from the wire to the SDK's client. */

import type { JSONRPCMessage } from '@modelcontextprotocol/client';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MessageStages } from '../../../../actors/transports/connection/stages.ts';
import { readText, structureOf } from '../../../../src/protocol/messages.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { silentInput } from '../../../fixtures/silent-input.ts';

const read = (text: string): readonly JSONRPCMessage[] => readText(text).messages;

/** An array in an array, so many levels deep. */
const nested = (levels: number): string => '['.repeat(levels) + ']'.repeat(levels);
const answer = (result: string): string => `{"jsonrpc":"2.0","id":1,"result":{"a":${result}}}`;

describe('reading messages from the wire', () => {
  it('finds requests, notifications, responses and batches', () => {
    const request = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const news = { jsonrpc: '2.0', method: 'notifications/progress', params: { a: 1 } };
    const reply = { jsonrpc: '2.0', id: 'a', result: {} };
    for (const message of [request, news, reply])
      expect(read(JSON.stringify(message))).toEqual([message]);
    expect(read(JSON.stringify([request, 7, news, reply]))).toEqual([request, news, reply]);
  });

  it.each([
    'hello',
    '7',
    'null',
    '"a"',
    '',
    '{',
    '{}',
    '[]',
    '{"level":"info"}',
    '{"method":"ping"}',
    '{"jsonrpc":"2.0","method":7}',
    '{"jsonrpc":"2.0","method":"ping","id":1.5}',
    '{"jsonrpc":"2.0","method":"ping","id":1,"params":[]}',
    '{"jsonrpc":"2.0","id":null,"error":{}}',
    '{"jsonrpc":"2.0","id":{},"result":{}}',
  ])('finds no message in %s', (line) => {
    expect(read(line)).toEqual([]);
  });

  it.each([
    '{"id":1,"result":{}}',
    '{"jsonrpc":"2.0","id":1}',
    '{"jsonrpc":"2.0","id":1,"result":null}',
    '{"jsonrpc":"2.0","id":1,"result":null,"error":null}',
    '{"jsonrpc":"2.0","id":1,"result":[]}',
    '{"jsonrpc":"2.0","id":1,"error":"no"}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"no"}}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":1}}',
    '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"no"}}',
    '{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}',
  ])('turns the malformed response %s into an error for its request', (line) => {
    expect(read(line)).toMatchObject([{ id: 1, error: { data: { code: 'BAD_RESPONSE' } } }]);
  });

  it('treats null as absent because JSON-RPC 1.0 style servers send it', () => {
    const result = { jsonrpc: '2.0', id: 1, result: {} };
    expect(read(JSON.stringify({ ...result, error: null }))).toEqual([result]);
    expect(read(JSON.stringify({ ...result, method: null }))).toEqual([result]);
    const error = { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'no' } };
    expect(read(JSON.stringify({ ...error, result: null }))).toEqual([error]);
    const news = { jsonrpc: '2.0', method: 'a' };
    expect(read(JSON.stringify({ ...news, params: null }))).toEqual([news]);
    expect(read(JSON.stringify({ ...news, id: null }))).toEqual([news]);
  });

  it('rejects a response of more than 256 levels without parsing it, wherever its id is', () => {
    const inLimit = answer(nested(254));
    expect(read(inLimit)).toEqual([JSON.parse(inLimit)]);
    const error = { data: { code: 'RESULT_TOO_LARGE' }, message: expect.stringContaining('256') };
    expect(read(answer(nested(255)))).toMatchObject([{ id: 1, error }]);
    const last = `{"jsonrpc":"2.0","result":{"a":${nested(100_000)}},"id":7}`;
    expect(read(last)).toMatchObject([{ id: 7, error }]);
    expect(read(`{"jsonrpc":"2.0","method":"a","params":{"a":${nested(300)}}}`)).toEqual([]);
  });

  it('rejects a response of more than 500,000 values without parsing it', () => {
    // Three keys, two commas and two objects come with the array.
    const values = (count: number): string => `[${'0,'.repeat(count)}0]`;
    expect(read(answer(values(499_990)))).toHaveProperty('0.result');
    expect(read(answer(values(500_000)))).toMatchObject([
      { id: 1, error: { data: { code: 'RESULT_TOO_LARGE' } } },
    ]);
  });

  it('charges for each number whose text is kept, and rejects more than 100,000 of them', () => {
    const values = (count: number): string => `[${'1.0,'.repeat(count - 1)}1.0]`;
    const exact = readText(answer(values(100_000).replaceAll('1.0', '1.5'))).work;
    const { messages, work } = readText(answer(values(100_000)));
    expect(messages).toHaveProperty('0.result');
    expect(work - exact).toBe(100_000);
    expect(read(answer(values(100_001)))).toMatchObject([
      { id: 1, error: { data: { code: 'RESULT_TOO_LARGE' } } },
    ]);
  });

  it('reads at most 256 messages from a batch', () => {
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
    expect(read(`[${Array(2_000).fill(ping).join()}]`)).toHaveLength(256);
  });

  it('counts the same structure as a walk over the parsed value for any JSON', () => {
    const marksOf = (value: unknown): number => {
      if (typeof value !== 'object' || value === null) return 0;
      const inner = Object.values(value);
      const own = 1 + Math.max(0, inner.length - 1) + (Array.isArray(value) ? 0 : inner.length);
      return own + inner.reduce<number>((sum, each) => sum + marksOf(each), 0);
    };
    const long = fc.string({
      unit: fc.constantFrom('"', '\\', 'a', '{', ',', '\u2028'),
      maxLength: 200,
    });
    const { tree } = fc.letrec((tie) => ({
      tree: fc.oneof(
        { depthSize: 'small' },
        long,
        fc.array(tie('tree'), { maxLength: 5 }),
        fc.dictionary(long, tie('tree'), { maxKeys: 5 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        expect(structureOf(JSON.stringify(value)).marks).toBe(marksOf(value));
      }),
    );
  });
});

/** The stages of a connection, and all that came out of them. */
function createStages() {
  const clock = new VirtualClock();
  const client: JSONRPCMessage[] = [];
  const sent: JSONRPCMessage[] = [];
  const lost: string[] = [];
  const floods: string[] = [];
  const stages = new MessageStages({
    clock,
    events: { ...silentInput, flooded: ({ message }) => floods.push(message) },
    send: (message) => Promise.resolve(void sent.push(message)),
    lose: ({ message }) => lost.push(message),
  });
  const receive = (message: object): void => {
    for (const each of stages.read(JSON.stringify({ jsonrpc: '2.0', ...message })))
      stages.deliver(each, (delivered) => client.push(delivered));
  };
  const ask = (id: string | number): void => stages.sent({ jsonrpc: '2.0', id, method: 'ping' });
  return { stages, client, sent, lost, floods, receive, ask };
}

describe('the message stages', () => {
  it('deliver a response once and only to a request that was sent', () => {
    const { client, receive, ask } = createStages();
    receive({ id: 1, result: {} });
    ask(1);
    ask('b');
    for (let time = 0; time < 2; time += 1) {
      // Some servers return a numeric id as a string.
      receive({ id: '1', result: {} });
      receive({ id: 'b', error: { code: 1, message: 'no' } });
    }
    expect(client).toHaveLength(2);
  });

  it('try questions before calls, and pass everything else to the client', () => {
    const { stages, client, receive, ask } = createStages();
    const story: string[] = [];
    stages.questions = (message) => story.push('questions') > 0 && 'method' in message;
    stages.calls = () => story.push('calls') > 2;
    receive({ id: 1, method: 'elicitation/create' });
    ask(2);
    receive({ id: 2, result: {} });
    ask(3);
    receive({ id: 3, result: {} });
    expect(story).toEqual(['questions', 'questions', 'calls', 'questions', 'calls']);
    expect(client).toHaveLength(0);
  });

  it('end the connection without throwing when a message cannot be handled', () => {
    const { stages, lost, receive } = createStages();
    stages.questions = () => {
      throw new TypeError('Cannot destructure');
    };
    receive({ method: 'notifications/message' });
    expect(lost).toEqual([
      'The server sent something that could not be handled: Cannot destructure',
    ]);
  });

  it('refuse requests beyond 200 per second and drop responses to unsent requests', () => {
    const { client, sent, floods, receive } = createStages();
    for (let id = 0; id < 300; id += 1) receive({ id, method: 'ping' });
    for (let id = 0; id < 300; id += 1) receive({ id, result: {} });
    expect(client).toHaveLength(200);
    expect(sent).toHaveLength(100);
    expect(sent[0]).toMatchObject({ id: 200, error: { code: -32_000 } });
    expect(floods).toEqual([expect.stringContaining('more than 200 requests a second')]);
  });

  it('report each message of the server while its silence would count, and no noise', () => {
    const { stages, receive } = createStages();
    const heard: unknown[] = [];
    receive({ method: 'notifications/progress', params: {} });
    stages.onRead = (messages) => heard.push(...messages);
    stages.read('noise');
    receive({ id: 7, result: {} });
    receive({ method: 'notifications/progress', params: {} });
    expect(heard).toMatchObject([{ id: 7 }, { method: 'notifications/progress' }]);
  });

  it('charge all messages except awaited responses', () => {
    const { stages, receive, ask } = createStages();
    for (let id = 0; id < 1_000; id += 1) {
      ask(id);
      receive({ id, result: {} });
    }
    expect(stages.budget.isSpent).toBe(false);
    for (let count = 0; count < 256; count += 1) stages.read('noise');
    expect(stages.budget.isSpent).toBe(true);
  });
});
