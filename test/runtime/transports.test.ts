/** What of a transport reaches those who use a whole troupe: its name, its codes, its losses. */

import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { afterEach, describe, expect, it } from 'vitest';
import { z } from 'zod';

import {
  createTroupe,
  type EmbeddedServer,
  type Troupe,
  type TroupeOptions,
} from '../../src/index.ts';
import { VirtualClock } from '../../src/testing/virtual-clock.ts';
import { type HttpFixture, startHttpFixture } from '../fixtures/remote/http-server.ts';
import { type SseFixture, startSseFixture } from '../fixtures/remote/sse-server.ts';
import { startWsFixture, type WsFixture } from '../fixtures/remote/ws-server.ts';

let running: Troupe | undefined;
let server: HttpFixture | SseFixture | WsFixture | undefined;

afterEach(async () => {
  await running?.stop();
  await server?.close();
  running = undefined;
  server = undefined;
});

function start(options: TroupeOptions): Troupe {
  running = createTroupe({ seed: 1, ...options });
  return running;
}

const withUrl = (url: string, more: Record<string, unknown> = {}): TroupeOptions => ({
  settings: { mcpServers: { db: { url, ...more } } },
});

function calculator(onConnect: () => void = () => {}): EmbeddedServer {
  return {
    async connect() {
      onConnect();
      const inside = new McpServer({ name: 'calculator', version: '1.0.0' });
      inside.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => ({
        content: [{ type: 'text', text: String(a + b) }],
      }));
      inside.registerTool('drop', {}, () => ({ content: [] }));
      const [ours, theirs] = InMemoryTransport.createLinkedPair();
      await inside.connect(theirs);
      return ours;
    },
  };
}

describe("a server's status", () => {
  it('shows the transport that worked', async () => {
    const fixture = await startSseFixture();
    server = fixture;
    const troupe = start(withUrl(fixture.url));
    expect(await troupe.waitFor('db', 'ready')).toMatchObject({ transport: 'sse', era: 'legacy' });
    const { result } = await troupe.callServerTool('db', 'echo', { a: 1 });
    expect(result.content).toEqual([{ type: 'text', text: '{"a":1}' }]);
    // Also while it is being opened again.
    fixture.cutStreams();
    await troupe.waitFor('db', 'backingOff');
    expect(troupe.status('db')?.transport).toBe('sse');
  });

  it('names a WebSocket', async () => {
    const fixture = await startWsFixture();
    server = fixture;
    const troupe = start(withUrl(fixture.url));
    expect(await troupe.waitFor('db', 'ready')).toMatchObject({ transport: 'ws' });
    const { result } = await troupe.callServerTool('db', 'echo', { a: 1 });
    expect(result.content).toEqual([{ type: 'text', text: '{"a":1}' }]);
  });

  it('names a redirect that was not followed', async () => {
    server = await startHttpFixture('redirect');
    const troupe = start(withUrl(server.url));
    await troupe.waitFor('db', 'backingOff');
    expect(troupe.status('db')?.lastError).toMatchObject({ code: 'REDIRECT_BLOCKED' });
  });

  it('names a blocked address', async () => {
    const troupe = start(withUrl('http://169.254.169.254/mcp'));
    await troupe.waitFor('db', 'backingOff');
    expect(troupe.status('db')?.lastError).toMatchObject({ code: 'ADDRESS_BLOCKED' });
  });
});

describe('a call', () => {
  it('fails as not_executed when it is redirected to another origin', async () => {
    const fixture = await startHttpFixture();
    server = fixture;
    const troupe = start(withUrl(fixture.url));
    await troupe.waitFor('db', 'ready');
    fixture.mode = 'redirect';
    await expect(troupe.callServerTool('db', 'echo')).rejects.toMatchObject({
      code: 'REDIRECT_BLOCKED',
      outcome: 'not_executed',
      retryable: false,
    });
  });

  it("is retried once after one handshake shared by all of a lost session's calls", async () => {
    const fixture = await startHttpFixture();
    server = fixture;
    const troupe = start(withUrl(fixture.url));
    await troupe.waitFor('db', 'ready');
    fixture.forgetSession();
    const calls = Array.from({ length: 8 }, () => troupe.callServerTool('db', 'echo', { a: 1 }));
    const reports = await Promise.all(calls);
    expect(reports.map(({ meta }) => meta.attempts)).toEqual(Array.from({ length: 8 }, () => 2));
    expect(fixture.seen.filter((name) => name === 'POST initialize')).toHaveLength(2);
    expect(fixture.executed).toBe(8);
  });
});

describe('a server that drops every session', () => {
  it('is contacted at most three times before it backs off', async () => {
    const fixture = await startHttpFixture('404-session-loop');
    server = fixture;
    const troupe = start(withUrl(fixture.url));
    const waits = new Map<string, number>();
    await new Promise<void>((resolve) => {
      troupe.on('status.changed', ({ status }) => {
        const { state, nextAttemptAt } = status;
        if (state !== 'backingOff' || nextAttemptAt === undefined || waits.has(nextAttemptAt))
          return;
        waits.set(nextAttemptAt, Date.parse(nextAttemptAt) - Date.parse(status.since));
        if (waits.size === 2) resolve();
      });
    });
    expect(fixture.seen.filter((name) => name === 'POST initialize').length).toBeLessThanOrEqual(3);
    expect(Math.min(...waits.values())).toBeGreaterThan(100);
    expect(troupe.status('db')?.lastError?.kind).toBe('sessionMissing');
  });
});

describe('an embedded server', () => {
  it('behaves like any other server', async () => {
    const calc = calculator();
    const troupe = start({
      servers: { calc: { ...calc, settings: { tools: { exclude: ['drop'] }, trust: true } } },
    });
    expect(await troupe.waitFor('calc', 'ready')).toMatchObject({
      transport: 'memory',
      tools: 1,
      source: { scope: 'api', key: 'mcpServers.calc' },
    });
    const { result } = await troupe.callTool('mcp__calc__add', { a: 1, b: 2 });
    expect(result.content).toEqual([{ type: 'text', text: '3' }]);
  });

  it('gets a new transport pair for each session and survives settings.changed', async () => {
    let connected = 0;
    const calc = calculator(() => {
      connected += 1;
    });
    const troupe = start({ servers: { calc } });
    await troupe.waitFor('calc', 'ready');
    await troupe.restartAndWait('calc');
    expect(connected).toBe(2);
    troupe.send({ type: 'settings.changed', settings: { mcp: { excluded: ['calc'] } } });
    await troupe.waitFor('calc', 'blocked');
    troupe.send({ type: 'settings.changed', settings: {} });
    expect(await troupe.waitFor('calc', 'ready')).toMatchObject({ transport: 'memory' });
  });

  it('is admitted by the same rules', async () => {
    const troupe = start({ servers: { calc: calculator() }, allow: [] });
    expect(await troupe.waitFor('calc', 'blocked')).toMatchObject({ reason: 'notAllowed' });
  });

  it('cannot share its name with a server in settings', () => {
    expect(() =>
      createTroupe({
        servers: { db: calculator() },
        settings: { mcpServers: { db: { command: 'node' } } },
      }),
    ).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENTS' }));
  });

  it.each([
    [{ calc: {} }],
    [{ calc: { connect: 1 } }],
    [{ calc: { connect: () => {}, conect: 1 } }],
    [{ 'a b': { connect: () => {} } }],
  ])('is rejected when invalid: %j', (servers) => {
    expect(() => createTroupe({ servers: servers as never })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENTS' }),
    );
  });

  it('does not hide that the settings are invalid', async () => {
    const troupe = start({ servers: { calc: calculator() }, settings: { mcpServers: 1 } });
    await troupe.ready();
    expect(troupe.snapshot().troupe.problems).toMatchObject([{ key: 'mcpServers' }]);
  });
});

describe('a stop of a hundred HTTP servers', () => {
  it('ends each session with one DELETE', async () => {
    const fixture = await startHttpFixture();
    server = fixture;
    const names = Array.from({ length: 100 }, (_, index) => `s${index}`);
    const entries = names.map((name) => [name, { url: fixture.url, headers: { 'x-of': name } }]);
    // No deadline passes, so each session takes the time that it needs.
    const clock = new VirtualClock();
    const troupe = start({
      clock,
      settings: { mcpServers: Object.fromEntries(entries) as object },
    });
    await Promise.all(names.map((name) => troupe.waitFor(name, 'ready')));
    await troupe.stop();
    expect(fixture.seen.filter((method) => method === 'DELETE')).toHaveLength(100);
    expect(troupe.snapshot().servers.every(({ state }) => state === 'stopped')).toBe(true);
  });
});
