/** Requests that a server of the 2026-07-28 revision answers with questions, in virtual time. */

import { describe, expect, it } from 'vitest';
import { inRounds, type RoundParams } from '../../../../actors/session/calls/question-rounds.ts';
import { SessionQuestions } from '../../../../actors/session/calls/session-questions.ts';
import type { QuestionKind, RootFolder } from '../../../../src/domain/question.ts';
import { Deadline, Deadlines } from '../../../../src/protocol/deadlines.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { turn } from '../../../support/turn.ts';
import { createPorts, nameForm } from './question-bench.ts';

const form = { method: 'elicitation/create', params: nameForm };
const done = { content: [] };

interface Choice {
  readonly kinds?: readonly QuestionKind[];
  readonly folders?: RootFolder[];
  readonly timeoutMs?: number;
  readonly questionsMs?: number;
}

class Request extends Deadline {
  readonly signal: AbortSignal;
  onFailure: (reason: unknown) => void = () => {};
  unanswered: string | undefined;

  constructor(deadlines: Deadlines, signal: AbortSignal, times: Choice) {
    const deadlineAt = deadlines.clock.now() + (times.timeoutMs ?? 1_000);
    super(deadlines, { deadlineAt, questionsMs: times.questionsMs });
    this.signal = signal;
    signal.addEventListener('abort', () => this.onFailure(signal.reason));
    deadlines.add(this);
  }

  override onLate(): void {
    this.onFailure(Object.assign(new Error('Request timed out'), { code: 'REQUEST_TIMEOUT' }));
  }
}

/** A server that gives these answers in turn and then repeats the last one. */
function begin(answers: readonly object[], choice: Choice = {}) {
  const { kinds = ['form', 'url'], folders } = choice;
  const { ports, asked } = createPorts(kinds, folders);
  const clock = new VirtualClock();
  const questions = new SessionQuestions({
    server: 'db',
    ports,
    kinds,
    hasRoots: folders !== undefined,
    secrets: [],
    onDeclined: () => {},
  });
  const abort = new AbortController();
  const deadlines = new Deadlines(clock);
  const request = new Request(deadlines, abort.signal, choice);
  const sent: RoundParams[] = [];
  const party = { tool: 'query' };
  const setup = { clock, questions, party, request };
  const result = inRounds<object>(setup, (added) => {
    sent.push(added);
    return Promise.resolve(answers[Math.min(sent.length, answers.length) - 1] as object);
  }).then(
    () => 'ok',
    (error: unknown) => (error instanceof Error ? `${error.name}: ${error.message}` : error),
  );
  void result.then(() => deadlines.remove(request));
  return { asked, clock, questions, abort, sent, result, request };
}

const asks = (inputRequests: object, requestState?: unknown) => ({
  resultType: 'input_required',
  inputRequests,
  ...(requestState !== undefined && { requestState }),
});

describe('a multi-round request', () => {
  it('continues with the answers and returns the state unchanged', async () => {
    const state = 'opaque \u0000 ☃';
    const folders = [{ uri: 'file:///p', name: 'p' }];
    const first = asks({ a: form, b: { method: 'roots/list' } }, state);
    const { asked, sent, result, clock } = begin([first, asks({ c: form }), done], { folders });
    await turn();
    expect(asked.map(({ party }) => party?.tool)).toEqual(['query']);
    asked[0]?.answer({ action: 'accept', content: { name: 'Ada' } });
    await turn();
    asked[1]?.answer({ action: 'decline' });
    expect(await result).toBe('ok');
    const accepted = { action: 'accept', content: { name: 'Ada' } };
    expect(sent).toEqual([
      {},
      { inputResponses: { a: accepted, b: { roots: folders } }, requestState: state },
      { inputResponses: { c: { action: 'decline' } } },
    ]);
    expect(clock.pendingCount).toBe(0);
  });

  it('waits briefly before retrying a server that asks nothing', async () => {
    const { sent, result, clock } = begin([asks({}, 's'), done]);
    await clock.advanceAndSettle(249);
    expect(sent).toHaveLength(1);
    await clock.advanceAndSettle(1);
    expect(await result).toBe('ok');
    expect(sent[1]).toEqual({ requestState: 's' });
  });

  it('ends after ten rounds', async () => {
    const { sent, result, clock } = begin([asks({}, 's')], { timeoutMs: 60_000 });
    await clock.advanceAndSettle(10_000);
    expect(await result).toMatch(/Invalid result: it still asked for input after 10 rounds/u);
    expect(sent).toHaveLength(11);
  });

  it.each([
    ['no handler answers', asks({ a: form }), /ProtocolError: It wants a form filled in/u],
    [
      'no model is available',
      asks({
        a: {
          method: 'sampling/createMessage',
          params: {
            messages: [{ role: 'user', content: { type: 'text', text: 'x' } }],
            maxTokens: 1,
          },
        },
      }),
      /ProtocolError: It wants a message from a model/u,
    ],
  ])(
    'reports what the server requires and asks nothing more when %s',
    async (_what, answer, words) => {
      const { asked, result, clock, sent } = begin([answer]);
      await turn();
      for (const each of asked) each.answer(undefined);
      expect(await result).toMatch(words);
      expect(sent).toHaveLength(1);
      expect(clock.pendingCount).toBe(0);
    },
  );

  it.each([
    ['roots that were not announced', asks({ a: { method: 'roots/list' } }), /^ProtocolError/u],
    ['something unknown', asks({ a: { method: 'tools/list' } }), /an unknown question/u],
    ['a value that is not a request', asks({ a: 7 }), /an unknown question/u],
    ['a form that cannot be shown', asks({ a: { ...form, params: {} } }), /cannot be shown/u],
    [
      'too many things at once',
      asks(Object.fromEntries(Array.from({ length: 17 }, (_, key) => [`k${key}`, form]))),
      /more than 16 questions/u,
    ],
  ])('fails when the server asks for %s', async (_what, answer, words) => {
    const { asked, result } = begin([answer]);
    expect(await result).toMatch(words);
    expect(asked).toEqual([]);
  });

  it("withdraws a round's other questions when one is not answered", async () => {
    const { asked, result } = begin([asks({ a: form, b: form })]);
    await turn();
    asked[0]?.answer(undefined);
    expect(await result).toMatch(/^ProtocolError/u);
    expect(asked[1]?.signal.aborted).toBe(true);
  });

  it("ends at the call's deadline, on an abort, and with the session", async () => {
    const late = begin([asks({ a: form })]);
    await late.clock.advanceAndSettle(1_000);
    expect(await late.result).toMatch(/ProtocolError: .* not answered in time/u);
    const given = begin([asks({ a: form })]);
    await turn();
    given.abort.abort(new Error('not wanted'));
    expect(await given.result).toBe('Error: not wanted');
    const closed = begin([asks({ a: form })]);
    await turn();
    closed.questions.stop();
    expect(await closed.result).toMatch(/ProtocolError: The session ended/u);
    for (const { asked, clock } of [late, given, closed]) {
      expect(asked[0]?.signal.aborted).toBe(true);
      expect(clock.pendingCount).toBe(0);
    }
  });

  it("pauses the server's timeout while a question is open, up to the caller's limit", async () => {
    const { asked, result, clock, request } = begin([asks({ a: form }), done], {
      questionsMs: 5_000,
    });
    await clock.advanceAndSettle(5_500);
    asked[0]?.answer({ action: 'cancel' });
    expect(await result).toBe('ok');
    expect(request.dueAt - clock.now()).toBe(500);
  });
});
