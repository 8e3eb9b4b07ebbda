/** `troupe serve` over HTTP as a process of its own. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { withinTime } from '../../actors/host/time-limit.ts';
import { promptClock } from '../../src/runtime/real-clock.ts';

// A start takes two seconds; on a busy machine many times that.
const startLimitMs = 60_000;
const stopLimitMs = 10_000;

export interface Gateway {
  readonly url: string;
  stop(): Promise<void>;
}

/**
 * Starts the gateway; resolves when it prints its address.
 *
 * @param cli - the command line's file, with options for Node before it
 * @param folder - holds settings and state, and is created if missing
 */
export async function startGateway(
  cli: readonly string[],
  folder: string,
  mcpServers: object,
  words: readonly string[] = [],
): Promise<Gateway> {
  mkdirSync(folder, { recursive: true });
  const settings = join(folder, 'troupe.json');
  writeFileSync(settings, JSON.stringify({ mcpServers }));
  const options = ['--http', '0', '--no-auth', '--json', '--bare', '--config', settings];
  const state = ['--state-dir', join(folder, 'state')];
  const child = spawn(process.execPath, [...cli, 'serve', ...words, ...options, ...state], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const gone = once(child, 'exit');
  let printed = '';
  const started = new Promise<string | undefined>((resolve) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => {
        printed += chunk.toString();
        const url = /"url": "([^"]+)"/.exec(printed)?.[1];
        if (url !== undefined) resolve(url);
      });
    void gone.then(() => resolve(undefined));
  });
  const url = await withinTime(promptClock, startLimitMs, started);
  if (url === undefined) {
    child.kill('SIGKILL');
    throw new Error(`troupe serve did not start: ${printed}`);
  }
  return {
    url,
    async stop() {
      child.kill('SIGTERM');
      await withinTime(promptClock, stopLimitMs, gone);
      child.kill('SIGKILL');
    },
  };
}
