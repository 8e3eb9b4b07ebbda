/** From which level on real servers of both eras are asked for their logs. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { toNodeHandler } from '@modelcontextprotocol/node';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { Server as OldServer } from '@modelcontextprotocol/sdk/server/index.js';
import { ListToolsRequestSchema, SetLevelRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, LOG_LEVEL_META_KEY, McpServer } from '@modelcontextprotocol/server';
import { describe, expect, it, onTestFinished } from 'vitest';

import { createTroupe, type EmbeddedServer, type TroupeOptions } from '../../../src/index.ts';

function start(options: TroupeOptions) {
  const troupe = createTroupe({ seed: 1, ...options });
  onTestFinished(() => troupe.stop());
  return troupe;
}

interface Listener {
  readonly server: EmbeddedServer;
  /** The next level that it receives. */
  readonly next: () => Promise<string>;
}

/** A legacy server that keeps a log, or says that it does. */
function listener(answer: (level: string) => object = () => ({})): Listener {
  const levels: string[] = [];
  const wanted: ((level: string) => void)[] = [];
  return {
    next: () =>
      new Promise((resolve) => {
        const level = levels.shift();
        if (level === undefined) wanted.push(resolve);
        else resolve(level);
      }),
    server: {
      async connect() {
        const info = { name: 'listener', version: '1.0.0' };
        const inside = new OldServer(info, { capabilities: { tools: {}, logging: {} } });
        inside.setRequestHandler(ListToolsRequestSchema, () => ({ tools: [] }));
        inside.setRequestHandler(SetLevelRequestSchema, ({ params: { level } }) => {
          const take = wanted.shift();
          if (take === undefined) levels.push(level);
          else take(level);
          return answer(level);
        });
        const [ours, theirs] = InMemoryTransport.createLinkedPair();
        await inside.connect(theirs);
        return ours;
      },
    },
  };
}

describe('a legacy server', () => {
  it('gets the most verbose requested level at each change and reconnect', async () => {
    const { server, next } = listener();
    const troupe = start({ servers: { db: server } });
    await troupe.waitFor('db', 'ready');
    const quiet = troupe.wantLogs('error');
    expect(await next()).toBe('error');
    const loud = troupe.wantLogs('debug');
    expect(await next()).toBe('debug');
    await troupe.restartAndWait('db');
    expect(await next()).toBe('debug');
    loud();
    expect(await next()).toBe('error');
    quiet();
    troupe.wantLogs('alert');
    // The end of the last request left the server as it was.
    expect(await next()).toBe('alert');
  });

  it('stays ready when it rejects the level, with a log line', async () => {
    const { server, next } = listener(() => {
      throw new Error('not today');
    });
    const troupe = start({ servers: { db: server } });
    troupe.wantLogs('info');
    await troupe.waitFor('db', 'ready');
    expect(await next()).toBe('info');
    const said = (): string => JSON.stringify(troupe.logs('db'));
    await new Promise<void>((resolve) => {
      const end = troupe.on('server.log', () => {
        if (said().includes('does not accept a log level')) {
          end();
          resolve();
        }
      });
      if (said().includes('does not accept a log level')) resolve();
    });
    expect(troupe.status('db')?.state).toBe('ready');
  });
});

describe('a modern server', () => {
  it('gets the level with each request', async () => {
    const told: unknown[] = [];
    const handler = createMcpHandler(() => {
      const inside = new McpServer(
        { name: 'modern', version: '1.0.0' },
        { capabilities: { logging: {} } },
      );
      inside.registerTool('work', {}, (context) => {
        const meta: object = context.mcpReq.envelope ?? {};
        told.push(Object.entries(meta).find(([key]) => key === LOG_LEVEL_META_KEY)?.[1]);
        return { content: [] };
      });
      return inside;
    });
    const serve = toNodeHandler(handler);
    const http = createServer((request, response) => {
      void serve(request as Parameters<typeof serve>[0], response);
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      http.closeAllConnections();
      http.close();
    });
    const { port } = http.address() as AddressInfo;
    const url = `http://127.0.0.1:${port}/mcp`;
    const troupe = start({ settings: { mcpServers: { db: { url } } } });
    expect(await troupe.waitFor('db', 'ready')).toMatchObject({ era: 'modern' });
    await troupe.callServerTool('db', 'work');
    const end = troupe.wantLogs('notice');
    await troupe.callServerTool('db', 'work');
    end();
    await troupe.callServerTool('db', 'work');
    expect(told).toEqual([undefined, 'notice', undefined]);
  });
});

describe('an unknown level', () => {
  it('is rejected', () => {
    const troupe = start({});
    expect(() => troupe.wantLogs('loud' as 'info')).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENTS' }),
    );
  });
});

describe('a listener for notifications', () => {
  it('that subscribes after createTroupe gets what a server says first', async () => {
    const server: EmbeddedServer = {
      async connect() {
        const info = { name: 'talker', version: '1.0.0' };
        const inside = new OldServer(info, { capabilities: { logging: {} } });
        inside.oninitialized = () => {
          inside.sendLoggingMessage({ level: 'error', data: 'hello' }).catch(() => undefined);
        };
        const [ours, theirs] = InMemoryTransport.createLinkedPair();
        await inside.connect(theirs);
        return ours;
      },
    };
    const troupe = start({ servers: { db: server } });
    const first = await new Promise((resolve) => {
      troupe.on('notification', resolve);
    });
    expect(first).toEqual({
      server: 'db',
      method: 'notifications/message',
      params: { level: 'error', data: 'hello' },
    });
  });
});
