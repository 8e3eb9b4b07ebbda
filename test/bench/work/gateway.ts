/**
 * What it costs to go through the gateway: the same client calls the same server over HTTP, once
 * directly and once through `troupe serve`, in short blocks that take turns.
 */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { compiledFolder } from '../../lab/build.ts';
import { startHttpServers } from '../servers.ts';
import { median, percentile } from '../statistics.ts';
import { atMost, measure, ownRounds, turnsOf, type Values, type Work } from '../work.ts';
import { crowd, inFlight, oneByOne } from './calls.ts';

interface Way {
  readonly name: 'direct' | 'ours';
  readonly url: string;
  readonly tool: string;
}

const callsInBlock = 100;
// Enough for the compiler, and for medians that hold.
const blocks = 8;
const startLimitMs = 20_000;
const limitMs = 300_000;

/** Starts `troupe serve` in front of a server; resolves with its address. */
async function startGateway(folder: string, upstream: string) {
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
  return {
    url,
    async stop(): Promise<void> {
      if (child.exitCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGTERM');
      await gone;
    },
  };
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

async function job(ways: readonly Way[]): Promise<Values> {
  const calls = new Map<string, () => Promise<unknown>>();
  const open: Client[] = [];
  for (const { name, url, tool } of ways) {
    const client = new Client({ name: 'bench', version: '1.0.0' });
    await client.connect(new StreamableHTTPClientTransport(new URL(url)) as Transport);
    // Also waits until the gateway has the tool.
    await client.listTools();
    open.push(client);
    calls.set(name, () => client.callTool({ name: tool, arguments: { text: 'a short text' } }));
  }
  const times: Record<Way['name'], number[]> = { direct: [], ours: [] };
  const rates: number[] = [];
  for (let block = 0; block < blocks; block += 1) {
    for (const name of turnsOf([...calls.keys()], block) as Way['name'][]) {
      const call = calls.get(name) ?? (() => Promise.resolve());
      const taken = await oneByOne(call, callsInBlock);
      const rate = name === 'direct' ? 0 : await crowd(call, callsInBlock * 4);
      // In the first blocks the compilers of all processes still work.
      if (block < 2) continue;
      times[name].push(...taken);
      if (name === 'ours') rates.push(rate);
    }
  }
  await Promise.all(open.map((client) => client.close()));
  const [direct, ours] = [median(times.direct), median(times.ours)];
  return {
    direct,
    ours,
    oursP99: percentile(times.ours, 0.99),
    oursThroughput: median(rates),
    oursRatio: ours / direct,
  };
}

export const gatewayWork: Work = {
  name: 'gateway',
  measures: [
    measure('direct', 'echo over HTTP, directly, p50', 'ms'),
    measure('ours', 'the same through troupe serve, p50', 'ms'),
    measure('oursP99', 'through troupe serve, p99', 'ms'),
    measure('oursThroughput', `through troupe serve, ${inFlight} in flight`, 'calls/s'),
    measure('oursRatio', 'through troupe serve, times the direct call', '', atMost(2.2)),
  ],
  rounds: { full: 8, quick: 3 },
  async run(context) {
    const folder = await mkdtemp(join(tmpdir(), 'mcp-troupe-bench-'));
    const host = await startHttpServers();
    const { url } = host.server('echo');
    const gateway = await startGateway(folder, url);
    try {
      const direct: Way = { name: 'direct', url, tool: 'echo' };
      const ours: Way = { name: 'ours', url: gateway.url, tool: 'echo__echo' };
      return await ownRounds(context, gatewayWork, [direct, ours], limitMs);
    } finally {
      await gateway.stop();
      await host.stop();
      await rm(folder, { recursive: true, force: true });
    }
  },
  job,
};
