/** When a remote server counts as lost. */

import { ProtocolError, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client';
import { describe, expect, it } from 'vitest';

import { createLiveness } from '../../../../actors/transports/http/liveness.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { turn } from '../../../support/turn.ts';

/** A probe that is answered when the test says so. */
function asked(era: 'legacy' | 'modern' | 'unknown' = 'legacy') {
  const clock = new VirtualClock();
  const lost: unknown[] = [];
  const questions: { readonly name: string; answer(): void; fail(error: unknown): void }[] = [];
  const ask = (name: string) => () =>
    new Promise<never>((resolve, reject) => {
      questions.push({ name, answer: () => resolve(undefined as never), fail: reject });
    });
  const calls = { isBusy: false };
  const client = {
    ping: ask('ping'),
    discover: ask('discover'),
    getProtocolEra: () => (era === 'unknown' ? undefined : era),
  };
  const liveness = createLiveness(
    client,
    clock,
    () => calls.isBusy,
    (error) => lost.push(error),
  );
  return { clock, lost, questions, calls, liveness };
}

const refusal = (status: number) =>
  new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, 'no', { status, statusText: 'no' });

describe('a suspected server', () => {
  it('is lost after five seconds of silence and probed once, however many hints arrive', () => {
    const { clock, lost, questions, liveness } = asked();
    for (let count = 0; count < 3; count += 1) liveness.suspect();
    clock.advanceBy(4_999);
    expect(lost).toEqual([]);
    clock.advanceBy(1);
    expect(lost).toEqual([expect.objectContaining({ code: 'REQUEST_TIMEOUT' })]);
    expect(questions.map(({ name }) => name)).toEqual(['ping']);
    clock.advanceBy(60_000);
    expect(lost).toHaveLength(1);
    expect(clock.pendingCount).toBe(0);
  });

  it('keeps its session while silent only if calls are pending', () => {
    const { clock, lost, calls, liveness } = asked();
    calls.isBusy = true;
    liveness.suspect();
    clock.advanceBy(60_000);
    expect(lost).toEqual([]);
    calls.isBusy = false;
    clock.advanceBy(5_000);
    expect(lost).toHaveLength(1);
  });

  it('is alive when any message arrives and is suspected again at the next hint', () => {
    const { clock, lost, questions, liveness } = asked();
    liveness.suspect();
    liveness.heard();
    clock.advanceBy(60_000);
    expect(lost).toEqual([]);
    liveness.suspect();
    expect(questions).toHaveLength(1);
    clock.advanceBy(5_000);
    expect(lost).toHaveLength(1);
  });

  it('is alive when its probe fails after a message, but not if a hint follows the message', async () => {
    const { lost, questions, liveness } = asked();
    liveness.suspect();
    liveness.heard();
    questions[0]?.fail(refusal(404));
    await turn();
    expect(lost).toEqual([]);
    liveness.suspect();
    liveness.heard();
    liveness.suspect();
    questions[1]?.fail(refusal(404));
    await turn();
    expect(lost).toHaveLength(1);
  });

  it.each([
    ['a result', undefined],
    ['an error', new ProtocolError(-32_601, 'Method not found')],
    ['"too many requests"', refusal(429)],
  ])('is alive when it responds with %s and may be probed again', async (_what, error) => {
    const { clock, lost, questions, liveness } = asked();
    liveness.suspect();
    if (error === undefined) questions[0]?.answer();
    else questions[0]?.fail(error);
    await turn();
    expect(clock.pendingCount).toBe(0);
    liveness.suspect();
    expect(questions).toHaveLength(2);
    expect(lost).toEqual([]);
  });

  it.each([
    ['its connection fails', Object.assign(new Error('refused'), { code: 'ECONNREFUSED' })],
    ['a proxy reports it unavailable', refusal(503)],
  ])('is lost immediately when %s, even with calls in flight', async (_what, error) => {
    const { clock, lost, questions, calls, liveness } = asked();
    calls.isBusy = true;
    liveness.suspect();
    questions[0]?.fail(error);
    await turn();
    expect(lost).toEqual([error]);
    expect(clock.pendingCount).toBe(0);
  });

  it('is not probed before its handshake or after its session ends', async () => {
    const early = asked('unknown');
    early.liveness.suspect();
    expect(early.questions).toEqual([]);
    const { clock, lost, questions, liveness } = asked('modern');
    liveness.suspect();
    expect(questions.map(({ name }) => name)).toEqual(['discover']);
    liveness.stop();
    questions[0]?.fail(new Error('closed'));
    await turn();
    liveness.suspect();
    clock.advanceBy(60_000);
    expect(lost).toEqual([]);
    expect(questions).toHaveLength(1);
  });
});
