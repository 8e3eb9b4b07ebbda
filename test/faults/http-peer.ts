/** Starts and restarts a hostile HTTP server; its port stays the same through all its lives. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';

import type { EventLog } from './event-log.ts';

export interface HttpPeer {
  readonly port: number;
  readonly url: string;
  /** For `mcpServers`. */
  readonly entry: Readonly<Record<string, unknown>>;
  readonly log: EventLog;
  /** The entry with other settings besides. */
  with(more: Readonly<Record<string, unknown>>): {
    readonly entry: Readonly<Record<string, unknown>>;
  };
  kill(): Promise<void>;
  /** Starts it again, in another mode if one is named. */
  revive(words?: readonly string[]): Promise<void>;
}

export async function startHttpPeer(
  script: string,
  words: readonly string[],
  log: EventLog,
  mark: string,
): Promise<HttpPeer> {
  // Not marked: it is the row's to end, and no troupe's.
  const env = { ...process.env, FAULTS_LOG: log.file, FAULTS_PEER_OF: mark.slice(0, 12) };
  const launch = async (port: number, how: readonly string[]): Promise<[ChildProcess, number]> => {
    const child = spawn(process.execPath, [script, String(port), ...how], {
      env,
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    const [chunk] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    return [child, Number(chunk.toString())];
  };
  let [child, port] = await launch(0, words);
  const url = `http://127.0.0.1:${port}/mcp`;
  const entry = { type: 'http', url };
  return {
    port,
    url,
    entry,
    log,
    with: (more) => ({ entry: { ...entry, ...more } }),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
    async revive(how = words) {
      [child, port] = await launch(port, how);
    },
  };
}
