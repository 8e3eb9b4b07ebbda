/** Event streams over HTTP that end: when they are requested again, and what is reported. */

import { describe, expect, it } from 'vitest';
import { InputBudget } from '../../../../actors/transports/connection/input-budget.ts';
import type { Answer } from '../../../../actors/transports/http/fetch.ts';
import { createNewsStream, readAnswer } from '../../../../actors/transports/http/streams.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { silentInput } from '../../../fixtures/silent-input.ts';
import { turn } from '../../../support/turn.ts';

const cut = Symbol('cut');
/** The content of a stream, which then ends, is cut, or stays open. */
type Script = readonly (string | typeof cut)[];

function streamOf(script: Script, stays = false): Answer {
  async function* play(): AsyncGenerator<Uint8Array> {
    for (const part of script) {
      if (part === cut) throw new Error('reset');
      yield Buffer.from(part);
    }
    if (stays) await new Promise(() => {});
  }
  return answerOf(200, { 'content-type': 'text/event-stream' }, play());
}

const refused = (status: number, headers: Record<string, string> = {}): Answer =>
  answerOf(status, headers, (async function* () {})());

function answerOf(
  status: number,
  headers: Record<string, string>,
  body: AsyncIterable<Uint8Array>,
): Answer {
  const text = () => Promise.resolve('');
  return { status, statusText: '', ok: status < 300, headers, body, text, cancel: () => {} };
}

/** Lets so many seconds pass in small steps. */
async function pass(clock: VirtualClock, seconds: number): Promise<void> {
  for (let step = 0; step < seconds * 10; step += 1) {
    clock.advanceBy(100);
    await turn();
  }
}

const pause = (id: string): Answer => streamOf([`id: ${id}\nretry: 2000\ndata:\n\n`]);

describe('a response stream that ends before the response', () => {
  /** Reads an answer, and resumes it until the script has ended. */
  function follow(first: Answer, ...more: readonly Answer[]) {
    const clock = new VirtualClock();
    const controller = new AbortController();
    const messages: string[] = [];
    const asked: string[] = [];
    const doubts: number[] = [];
    const left = [...more];
    const over = readAnswer(first.body, {
      clock,
      budget: new InputBudget(clock, silentInput),
      signal: controller.signal,
      isWaitedFor: () => messages.length === 0,
      onMessage: (text) => messages.push(text),
      resume(lastEventId) {
        asked.push(`${lastEventId} at ${Math.floor(clock.now() / 1_000)}`);
        const response = left.shift();
        return response === undefined
          ? Promise.reject(new Error('gone'))
          : Promise.resolve(response);
      },
      onDoubt: () => doubts.push(clock.now()),
    });
    return { clock, controller, messages, asked, doubts, over };
  }

  it('is resumed each time the server ends it on purpose', async () => {
    const pauses = Array.from({ length: 20 }, (_, count) => pause(`e${count}`));
    const call = follow(pause('first'), ...pauses, streamOf(['data: answer\n\n']));
    await pass(call.clock, 53);
    // Jitter adds at most a quarter.
    expect(call.messages).toEqual(['answer']);
    expect(call.asked).toHaveLength(21);
    expect(call.doubts).toEqual([]);
    await call.over;
  });

  it('is resumed at most once a second, even if the server requests no delay', async () => {
    const pauses = Array.from({ length: 20 }, () => streamOf(['retry: 0\n\n']));
    const call = follow(streamOf(['id: e1\nretry: 0\ndata:\n\n']), ...pauses);
    await pass(call.clock, 10);
    expect(call.asked.length).toBeGreaterThanOrEqual(7);
    expect(call.asked.length).toBeLessThanOrEqual(10);
    call.controller.abort();
    await call.over;
    expect(call.clock.pendingCount).toBe(0);
  });

  it('is resumed at growing intervals while it keeps breaking, and the server is probed', async () => {
    const cuts = Array.from({ length: 20 }, () => streamOf([': hello\n', cut]));
    const call = follow(streamOf(['id: e1\ndata:\n\n']), ...cuts);
    await pass(call.clock, 40);
    expect(call.asked.length).toBeGreaterThanOrEqual(4);
    expect(call.asked.length).toBeLessThanOrEqual(6);
    expect(call.doubts).toHaveLength(call.asked.length);
    call.controller.abort();
    await call.over;
  });

  it('is resumed when a busy server requests it and abandoned after the second refusal', async () => {
    const busy = () => refused(503, { 'retry-after': '20' });
    const call = follow(streamOf(['id: e1\ndata:\n\n']), busy(), busy());
    await pass(call.clock, 15);
    expect(call.asked).toHaveLength(1);
    await pass(call.clock, 12);
    expect(call.asked).toHaveLength(2);
    await call.over;
    expect(call.doubts).toEqual([]);
  });

  it('is abandoned immediately when it cannot be resumed', async () => {
    await follow(streamOf([': hello\n\n'])).over;
    const call = follow(streamOf(['id: e1\ndata:\n\n']), refused(404));
    await pass(call.clock, 3);
    await call.over;
    expect(call.asked).toHaveLength(1);
  });
});

describe('a notification stream that ends', () => {
  function listen(...openings: readonly (Answer | Error)[]) {
    const clock = new VirtualClock();
    const told: string[] = [];
    const left = [...openings];
    const news = createNewsStream({
      clock,
      budget: new InputBudget(clock, silentInput),
      ask(lastEventId) {
        told.push(lastEventId === undefined ? 'asked' : `asked after ${lastEventId}`);
        const next = left.shift() ?? streamOf([], true);
        return next instanceof Error ? Promise.reject(next) : Promise.resolve(next);
      },
      onMessage: (text) => told.push(text),
      onDoubt: () => told.push('doubt'),
      onGap: () => told.push('gap'),
    });
    news.start();
    return { clock, told, news };
  }

  it('reports a gap as soon as it is reopened', async () => {
    const { clock, told } = listen(streamOf(['data: one\n\n', cut]));
    await pass(clock, 0.5);
    expect(told).toEqual(['asked', 'one', 'doubt']);
    await pass(clock, 3);
    expect(told).toEqual(['asked', 'one', 'doubt', 'asked', 'gap']);
  });

  it.each([
    ['it was refused at first', refused(503)],
    ['it could not be requested at first', new Error('reset')],
  ])('reports a gap when %s', async (_what, opening) => {
    const { clock, told } = listen(opening);
    await pass(clock, 5);
    expect(told).toEqual(['asked', 'doubt', 'asked', 'gap']);
  });

  it('reports no gap when the server resends later events', async () => {
    const { clock, told } = listen(streamOf(['id: 7\ndata: one\n\n', cut]));
    await pass(clock, 3);
    expect(told).toEqual(['asked', 'one', 'doubt', 'asked after 7']);
  });

  it('reports a gap when the server no longer has the stream', async () => {
    const { clock, told } = listen(streamOf(['data: one\n\n', cut]), refused(405));
    await pass(clock, 5);
    expect(told).toEqual(['asked', 'one', 'doubt', 'asked', 'gap', 'doubt']);
    expect(clock.pendingCount).toBe(0);
  });

  it('is requested once if the server has none', async () => {
    const { clock, told } = listen(refused(405));
    await pass(clock, 5);
    expect(told).toEqual(['asked']);
  });

  it('is requested at most ten times in thirty seconds, even if the server requests no delay', async () => {
    const at = (id: string) => streamOf([`id: ${id}\nretry: 0\ndata:\n\n`]);
    const { clock, told } = listen(...Array.from({ length: 40 }, (_, count) => at(String(count))));
    await pass(clock, 30);
    const times = told.filter((line) => line.startsWith('asked')).length;
    expect(times).toBeGreaterThanOrEqual(5);
    expect(times).toBeLessThanOrEqual(10);
    expect(told).not.toContain('doubt');
  });

  it('is not requested again once it is stopped', async () => {
    const { clock, told, news } = listen(streamOf([cut]));
    await turn();
    news.stop();
    expect(clock.pendingCount).toBe(0);
    news.start();
    await pass(clock, 5);
    expect(told).toEqual(['asked', 'doubt']);
  });
});
