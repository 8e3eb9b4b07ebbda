/**
 * What it costs to go through the gateway: the same client calls the same server over HTTP, once
 * directly and once through `troupe serve`, in short blocks that take turns. The optional work has
 * other gateways beside ours; they are installed into a folder of their own, which needs the registry.
 */

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { freePort } from '../../fixtures/remote/free-port.ts';
import { compiledFolder } from '../build.ts';
import { startHttpHost } from '../servers.ts';
import { percentile, type Target } from '../statistics.ts';
import { type Measure, ownRounds, turnsOf, type Values, type Work } from '../work.ts';

interface Way {
  readonly name: 'direct' | 'ours' | 'hub' | 'porter';
  readonly url: string;
  readonly tool: string;
  readonly overSse?: true;
}

const callsInBlock = 100;
const inFlight = 64;
// Enough for the compiler, and for medians that hold.
const blocks = 8;
const startLimitMs = 20_000;
// A round of all of them takes a minute on a machine that is busy.
const limitMs = 300_000;
// The second one runs on Node 24 only, which is installed beside it.
const others = { hub: 'mcp-hub@4.2.1', porter: 'mcporter@0.12.3', node: 'node@24.21.0' };

const measures: readonly Measure[] = [
  { id: 'direct', title: 'echo over HTTP, directly, p50', unit: 'ms' },
  ...measuresOf('ours', 'troupe serve', { of: 'value', atMost: 2.2 }),
];

const otherMeasures: readonly Measure[] = [
  ...measuresOf('hub', 'mcp-hub'),
  ...measuresOf('porter', 'mcporter serve'),
];

function measuresOf(id: string, title: string, target?: Target): readonly Measure[] {
  return [
    { id, title: `the same through ${title}, p50`, unit: 'ms' },
    { id: `${id}P99`, title: `through ${title}, p99`, unit: 'ms' },
    { id: `${id}Throughput`, title: `through ${title}, ${inFlight} in flight`, unit: 'calls/s' },
    {
      id: `${id}Ratio`,
      title: `through ${title}, times the direct call`,
      unit: '',
      ...(target !== undefined && { target }),
    },
  ];
}

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

/** Once for all of them. */
async function installOthers(folder: string): Promise<void> {
  await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
  // Node is fetched by a script of its package. One of them is for that Node, not for the one that installs.
  const options = ['install', '--no-audit', '--engine-strict=false', ...Object.values(others)];
  await promisify(execFile)('npm', options, { cwd: folder });
}

async function startHub(folder: string, upstream: string): Promise<{ way: Way; stop: Stop }> {
  await installOthers(folder);
  const config = join(folder, 'hub.json');
  await writeFile(config, JSON.stringify({ mcpServers: { echo: { url: upstream } } }));
  const port = await freePort();
  const program = join(folder, 'node_modules/.bin/mcp-hub');
  const child = spawn(process.execPath, [program, '--port', String(port), '--config', config], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, XDG_STATE_HOME: folder, XDG_CONFIG_HOME: folder },
  });
  await printed(child, /(servers started successfully)/);
  const url = `http://127.0.0.1:${port}/mcp`;
  return { way: { name: 'hub', url, tool: 'echo__echo', overSse: true }, stop: () => end(child) };
}

async function startPorter(folder: string, upstream: string): Promise<{ way: Way; stop: Stop }> {
  const config = join(folder, 'porter.json');
  const server = { baseUrl: upstream, lifecycle: 'keep-alive' };
  await writeFile(config, JSON.stringify({ mcpServers: { echo: server } }));
  const port = await freePort();
  const program = ['node_modules/.bin/mcporter', '--config', config];
  const node = join(folder, 'node_modules/.bin/node');
  const there = { cwd: folder, env: { ...process.env, HOME: folder } };
  const child = spawn(node, [...program, 'serve', '--http', String(port)], {
    ...there,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  await printed(child, /(HTTP bridge)/);
  const stop = async (): Promise<void> => {
    await end(child);
    // It keeps the connections to its servers in a process that outlives it.
    await promisify(execFile)(node, [...program, 'daemon', 'stop'], there);
  };
  const url = `http://127.0.0.1:${port}/mcp`;
  return { way: { name: 'porter', url, tool: 'echo__echo' }, stop };
}

/** Settles with the first group of what it prints. */
async function printed(child: ChildProcess, pattern: RegExp): Promise<string> {
  let text = '';
  const timer = setTimeout(() => child.kill(), startLimitMs);
  try {
    return await new Promise<string>((resolve, reject) => {
      (child.stdout ?? child.stderr)?.on('data', (chunk: Buffer) => {
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

async function oneBlock(call: (() => Promise<unknown>) | undefined): Promise<readonly number[]> {
  const taken: number[] = [];
  for (let count = 0; count < callsInBlock; count += 1) {
    const from = performance.now();
    await call?.();
    taken.push(performance.now() - from);
  }
  return taken;
}

/** Calls per second with 64 under way. */
async function crowd(call: (() => Promise<unknown>) | undefined): Promise<number> {
  const count = callsInBlock * 4;
  let begun = 0;
  const worker = async (): Promise<void> => {
    while (begun < count) {
      begun += 1;
      await call?.();
    }
  };
  const from = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (count / (performance.now() - from)) * 1_000;
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
  const rates = new Map<string, number[]>(ways.map(({ name }) => [name, []]));
  for (let block = 0; block < blocks; block += 1) {
    for (const name of turnsOf([...clients.keys()], block)) {
      const taken = await oneBlock(clients.get(name));
      const rate = name === 'direct' ? 0 : await crowd(clients.get(name));
      // In the first blocks the compilers of all processes still work.
      if (block < 2) continue;
      times.get(name)?.push(...taken);
      rates.get(name)?.push(rate);
    }
  }
  await Promise.all(open.map((client) => client.close()));
  const timeOf = (name: string, share: number): number => percentile(times.get(name) ?? [], share);
  const direct = timeOf('direct', 0.5);
  const gateways = ways.filter(({ name }) => name !== 'direct');
  const values = gateways.flatMap(({ name }): [string, number][] => [
    [name, timeOf(name, 0.5)],
    [`${name}P99`, timeOf(name, 0.99)],
    [`${name}Throughput`, percentile(rates.get(name) ?? [], 0.5)],
    [`${name}Ratio`, timeOf(name, 0.5) / direct],
  ]);
  return { direct, ...Object.fromEntries(values) };
}

function gatewayWork(name: string, withOthers: boolean): Work {
  const all = withOthers ? [...measures, ...otherMeasures] : measures;
  return {
    name,
    measures: all,
    rounds: { full: 8, quick: 3 },
    isOptional: withOthers,
    async run(context) {
      const folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
      const host = await startHttpHost();
      const stops: Stop[] = [() => host.stop()];
      try {
        const server = host.server('echo');
        if (server.kind !== 'http') throw new Error('The host has no address.');
        const ways: Way[] = [{ name: 'direct', url: server.url, tool: 'echo' }];
        for (const start of withOthers ? [startOurs, startHub, startPorter] : [startOurs]) {
          const { way, stop } = await start(folder, server.url);
          ways.push(way);
          stops.unshift(stop);
        }
        return await ownRounds(context, { name, measures: all }, ways, limitMs);
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
