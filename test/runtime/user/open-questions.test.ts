/** How questions from servers are settled, whichever caller they are for, in virtual time. */

import { describe, expect, it } from 'vitest';

import type {
  Question,
  QuestionAnswer,
  QuestionBody,
  QuestionHandler,
} from '../../../src/domain/question.ts';
import { TroupeError } from '../../../src/domain/troupe-error.ts';
import type { CallOptions } from '../../../src/runtime/troupe.ts';
import type { ScriptedTroupeOptions } from '../../../src/testing/scripted-troupe.ts';
import type { ScriptedCall } from '../../../src/testing/session-script.ts';
import { type Stage, stageOf } from '../stage.ts';

const nameForm: QuestionBody = {
  kind: 'form',
  message: 'Who are you?',
  fields: [
    { name: 'name', isRequired: true, field: { type: 'string', minLength: 2 } },
    { name: 'times', isRequired: false, field: { type: 'integer', default: 3 } },
  ],
  schema: { type: 'object', properties: {} },
};
const visit: QuestionBody = { kind: 'url', message: 'Log in', url: 'https://example.com/' };
const compose: QuestionBody = {
  kind: 'sampling',
  message: 'Say hello',
  sampling: { messages: [{ role: 'user', content: { type: 'text', text: 'hi' } }], maxTokens: 9 },
};

interface Scene extends Stage {
  /** `asked q1`, `settled q1 accept`. */
  readonly news: string[];
  /** Calls a tool, and waits until its session has it. */
  call(
    options?: CallOptions,
  ): Promise<{ readonly asked: ScriptedCall; readonly done: Promise<string> }>;
}

async function sceneOf(options: ScriptedTroupeOptions = {}): Promise<Scene> {
  const stage = await stageOf({ settings: { mcpServers: { db: { command: 'db' } } }, ...options });
  const news: string[] = [];
  stage.troupe.on('question.asked', ({ question }) => news.push(`asked ${question.id}`));
  stage.troupe.on('question.settled', ({ id, end }) => news.push(`settled ${id} ${end}`));
  return {
    ...stage,
    news,
    async call(callOptions = {}) {
      const before = stage.sessions.of('db').calls.length;
      const done = stage.troupe.callTool('mcp__db__query', {}, callOptions).then(
        () => 'ok',
        (error: unknown) => (error instanceof TroupeError ? `${error.code} ${error.outcome}` : '?'),
      );
      await stage.settle();
      return { asked: stage.sessions.of('db').calls[before] as ScriptedCall, done };
    },
  };
}

/** Keeps what it was asked, and answers when the test says so. */
function deaf(): { readonly seen: Question[]; readonly handler: QuestionHandler } {
  const seen: Question[] = [];
  return {
    seen,
    handler: (question) => {
      seen.push(question);
      return undefined;
    },
  };
}

const says =
  (answer: QuestionAnswer): QuestionHandler =>
  () =>
    answer;

const accept = (content: Record<string, string | number>): QuestionAnswer => ({
  action: 'accept',
  content,
});

describe("a server's question", () => {
  it('is declined without a handler', async () => {
    const scene = await sceneOf();
    expect(await scene.sessions.of('db').ask(nameForm)).toBeUndefined();
    expect(scene.troupe.questions()).toEqual([]);
  });

  it('goes to the host when its call is ambiguous', async () => {
    const scene = await sceneOf({ onQuestion: says(accept({ name: 'Ada' })) });
    expect(await scene.sessions.of('db').ask(nameForm)).toEqual({
      action: 'accept',
      content: { name: 'Ada', times: 3 },
    });
    expect(scene.news).toEqual(['asked q1', 'settled q1 accept']);
  });

  it('waits for answer() when the callback returns undefined', async () => {
    const { seen, handler } = deaf();
    const scene = await sceneOf({ onQuestion: handler });
    const answer = scene.sessions.of('db').ask(nameForm);
    await scene.settle();
    expect(scene.troupe.questions()).toEqual(seen);
    expect(seen[0]).toMatchObject({
      id: 'q1',
      server: 'db',
      kind: 'form',
      message: 'Who are you?',
    });
    scene.troupe.answer('q1', accept({ name: 'Bob', times: 1 }));
    expect(await answer).toEqual(accept({ name: 'Bob', times: 1 }));
    expect(scene.troupe.questions()).toEqual([]);
  });

  it('goes only to the caller whose call it belongs to', async () => {
    const scene = await sceneOf({
      onQuestion: () => Promise.reject(new Error('not for the host')),
    });
    let pending: ((answer: QuestionAnswer) => void) | undefined;
    const seen: Question[] = [];
    const { asked } = await scene.call({
      requestId: 'r7',
      onQuestion: (question) => {
        seen.push(question);
        return new Promise((resolve) => {
          pending = resolve;
        });
      },
    });
    const answer = scene.sessions.of('db').ask(nameForm, asked);
    await scene.settle();
    expect(seen).toMatchObject([{ tool: 'query', requestId: 'r7' }]);
    expect(scene.troupe.questions()).toEqual([]);
    expect(() => scene.troupe.answer('q1', { action: 'decline' })).toThrow(TroupeError);
    pending?.({ action: 'decline' });
    expect(await answer).toEqual({ action: 'decline' });
    expect(scene.news).toEqual([]);
  });

  it('is listed once its caller returns undefined', async () => {
    const scene = await sceneOf();
    const { asked } = await scene.call({ onQuestion: () => undefined });
    const answer = scene.sessions.of('db').ask(nameForm, asked);
    await scene.settle();
    expect(scene.troupe.questions()).toMatchObject([{ id: 'q1', tool: 'query' }]);
    scene.troupe.answer('q1', accept({ name: 'Cy' }));
    expect(await answer).toMatchObject({ action: 'accept' });
    expect(scene.news).toEqual(['asked q1', 'settled q1 accept']);
  });

  it('never goes to a caller when its call is ambiguous', async () => {
    const { seen, handler } = deaf();
    const scene = await sceneOf({ questions: ['form'] });
    await scene.call({ onQuestion: handler });
    expect(await scene.sessions.of('db').ask(nameForm)).toBeUndefined();
    expect(seen).toEqual([]);
  });

  it('is cancelled when it times out', async () => {
    const scene = await sceneOf({ onQuestion: () => undefined });
    const answer = scene.sessions.of('db').ask(nameForm);
    await scene.advance(119_999);
    expect(scene.troupe.questions()).toHaveLength(1);
    await scene.advance(1);
    expect(await answer).toEqual({ action: 'cancel' });
    expect(scene.news).toEqual(['asked q1', 'settled q1 timedOut']);
  });

  it('uses the timeout in settings', async () => {
    const policy = { call: { questionTimeoutMs: 500 } };
    const scene = await sceneOf({ onQuestion: () => undefined, policy });
    const answer = scene.sessions.of('db').ask(nameForm);
    await scene.advance(500);
    expect(await answer).toEqual({ action: 'cancel' });
  });

  it('is withdrawn when its call ends for any reason', async () => {
    const scene = await sceneOf({ onQuestion: () => undefined });
    const abort = new AbortController();
    const { asked, done } = await scene.call({ signal: abort.signal });
    const answer = scene.sessions.of('db').ask(nameForm, asked);
    await scene.settle();
    abort.abort();
    expect(await answer).toBeUndefined();
    expect(await done).toBe('CANCELLED unknown');
    expect(scene.news).toEqual(['asked q1', 'settled q1 withdrawn']);
    expect(await scene.sessions.of('db').ask(nameForm, asked)).toBeUndefined();
  });

  it('is withdrawn with its session and aborts its callback', async () => {
    let isWanted = true;
    const scene = await sceneOf({
      onQuestion: (_question, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => {
            isWanted = false;
            reject(new Error('too late'));
          });
        }),
    });
    const answer = scene.sessions.of('db').ask(nameForm);
    await scene.settle();
    scene.sessions.of('db').fail({ kind: 'crashed', message: 'gone' });
    expect(await answer).toBeUndefined();
    expect(isWanted).toBe(false);
    expect(scene.news).toEqual(['asked q1', 'settled q1 withdrawn']);
    expect(scene.errors).toEqual([]);
  });

  it('is withdrawn when the troupe stops, and later ones are refused', async () => {
    const scene = await sceneOf({ onQuestion: () => undefined });
    const script = scene.sessions.of('db');
    const answer = script.ask(nameForm);
    await scene.settle();
    scene.troupe.send({ type: 'troupe.stop' });
    expect(await answer).toBeUndefined();
    expect(() => scene.troupe.answer('q1', { action: 'decline' })).toThrow(/no question "q1"/u);
  });

  it('is cancelled beyond sixteen per server, with one log line', async () => {
    const scene = await sceneOf({ onQuestion: () => undefined });
    const script = scene.sessions.of('db');
    const answers = Array.from({ length: 1_000 }, () => script.ask(nameForm));
    await scene.settle();
    expect(scene.troupe.questions()).toHaveLength(16);
    for (const { id } of scene.troupe.questions()) scene.troupe.answer(id, { action: 'decline' });
    const ends = (await Promise.all(answers)).map((answer) => answer?.action);
    expect(ends.filter((end) => end === 'decline')).toHaveLength(16);
    expect(ends.filter((end) => end === 'cancel')).toHaveLength(984);
    const lines = scene.troupe.logs('db')?.filter(({ line }) => line.includes('questions at once'));
    expect(lines).toHaveLength(1);
  });

  it("appears in its server's status until it settles", async () => {
    const scene = await sceneOf({ onQuestion: () => undefined });
    const answer = scene.sessions.of('db').ask(nameForm);
    await scene.settle();
    expect(scene.troupe.status('db')).toMatchObject({ state: 'ready', action: 'troupe answer q1' });
    scene.troupe.answer('q1', { action: 'decline' });
    await answer;
    expect(scene.troupe.status('db')).not.toHaveProperty('action');
  });
});

describe('an answer', () => {
  const faulty: readonly (readonly [string, QuestionBody, unknown, RegExp])[] = [
    ['has an unknown action', nameForm, { action: 'yes' }, /"action" must be/u],
    ['is null', nameForm, null, /"action" must be/u],
    ['lacks a field', nameForm, accept({}), /"name" is missing/u],
    ['has an invalid field', nameForm, accept({ name: 'x' }), /"name" must be at least 2/u],
    [
      'has content that is not an object',
      nameForm,
      { action: 'accept', content: 'x' },
      /"content" must/u,
    ],
    ['has an unrequested field', nameForm, accept({ name: 'Ada', more: 1 }), /no field/u],
    ["lacks a model's message", compose, { action: 'accept' }, /"sampling" must hold/u],
  ];
  for (const [what, body, answer, words] of faulty) {
    it(`is rejected and leaves the question open when it ${what}`, async () => {
      const scene = await sceneOf({ onQuestion: () => undefined, questions: ['form', 'sampling'] });
      void scene.sessions.of('db').ask(body);
      await scene.settle();
      const give = () => scene.troupe.answer('q1', answer as QuestionAnswer);
      expect(give).toThrow(words);
      expect(give).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENTS' }));
      expect(scene.troupe.questions()).toHaveLength(1);
    });

    it(`cancels the question and logs no value when it comes from a callback and ${what}`, async () => {
      const scene = await sceneOf({
        onQuestion: says(answer as QuestionAnswer),
        questions: ['form', 'sampling'],
      });
      // Nothing is no answer but a word for "not from here".
      if (answer === null) return expect(body).toBe(nameForm);
      expect(await scene.sessions.of('db').ask(body)).toEqual({ action: 'cancel' });
      expect(scene.troupe.logs('db')?.at(-1)?.line).toMatch(words);
    });
  }

  it('cancels the question and hides the error text when the callback throws', async () => {
    const scene = await sceneOf({ onQuestion: () => Promise.reject(new Error('secret-4711')) });
    expect(await scene.sessions.of('db').ask(nameForm)).toEqual({ action: 'cancel' });
    expect(JSON.stringify(scene.troupe.logs('db'))).not.toContain('secret-4711');
    expect(scene.troupe.logs('db')?.at(-1)?.line).toContain('q1 was cancelled');
  });

  it('is ignored when it arrives late', async () => {
    let late: ((answer: QuestionAnswer) => void) | undefined;
    const scene = await sceneOf({
      onQuestion: () =>
        new Promise((resolve) => {
          late = resolve;
        }),
    });
    const answer = scene.sessions.of('db').ask(visit);
    await scene.advance(120_000);
    late?.({ action: 'accept' });
    await scene.settle();
    expect(await answer).toEqual({ action: 'cancel' });
    expect(scene.news).toEqual(['asked q1', 'settled q1 timedOut']);
  });

  it('contains only the requested fields', async () => {
    const sampling = {
      model: 'm',
      role: 'assistant',
      content: { type: 'text', text: 'hello' },
    } as const;
    const all: QuestionAnswer = { action: 'accept', content: { name: 'Ada' }, sampling };
    const scene = await sceneOf({ onQuestion: says(all), questions: ['form', 'url', 'sampling'] });
    const script = scene.sessions.of('db');
    expect(await script.ask(visit)).toEqual({ action: 'accept' });
    expect(await script.ask(compose)).toEqual({ action: 'accept', sampling });
    expect(await script.ask(nameForm)).toEqual(accept({ name: 'Ada', times: 3 }));
  });

  it('is requested by sampling only from a callback that opted in', async () => {
    const scene = await sceneOf({ onQuestion: says({ action: 'decline' }) });
    expect(await scene.sessions.of('db').ask(compose)).toBeUndefined();
  });
});

describe("a call's deadline", () => {
  it('pauses while one of its questions is open', async () => {
    const scene = await sceneOf({ onQuestion: () => undefined });
    const { asked, done } = await scene.call();
    await scene.advance(50_000);
    const answer = scene.sessions.of('db').ask(nameForm, asked);
    await scene.advance(100_000);
    scene.troupe.answer('q1', { action: 'decline' });
    await answer;
    await scene.advance(9_999);
    expect(asked.isSettled).toBe(false);
    await scene.advance(1);
    expect(await done).toBe('TIMEOUT unknown');
  });

  it('does not pause when the caller set it', async () => {
    const scene = await sceneOf({ onQuestion: () => undefined });
    const { asked, done } = await scene.call({ timeoutMs: 5_000 });
    const answer = scene.sessions.of('db').ask(nameForm, asked);
    await scene.advance(5_000);
    expect(await done).toBe('TIMEOUT unknown');
    expect(await answer).toBeUndefined();
  });

  it('passes after ten minutes, however often the server asks', async () => {
    const policy = { call: { questionTimeoutMs: 3_600_000 } };
    const scene = await sceneOf({ onQuestion: () => undefined, policy });
    const { asked, done } = await scene.call();
    void scene.sessions.of('db').ask(nameForm, asked);
    await scene.advance(599_999);
    expect(asked.isSettled).toBe(false);
    await scene.advance(1);
    expect(await done).toBe('TIMEOUT unknown');
  });
});
