import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createQuestionPrompt } from '../../../src/cli/ask/question-prompt.ts';
import type { CliHost } from '../../../src/cli/cli-host.ts';
import { Output } from '../../../src/cli/show/output.ts';
import { defined } from '../../../src/domain/data/defined.ts';
import { writeJson } from '../../../src/domain/data/exact-json.ts';
import type { Question } from '../../../src/domain/question.ts';
import { runCliHere, startCliHere } from '../run-cli.ts';
import { createStandIn, reportOf, statusOf } from '../stand-in-troupe.ts';
import { upHere } from '../up-here.ts';

const asked = {
  id: 'q1',
  server: 'db',
  tool: 'query',
  message: 'Who are you?',
  askedAt: '2026-01-02T03:04:05.000Z',
  deadlineAt: '2026-01-02T03:06:05.000Z',
} as const;

const form: Question = {
  ...asked,
  kind: 'form',
  fields: [
    { name: 'name', isRequired: true, field: { type: 'string', minLength: 2 } },
    { name: 'age', isRequired: false, field: { type: 'integer', default: 30 } },
    { name: 'sure', isRequired: true, field: { type: 'boolean' } },
    {
      name: 'colours',
      isRequired: false,
      field: {
        type: 'choices',
        choices: [
          { value: 'r', title: 'Red' },
          { value: 'g', title: 'g' },
        ],
      },
    },
  ],
  schema: {
    type: 'object',
    properties: {
      name: { type: 'string' },
      age: { type: 'integer' },
      sure: { type: 'boolean' },
      colours: { type: 'array', items: { anyOf: [{ const: 'r' }, { const: 'g' }] } },
    },
    required: ['name', 'sure'],
  },
};
const url: Question = { ...asked, id: 'q2', kind: 'url', url: 'https://example.com/login?x=1' };
const sampling: Question = {
  ...asked,
  id: 'q3',
  kind: 'sampling',
  sampling: { messages: [], maxTokens: 9 },
};

async function running(...questions: Question[]) {
  const troupe = createStandIn({ servers: [statusOf('db')], questions });
  const { folder } = await upHere(troupe);
  return { troupe, folder };
}

describe('troupe questions', () => {
  it('shows each question in full and the command that answers it', async () => {
    const { folder } = await running(form, url, sampling);
    const { exitCode, stdout } = await runCliHere(['questions'], { folder });
    expect(exitCode).toBe(0);
    expect(stdout).toContain('q1: db asks, while query runs (until 03:06:05 UTC)');
    expect(stdout).toContain('age (whole number, optional, default 30)');
    expect(stdout).toContain('colours (any of r = Red, g, optional)');
    expect(stdout).toContain('open it if you trust it: https://example.com/login?x=1');
    expect(stdout).toContain('answer: troupe answer q1 name=… sure=…, or troupe answer q1 decline');
  });

  it('reports that no question is open and prints one document with --json', async () => {
    const { folder } = await running();
    expect((await runCliHere(['questions'], { folder })).stdout).toBe('no open questions\n');
    const { stdout } = await runCliHere(['questions', '--json'], { folder });
    expect(JSON.parse(stdout)).toEqual({ questions: [] });
  });
});

describe('troupe answer', () => {
  it("parses fields by the form's types", async () => {
    const { troupe, folder } = await running(form);
    const words = ['name=Ada', 'sure=true', 'age=36', 'colours=r', 'colours=g'];
    const { exitCode, stdout } = await runCliHere(['answer', 'q1', ...words], { folder });
    expect([exitCode, stdout]).toEqual([0, 'answered q1 of db\n']);
    const content = { name: 'Ada', sure: true, age: 36, colours: ['r', 'g'] };
    expect(troupe.answers).toEqual([{ id: 'q1', answer: { action: 'accept', content } }]);
  });

  it('declines, cancels, and accepts a link that the user has opened', async () => {
    const { troupe, folder } = await running(form, url, sampling);
    for (const words of [['q1', 'cancel'], ['q2'], ['q3', 'decline']])
      expect((await runCliHere(['answer', ...words], { folder })).exitCode).toBe(0);
    expect(troupe.answers.map(({ answer }) => answer)).toEqual([
      { action: 'cancel' },
      { action: 'accept' },
      { action: 'decline' },
    ]);
  });

  it.each([
    ['an unknown question', ['q9'], /there is no open question q9/u],
    ['an unknown field', ['q1', 'nam=x'], /did you mean name/u],
    ['a value that is not a number', ['q1', 'age=old'], /age must be integer/u],
    ['fields for a URL question', ['q2', 'name=x'], /this question has no form/u],
    ['a message on behalf of the model', ['q3'], /cannot be given here/u],
  ])('rejects %s without answering', async (_what, words, message) => {
    const { troupe, folder } = await running(form, url, sampling);
    const { exitCode, stderr } = await runCliHere(['answer', ...words], { folder });
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(message);
    expect(troupe.answers).toEqual([]);
  });
});

/** A terminal at which the test types lines. */
function terminal() {
  const stdin = Object.assign(new PassThrough(), { isTTY: true });
  const stderr = Object.assign(new PassThrough(), { isTTY: true });
  const opened: string[] = [];
  const openFile = (address: string) => Promise.resolve(opened.push(address) > 1);
  const host = { stdin, stderr, stdout: stderr, env: {} } as unknown as CliHost;
  let shown = '';
  stderr.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  let onInterrupt = (): void => undefined;
  const interrupts = new Promise<void>((resolve) => (onInterrupt = resolve));
  const ports = { hold: () => () => undefined, onInterrupt: () => onInterrupt() };
  const prompt = createQuestionPrompt({ host, output: new Output(host, false) }, openFile, ports);
  if (prompt === undefined) throw new Error('no prompt at this terminal');
  const abort = new AbortController();
  return {
    ask: (question: Question) => prompt(question, { signal: abort.signal }),
    abort: () => abort.abort(),
    type: (...lines: string[]) => stdin.write(lines.map((line) => `${line}\r`).join('')),
    end: () => stdin.end(),
    opened,
    interrupts,
    shown: () => shown,
    /** Resolves once the text is shown. */
    showed: (text: string) =>
      new Promise<void>((resolve) => {
        const look = () => {
          if (shown.includes(text)) resolve();
          else stderr.once('data', look);
        };
        look();
      }),
  };
}

describe("a server's question at the terminal", () => {
  it('asks for each field, again if the value is invalid', async () => {
    const { ask, type, showed } = terminal();
    const answer = ask(form);
    await showed('answer it? [y/N]');
    type('y');
    await showed('name (text, required) >');
    type('x');
    await showed('It must be at least 2 characters.');
    type('Ada');
    await showed('age (');
    type('');
    await showed('sure (');
    type('yes');
    await showed('colours (');
    type('r, g');
    expect(await answer).toEqual({
      action: 'accept',
      content: { name: 'Ada', sure: true, colours: ['r', 'g'] },
    });
  });

  it('opens its address only on request, and takes choices by their titles', async () => {
    const { ask, type, showed, opened } = terminal();
    const visit = ask(url);
    await showed('o = open it in the browser]');
    expect(opened).toEqual([]);
    type('o');
    await showed('cannot start a browser');
    type('y');
    expect(await visit).toEqual({ action: 'accept' });
    expect(opened).toEqual(['https://example.com/login?x=1']);
    const choices = [
      { value: 'r', title: 'Red' },
      { value: 'g', title: 'Green' },
    ];
    const pick = ask({
      ...form,
      fields: [
        { name: 'one', isRequired: true, field: { type: 'choice', choices } },
        { name: 'more', isRequired: true, field: { type: 'choices', choices } },
        { name: 'size', isRequired: true, field: { type: 'number', minimum: 1, maximum: 3 } },
      ],
    });
    await showed('answer it?');
    type('y');
    await showed('one (one of r = Red, g = Green, required) >');
    type('red');
    await showed('more (any of');
    type('Green, r');
    await showed('size (number from 1 to 3, required) >');
    type('4');
    await showed('at most 3');
    type('0x2');
    await showed('It must be a number');
    type('2.50');
    const picked = await pick;
    expect(picked).toEqual({
      action: 'accept',
      content: { one: 'r', more: ['g', 'r'], size: 2.5 },
    });
    // The digits that were typed.
    expect(writeJson(picked)).toContain('"size":2.50');
  });

  it('is not answered by Ctrl-C, which ends the call', async () => {
    const { ask, abort, type, showed, interrupts } = terminal();
    const answer = ask(form);
    await showed('[y/N]');
    type('\u0003');
    await interrupts;
    abort();
    expect(await answer).toEqual({ action: 'cancel' });
  });

  it('is declined by any answer but yes and cancelled at the end of the input', async () => {
    const first = terminal();
    const declined = first.ask(url);
    await first.showed('done there, continue?');
    expect(first.shown()).toContain('https://example.com/login?x=1');
    first.type('');
    expect(await declined).toEqual({ action: 'decline' });
    const second = terminal();
    const cancelled = second.ask(form);
    await second.showed('[y/N]');
    second.end();
    expect(await cancelled).toEqual({ action: 'cancel' });
  });

  it('closes when it is answered elsewhere and never asks the user to act as the model', async () => {
    const { ask, abort, showed } = terminal();
    const answer = ask(form);
    await showed('[y/N]');
    abort();
    expect(await answer).toEqual({ action: 'cancel' });
    expect(await terminal().ask(sampling)).toBeUndefined();
  });
});

describe('troupe call', () => {
  it("asks only its own call's questions at the terminal", async () => {
    let release: (() => void) | undefined;
    const troupe = createStandIn({
      servers: [statusOf('db')],
      answer: (_args, { requestId }) => {
        troupe.ask({ ...form, id: 'q7', requestId: 'another' });
        troupe.ask({ ...url, ...(requestId === undefined ? {} : { requestId }) });
        return new Promise((resolve) => {
          release = () => resolve(reportOf('done'));
        });
      },
    });
    troupe.on('question.settled', () => release?.());
    const { folder } = await upHere(troupe);
    const stdin = Object.assign(new PassThrough(), { isTTY: true });
    const run = startCliHere(['call', 'db', 'query'], { folder, stdin, columns: 100 });
    await run.noted('done there, continue?');
    stdin.write('y\r');
    const { exitCode, stdout, stderr } = await run.finished;
    expect([exitCode, stdout]).toEqual([0, 'done\n']);
    expect(troupe.answers).toEqual([{ id: 'q2', answer: { action: 'accept' } }]);
    expect(stderr).not.toContain('q7');
  });

  it.each([
    ['its own', (requestId: string | undefined) => defined({ requestId }), true],
    ["that of no call, from the call's server", () => ({ tool: undefined }), true],
    ['that of no call, from another server', () => ({ tool: undefined, server: 'web' }), false],
    ['that of another call', () => ({ requestId: 'another' }), false],
  ])(
    'prints a question without a terminal and goes on waiting: %s',
    async (_whose, of, isShown) => {
      let release: (() => void) | undefined;
      const troupe = createStandIn({
        servers: [statusOf('db')],
        answer: (_args, { requestId }) => {
          troupe.ask({ ...form, ...of(requestId) } as Question);
          return new Promise((resolve) => {
            release = () => resolve(reportOf('done'));
          });
        },
      });
      troupe.on('question.settled', () => release?.());
      const asking = new Promise((resolve) => void troupe.on('question.asked', resolve));
      const { folder } = await upHere(troupe);
      const run = startCliHere(['call', 'db', 'query'], { folder });
      await asking;
      if (isShown) await run.noted('waiting for the answer');
      const words = ['answer', 'q1', 'name=Ada', 'sure=true'];
      if (isShown) expect((await runCliHere(words, { folder })).exitCode).toBe(0);
      else release?.();
      const { exitCode, stdout, stderr } = await run.finished;
      expect([exitCode, stdout]).toEqual([0, 'done\n']);
      expect(stderr.includes('answer: troupe answer q1 name=… sure=…')).toBe(isShown);
    },
  );
});
