/** Health probes, and the meaning of their answers. */

import { ProtocolError } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';

import { createProbe } from '../../../actors/session/probe.ts';
import { turn } from '../../support/turn.ts';

interface Question {
  readonly method: 'ping' | 'discover';
  readonly signal: AbortSignal | undefined;
  answer(): void;
  fail(error: unknown): void;
}

function setUp(era: 'legacy' | 'modern' = 'legacy') {
  const questions: Question[] = [];
  const told: string[] = [];
  const ask =
    (method: Question['method']) =>
    (options?: { signal?: AbortSignal }): Promise<never> =>
      new Promise((resolve, reject) => {
        questions.push({
          method,
          signal: options?.signal,
          answer: () => resolve({} as never),
          fail: reject,
        });
        options?.signal?.addEventListener('abort', () => reject(new Error('aborted')));
      });
  const probe = createProbe(
    { ping: ask('ping'), discover: ask('discover'), getProtocolEra: () => era },
    (answer, error) =>
      told.push(error === undefined ? answer : `${answer}: ${(error as Error).message}`),
  );
  const last = (): Question => {
    const question = questions.at(-1);
    if (question === undefined) throw new Error('Nothing was asked.');
    return question;
  };
  return { probe, questions, told, last };
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

  it('is silently abandoned when the next one starts or the session ends', async () => {
    const { probe, questions, told, last } = setUp();
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
