/** Questions of servers before the 2026-07-28 revision: their calls, and their replies. */

import { describe, expect, it } from 'vitest';

import type { QuestionAnswer, QuestionParty } from '../../../../src/domain/question.ts';
import { turn } from '../../../support/turn.ts';
import { nameForm, type QuestionBench, questionBench } from './question-bench.ts';

const elicit = 'elicitation/create';
const yes = { action: 'accept', content: { name: 'Ada' } } as const;
const urlOf = (url: string, elicitationId = 'e1') => ({
  mode: 'url',
  message: 'Log in',
  url,
  elicitationId,
});

describe.each([
  ['without progress', true],
  ['with progress', false],
])('a question during a call made %s', (_way, isLight) => {
  it('belongs to the only call in flight', async () => {
    const bench = await questionBench({ isLight });
    const called = bench.call('first');
    await bench.ask(7, elicit, nameForm);
    expect(bench.asked.map(({ party }) => party)).toEqual([{ tool: 'first' }]);
    bench.asked[0]?.answer(yes);
    await turn();
    expect(bench.toldTo(7)).toEqual(yes);
    await bench.answerCall(0);
    expect(await called).toBe('ok');
    expect(bench.clock.pendingCount).toBe(0);
  });

  it('belongs to no call when two or none are in flight', async () => {
    const bench = await questionBench({ isLight });
    await bench.ask(1, elicit, nameForm);
    void bench.call('first');
    void bench.call('second');
    await bench.ask(2, elicit, nameForm);
    await bench.answerCall(0);
    await bench.ask(3, elicit, nameForm);
    expect(bench.asked.map(({ party }) => party?.tool)).toEqual([undefined, undefined, 'second']);
  });

  it('belongs to no call while the server may still be working on another', async () => {
    const bench = await questionBench({ isLight });
    const abort = new AbortController();
    const given = bench.call('given up', { signal: abort.signal });
    const other = bench.call('other');
    abort.abort();
    expect(await given).toBe('cancelled');
    await bench.ask(1, elicit, nameForm);
    await bench.answerCall(0);
    await bench.ask(2, elicit, nameForm);
    expect(bench.asked.map(({ party }) => party?.tool)).toEqual([undefined, 'other']);
    await bench.answerCall(1);
    expect(await other).toBe('ok');
  });

  it('ends with its call and notifies the server of the cancellation', async () => {
    const bench = await questionBench({ isLight });
    void bench.call('first');
    await bench.ask(1, elicit, nameForm);
    await bench.answerCall(0);
    expect(bench.asked[0]?.signal.aborted).toBe(true);
    expect(bench.toldTo(1)).toEqual({ action: 'cancel' });
  });

  it("pauses its call's timeout, up to the caller's limit", async () => {
    const bench = await questionBench({ isLight });
    const called = bench.call('first', { timeoutMs: 1_000, questionsMs: 5_000 });
    await bench.clock.advanceAndSettle(600);
    await bench.ask(1, elicit, nameForm);
    await bench.clock.advanceAndSettle(4_000);
    bench.asked[0]?.answer(yes);
    await turn();
    await bench.clock.advanceAndSettle(399);
    await bench.ask(2, elicit, nameForm);
    // One more second of questions is left, and one millisecond for the server.
    await bench.clock.advanceAndSettle(1_000);
    expect(bench.asked[1]?.signal.aborted).toBe(false);
    await bench.clock.advanceAndSettle(1);
    expect(await called).toBe('timeout');
    expect(bench.toldTo(2)).toEqual({ action: 'cancel' });
    expect(bench.clock.pendingCount).toBe(0);
  });

  it("does not extend its call's deadline unless the caller allows it", async () => {
    const bench = await questionBench({ isLight });
    const called = bench.call('first', { timeoutMs: 1_000 });
    await bench.ask(1, elicit, nameForm);
    await bench.clock.advanceAndSettle(1_000);
    expect(await called).toBe('timeout');
  });
});

describe('a call that is answered before sending returns', () => {
  it('does not count as in flight', async () => {
    const bench = await questionBench();
    const { transport } = bench;
    const send = transport.send.bind(transport);
    transport.send = (message) => {
      const sent = send(message);
      void bench.answerCall(0);
      return sent;
    };
    expect(await bench.call('first')).toBe('ok');
    transport.send = send;
    void bench.call('second');
    await bench.ask(1, elicit, nameForm);
    expect(bench.asked.map(({ party }) => party?.tool)).toEqual(['second']);
  });
});

it('a request to an older server omits the metadata of modern requests', async () => {
  const bench = await questionBench();
  void bench.call('first', { round: { capabilities: { sampling: {} } } });
  expect(bench.sent('tools/call')[0]?.['params']).toEqual({ name: 'first', arguments: {} });
});

describe('an abandoned call', () => {
  it('counts as in flight for ten minutes', async () => {
    const bench = await questionBench();
    expect(await Promise.all([bench.call('late'), bench.clock.advanceAndSettle(1_000)])).toContain(
      'timeout',
    );
    void bench.call('other', { timeoutMs: 3_600_000 });
    await bench.clock.advanceAndSettle(599_999);
    await bench.ask(1, elicit, nameForm);
    await bench.clock.advanceAndSettle(1);
    await bench.ask(2, elicit, nameForm);
    expect(bench.asked.map(({ party }) => party?.tool)).toEqual([undefined, 'other']);
  });

  it('counts just as long when too many calls are abandoned to remember each', async () => {
    const bench = await questionBench();
    for (let count = 0; count < 300; count += 1) await abandon(bench);
    for (let count = 44; count < 300; count += 1) await bench.answerCall(count);
    void bench.call('other', { timeoutMs: 3_600_000 });
    await bench.clock.advanceAndSettle(599_999);
    await bench.ask(1, elicit, nameForm);
    await bench.clock.advanceAndSettle(1);
    await bench.ask(2, elicit, nameForm);
    expect(bench.asked.map(({ party }) => party?.tool)).toEqual([undefined, 'other']);
  });
});

async function abandon(bench: QuestionBench, party: QuestionParty = {}): Promise<void> {
  const abort = new AbortController();
  const given = bench.call('given up', { signal: abort.signal, party });
  abort.abort();
  await given;
}

describe('a question that may belong to several calls', () => {
  const clientOf = (name: string) => ({
    onQuestion: (): QuestionAnswer => ({ action: 'accept', content: { name } }),
  });
  const [ada, bob] = [clientOf('Ada'), clientOf('Bob')];
  const askedOf = ({ asked }: QuestionBench) =>
    asked.map(({ party }) => [ada, bob].find(({ onQuestion }) => onQuestion === party?.onQuestion));

  it('is passed to their client without naming a call, beside other calls', async () => {
    const bench = await questionBench();
    const calls = ['one', 'two'].map((tool) => bench.call(tool, { party: { tool, client: ada } }));
    await bench.ask(1, elicit, nameForm);
    expect(askedOf(bench)).toEqual([ada]);
    expect(bench.asked[0]?.party?.tool).toBeUndefined();
    bench.asked[0]?.answer(yes);
    await turn();
    expect(bench.toldTo(1)).toEqual(yes);
    for (const index of [0, 1]) await bench.answerCall(index);
    expect(await Promise.all(calls)).toEqual(['ok', 'ok']);
    expect(bench.clock.pendingCount).toBe(0);
  });

  it('is passed to the client after its own abandoned call', async () => {
    const bench = await questionBench();
    await abandon(bench, { client: ada });
    void bench.call('next', { party: { tool: 'next', client: ada } });
    await bench.ask(1, elicit, nameForm);
    expect(askedOf(bench)).toEqual([ada]);
    expect(bench.asked[0]?.party?.tool).toBeUndefined();
  });

  it.each([
    [
      'in flight',
      async (bench: QuestionBench) => void bench.call('one', { party: { client: ada } }),
    ],
    ['abandoned', (bench: QuestionBench) => abandon(bench, { client: ada })],
  ])(
    'is declined with a reason beside a call of another client that is %s',
    async (_how, begin) => {
      const bench = await questionBench();
      await begin(bench);
      void bench.call('two', { party: { tool: 'two', client: bob } });
      await bench.ask(1, elicit, nameForm);
      expect(askedOf(bench)).toEqual([undefined]);
      bench.asked[0]?.answer(undefined);
      await turn();
      expect(bench.toldTo(1)).toEqual({ action: 'decline' });
      expect(bench.declined).toEqual([expect.stringMatching(/clients are|of another client/u)]);
      await bench.answerCall(0);
      await bench.ask(2, elicit, nameForm);
      expect(bench.asked[1]?.party?.tool).toBe('two');
    },
  );

  it('is declined with a reason after the only call was abandoned, and without a call', async () => {
    const bench = await questionBench();
    await bench.ask(1, elicit, nameForm);
    await abandon(bench, { client: ada });
    await bench.ask(2, elicit, nameForm);
    for (const { answer } of bench.asked) answer(undefined);
    await turn();
    expect(askedOf(bench)).toEqual([undefined, undefined]);
    expect(bench.declined).toEqual([
      expect.stringContaining('no call is in flight'),
      expect.stringContaining('no longer wait'),
    ]);
  });

  it('is withdrawn with the last of them, whose time is paused until then', async () => {
    const bench = await questionBench();
    const times = { timeoutMs: 1_000, questionsMs: 60_000, party: { client: ada } };
    const calls = ['one', 'two'].map((tool) => bench.call(tool, times));
    await bench.ask(1, elicit, nameForm);
    await bench.clock.advanceAndSettle(30_000);
    await bench.answerCall(0);
    expect(bench.asked[0]?.signal.aborted).toBe(false);
    await bench.answerCall(1);
    expect(bench.asked[0]?.signal.aborted).toBe(true);
    expect(bench.toldTo(1)).toEqual({ action: 'cancel' });
    expect(await Promise.all(calls)).toEqual(['ok', 'ok']);
  });
});

describe('a question over HTTP', () => {
  it('belongs to the call whose stream carried it, whatever else is in flight', async () => {
    const bench = await questionBench({ kind: 'http', isLight: false });
    void bench.call('first');
    void bench.call('second');
    await bench.ask(1, elicit, nameForm, 1);
    await bench.ask(2, elicit, nameForm, 0);
    expect(bench.asked.map(({ party }) => party?.tool)).toEqual(['second', 'first']);
  });

  it('belongs to the only client of the session when it arrives on the notification stream', async () => {
    const bench = await questionBench({ kind: 'http', isLight: false });
    const [ada, bob] = [{ onQuestion: () => undefined }, { onQuestion: () => undefined }];
    const asksAda = () => bench.asked.map(({ party }) => party?.onQuestion === ada.onQuestion);
    await bench.ask(1, elicit, nameForm);
    void bench.call('first', { party: { client: ada } });
    await bench.ask(2, elicit, nameForm);
    expect(asksAda()).toEqual([false, true]);
    const other = bench.call('second', { party: { client: bob } });
    await bench.answerCall(1);
    expect(await other).toBe('ok');
    await bench.ask(3, elicit, nameForm);
    expect(asksAda()).toEqual([false, true, false]);
  });

  it('belongs to no call when it arrives on the notification stream', async () => {
    const bench = await questionBench({ kind: 'http', isLight: false });
    void bench.call('first');
    await bench.ask(1, elicit, nameForm);
    expect(bench.asked.map(({ party }) => party)).toEqual([undefined]);
  });

  it('is cancelled without asking the host once its call is over', async () => {
    const bench = await questionBench({ kind: 'http', isLight: false });
    const abort = new AbortController();
    const given = bench.call('first', { signal: abort.signal });
    void bench.call('second');
    abort.abort();
    await given;
    await bench.ask(1, elicit, nameForm, 0);
    await bench.answerCall(1);
    await bench.ask(2, elicit, nameForm, 1);
    expect(bench.asked).toEqual([]);
    expect([bench.toldTo(1), bench.toldTo(2)]).toEqual([
      { action: 'cancel' },
      { action: 'cancel' },
    ]);
  });
});

describe('the reply to a server', () => {
  it('announces exactly the question kinds that can be answered', async () => {
    const announced = async (choice: Parameters<typeof questionBench>[0]) =>
      (await questionBench(choice)).announced;
    expect(await announced({ kinds: [] })).toEqual({});
    expect(await announced({ kinds: ['form'] })).toEqual({ elicitation: { form: {} } });
    expect(await announced({ kinds: ['url', 'sampling'], folders: [] })).toEqual({
      elicitation: { url: {} },
      sampling: {},
      roots: { listChanged: true },
    });
  });

  it('refuses a question of an unannounced kind', async () => {
    const bench = await questionBench({ kinds: ['form'] });
    await bench.ask(1, elicit, urlOf('https://example.com'));
    await bench.ask(2, 'sampling/createMessage', { messages: [], maxTokens: 1 });
    await bench.ask(3, 'roots/list', {});
    expect(bench.toldTo(1)).toMatchObject({ code: -32602 });
    expect(bench.toldTo(2)).toMatchObject({ code: -32601 });
    expect(bench.toldTo(3)).toMatchObject({ code: -32601 });
    expect(bench.asked).toEqual([]);
  });

  it('declines when no handler can answer', async () => {
    const bench = await questionBench({ kinds: ['form', 'sampling'] });
    await bench.ask(1, elicit, nameForm);
    await bench.ask(2, 'sampling/createMessage', {
      messages: [{ role: 'user', content: { type: 'text', text: 'Say \u001b[1mhello' } }],
      maxTokens: 5,
    });
    for (const { answer } of bench.asked) answer(undefined);
    await turn();
    expect(bench.toldTo(1)).toEqual({ action: 'decline' });
    expect(bench.toldTo(2)).toMatchObject({ code: -1 });
    expect(bench.asked[1]?.body.message).toBe('Say hello');
  });

  it("contains the model's message or the project folders", async () => {
    const folders = [{ uri: 'file:///project', name: 'project' }];
    const bench = await questionBench({ kinds: ['sampling'], folders });
    const content = [{ type: 'text', text: 'hi' }];
    await bench.ask(1, 'sampling/createMessage', {
      messages: [{ role: 'user', content }],
      maxTokens: 5,
    });
    const sampling = {
      model: 'm',
      role: 'assistant',
      content: { type: 'text', text: 'yo' },
    } as const;
    bench.asked[0]?.answer({ action: 'accept', sampling });
    await bench.ask(2, 'roots/list', {});
    expect(bench.toldTo(1)).toEqual(sampling);
    expect(bench.toldTo(2)).toEqual({ roots: folders });
    for (const listener of bench.listeners) listener();
    expect(bench.sent('notifications/roots/list_changed')).toHaveLength(1);
    bench.stop();
    expect(bench.listeners.size).toBe(0);
  });

  it('is not sent once the question is withdrawn or the session has ended', async () => {
    const bench = await questionBench();
    await bench.ask('a', elicit, nameForm);
    await bench.tell('notifications/cancelled', { requestId: 'a' });
    await bench.ask('b', elicit, nameForm);
    bench.stop();
    await turn();
    expect(bench.asked.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect([bench.toldTo('a'), bench.toldTo('b')]).toEqual([undefined, undefined]);
  });

  it('is sent once when the server reuses a request id', async () => {
    const bench = await questionBench();
    await bench.ask(1, elicit, nameForm);
    await bench.ask(1, elicit, nameForm);
    expect(bench.asked).toHaveLength(1);
    bench.asked[0]?.answer({ action: 'decline' });
    await turn();
    expect(bench.toldTo(1)).toEqual({ action: 'decline' });
  });

  it('accepts when the server reports that the elicitation is complete', async () => {
    const bench = await questionBench();
    await bench.ask(1, elicit, urlOf('https://example.com', 'e1'));
    await bench.ask(2, elicit, urlOf('https://example.com', 'e2'));
    await bench.tell('notifications/elicitation/complete', { elicitationId: 'e1' });
    expect([bench.toldTo(1), bench.toldTo(2)]).toEqual([{ action: 'accept' }, undefined]);
  });

  it('is sent for each of two hundred concurrent questions without a leak warning', async () => {
    const warnings: Error[] = [];
    const note = (warning: Error) => void warnings.push(warning);
    process.on('warning', note);
    const bench = await questionBench();
    for (let id = 0; id < 200; id += 1) await bench.ask(`q${id}`, elicit, nameForm);
    for (const { answer } of bench.asked) answer({ action: 'cancel' });
    await turn();
    const told = Array.from({ length: 200 }, (_, id) => bench.toldTo(`q${id}`));
    expect(told).toEqual(told.map(() => ({ action: 'cancel' })));
    process.off('warning', note);
    expect(warnings).toEqual([]);
  });
});

describe('a server that requires a URL visit before the call', () => {
  const wanted = (urls: readonly string[]) => ({
    error: {
      code: -32042,
      message: 'Log in first',
      data: { elicitations: urls.map((url, index) => urlOf(url, `e${index}`)) },
    },
  });

  it('receives the call again after the visit', async () => {
    const bench = await questionBench();
    const called = bench.call('first');
    await bench.answerCall(0, wanted(['https://a.example/', 'https://b.example/']));
    expect(bench.asked.map(({ body, party }) => [body.kind, party?.tool])).toEqual([
      ['url', 'first'],
      ['url', 'first'],
    ]);
    expect(bench.sent('tools/call')).toHaveLength(1);
    bench.asked[0]?.answer({ action: 'accept' });
    // The server reports the other visit as complete.
    await bench.tell('notifications/elicitation/complete', { elicitationId: 'e1' });
    expect(bench.sent('tools/call')).toHaveLength(2);
    await bench.answerCall(1);
    expect(await called).toBe('ok');
    expect(bench.clock.pendingCount).toBe(0);
  });

  it('receives every call that waited for the visit a second time', async () => {
    const bench = await questionBench();
    const called = [bench.call('first'), bench.call('second'), bench.call('third')];
    await bench.answerCall(0, wanted(['https://a.example/']));
    await bench.answerCall(1, wanted(['https://a.example/']));
    await bench.answerCall(2, wanted(['https://a.example/']));
    // An answer of the user to one question leaves the others open.
    bench.asked[2]?.answer({ action: 'accept' });
    await turn();
    await bench.tell('notifications/elicitation/complete', { elicitationId: 'e0' });
    expect(bench.sent('tools/call')).toHaveLength(6);
    for (const index of [3, 4, 5]) await bench.answerCall(index);
    expect(await Promise.all(called)).toEqual(['ok', 'ok', 'ok']);
    expect(bench.clock.pendingCount).toBe(0);
  });

  it('does not receive the call a third time', async () => {
    const bench = await questionBench();
    const called = bench.call('first');
    await bench.answerCall(0, wanted(['https://a.example/']));
    bench.asked[0]?.answer({ action: 'accept' });
    await turn();
    await bench.answerCall(1, wanted(['https://a.example/']));
    expect(await called).toBe('inputRequired');
    expect(bench.sent('tools/call')).toHaveLength(2);
  });

  it.each([
    ['declines', { action: 'decline' } as const],
    ['is unavailable', undefined],
  ])('fails the call with the required visit when the user %s', async (_what, answer) => {
    const bench = await questionBench();
    const called = bench.call('first');
    await bench.answerCall(0, wanted(['https://a.example/']));
    bench.asked[0]?.answer(answer);
    expect(await called).toBe('inputRequired');
    expect(bench.clock.pendingCount).toBe(0);
  });

  it('is not called again once the call is aborted, its deadline passes or the session ends', async () => {
    const bench = await questionBench();
    const abort = new AbortController();
    const first = bench.call('first', { signal: abort.signal });
    await bench.answerCall(0, wanted(['https://a.example/']));
    abort.abort();
    expect(await first).toBe('cancelled');
    const second = bench.call('second');
    await bench.answerCall(1, wanted(['https://a.example/']));
    await bench.clock.advanceAndSettle(1_000);
    expect(await second).toBe('inputRequired');
    const third = bench.call('third');
    await bench.answerCall(2, wanted(['https://a.example/']));
    bench.stop();
    expect(await third).toBe('inputRequired');
    expect(bench.asked.every(({ signal }) => signal.aborted)).toBe(true);
    expect(bench.clock.pendingCount).toBe(0);
  });

  it('fails the call with the required visit when the URL is not a web address', async () => {
    const bench = await questionBench();
    const called = bench.call('first');
    await bench.answerCall(0, wanted(['file:///etc/passwd']));
    expect(await called).toBe('inputRequired');
    expect(bench.asked).toEqual([]);
  });

  it('fails the call with the required visit when no questions were announced', async () => {
    const bench = await questionBench({ kinds: [] });
    const called = bench.call('first');
    await bench.answerCall(0, wanted(['https://a.example/']));
    expect(await called).toBe('inputRequired');
  });
});
