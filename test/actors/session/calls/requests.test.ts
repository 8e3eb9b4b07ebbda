/**
 * Callers' requests without and with progress: the same script of a server, the same outcome, and the
 * same messages.
 */

import { getEventListeners } from 'node:events';

import { describe, expect, it } from 'vitest';

import { Caller } from '../../../../actors/session/calls/call.ts';
import { type Connection } from '../../../../actors/transports/connection/connection.ts';
import type { Failure } from '../../../../src/domain/failure.ts';
import type { CallFailure, SessionHandle } from '../../../../src/domain/session.ts';
import type { ListedTool } from '../../../../src/domain/tool.ts';
import { NotSentError } from '../../../../src/protocol/errors.ts';
import { type Client, createClient } from '../../../../src/protocol/mcp-client.ts';
import { Requests } from '../../../../src/protocol/requests.ts';
import { VirtualClock } from '../../../../src/testing/virtual-clock.ts';
import { ScriptedTransport, type Sent } from '../../../fixtures/scripted-transport.ts';
import { turn } from '../../../support/turn.ts';

type Answer = { readonly result: unknown } | { readonly failure: CallFailure };

/** A connection whose calls a test inspects. */
class CallTransport extends ScriptedTransport {
  get calls(): readonly Sent[] {
    return this.sent.filter(({ method }) => method === 'tools/call');
  }

  get cancellations(): readonly Sent['params'][] {
    const told = this.sent.filter(({ method }) => method === 'notifications/cancelled');
    return told.map(({ params }) => params);
  }

  /** Answers the call with this number, by default with a result. */
  answers(number: number, rest: Readonly<Record<string, unknown>>): void {
    this.receive({ jsonrpc: '2.0', id: this.calls[number]?.id, ...rest });
  }
}

const text = (words: string) => ({ content: [{ type: 'text', text: words }] });

interface Stage {
  readonly transport: CallTransport;
  readonly client: Client;
  readonly clock: VirtualClock;
  readonly troubles: Failure[];
  readonly remarks: string[];
  readonly handle: Pick<SessionHandle, 'callTool' | 'request'>;
  call(args?: Readonly<Record<string, unknown>>, signal?: AbortSignal): Promise<Answer>;
}

async function stageOf(isLight: boolean): Promise<Stage> {
  const transport = new CallTransport();
  const client = createClient({ mode: 'legacy' }, () => {});
  await client.connect(transport);
  const clock = new VirtualClock();
  const troubles: Failure[] = [];
  const remarks: string[] = [];
  const connection = { kind: 'stdio', transport, stages: transport.stages, context: () => ({}) };
  const handle = new Caller({
    server: 'db',
    clock,
    client,
    connection: connection as unknown as Connection,
    secrets: [],
    ending: () => undefined,
    toolNamed: () => undefined,
    logLevel: () => undefined,
    rules: () => [],
    reasonFor: () => '',
    onTrouble: (failure) => troubles.push(failure),
    remark: (line) => remarks.push(line),
  });
  return {
    transport,
    client,
    clock,
    troubles,
    remarks,
    handle,
    call: (args = {}, signal) =>
      handle.callTool('echo', args, {
        deadlineAt: clock.now() + 1_000,
        ...(signal !== undefined && { signal }),
        ...(!isLight && { onProgress: () => {} }),
      }),
  };
}

/** Every test must leave no timer, and no pending call that a late answer could reach. */
async function expectAtRest({ transport, clock }: Stage): Promise<void> {
  expect(clock.pendingCount).toBe(0);
  for (const { id } of transport.calls) {
    const late = { jsonrpc: '2.0', id: id as number, result: text('late') } as const;
    expect(transport.stages.calls?.(late) ?? false).toBe(false);
    expect(() => transport.onmessage?.(late)).not.toThrow();
  }
  await turn();
}

describe.each([
  ['without progress', true],
  ['with progress', false],
])('a call made %s', (_way, isLight) => {
  it('sends the tool name and arguments and returns the result', async () => {
    const stage = await stageOf(isLight);
    const called = stage.call({ a: 1 });
    expect(stage.transport.calls).toMatchObject([
      { jsonrpc: '2.0', params: { name: 'echo', arguments: { a: 1 } } },
    ]);
    stage.transport.answers(0, { result: { ...text('one'), structuredContent: { b: 2 } } });
    expect(await called).toEqual({ result: { ...text('one'), structuredContent: { b: 2 } } });
    await expectAtRest(stage);
  });

  it('receives its own response in any order, and only the first', async () => {
    const stage = await stageOf(isLight);
    const calls = [stage.call(), stage.call(), stage.call()];
    for (const number of [2, 0, 1]) {
      stage.transport.answers(number, { result: text(`number ${number}`) });
      stage.transport.answers(number, { result: text('again') });
    }
    expect(await Promise.all(calls)).toEqual(
      [0, 1, 2].map((number) => ({ result: text(`number ${number}`) })),
    );
    await expectAtRest(stage);
  });

  it('accepts a response whose id became a string', async () => {
    const stage = await stageOf(isLight);
    const called = stage.call();
    stage.transport.answers(0, { id: String(stage.transport.calls[0]?.id), result: text('one') });
    expect(await called).toEqual({ result: text('one') });
  });

  it("leaves other requests and the server's questions to the client", async () => {
    const stage = await stageOf(isLight);
    const called = stage.call();
    const { client, transport } = stage;
    expect(await client.request('ping', {})).toEqual({});
    transport.receive({ jsonrpc: '2.0', id: transport.calls[0]?.id, method: 'ping' });
    await turn();
    expect(transport.sent.at(-1)).toEqual({
      jsonrpc: '2.0',
      id: transport.calls[0]?.id,
      result: {},
    });
    transport.answers(0, { result: text('one') });
    expect(await called).toEqual({ result: text('one') });
  });

  it.each([
    ['no content', {}, { content: [] }],
    [
      'structured content that is a list',
      { ...text('one'), structuredContent: [1] },
      { ...text('one'), structuredContent: [1] },
    ],
    ['a field from a later revision', { ...text('one'), resultType: 'complete' }, text('one')],
  ])('accepts a result with %s', async (_what, result, expected) => {
    const stage = await stageOf(isLight);
    const called = stage.call();
    stage.transport.answers(0, { result });
    expect(await called).toEqual({ result: expected });
  });

  it('corrects a result of a wrong shape, which is reported once', async () => {
    const stage = await stageOf(isLight);
    for (const number of [0, 1]) {
      const called = stage.call();
      stage.transport.answers(number, { result: { content: 'one', isError: 'true' } });
      expect(await called).toEqual({ result: { ...text('one'), isError: true } });
    }
    expect(stage.remarks).toEqual([
      'its answer to tools/call of echo was corrected: "content" is not a list; "isError" is neither true nor false',
    ]);
    expect(stage.troubles).toEqual([]);
    await expectAtRest(stage);
  });

  it('reports a limited number of odd results', async () => {
    const stage = await stageOf(isLight);
    for (let number = 0; number < 70; number += 1) {
      const called = stage.call();
      stage.transport.answers(number, { result: { content: Array(number + 1).fill(7) } });
      expect(await called).toEqual({ result: { content: [] } });
    }
    expect(stage.remarks).toHaveLength(64);
  });

  it("passes on a server's error with its code, message and data", async () => {
    const stage = await stageOf(isLight);
    const called = stage.call();
    const error = { code: -32_603, message: 'the disk is full', data: { disk: 1 } };
    stage.transport.answers(0, { error });
    expect(await called).toEqual({
      failure: {
        reason: 'serverError',
        written: true,
        rpcCode: -32_603,
        message: 'the disk is full',
        rpcData: { disk: 1 },
      },
    });
    expect(stage.troubles).toEqual([]);
    await expectAtRest(stage);
  });

  it('ends at its deadline and notifies the server', async () => {
    const stage = await stageOf(isLight);
    const called = stage.call();
    stage.clock.advanceBy(999);
    expect(stage.transport.cancellations).toEqual([]);
    stage.clock.advanceBy(1);
    expect(await called).toMatchObject({ failure: { reason: 'timeout', written: true } });
    expect(stage.transport.cancellations).toEqual([
      { requestId: stage.transport.calls[0]?.id, reason: 'Error: Request timed out' },
    ]);
    await expectAtRest(stage);
  });

  it('ends when its caller aborts, notifies the server, and releases the signal', async () => {
    const stage = await stageOf(isLight);
    const { signal, abort } = controllerOf();
    const answered = stage.call({}, signal);
    stage.transport.answers(0, { result: text('one') });
    await answered;
    expect(getEventListeners(signal, 'abort')).toEqual([]);

    const called = stage.call({}, signal);
    abort('enough');
    expect(await called).toMatchObject({ failure: { reason: 'cancelled', written: true } });
    expect(stage.transport.cancellations).toEqual([
      { requestId: stage.transport.calls[1]?.id, reason: 'enough' },
    ]);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
    await expectAtRest(stage);
  });

  it('ends when its caller aborts with a reason that has no text', async () => {
    const stage = await stageOf(isLight);
    const { signal, abort } = controllerOf();
    const called = stage.call({}, signal);
    abort(Object.create(null));
    expect(await called).toMatchObject({ failure: { reason: 'cancelled', written: true } });
    expect(stage.transport.cancellations).toEqual([
      { requestId: stage.transport.calls[0]?.id, reason: 'The call was cancelled.' },
    ]);
  });

  it('reports that it was not sent when the connection refuses it', async () => {
    const stage = await stageOf(isLight);
    stage.transport.refusal = new NotSentError('The server does not read its input.');
    expect(await stage.call()).toEqual({
      failure: {
        reason: 'notSent',
        written: false,
        message: 'The server does not read its input.',
      },
    });
    expect(stage.clock.pendingCount).toBe(0);
  });

  it('fails once when the connection ends', async () => {
    const stage = await stageOf(isLight);
    const calls = [stage.call(), stage.call()];
    await stage.transport.close();
    for (const outcome of await Promise.all(calls)) {
      expect(outcome).toMatchObject({
        failure: { reason: 'crashed', written: true, message: 'Connection closed' },
      });
    }
    expect(stage.troubles).toHaveLength(2);
    expect(stage.clock.pendingCount).toBe(0);
  });
});

function controllerOf(): { signal: AbortSignal; abort: (reason: unknown) => void } {
  const controller = new AbortController();
  return { signal: controller.signal, abort: (reason) => controller.abort(reason) };
}

it('a call whose argument cannot be read for a header is not sent', async () => {
  const transport = new CallTransport();
  const client = {
    getProtocolEra: () => 'modern',
    getServerCapabilities: () => ({}),
    getServerVersion: () => undefined,
    envelope: () => ({}),
  };
  const connection = { kind: 'http', transport, stages: transport.stages, context: () => ({}) };
  const region = { type: 'string', 'x-mcp-header': 'Region' };
  const inputSchema = { type: 'object', properties: { region } };
  const caller = new Caller({
    server: 'db',
    clock: new VirtualClock(),
    client: client as unknown as Client,
    connection: connection as unknown as Connection,
    secrets: ['hunter22'],
    ending: () => undefined,
    toolNamed: () => ({ name: 'echo', inputSchema }) as ListedTool,
    logLevel: () => undefined,
    rules: () => [],
    reasonFor: () => '',
    onTrouble: () => {},
    remark: () => {},
  });
  const args = {
    get region(): string {
      throw new Error('no region for hunter22');
    },
  };
  expect(await caller.callTool('echo', args, { deadlineAt: 1_000 })).toEqual({
    failure: {
      reason: 'invalidArguments',
      written: false,
      message: expect.stringMatching(/no region for (?!hunter22)/u),
    },
  });
  expect(transport.calls).toEqual([]);
});

it('a request whose deadline passed between two rounds is not sent again', async () => {
  const transport = new CallTransport();
  const clock = new VirtualClock();
  const connection = { transport, stages: transport.stages } as unknown as Connection;
  const requests = new Requests(clock, connection, undefined);
  const request = requests.begin({ deadlineAt: clock.now() + 1_000 });
  clock.advanceBy(1_000);
  const outgoing = { kind: 'callTool', params: {}, meta: undefined } as const;
  await expect(requests.exchange(request, outgoing)).rejects.toThrow('Request timed out');
  expect(transport.calls).toEqual([]);
});

describe('request ids', () => {
  it('are never reused, on any connection or path', async () => {
    const first = [await stageOf(true), await stageOf(false)];
    const calls = first.flatMap((stage) => [stage.call(), stage.call()]);
    await Promise.all(first.map(({ transport }) => transport.close()));
    const later = [await stageOf(false), await stageOf(true)];
    calls.push(...later.flatMap((stage) => [stage.call(), stage.call()]));
    const all = [...first, ...later].flatMap(({ transport }) =>
      transport.sent.flatMap(({ id }) => (id === undefined ? [] : [id])),
    );
    // Four handshakes and eight calls.
    expect(all).toHaveLength(12);
    expect(new Set(all).size).toBe(12);
    await Promise.all(later.map(({ transport }) => transport.close()));
    await Promise.all(calls);
  });
});

describe('a call whose deadline progress extends', () => {
  async function renewed() {
    const stage = await stageOf(true);
    const heard: unknown[] = [];
    const outcome = stage.handle.callTool(
      'echo',
      {},
      {
        deadlineAt: stage.clock.now() + 1_000,
        renewal: { silenceMs: 500, untilAt: stage.clock.now() + 1_800 },
        onProgress: (news) => heard.push(news.progress),
      },
    );
    const token = stage.transport.calls[0]?.params?._meta?.progressToken;
    const progress = async (value: number): Promise<void> => {
      const params = { progressToken: token, progress: value };
      stage.transport.receive({ jsonrpc: '2.0', method: 'notifications/progress', params });
      await turn();
    };
    return { stage, heard, outcome, progress };
  }

  it('gets a new deadline with each progress notification, within its total time limit', async () => {
    const { stage, heard, outcome, progress } = await renewed();
    for (const number of [1, 2, 3]) {
      await stage.clock.advanceAndSettle(450);
      await progress(number);
    }
    await stage.clock.advanceAndSettle(449);
    expect(stage.transport.cancellations).toHaveLength(0);
    await stage.clock.advanceAndSettle(1);
    expect(await outcome).toMatchObject({ failure: { reason: 'timeout', written: true } });
    expect(heard).toEqual([1, 2, 3]);
    expect(stage.transport.cancellations).toHaveLength(1);
    await progress(4);
    expect(stage.clock.pendingCount).toBe(0);
  });

  it("hears the server's own metadata with it, without the protocol's", async () => {
    const stage = await stageOf(true);
    const heard: unknown[] = [];
    const onProgress = (news: unknown): void => void heard.push(news);
    const options = { deadlineAt: stage.clock.now() + 1_000, onProgress };
    const outcome = stage.handle.callTool('echo', {}, options);
    const progressToken = stage.transport.calls[0]?.params?._meta?.progressToken;
    const meta = { step: 'x', 'io.modelcontextprotocol/any': 1 };
    const params = { progressToken, progress: 1, _meta: meta };
    stage.transport.receive({ jsonrpc: '2.0', method: 'notifications/progress', params });
    expect(heard).toEqual([{ progress: 1, _meta: { step: 'x' } }]);
    await stage.clock.advanceAndSettle(1_000);
    await outcome;
  });

  it('ends when progress stops', async () => {
    const { stage, outcome, progress } = await renewed();
    await stage.clock.advanceAndSettle(10);
    await progress(1);
    await stage.clock.advanceAndSettle(499);
    expect(stage.transport.cancellations).toHaveLength(0);
    await stage.clock.advanceAndSettle(1);
    expect(await outcome).toMatchObject({ failure: { reason: 'timeout' } });
  });
});
