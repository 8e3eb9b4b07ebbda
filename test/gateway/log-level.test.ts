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
    const there = await gatewayStage();
    const level = () => there.sessions.of('db').logLevel;
    const [one, other] = [await openSession(there.url), await openSession(there.url)];
    expect(level()).toBeUndefined();
    await setLevel(there, one, 'warning');
    expect(level()).toBe('warning');
    await setLevel(there, other, 'debug');
    expect(level()).toBe('debug');
    await setLevel(there, one, 'error');
    expect(level()).toBe('debug');
    there.sessions.of('db').fail(crash());
    await there.advance(60_000);
    expect(there.sessions.scripts.filter(({ input }) => input.server === 'db')).toHaveLength(2);
    expect(level()).toBe('debug');
    await fetch(there.url, {
      method: 'DELETE',
      headers: { authorization: `Bearer ${'a'.repeat(43)}`, 'mcp-session-id': other },
    });
    expect(level()).toBe('error');
  });

  it('is applied to each client separately', async () => {
    const there = await gatewayStage();
    const [one, other] = [await openSession(there.url), await openSession(there.url)];
    const [loud, quiet] = [await listen(there.url, one), await listen(there.url, other)];
    await setLevel(there, one, 'debug');
    await setLevel(there, other, 'error');
    there.sessions.of('db').say({ level: 'debug', data: 'a detail' });
    there.sessions.of('db').say({ level: 'error', data: 'broken' });
    expect([(await loud.next()).value, (await loud.next()).value]).toMatchObject([
      { params: { data: 'a detail' } },
      { params: { data: 'broken' } },
    ]);
    expect((await quiet.next()).value).toMatchObject({ params: { data: 'broken' } });
  });

  it('hides lines that only other clients requested', async () => {
    const there = await gatewayStage();
    await setLevel(there, await openSession(there.url), 'debug');
    const session = await openSession(there.url);
    const message = { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'db__query' } };
    const answer = post(there.url, message, { 'mcp-session-id': session });
    const call = await there.nextCall('db');
    there.sessions.of('db').say({ level: 'debug', data: 'a detail' });
    there.sessions.of('db').say({ level: 'info', data: 'working' });
    call.answer(pong);
    const text = await (await answer).text();
    expect(text).toContain('working');
    expect(text).not.toContain('a detail');
  });

  it("lasts only as long as a modern client's request", async () => {
    const there = await stdioStage('modern');
    const level = () => there.sessions.of('db').logLevel;
    const meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const call = async (more: object) => {
      const params = { name: 'db__query', arguments: {}, _meta: { ...meta, ...more } };
      const answer = there.ask('tools/call', params);
      const made = await there.nextCall('db');
      there.sessions.of('db').say({ level: 'debug', data: 'a detail' });
      there.sessions.of('db').say({ level: 'notice', data: 'working' });
      return { answer, made };
    };
    const silent = await call({});
    expect(level()).toBeUndefined();
    silent.made.answer(pong);
    await silent.answer;
    const asking = await call({ 'io.modelcontextprotocol/logLevel': 'info' });
    expect(level()).toBe('info');
    expect(await there.heard()).toMatchObject({ params: { level: 'notice', data: 'working' } });
    asking.made.answer(pong);
    await asking.answer;
    expect(there.gateway.callsInFlight).toBe(0);
  });
});
