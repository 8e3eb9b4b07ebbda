import { describe, expect, it } from 'vitest';

import { pong, servers } from '../runtime/stage.ts';
import {
  type AnyClient,
  connect,
  type GatewayStage,
  gatewayStage,
  join,
  lines,
  listen,
  openSession,
  post,
  token,
} from './gateway-stage.ts';

const slow = { command: 'db', policy: { call: { backgroundAfterMs: 2_000, timeoutMs: 60_000 } } };
const settings = servers({ db: slow, web: 'web' });
const pair = ['cancel_call', 'collect_call'];

const textOf = ({ content }: { content: unknown }): string =>
  String((content as { text?: unknown }[])[0]?.text);

/** A call that its client has a receipt for. */
async function parked(stage: GatewayStage, client: AnyClient) {
  const answer = client.call('db__query');
  const atServer = await stage.nextCall('db');
  await stage.advance(2_000);
  const receipt = await answer;
  const id = String(receipt._meta?.['mcp-troupe/background']);
  return { atServer, receipt, id };
}

const errorIn = ({ _meta }: { _meta?: Record<string, unknown> }): unknown =>
  _meta?.['mcp-troupe/error'];

describe.each(lines)('a call moved to the background (%s)', (line) => {
  it('is collected by its client only once', async () => {
    const stage = await gatewayStage({ settings });
    const client = await join(stage, line);
    const { atServer, receipt, id } = await parked(stage, client);
    expect(receipt.isError).toBeUndefined();
    expect(textOf(receipt)).toContain(id);
    // 128 bits in letters of six.
    expect(id).toMatch(/^background-[\w-]{22}$/);
    const early = await client.call('collect_call', { id, waitSeconds: 0 });
    expect(textOf(early)).toContain('is still running');
    expect(early._meta?.['mcp-troupe/background']).toBe(id);
    const collected = client.call('collect_call', { id });
    atServer.answer(pong);
    expect(await collected).toMatchObject(pong);
    expect(errorIn(await client.call('collect_call', { id }))).toMatchObject({
      code: 'INVALID_ARGUMENTS',
    });
  });

  it('rejects with its own error when it is collected', async () => {
    const stage = await gatewayStage({ settings });
    const client = await join(stage, line);
    const { id } = await parked(stage, client);
    await stage.advance(60_000);
    const told = await client.call('collect_call', { id });
    expect(told.isError).toBe(true);
    expect(errorIn(told)).toMatchObject({ code: 'TIMEOUT', server: 'db', outcome: 'unknown' });
  });

  it('is cancelled by its client, which notifies its server', async () => {
    const stage = await gatewayStage({ settings });
    const client = await join(stage, line);
    const { atServer, id } = await parked(stage, client);
    const told = await client.call('cancel_call', { id });
    expect(textOf(told)).toBe('The call of query on db was cancelled. Outcome: unknown.');
    expect(atServer.isSettled).toBe(true);
    expect(stage.troupe.backgroundCalls()).toEqual([]);
    expect(errorIn(await client.call('collect_call', { id }))).toMatchObject({
      code: 'INVALID_ARGUMENTS',
    });
  });

  it('stays collectable when it ends before it is cancelled', async () => {
    const stage = await gatewayStage({ settings });
    const client = await join(stage, line);
    const { atServer, id } = await parked(stage, client);
    atServer.answer(pong);
    await stage.settle();
    expect(textOf(await client.call('cancel_call', { id }))).toContain('already ended');
    expect(await client.call('collect_call', { id })).toMatchObject(pong);
  });

  it('rejects unknown ids and waits that exceed the limit', async () => {
    const stage = await gatewayStage({ settings });
    const client = await join(stage, line);
    const { id } = await parked(stage, client);
    const [other] = stage.troupe.backgroundCalls();
    const wrong = [undefined, 7, '', 'call-1', other?.id, id.slice(0, -1), id.toUpperCase()];
    for (const each of wrong) {
      const told = await client.call('collect_call', { id: each });
      expect([each, errorIn(told)]).toMatchObject([each, { code: 'INVALID_ARGUMENTS' }]);
    }
    for (const waitSeconds of [-1, 301, '5']) {
      const told = await client.call('collect_call', { id, waitSeconds });
      expect(errorIn(told)).toMatchObject({ code: 'INVALID_ARGUMENTS' });
    }
  });

  it('ends with the gateway and returns an error to its collector', async () => {
    const stage = await gatewayStage({ settings });
    const client = await join(stage, line);
    const { id } = await parked(stage, client);
    const collected = client.call('collect_call', { id });
    while (stage.gateway.callsInFlight === 0) await stage.advance(0);
    const closed = stage.http.close(2_000);
    await stage.advance(2_000);
    await closed;
    expect(errorIn(await collected)).toMatchObject({ code: 'SHUTTING_DOWN' });
  });

  it('is removed an hour after it ends', async () => {
    const stage = await gatewayStage({ settings });
    const client = await join(stage, line);
    const { atServer, id } = await parked(stage, client);
    atServer.answer(pong);
    await stage.advance(3_600_001);
    expect(errorIn(await client.call('collect_call', { id }))).toMatchObject({
      code: 'INVALID_ARGUMENTS',
    });
    expect(stage.troupe.backgroundCalls()).toEqual([]);
  });
});

describe("a session's background call", () => {
  it('cannot be collected by another client even with its id', async () => {
    const stage = await gatewayStage({ settings });
    const { atServer, id } = await parked(stage, await join(stage, 'legacy'));
    for (const line of lines) {
      const other = await join(stage, line);
      for (const name of pair)
        expect(errorIn(await other.call(name, { id }))).toMatchObject({
          code: 'INVALID_ARGUMENTS',
        });
    }
    expect(atServer.isSettled).toBe(false);
  });

  it('ends with its session', async () => {
    const stage = await gatewayStage({ settings });
    const session = await openSession(stage.url);
    const headers = { 'mcp-session-id': session };
    const params = { name: 'db__query' };
    const message = { jsonrpc: '2.0', id: 7, method: 'tools/call', params };
    const answer = post(stage.url, message, headers);
    const atServer = await stage.nextCall('db');
    await stage.advance(2_000);
    expect(await (await answer).text()).toContain('background-');
    const authorization = `Bearer ${token}`;
    await fetch(stage.url, { method: 'DELETE', headers: { ...headers, authorization } });
    await stage.settle();
    expect(atServer.isSettled).toBe(true);
    expect(stage.troupe.backgroundCalls()).toEqual([]);
  });
});

describe('the background call tools', () => {
  const names = async (stage: GatewayStage): Promise<readonly string[]> =>
    (await (await connect(stage)).listTools()).tools.map(({ name }) => name);

  it("are listed while a server's policy needs them, with change notifications", async () => {
    const stage = await gatewayStage({ settings: servers({ db: 'db' }) });
    expect(await names(stage)).toEqual(['db__query']);
    const client = await connect(stage);
    await expect(client.callTool({ name: 'collect_call', arguments: {} })).rejects.toMatchObject({
      code: -32_602,
    });
    const heard = await listen(stage.url, await openSession(stage.url));
    await stage.apply(servers({ db: 'db', slow }));
    expect(await heard.next()).toMatchObject({
      value: { method: 'notifications/tools/list_changed' },
    });
    expect(await names(stage)).toEqual(['db__query', 'slow__query', ...pair]);
  });

  it("are listed with a passed-through server's tools and manage only its calls", async () => {
    const stage = await gatewayStage({ settings, only: 'db' });
    expect(await names(stage)).toEqual(['query', ...pair]);
    const other = await gatewayStage({ settings, only: 'web' });
    expect(await names(other)).toEqual(['query']);
  });
});
