import { describe, expect, it } from 'vitest';

import { crash, pong } from '../runtime/stage.ts';
import { type GatewayStage, gatewayStage, listen, openSession, post } from './gateway-stage.ts';
import { stdioStage } from './stdio-stage.ts';

const setLevel = async ({ url }: GatewayStage, session: string, level: string): Promise<void> => {
  const message = { jsonrpc: '2.0', id: 2, method: 'logging/setLevel', params: { level } };
  const answer = await post(url, message, { 'mcp-session-id': session });
  expect(await answer.text()).toContain('"result":{}');
};

describe('the log level', () => {
  it("is sent to servers as the most verbose of all clients' levels, even after a reconnect", async () => {
    const stage = await gatewayStage();
    const level = () => stage.sessions.of('db').logLevel;
    const [one, other] = [await openSession(stage.url), await openSession(stage.url)];
    expect(level()).toBeUndefined();
    await setLevel(stage, one, 'warning');
    expect(level()).toBe('warning');
    await setLevel(stage, other, 'debug');
    expect(level()).toBe('debug');
    await setLevel(stage, one, 'error');
    expect(level()).toBe('debug');
    stage.sessions.of('db').fail(crash());
    await stage.advance(60_000);
    expect(stage.sessions.scripts.filter(({ input }) => input.server === 'db')).toHaveLength(2);
    expect(level()).toBe('debug');
    await fetch(stage.url, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${'a'.repeat(43)}`, 'mcp-session-id': other },
    });
    expect(level()).toBe('error');
  });

  it('is applied to each client separately', async () => {
    const stage = await gatewayStage();
    const [one, other] = [await openSession(stage.url), await openSession(stage.url)];
    const [loud, quiet] = [await listen(stage.url, one), await listen(stage.url, other)];
    await setLevel(stage, one, 'debug');
    await setLevel(stage, other, 'error');
    stage.sessions.of('db').say({ level: 'debug', data: 'a detail' });
    stage.sessions.of('db').say({ level: 'error', data: 'broken' });
    expect([(await loud.next()).value, (await loud.next()).value]).toMatchObject([
      { params: { data: 'a detail' } },
      { params: { data: 'broken' } },
    ]);
    expect((await quiet.next()).value).toMatchObject({ params: { data: 'broken' } });
  });

  it('hides lines that only other clients requested', async () => {
    const stage = await gatewayStage();
    await setLevel(stage, await openSession(stage.url), 'debug');
    const session = await openSession(stage.url);
    const message = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'db__query' } };
    const answer = post(stage.url, message, { 'mcp-session-id': session });
    const call = await stage.nextCall('db');
    stage.sessions.of('db').say({ level: 'debug', data: 'a detail' });
    stage.sessions.of('db').say({ level: 'info', data: 'working' });
    call.answer(pong);
    const text = await (await answer).text();
    expect(text).toContain('working');
    expect(text).not.toContain('a detail');
  });

  it("lasts only as long as a modern client's request", async () => {
    const stage = await stdioStage('modern');
    const level = () => stage.sessions.of('db').logLevel;
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const call = async (more: object) => {
      const params = { name: 'db__query', arguments: {}, _meta: { ...meta, ...more } };
      const answer = stage.ask('tools/call', params);
      const made = await stage.nextCall('db');
      stage.sessions.of('db').say({ level: 'debug', data: 'a detail' });
      stage.sessions.of('db').say({ level: 'notice', data: 'working' });
      return { answer, made };
    };
    const silent = await call({});
    expect(level()).toBeUndefined();
    silent.made.answer(pong);
    await silent.answer;
    const asking = await call({ 'io.modelcontextprotocol/logLevel': 'info' });
    expect(level()).toBe('info');
    expect(await stage.heard()).toMatchObject({ params: { level: 'notice', data: 'working' } });
    asking.made.answer(pong);
    await asking.answer;
    expect(stage.gateway.callsInFlight).toBe(0);
  });
});
