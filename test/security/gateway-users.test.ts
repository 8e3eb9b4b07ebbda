import { describe, expect, it } from 'vitest';

import { ConnectionLimits } from '../../actors/host/connection-limits.ts';
import { HeldCall, HeldCalls } from '../../src/gateway/held-calls.ts';
import { HttpSessions } from '../../src/gateway/http-sessions.ts';
import type { CallReport } from '../../src/index.ts';
import { BackgroundCalls } from '../../src/runtime/calls/background.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { initialize } from '../fixtures/initialize.ts';
import { gatewayStage, openSession, post, token } from '../gateway/gateway-stage.ts';
import { pong } from '../runtime/stage.ts';

/** Opens a session as this user, and optionally its stream of notifications, which keeps it busy. */
async function open(sessions: HttpSessions, user: string, isListening = false): Promise<string> {
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  };
  const request = new Request('http://127.0.0.1/mcp', { method: 'POST', headers });
  const { response, sent } = await sessions.answer({ request, user }, initialize());
  const id = response.headers.get('mcp-session-id') ?? String(response.status);
  await response.text();
  sent();
  if (isListening) {
    const stream = new Request('http://127.0.0.1/mcp', {
      headers: { accept: 'text/event-stream', 'mcp-session-id': id },
    });
    await sessions.answer({ request: stream, user }, undefined);
  }
  return id;
}

describe('a user of the gateway', () => {
  it('has a limit of sessions and closes none of another user', async () => {
    const { gateway } = await gatewayStage();
    const sessions = new HttpSessions(gateway);
    await open(sessions, 'bob');
    for (let count = 0; count < 32; count += 1) await open(sessions, 'alice', true);
    expect(await open(sessions, 'alice')).toBe('503');
    expect(await open(sessions, 'carol')).not.toBe('503');
    expect([sessions.count('alice'), sessions.count('bob')]).toEqual([32, 1]);
    await sessions.close();
  });

  it('makes room within the own sessions', async () => {
    const { gateway } = await gatewayStage();
    const sessions = new HttpSessions(gateway);
    await open(sessions, 'bob');
    for (let count = 0; count < 40; count += 1)
      expect(await open(sessions, 'alice')).not.toBe('503');
    expect([sessions.count('alice'), sessions.count('bob')]).toEqual([32, 1]);
    await sessions.close();
  });

  it('displaces only own held calls', () => {
    const held = new HeldCalls(new VirtualClock());
    const keep = (user: string, count: number): HeldCall => {
      const call = new HeldCall('subject');
      call.state = `troupe-call:${user}${count}`;
      held.keep(call, user);
      return call;
    };
    const bobs = keep('bob', 0);
    const first = keep('alice', 0);
    for (let count = 1; count <= 300; count += 1) keep('alice', count);
    expect([held.size, bobs.signal.aborted, first.signal.aborted]).toEqual([33, false, true]);
    held.close();
  });

  it('displaces only own connections', () => {
    const limits = new ConnectionLimits({ strangers: 4, known: 4, ofUser: 2 });
    const dropped: string[] = [];
    const socket = (name: string) =>
      ({ once: () => undefined, destroy: () => dropped.push(name) }) as never;
    const end = limits.begin(socket('bob'), 'bob');
    limits.begin(socket('alice 1'), 'alice')?.();
    limits.begin(socket('alice 2'), 'alice');
    end?.();
    expect(limits.begin(socket('alice 3'), 'alice')).toBeDefined();
    expect(dropped).toEqual(['alice 1']);
    expect(limits.begin(socket('alice 4'), 'alice')).toBeUndefined();
    expect(limits.begin(socket('carol'), 'carol')).toBeDefined();
    expect(dropped).toEqual(['alice 1']);
  });

  it('displaces only own calls in the background, and leaves room for others', async () => {
    const clock = new VirtualClock();
    const calls = new BackgroundCalls(clock);
    const report: CallReport = {
      result: { content: [] },
      meta: { server: 'db', tool: 'query', attempts: 1, durationMs: 0 },
    };
    const begin = (user: string, run: Promise<CallReport>): void => {
      const tools = { tool: 'query', shownTool: 'query' };
      const call = { server: 'db', ...tools, startedAt: 0, user, sends: () => 1 };
      void calls.follow(run, call, 10);
      clock.advanceBy(10);
    };
    const running = new Promise<CallReport>(() => undefined);
    const finish: ((report: CallReport) => void)[] = [];
    const ended = new Promise<CallReport>((resolve) => finish.push(resolve));
    begin('bob', ended);
    const [bobs] = calls.list();
    finish[0]?.(report);
    await ended;
    for (let count = 0; count < 80; count += 1) begin('alice', running);
    expect(calls.list()).toHaveLength(17);
    begin('carol', running);
    expect(calls.list()).toHaveLength(18);
    await expect(calls.collect(bobs?.id ?? '', {})).resolves.toBe(report);
  });

  it('sees no calls and clients of others in the metrics', async () => {
    const { gateway } = await gatewayStage();
    gateway.metrics.ended('db', 'ok', 5, 'user ada');
    gateway.metrics.ended('web', 'ok', 5, 'user eve');
    gateway.metrics.refused(401);
    const own = gateway.metrics.text({ clients: 1, user: 'user ada' });
    expect(own).toContain('calls_total{server="db",code="ok"} 1');
    expect(own).not.toContain('calls_total{server="web"');
    expect(own).not.toMatch(/refusals|in_flight|dropped|reconcile/u);
    const all = gateway.metrics.text({ clients: 2, callsInFlight: 0 });
    expect(all).toContain('calls_total{server="web",code="ok"} 1');
  });
});

describe('a session', () => {
  it('stays open while a call of it runs in the background', async () => {
    const policy = { call: { backgroundAfterMs: 2_000, timeoutMs: 3_600_000 } };
    const settings = { mcpServers: { db: { command: 'db', policy } } };
    const stage = await gatewayStage({ settings: JSON.stringify(settings) });
    const session = { 'mcp-session-id': await openSession(stage.url) };
    const params = { name: 'db__query', arguments: {} };
    const message = { jsonrpc: '2.0', id: 2, method: 'tools/call', params };
    const answer = post(stage.url, message, session);
    const call = await stage.nextCall('db');
    await stage.advance(3_000);
    expect(await (await answer).text()).toContain('background-');
    await stage.advance(1_900_000);
    const pinged = await post(stage.url, { jsonrpc: '2.0', id: 3, method: 'ping' }, session);
    expect([pinged.status, token.length]).toEqual([200, 43]);
    call.answer(pong);
  });
});
