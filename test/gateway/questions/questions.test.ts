import { describe, expect, it } from 'vitest';

import type { QuestionBody } from '../../../src/domain/question.ts';
import { pong } from '../../runtime/stage.ts';
import { connect, gatewayStage, post } from '../gateway-stage.ts';

const form: QuestionBody = {
  kind: 'form',
  message: 'Which table?',
  fields: [{ name: 'table', isRequired: true, field: { type: 'string' } }],
  schema: { type: 'object', properties: { table: { type: 'string' } }, required: ['table'] },
};
const meta = { 'db.example/theme': { dark: true } };
const model: QuestionBody = {
  kind: 'sampling',
  message: 'Say hello.',
  sampling: {
    messages: [{ role: 'user', content: { type: 'text', text: 'Say hello.' } }],
    maxTokens: 10,
  },
};
const everything = { elicitation: { form: {}, url: {} }, sampling: {} };
const envelope = (capabilities: object) => ({
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientCapabilities': capabilities,
});
const modernHeaders = {
  'mcp-protocol-version': '2026-07-28',
  'mcp-method': 'tools/call',
  'mcp-name': 'db__query',
};

interface Answer {
  readonly result?: {
    readonly resultType?: string;
    readonly content?: unknown;
    readonly requestState?: string;
    readonly inputRequests?: Readonly<Record<string, { method: string; params: unknown }>>;
  };
  readonly error?: { readonly code: number; readonly data?: unknown };
}

/** One request of a modern client, as it goes over the wire. */
async function ask(
  url: URL,
  more: object = {},
  capabilities: object = everything,
): Promise<Answer> {
  const params = { name: 'db__query', arguments: {}, _meta: envelope(capabilities), ...more };
  const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
  return (await (await post(url, message, modernHeaders)).json()) as Answer;
}

describe.each(['auto', 'legacy'] as const)("a server's question during a call (%s)", (mode) => {
  it('is sent only to the client that made the call', async () => {
    const stage = await gatewayStage();
    const asked: unknown[] = [];
    const join = (who: string) =>
      connect(
        stage,
        mode,
        (client) => {
          client.setRequestHandler('elicitation/create', ({ params }) => {
            asked.push([who, params.message, params._meta]);
            return { action: 'accept', content: { table: `of ${who}` } };
          });
        },
        { elicitation: { form: {} } },
      );
    const [one, other] = [await join('one'), await join('other')];
    const [answer, another] = [
      one.callTool({ name: 'db__query', arguments: { who: 'one' } }),
      other.callTool({ name: 'web__query', arguments: { who: 'other' } }),
    ];
    const calls = [await stage.nextCall('db'), await stage.nextCall('web')];
    const call = calls.find(({ args }) => args['who'] === 'one');
    const said = await stage.sessions.of('db').ask({ ...form, meta }, call);
    expect(said).toEqual({ action: 'accept', content: { table: 'of one' } });
    expect(asked).toMatchObject([['one', 'Which table?', meta]]);
    for (const each of calls) each.answer(pong);
    expect(await answer).toMatchObject(pong);
    expect(await another).toMatchObject(pong);
  });

  it("may request a message from the client's model", async () => {
    const stage = await gatewayStage();
    const client = await connect(
      stage,
      mode,
      (each) => {
        each.setRequestHandler('sampling/createMessage', () => ({
          model: 'small',
          role: 'assistant',
          content: { type: 'text', text: 'Hello.' },
        }));
      },
      { sampling: {} },
    );
    const answer = client.callTool({ name: 'db__query', arguments: {} });
    const call = await stage.nextCall('db');
    expect(await stage.sessions.of('db').ask(model, call)).toMatchObject({
      action: 'accept',
      sampling: { model: 'small', content: { type: 'text', text: 'Hello.' } },
    });
    call.answer(pong);
    await answer;
  });

  it('is declined if the client cannot answer', async () => {
    const stage = await gatewayStage();
    const client = await connect(stage, mode);
    const answer = client.callTool({ name: 'db__query', arguments: {} });
    const call = await stage.nextCall('db');
    expect(await stage.sessions.of('db').ask(form, call)).toEqual({ action: 'decline' });
    call.answer(pong);
    expect(await answer).toMatchObject(pong);
  });
});

describe("a question for a client's model during a call", () => {
  it('cancels the call of a client of 2026-07-28 without sampling', async () => {
    const stage = await gatewayStage();
    const params = { name: 'db__query', arguments: {}, _meta: envelope({ elicitation: {} }) };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const answer = post(stage.url, message, modernHeaders);
    const call = await stage.nextCall('db');
    await stage.sessions.of('db').ask(model, call);
    const response = await answer;
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({
      id: 1,
      error: {
        code: -32_021,
        message: expect.stringContaining('repeat it with a client that supports sampling'),
        data: {
          requiredCapabilities: { sampling: {} },
          code: 'INPUT_REQUIRED',
          outcome: 'unknown',
          server: 'db',
        },
      },
    });
    expect(call.isSettled).toBe(true);
  });

  it('is declined for an older client without sampling', async () => {
    const stage = await gatewayStage();
    const client = await connect(stage, 'legacy');
    const answer = client.callTool({ name: 'db__query', arguments: {} });
    const call = await stage.nextCall('db');
    expect(await stage.sessions.of('db').ask(model, call)).toEqual({ action: 'decline' });
    call.answer(pong);
    expect(await answer).toMatchObject(pong);
  });
});

describe('a call that waits for its client', () => {
  const begin = async () => {
    const stage = await gatewayStage();
    const first = ask(stage.url);
    const call = await stage.nextCall('db');
    const said = stage.sessions.of('db').ask(form, call);
    const { result } = await first;
    const [key = ''] = Object.keys(result?.inputRequests ?? {});
    return { stage, call, said, key, result, requestState: result?.requestState };
  };
  const accepted = { action: 'accept', content: { table: 'users' } };

  it('returns the question and continues with the answer', async () => {
    const { stage, call, said, key, result, requestState } = await begin();
    expect(result).toMatchObject({
      resultType: 'input_required',
      inputRequests: {
        [key]: {
          method: 'elicitation/create',
          params: { message: 'Which table?', requestedSchema: { required: ['table'] } },
        },
      },
    });
    const second = ask(stage.url, { requestState, inputResponses: { [key]: accepted } });
    expect(await said).toEqual(accepted);
    call.answer(pong);
    expect((await second).result).toMatchObject({ resultType: 'complete', ...pong });
    expect(stage.sessions.of('db').calls).toHaveLength(1);
  });

  it('repeats an unanswered question', async () => {
    const { stage, call, said, key, requestState } = await begin();
    const again = await ask(stage.url, { requestState, inputResponses: { other: accepted } });
    expect(again.result?.inputRequests?.[key]).toBeDefined();
    const state = again.result?.requestState;
    expect(state).not.toBe(requestState);
    const last = ask(stage.url, { requestState: state, inputResponses: { [key]: accepted } });
    expect(await said).toEqual(accepted);
    call.answer(pong);
    expect((await last).result).toMatchObject(pong);
  });

  it('continues only with its own state and for the same tool', async () => {
    const { stage, call, said, key, requestState = '' } = await begin();
    const inputResponses = { [key]: accepted };
    for (const state of [`${requestState}x`, 'troupe-call:AAAAAAAAAAAAAAAAAAAAAA']) {
      const { error } = await ask(stage.url, { requestState: state, inputResponses });
      expect(error).toMatchObject({ code: -32_602, data: { reason: 'invalid_request_state' } });
    }
    const params = {
      name: 'web__query',
      _meta: envelope(everything),
      requestState,
      inputResponses,
    };
    const message = { jsonrpc: '2.0', id: 1, method: 'tools/call', params };
    const response = await post(stage.url, message, { ...modernHeaders, 'mcp-name': 'web__query' });
    expect(await response.json()).toMatchObject({ error: { code: -32_602 } });
    expect(call.isSettled).toBe(false);
    const last = ask(stage.url, { requestState, inputResponses });
    expect(await said).toEqual(accepted);
    call.answer(pong);
    await last;
  });

  it('ends when its client does not return', async () => {
    const { stage, call, said } = await begin();
    await stage.advance(601_000);
    expect((await said)?.action).toBe('cancel');
    expect(call.isSettled).toBe(true);
  });
});
