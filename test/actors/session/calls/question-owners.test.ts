/**
 * No question ever reaches a client that it does not belong to, whatever clients and server do; and
 * it reaches its client whenever nothing else is possible.
 */

import { array, asyncProperty, assert as check, constantFrom, integer, record } from 'fast-check';
import { expect, it } from 'vitest';

import type { QuestionClient } from '../../../../src/domain/question.ts';
import type { CallFailure } from '../../../../src/domain/session.ts';
import { abandonedMs } from '../../../../src/policies/calls/client-to-ask.ts';
import { turn } from '../../../support/turn.ts';
import { nameForm, questionBench } from './question-bench.ts';

interface Step {
  readonly act: 'call' | 'abandon' | 'leave' | 'respond' | 'ask' | 'wait';
  /** Chooses a client or a call. */
  readonly which: number;
}

interface MadeCall {
  readonly index: number;
  readonly client: number;
  readonly abort: AbortController;
  state: 'inFlight' | 'abandoned' | 'answered';
  leftAt: number;
}

const steps = array(
  record<Step>({
    act: constantFrom('call', 'call', 'call', 'abandon', 'leave', 'respond', 'ask', 'ask', 'wait'),
    which: integer({ min: 0, max: 30 }),
  }),
  { minLength: 4, maxLength: 40 },
);

/** Plays the steps; returns the client that each question belongs to, and the one that was asked. */
async function play(kind: 'stdio' | 'http', script: readonly Step[], clientCount: number) {
  const bench = await questionBench({ kind, isLight: kind === 'stdio' });
  const clients = Array.from(
    { length: clientCount },
    (): QuestionClient => ({ onQuestion: () => undefined }),
  );
  const calls: MadeCall[] = [];
  const seen: { owner: number; asked: number | undefined; mustAsk: boolean; told: unknown }[] = [];
  const inState = (state: MadeCall['state']) => calls.filter((call) => call.state === state);
  const abandon = async (call: MadeCall): Promise<void> => {
    call.abort.abort();
    call.state = 'abandoned';
    call.leftAt = bench.clock.now();
    await turn();
  };
  const leave = async (client: number): Promise<void> => {
    const own = inState('inFlight').filter((call) => call.client === client);
    for (const call of own) await abandon(call);
  };
  const begin = (client: number): void => {
    const abort = new AbortController();
    // Each question is answered only by the handler that was chosen for it.
    const maker = clients[client];
    const party = { ...maker, ...(maker !== undefined && { client: maker }) };
    void bench.call('work', { timeoutMs: 86_400_000, signal: abort.signal, party });
    calls.push({ index: calls.length, client, abort, state: 'inFlight', leftAt: 0 });
  };
  const ask = async (call: MadeCall): Promise<void> => {
    const possible = calls.filter(
      ({ state, leftAt }) =>
        state === 'inFlight' || (state === 'abandoned' && bench.clock.now() - leftAt < abandonedMs),
    );
    const mayAsk = call.state === 'inFlight';
    const isAlone = possible.every(({ client }) => client === call.client);
    const before = bench.asked.length;
    const id = `q${seen.length}`;
    await bench.ask(id, 'elicitation/create', nameForm, kind === 'http' ? call.index : undefined);
    const made = bench.asked[before];
    const asked = clients.findIndex(({ onQuestion }) => onQuestion === made?.party?.onQuestion);
    made?.answer(asked < 0 ? undefined : { action: 'cancel' });
    await turn();
    seen.push({
      owner: call.client,
      asked: asked < 0 ? undefined : asked,
      mustAsk: mayAsk && (isAlone || kind === 'http'),
      told: bench.toldTo(id),
    });
  };
  for (const { act, which } of script) {
    const pick = (from: readonly MadeCall[]) => from[which % Math.max(1, from.length)];
    const live = pick(inState('inFlight'));
    if (act === 'call') begin(which % clientCount);
    else if (act === 'wait') await bench.clock.advanceAndSettle(which * 30_000);
    else if (act === 'abandon' && live !== undefined) await abandon(live);
    else if (act === 'leave') await leave(which % clientCount);
    // The server may respond late, or ask late, while an abandoned call may still be at work.
    const working = pick([
      ...inState('inFlight'),
      ...inState('abandoned').filter(({ leftAt }) => bench.clock.now() - leftAt < abandonedMs),
    ]);
    if (act === 'respond' && working !== undefined) {
      await bench.answerCall(working.index);
      working.state = 'answered';
    } else if (act === 'ask' && working !== undefined) await ask(working);
  }
  bench.stop();
  return seen;
}

it.each([
  ['stdio', 1],
  ['stdio', 3],
  ['http', 3],
] as const)(
  'a question over %s with %i clients reaches its own client or is declined at once',
  async (kind, clientCount) => {
    await check(
      asyncProperty(steps, async (script) => {
        for (const { owner, asked, mustAsk, told } of await play(kind, script, clientCount)) {
          if (asked !== undefined) expect(asked).toBe(owner);
          if (mustAsk) expect(asked).toBe(owner);
          expect(told).toMatchObject({ action: expect.stringMatching(/decline|cancel/u) });
        }
      }),
      { numRuns: 150 },
    );
  },
);

const ofUs = { onQuestion: () => undefined, user: 'us' };

it.each([
  ['us', 1],
  ['them', undefined],
])(
  'a call that a client of %s abandoned takes no question after the server has read that',
  async (user, asked) => {
    const bench = await questionBench();
    bench.transport.answer = () => undefined;
    const [ada, bob] = [{ ...ofUs, user }, ofUs];
    const abort = new AbortController();
    void bench.call('given up', { signal: abort.signal, party: { client: ada } });
    void bench.call('work', { party: { ...bob, client: bob } });
    abort.abort();
    await turn();
    await bench.ask(1, 'elicitation/create', nameForm);
    expect(bench.asked[0]?.party).toBeUndefined();
    const [ping] = bench.sent('ping');
    expect(bench.transport.sent.findIndex((each) => 'id' in each && each.id === ping?.id)).toBe(
      bench.transport.sent.findIndex(
        (each) => 'method' in each && each.method === 'notifications/cancelled',
      ) + 1,
    );
    bench.transport.receive({ jsonrpc: '2.0', id: ping?.id, result: {} });
    await bench.ask(2, 'elicitation/create', nameForm);
    expect(bench.asked[1]?.party?.onQuestion && 1).toBe(asked);
  },
);

it('a call may still ask if the open question may have been of an abandoned call', async () => {
  const bench = await questionBench();
  const [ada, bob] = [{ ...ofUs }, { ...ofUs }];
  const abort = new AbortController();
  void bench.call('given up', { signal: abort.signal, party: { ...bob, client: bob } });
  void bench.call('work', { party: { ...bob, client: bob } });
  await bench.ask(1, 'elicitation/create', nameForm);
  abort.abort();
  await turn();
  const [ping] = bench.sent('ping');
  bench.transport.receive({ jsonrpc: '2.0', id: ping?.id, result: {} });
  void bench.call('other work', { party: { ...ada, client: ada } });
  await bench.ask(2, 'elicitation/create', nameForm);
  expect(bench.asked.map(({ party }) => party?.onQuestion !== undefined)).toEqual([true, false]);
});

it('no ping is sent without a user, over HTTP, or after an answer', async () => {
  for (const [kind, client] of [
    ['stdio', { onQuestion: () => undefined }],
    ['http', ofUs],
  ] as const) {
    const bench = await questionBench({ kind });
    const abort = new AbortController();
    const call = bench.call('given up', { signal: abort.signal, party: { client } });
    abort.abort();
    await call;
    expect(bench.sent('ping')).toEqual([]);
  }
  const bench = await questionBench();
  const call = bench.call('done', { party: { client: ofUs } });
  await bench.answerCall(0);
  await call;
  expect(bench.sent('ping')).toEqual([]);
});

it('a failed call says why its question was not answered', async () => {
  const bench = await questionBench({ kinds: ['sampling'] });
  const fail = (number: number) =>
    bench.answerCall(number, { error: { code: -1, message: 'No.' } });
  const ask = async (id: number): Promise<void> => {
    const message = { role: 'user', content: { type: 'text', text: 'Hi' } };
    await bench.ask(id, 'sampling/createMessage', { messages: [message], maxTokens: 1 });
    bench.asked.at(-1)?.answer(undefined);
    await turn();
  };
  const options = { deadlineAt: bench.clock.now() + 1_000, party: { client: ofUs } };
  const call = (party: object) =>
    bench.handle.callTool('work', {}, { ...options, party: { client: party } } as typeof options);
  const alone = call(ofUs);
  await ask(1);
  await fail(0);
  expect(await alone).toMatchObject({ failure: { unanswered: 'it was declined' } });
  expect(bench.toldTo(1)).toMatchObject({ message: 'The request was declined' });
  const several = [call({ ...ofUs }), call({ ...ofUs })];
  await ask(2);
  expect(bench.toldTo(2)).toMatchObject({
    message: expect.stringContaining(
      'declined: calls that may be of several clients are in flight',
    ),
  });
  await fail(1);
  await fail(2);
  for (const each of several) {
    const { failure } = (await each) as { failure: CallFailure };
    expect(failure).not.toHaveProperty('unanswered');
    expect(failure.perhapsUnanswered).toContain('several clients');
  }
});
