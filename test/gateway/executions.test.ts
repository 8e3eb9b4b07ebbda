/** A gateway between a caller and a real server: nothing that it relays has a call run twice. */

import { describe, expect, it, onTestFinished } from 'vitest';

import { Gateway } from '../../src/gateway/gateway.ts';
import { startHttpGateway } from '../../src/gateway/http-gateway.ts';
import { createTroupe } from '../../src/index.ts';
import { realClock } from '../../src/runtime/real-clock.ts';
import { type CallAnswer, type Carrier, startCountingPeer } from '../fixtures/counting-peer.ts';
import { token } from './gateway-stage.ts';

/** A caller's troupe, whose one server is the gateway of another, whose one server is the peer. */
async function chained(carrier: Carrier, script: readonly CallAnswer[]) {
  const peer = await startCountingPeer(carrier, script);
  onTestFinished(() => peer.close());
  const behind = createTroupe({ settings: { mcpServers: { peer: peer.entry } }, bare: true });
  onTestFinished(() => behind.stop());
  await behind.waitFor('peer', 'ready');
  const gateway = new Gateway({ troupe: behind, clock: realClock, report: () => undefined });
  const local = { host: '127.0.0.1', port: 0, isLoopback: true, hosts: [] };
  const http = await startHttpGateway(gateway, { ...local, token });
  onTestFinished(async () => {
    await http.close(0);
    gateway.close();
  });
  const headers = { authorization: `Bearer ${token}` };
  const entry = { url: http.url, headers, trust: true };
  const caller = createTroupe({ settings: { mcpServers: { gateway: entry } }, bare: true });
  onTestFinished(() => caller.stop());
  await caller.waitFor('gateway', 'ready');
  return { peer, caller };
}

const failing = (code: number, message: string): CallAnswer => ({
  rpc: { error: { code, message } },
});

describe('a call through a gateway', () => {
  it.each([
    ['stdio', failing(-32_603, 'Not connected'), 'SERVER_ERROR', 'executed'],
    ['json', failing(-32_603, 'Not connected'), 'SERVER_ERROR', 'executed'],
    ['events', failing(-32_001, 'Session not found'), 'UNAVAILABLE', 'unknown'],
    ['json', failing(-32_600, 'Session expired'), 'UNAVAILABLE', 'unknown'],
    ['stdio', failing(-32_601, 'Method not found'), 'SERVER_ERROR', 'unknown'],
    ['stdio', {}, 'CRASHED', 'unknown'],
    ['json', {}, 'STREAM_LOST', 'unknown'],
    ['json', { status: 503 }, 'UNAVAILABLE', 'unknown'],
  ] as const)(
    'runs once regardless of the response: %s, %j',
    async (carrier, answer, code, outcome) => {
      const { peer, caller } = await chained(carrier, [answer]);
      const { result, meta } = await caller.callServerTool('gateway', 'peer__act');
      expect(result).toMatchObject({
        isError: true,
        _meta: { 'mcp-troupe/error': { code, outcome } },
      });
      expect(meta.attempts).toBe(1);
      expect(peer.runs()).toBe(1);
    },
  );
});
