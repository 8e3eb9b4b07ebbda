import { describe, expect, it } from 'vitest';

import type { Question } from '../../../src/domain/question.ts';
import { HeldCall } from '../../../src/gateway/held-calls.ts';
import { ClientQuestions, SessionlessClients } from '../../../src/gateway/question-delivery.ts';

const question = {
  id: 'q1',
  server: 'db',
  kind: 'url',
  message: 'Log in',
  url: 'https://example.com/',
  askedAt: '2026-01-01T00:00:00.000Z',
  deadlineAt: '2026-01-01T00:02:00.000Z',
} as const satisfies Question;
const accepted = { q1: { action: 'accept' } };

function client() {
  const questions = new ClientQuestions();
  const stop = new AbortController();
  const refused: string[] = [];
  return {
    questions,
    refused,
    stop,
    ask: () => questions.onQuestion(question, { signal: stop.signal }),
    /** A call whose client waits for its answer. */
    begin: (server = 'db', canAnswer: boolean | Question['kind'] = true) => {
      const call = new HeldCall('tool');
      let finish = (_result: object): void => undefined;
      call.begin(() => new Promise((resolve) => (finish = (result) => resolve({ ...result }))));
      const refuse = () => void refused.push(server);
      questions.began(call, {
        server,
        canAnswer: (kind) => canAnswer === true || canAnswer === kind,
        refuse,
      });
      return { call, turn: call.turn(false), finish: (result = {}) => finish(result) };
    },
  };
}

describe('a question for any of the calls of a client', () => {
  it('goes out with the newest call at that server that can be asked', async () => {
    const { ask, begin } = client();
    begin();
    const newest = begin();
    begin('web');
    begin('db', false);
    const answer = ask();
    expect(await newest.turn).toMatchObject({ inputRequests: { q1: {} } });
    newest.call.answer(accepted);
    expect(await answer).toEqual({ action: 'accept' });
  });

  it('goes out with another call while the newest one already waits for an answer', async () => {
    const { ask, begin, questions, stop } = client();
    const [older, newest] = [begin(), begin()];
    void questions.onQuestion({ ...question, id: 'q0' }, { signal: stop.signal });
    expect(await newest.turn).toMatchObject({ inputRequests: { q0: {} } });
    const answer = ask();
    expect(await older.turn).toMatchObject({ inputRequests: { q1: {} } });
    older.call.answer(accepted);
    expect(await answer).toEqual({ action: 'accept' });
  });

  it.each(['is cancelled', 'ends'] as const)(
    'goes out again with another call when the first one %s',
    async (how) => {
      const { ask, begin } = client();
      const [older, newest] = [begin(), begin()];
      const answer = ask();
      await newest.turn;
      if (how === 'is cancelled') newest.call.abort();
      else {
        newest.finish({ content: [] });
        await new Promise((resolve) => setImmediate(resolve));
        expect(await newest.call.turn(false)).toEqual({ result: { content: [] } });
      }
      expect(await older.turn).toMatchObject({ inputRequests: { q1: {} } });
      older.call.answer(accepted);
      expect(await answer).toEqual({ action: 'accept' });
    },
  );

  it('is declined without such a call, and cancelled when the last one ends or it is withdrawn', async () => {
    const none = client();
    none.begin('web');
    expect(await none.ask()).toEqual({ action: 'decline' });
    expect(none.refused).toEqual([]);
    const one = client();
    const { call } = one.begin();
    const answer = one.ask();
    call.abort();
    expect(await answer).toEqual({ action: 'cancel' });
    const withdrawn = client();
    withdrawn.begin();
    withdrawn.begin();
    const other = withdrawn.ask();
    withdrawn.stop.abort();
    expect(await other).toEqual({ action: 'cancel' });
  });

  it('refuses the only call whose client cannot answer it, but none of several', async () => {
    const { ask, begin, refused } = client();
    begin('db', false);
    begin('web', false);
    expect(await ask()).toEqual({ action: 'decline' });
    expect(refused).toEqual(['db']);
    begin('db', false);
    expect(await ask()).toEqual({ action: 'decline' });
    expect(refused).toEqual(['db']);
  });

  it('refuses the only call whose client waits, beside calls that wait for their client', async () => {
    const { ask, begin, refused, questions, stop } = client();
    const held = begin('db', 'form');
    const form = { ...question, id: 'q0', kind: 'form', fields: [], schema: {} } as const;
    void questions.onQuestion(form, { signal: stop.signal });
    await held.turn;
    begin('db', false);
    expect(await ask()).toEqual({ action: 'decline' });
    expect(refused).toEqual(['db']);
  });
});

describe('clients without a session', () => {
  it('are distinguished by their user, name and version', () => {
    const clients = new SessionlessClients();
    const ada = clients.of('ada', { name: 'ide', version: '1' });
    expect(clients.of('ada', { name: 'ide', version: '1' })).toBe(ada);
    expect(ada.user).toBe('ada');
    for (const other of [
      clients.of('bob', { name: 'ide', version: '1' }),
      clients.of('ada', { name: 'ide', version: '2' }),
      clients.of('ada', undefined),
    ])
      expect(other).not.toBe(ada);
    expect(clients.of('ada', undefined)).toBe(clients.of('ada', undefined));
  });

  it("are forgotten beyond a limit, the longest unused first, and only a user's own", () => {
    const clients = new SessionlessClients();
    const named = (name: string) => clients.of('ada', { name });
    const bob = clients.of('bob', undefined);
    const [first, second] = [named('first'), named('second')];
    for (let count = 0; count < 300; count += 1) {
      named(`client ${count}`);
      expect(named('first')).toBe(first);
    }
    expect(named('second')).not.toBe(second);
    expect(clients.of('bob', undefined)).toBe(bob);
  });

  it('are forgotten beyond a limit for all users, the longest unused first', () => {
    const clients = new SessionlessClients();
    const first = clients.of('user 0', undefined);
    for (let count = 1; count <= 256; count += 1) clients.of(`user ${count}`, undefined);
    expect(clients.of('user 0', undefined)).not.toBe(first);
  });
});
