/**
 * Ten thousand tools of two hundred servers: how long a host waits for the list after an edit of one
 * server, and for a search. The servers run in this process, because their work is not measured.
 */

import { setTimeout as pause } from 'node:timers/promises';
import type { EmbeddedServer, EmbeddedTransport, Troupe } from '../../../src/index.ts';
import { importPublished } from '../published.ts';
import { median } from '../statistics.ts';
import { atMost, measure, ownRounds, perhapsNever, type Work } from '../work.ts';

interface Asked {
  readonly id?: number;
  readonly method?: string;
  readonly params?: { readonly protocolVersion?: string };
}

const [serverCount, toolCount, turns] = [200, 50, 15];

function answerTo({ method, params }: Asked, server: number): unknown {
  if (method === 'initialize')
    return {
      protocolVersion: params?.protocolVersion,
      capabilities: { tools: {} },
      serverInfo: { name: `server${server}`, version: '1.0.0' },
    };
  if (method !== 'tools/list') return {};
  return {
    tools: Array.from({ length: toolCount }, (_, at) => ({
      name: `get_thing_${at}`,
      description: `Gets thing ${at} of server ${server}, with all of its details. `.repeat(4),
      inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    })),
  };
}

function embedded(server: number): EmbeddedServer {
  return {
    settings: { era: 'legacy' },
    connect() {
      const transport: EmbeddedTransport = {
        start: () => Promise.resolve(),
        send(message) {
          const asked = message as Asked;
          if (asked.id !== undefined) {
            const result = answerTo(asked, server);
            queueMicrotask(() =>
              transport.onmessage?.({ jsonrpc: '2.0', id: asked.id, result } as never),
            );
          }
          return Promise.resolve();
        },
        close: () => Promise.resolve(),
      };
      return transport;
    },
  };
}

/** Measures the time from an edit of one server to the new list. */
async function timeToList(troupe: Troupe, turn: number): Promise<{ ms: number; cpuMs: number }> {
  const tools = { exclude: [`get_thing_${turn}`] };
  const settings = { mcpServers: { server7: { tools } } };
  const from = performance.now();
  const before = process.cpuUsage();
  await new Promise<void>((resolve) => {
    const unsubscribe = troupe.on('tools.changed', () => {
      unsubscribe();
      resolve();
    });
    troupe.send({ type: 'settings.changed', settings });
  });
  const { length } = troupe.tools();
  const ms = performance.now() - from;
  const { user, system } = process.cpuUsage(before);
  if (length !== serverCount * toolCount - 1) throw new Error(`${length} tools are listed.`);
  return { ms, cpuMs: (user + system) / 1_000 };
}

async function job(): Promise<unknown> {
  const { createTroupe } = await importPublished();
  const names = Array.from({ length: serverCount }, (_, at) => `server${at}`);
  const troupe = createTroupe({
    servers: Object.fromEntries(names.map((name, at) => [name, embedded(at)])),
  });
  await Promise.all(names.map((name) => troupe.waitFor(name, 'ready')));
  const lists: { ms: number; cpuMs: number }[] = [];
  const searches: number[] = [];
  for (let turn = 0; turn < turns; turn += 1) {
    // At most four edits a second are read; a fifth would measure that wait.
    await pause(1_000 / 4);
    lists.push(await timeToList(troupe, turn));
    // The first search of a list builds the index.
    troupe.searchTools('thing');
    const from = performance.now();
    troupe.searchTools(`get thing ${turn} server`);
    searches.push(performance.now() - from);
  }
  await troupe.stop();
  return {
    list: median(lists.map(({ ms }) => ms)),
    cpu: median(lists.map(({ cpuMs }) => cpuMs)),
    search: median(searches),
  };
}

const title = `${serverCount * toolCount} tools of ${serverCount} servers`;

export const listingWork: Work = {
  name: 'list-10000',
  measures: [
    perhapsNever(measure('list', `${title}: listed after an edit of one`, 'ms', atMost(50))),
    perhapsNever(measure('cpu', `${title}: listed after an edit of one, CPU`, 'ms')),
    perhapsNever(measure('search', `${title}: searched`, 'ms')),
  ],
  rounds: { full: 3, quick: 1 },
  run: (context) => ownRounds(context, listingWork, null),
  job,
};
