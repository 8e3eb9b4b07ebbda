/** Health probes, and the meaning of their answers. */

import { type JSONRPCMessage, ProtocolError } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';
import { createProbe } from '../../../actors/session/probe.ts';
import { methods } from '../../../src/protocol/methods.ts';
import { turn } from '../../support/turn.ts';

interface Question {
  readonly method: 'ping' | 'discover' | 'tools/list';
  readonly signal: AbortSignal | undefined;
  answer(): void;
  fail(error: unknown): void;
}

function setUp(era: 'legacy' | 'modern' = 'legacy', isByList = false) {
  const questions: Question[] = [];
  const told: string[] = [];
  const ask =
    (method: Question['method']) =>
    (options?: { signal?: AbortSignal | undefined }): Promise<never> =>
      new Promise((resolve, reject) => {
        questions.push({
          method,
          signal: options?.signal,
          answer: () => resolve({} as never),
          fail: reject,
        });
        options?.signal?.addEventListener('abort', () => reject(new Error('aborted')));
      });
  const stages: Parameters<typeof createProbe>[0]['stages'] = { onRead: undefined };
  const probe = createProbe({
    client: {
      ping: ask('ping'),
      discover: ask('discover'),
      request: (key, _params, options) => ask(methods[key].name as Question['method'])(options),
      getProtocolEra: () => era,
    },
    stages,
    isByList,
    onListed: (unanswered) => told.push(`listed instead of ${unanswered}`),
    onAnswer: (answer, error) =>
      told.push(error === undefined ? answer : `${answer}: ${(error as Error).message}`),
  });
  const last = (): Question => {
    const question = questions.at(-1);
    if (question === undefined) throw new Error('Nothing was asked.');
    return question;
  };
  const read = (message: object): void =>
    stages.onRead?.([{ jsonrpc: '2.0', ...message } as JSONRPCMessage]);
  return { probe, questions, told, last, read };
}

describe('a probe', () => {
  it.each([
    ['legacy', 'ping'],
    ['modern', 'discover'],
  ] as const)('sends a %s server a %s request', async (era, method) => {
    const { probe, told, last } = setUp(era);
    probe.ask();
    expect(last().method).toBe(method);
    last().answer();
    await turn();
    expect(told).toEqual(['alive']);
  });

  it('treats an error as a response and distinguishes an unknown method', async () => {
    const { probe, told, last } = setUp();
    probe.ask();
    last().fail(new ProtocolError(-32603, 'Oops.'));
    await turn();
    probe.ask();
    last().fail(new ProtocolError(-32601, 'Ping?'));
    await turn();
    expect(told.map((line) => line.split(':')[0])).toEqual(['alive', 'unknownMethod']);
  });

  it('reports its error when there is no response', async () => {
    const { probe, told, last } = setUp();
    probe.ask();
    last().fail(new Error('connection refused'));
    await turn();
    expect(told).toEqual(['none: connection refused']);
  });

  it('is answered once by any message, even after its time, but not by an unknown method', async () => {
    const { probe, told, last, read } = setUp();
    const progress = { method: 'notifications/progress', params: {} };
    read(progress);
    probe.ask();
    read({ id: 7, error: { code: -32601, message: 'Ping?' } });
    expect(told).toEqual([]);
    read(progress);
    read({ id: 8, result: {} });
    last().answer();
    await turn();
    expect(told).toEqual(['alive']);
    probe.ask();
    probe.stop();
    read(progress);
    expect(told).toEqual(['alive']);
  });

  it.each([
    ['legacy', 'ping'],
    ['modern', 'discover'],
  ] as const)('is a list if a %s server never answered a %s', async (era, method) => {
    const { probe, told, questions, last } = setUp(era);
    probe.ask();
    for (const _ of [1, 2]) {
      probe.ask();
      last().answer();
      await turn();
    }
    expect(questions.map((each) => each.method)).toEqual([method, 'tools/list', 'tools/list']);
    const name = era === 'modern' ? 'server/discover' : 'ping';
    expect(told).toEqual([`listed instead of ${name}`, 'alive', 'alive']);
  });

  it('is a list if an earlier session found that out', async () => {
    const { probe, told, last } = setUp('legacy', true);
    probe.ask();
    expect(last().method).toBe('tools/list');
    last().answer();
    await turn();
    expect(told).toEqual(['alive']);
  });

  it.each([
    ['answered', (question: Question) => question.answer()],
    ['did not know', (question: Question) => question.fail(new ProtocolError(-32601, 'Ping?'))],
  ])('stays a ping once the server %s one', async (_what, settle) => {
    const { probe, questions, last } = setUp();
    probe.ask();
    settle(last());
    await turn();
    probe.ask();
    probe.ask();
    expect(questions.map(({ method }) => method)).toEqual(['ping', 'ping', 'ping']);
  });

  it('stays a ping when the first one failed instead of staying unanswered', async () => {
    const { probe, questions, told, last } = setUp();
    probe.ask();
    last().fail(new Error('503'));
    await turn();
    probe.ask();
    last().answer();
    await turn();
    expect(questions.map(({ method }) => method)).toEqual(['ping', 'ping']);
    expect(told).toEqual(['none: 503', 'alive']);
  });

  it('of a server that answers neither fails, and does not switch to a list', async () => {
    const { probe, told, last } = setUp();
    for (const _ of [1, 2]) {
      probe.ask();
      last().fail(new Error('connection refused'));
      await turn();
    }
    expect(told).toEqual(['none: connection refused', 'none: connection refused']);
  });

  it('is silently abandoned when the next one starts or the session ends', async () => {
    const { probe, questions, told, last } = setUp('legacy', true);
    probe.ask();
    probe.ask();
    await turn();
    expect(questions.map(({ signal }) => signal?.aborted)).toEqual([true, false]);
    expect(told).toEqual([]);
    last().answer();
    await turn();
    expect(told).toEqual(['alive']);
    probe.ask();
    probe.stop();
    await turn();
    expect(last().signal?.aborted).toBe(true);
    expect(told).toEqual(['alive']);
    probe.stop();
  });
});
