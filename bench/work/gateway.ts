/**
 * What it costs to go through the gateway: the same client calls the same server over HTTP, once
 * directly and once through `troupe serve`, in short blocks that take turns. The optional work has
 * another gateway beside ours; it is installed into a folder of its own, which needs the registry.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';

import { compiledFolder } from '../build.ts';
import { startHttpHost } from '../servers.ts';
import { percentile } from '../statistics.ts';
import { type Measure, ownRounds, turnsOf, type Values, type Work } from '../work.ts';

interface Way {
  readonly name: 'direct' | 'ours' | 'other';
  readonly url: string;
  readonly tool: string;
  readonly overSse?: true;
}

const callsInBlock = 100;
// Enough for the compiler, and for medians that hold.
const blocks = 8;
const startLimitMs = 20_000;
const otherPackage = 'mcp-hub@4.2.1';

const measures: readonly Measure[] = [
  { id: 'direct', title: 'echo over HTTP, directly, p50', unit: 'ms' },
  { id: 'ours', title: 'the same through troupe serve, p50', unit: 'ms' },
  {
    id: 'ratio',
    title: 'through troupe serve, times the direct call',
    unit: '',
    target: { of: 'value', atMost: 2.2 },
  },
];

const otherMeasures: readonly Measure[] = [
  { id: 'other', title: 'the same through mcp-hub, p50', unit: 'ms' },
  { id: 'otherRatio', title: 'through mcp-hub, times the direct call', unit: '' },
];

/** Stops what was started for a measurement. */
type Stop = () => Promise<void>;

async function startOurs(folder: string, upstream: string): Promise<{ way: Way; stop: Stop }> {
  const settings = join(folder, 'troupe.json');
  await writeFile(settings, JSON.stringify({ mcpServers: { echo: { url: upstream } } }));
  const child = spawn(
    process.execPath,
    [
      join(compiledFolder, 'src/cli/main.js'),
      ...['serve', '--http', '0', '--no-auth', '--json', '--bare'],
      ...['--config', settings, '--state-dir', join(folder, 'state')],
    ],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  const url = await printed(child, /"url": "([^"]+)"/);
  return { way: { name: 'ours', url, tool: 'echo__echo' }, stop: () => end(child) };
}

async function startOther(folder: string, upstream: string): Promise<{ way: Way; stop: Stop }> {
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  const options = ['install', '--ignore-scripts', '--no-audit', otherPackage];
  await promisify(execFile)('npm', options, { cwd: folder });
  const config = join(folder, 'hub.json');
  await writeFile(config, JSON.stringify({ mcpServers: { echo: { url: upstream } } }));
  const port = await freePort();
  const program = join(folder, 'node_modules/.bin/mcp-hub');
  const child = spawn(process.execPath, [program, '--port', String(port), '--config', config], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, XDG_STATE_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  await printed(child, /(HUB_STARTED|Connected to MCP server)/i);
  const url = `http://127.0.0.1:${port}/mcp`;
  return { way: { name: 'other', url, tool: 'echo__echo', overSse: true }, stop: () => end(child) };
}

/** Settles with the first group of what it prints. */
async function printed(child: ChildProcess, pattern: RegExp): Promise<string> {
  let text = '';
  const timer = setTimeout(() => child.kill(), startLimitMs);
  try {
    return await new Promise<string>((resolve, reject) => {
      child.stdout?.on('data', (chunk: Buffer) => {
        text += chunk.toString();
        const found = pattern.exec(text)?.[1];
        if (found !== undefined) resolve(found);
      });
      child.once('exit', () => reject(new Error(`It ended before it was ready:\n${text}`)));
    });
  } finally {
    clearTimeout(timer);
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = once(child, 'exit');
  child.kill('SIGTERM');
  await gone;
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('No port is free.');
  return address.port;
}

async function oneBlock(call: (() => Promise<unknown>) | undefined): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let count = 0; count < callsInBlock; count += 1) {
    const from = performance.now();
    await call?.();
    taken.push(performance.now() - from);
  }
  return taken;
}

async function job(ways: readonly Way[]): Promise<Values> {
  const clients = new Map<string, () => Promise<unknown>>();
  const open: Client[] = [];
  for (const { name, url, tool, overSse } of ways) {
    const client = new Client({ name: 'bench', version: '1.0.0' });
    const transport =
      overSse === true
        ? new SSEClientTransport(new URL(url))
        : new StreamableHTTPClientTransport(new URL(url));
    await client.connect(transport as Transport);
    // Also waits until a gateway has the tool.
    await client.listTools();
    open.push(client);
    clients.set(name, () => client.callTool({ name: tool, arguments: { text: 'a short text' } }));
  }
  const times = new Map<string, number[]>(ways.map(({ name }) => [name, []]));
  for (let block = 0; block < blocks; block += 1) {
    for (const name of turnsOf([...clients.keys()], block)) {
      const taken = await oneBlock(clients.get(name));
      // In the first blocks the compilers of all processes still work.
      if (block >= 2) times.get(name)?.push(...taken);
    }
  }
  await Promise.all(open.map((client) => client.close()));
  const p50 = (name: string): number => percentile(times.get(name) ?? [], 0.5);
  const [direct, ours] = [p50('direct'), p50('ours')];
  const other = times.has('other') ? p50('other') : undefined;
  return {
    direct,
    ours,
    ratio: ours / direct,
    ...(other !== undefined && { other, otherRatio: other / direct }),
  };
}

function gatewayWork(name: string, withOther: boolean): Work {
  const all = withOther ? [...measures, ...otherMeasures] : measures;
  return {
    name,
    measures: all,
    rounds: { full: 8, quick: 3 },
    isOptional: withOther,
    async run(context) {
      const folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
      const host = await startHttpHost();
      const stops: Stop[] = [() => host.stop()];
      try {
        const server = host.server('echo');
        if (server.kind !== 'http') throw new Error('The host has no address.');
        const ways: Way[] = [{ name: 'direct', url: server.url, tool: 'echo' }];
        for (const start of withOther ? [startOurs, startOther] : [startOurs]) {
          const { way, stop } = await start(folder, server.url);
          ways.push(way);
          stops.unshift(stop);
        }
        return await ownRounds(context, { name, measures: all }, ways);
      } finally {
        for (const stop of stops) await stop();
        await rm(folder, { recursive: true, force: true });
      }
    },
    job,
  };
}

export const gatewayWorks: readonly Work[] = [
  gatewayWork('gateway', false),
  gatewayWork('gateway-others', true),
];
