/** The role of a server: `troupe serve --only` in front of a server that has one of everything. */

import { type ChildProcess, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';

import { root, within } from './suite.ts';

// A start takes two seconds; a crowded machine needs many times that.
const startLimitMs = 60_000;

export interface ServedGateway {
  readonly url: string;
  stop(): Promise<void>;
}

/** Starts the gateway in front of a server of this era. */
export async function startGateway(era: string, folder: string): Promise<ServedGateway> {
  const settings = path.join(folder, `${era}.json`);
  const server = path.join(root, 'test', 'fixtures', 'conformance-server.mjs');
  const entry = { command: process.execPath, args: [server], era };
  writeFileSync(settings, JSON.stringify({ mcpServers: { reference: entry } }));
  const gateway = spawn(
    process.execPath,
    [
      ...['--import', 'tsx', path.join(root, 'src', 'cli', 'main.ts')],
      ...['serve', '--only', 'reference', '--http', '0', '--no-auth', '--json', '--bare'],
      ...['--config', settings, '--state-dir', path.join(folder, `state-${era}`)],
    ],
    { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let errors = '';
  gateway.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  let document = '';
  const url = await within(
    startLimitMs,
    new Promise<string>((resolve, reject) => {
      gateway.stdout.on('data', (chunk: Buffer) => {
        document += chunk.toString();
        const found = /"url": "([^"]+)"/.exec(document)?.[1];
        if (found !== undefined) resolve(found);
      });
      gateway.on('exit', () => reject(new Error(`troupe serve ended: ${errors}`)));
    }),
  );
  return { url, stop: () => stop(gateway) };
}

async function stop(gateway: ChildProcess): Promise<void> {
  const gone = new Promise<void>((resolve) => void gateway.once('exit', () => resolve()));
  if (gateway.exitCode !== null) return;
  gateway.kill('SIGTERM');
  await within(startLimitMs, gone).catch(() => gateway.kill('SIGKILL'));
}
