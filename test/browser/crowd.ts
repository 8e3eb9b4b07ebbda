/** A real troupe of 60 servers, five of which fail in different ways. */

import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { EmbeddedServer } from '../../src/domain/host/embedded.ts';
import { createCommandTroupe as createTroupe } from '../../src/runtime/assembly/create-troupe.ts';
import type { Troupe } from '../../src/runtime/troupe.ts';

/** The failing servers, and what their failure's sentence has to say. */
export const failing = {
  figma: 'no-such-command',
  postgres: 'cannot open the database',
  sentry: 'ECONNREFUSED',
  stripe: 'STRIPE_API_KEY',
  zendesk: 'args',
} as const;

const entries = {
  figma: { command: 'no-such-command' },
  postgres: {
    command: process.execPath,
    args: ['-e', 'throw new Error("cannot open the database")'],
    maxAttempts: 1,
    policy: { startup: { sameExits: 1 } },
  },
  // Nothing listens there.
  sentry: { type: 'http', url: 'http://127.0.0.1:9/mcp' },
  stripe: {
    command: process.execPath,
    args: ['-e', ''],
    env: { STRIPE_API_KEY: `\${STRIPE_API_KEY}` },
  },
  zendesk: { command: 'node zendesk.js' },
};

const teams = ['asana', 'calendar', 'datadog', 'drive', 'github', 'gitlab', 'gmail', 'grafana'];
const others = ['jira', 'linear', 'mongo'];

/** Starts the troupe; the caller ends it. */
export function startCrowd(): { readonly troupe: Troupe; readonly end: () => Promise<void> } {
  const projectRoot = realpathSync(mkdtempSync(path.join(tmpdir(), 'mcp-troupe-crowd-')));
  const file = path.join(projectRoot, 'troupe.json');
  writeFileSync(file, `${JSON.stringify({ mcpServers: entries }, null, 2)}\n`);
  const names = [...teams, ...others].flatMap((name) =>
    Array.from({ length: 5 }, (_, place) => (place === 0 ? name : `${name}-${place + 1}`)),
  );
  const troupe = createTroupe({
    projectRoot,
    sources: [{ file, scope: 'user' }],
    servers: Object.fromEntries(names.map((name, place) => [name, embedded(place)])),
    inspect: true,
  });
  const end = async (): Promise<void> => {
    await troupe.stop();
    rmSync(projectRoot, { recursive: true, force: true });
  };
  return { troupe, end };
}

function embedded(place: number): EmbeddedServer {
  return {
    async connect() {
      const inside = new McpServer({ name: 'inside', version: '1.0.0' });
      for (const tool of ['search', 'read', 'write'].slice(place % 3)) {
        inside.registerTool(tool, {}, () => ({ content: [] }));
      }
      const [ours, theirs] = InMemoryTransport.createLinkedPair();
      await inside.connect(theirs);
      return ours;
    },
    settings: place % 9 === 4 ? { startup: 'lazy' } : {},
  };
}
