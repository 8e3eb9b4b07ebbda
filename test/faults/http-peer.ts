/** Starts and restarts a hostile HTTP server; its port stays the same. */

import { startHttpHost } from '../lab/http-host.ts';
import type { EventLog } from './event-log.ts';

type Entry = Readonly<Record<string, unknown>>;

export interface HttpPeer {
  readonly port: number;
  /** For `mcpServers`. */
  readonly entry: Entry;
  readonly log: EventLog;
  /** The entry with more settings. */
  with(more: Entry): { readonly entry: Entry };
  kill(): Promise<void>;
  /** Starts it again, in another mode if one is named. */
  revive(args?: readonly string[]): Promise<void>;
}

export async function startHttpPeer(
  script: string,
  args: readonly string[],
  log: EventLog,
  mark: string,
): Promise<HttpPeer> {
  // Not marked: the row ends it, not the troupe.
  const env = { FAULTS_LOG: log.file, FAULTS_PEER_OF: mark.slice(0, 12) };
  let host = await startHttpHost(script, ['0', ...args], env);
  const { port, origin } = host;
  const entry = { type: 'http', url: `${origin}/mcp` };
  return {
    port,
    entry,
    log,
    with: (more) => ({ entry: { ...entry, ...more } }),
    kill: () => host.stop(),
    async revive(next = args) {
      host = await startHttpHost(script, [String(port), ...next], env);
    },
  };
}
