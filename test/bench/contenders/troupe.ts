/** This package, through its public interface only. */

import { createTroupe, type Troupe } from '../../../src/index.ts';
import type { BenchServer, Contender, Fleet } from '../contender.ts';

function settingsOf(servers: readonly BenchServer[], more: object = {}) {
  const entries = servers.map((server) => [
    server.name,
    server.kind === 'http'
      ? { type: 'http', url: server.url, ...more }
      : { command: server.command, args: server.args, ...more },
  ]);
  return { mcpServers: Object.fromEntries(entries) as object };
}

function fleetOf(troupe: Troupe): Fleet {
  const pauses = new Map<string, number>();
  // Only the first loss counts. The status that reports it comes before the one with the backoff.
  troupe.on('status.changed', ({ status: { name, nextAttemptAt, since } }) => {
    if (nextAttemptAt !== undefined && !pauses.has(name))
      pauses.set(name, Date.parse(nextAttemptAt) - Date.parse(since));
  });
  return {
    async listed(server) {
      await troupe.waitFor(server, 'ready');
    },
    call: (server, tool, args) => troupe.callTool(`mcp__${server}__${tool}`, args),
    pid: (server) => troupe.status(server)?.pid,
    lost: (server) =>
      new Promise((resolve) => {
        const unsubscribe = troupe.on('status.changed', ({ status }) => {
          if (status.name !== server || status.state === 'ready') return;
          unsubscribe();
          resolve();
        });
      }),
    pauseAfterLossMs: (server) => pauses.get(server),
    close: () => troupe.stop(),
  };
}

export const troupe: Contender = {
  open: (servers) => fleetOf(createTroupe({ settings: settingsOf(servers) })),
  async openDormant(servers) {
    const dormant = createTroupe({ settings: settingsOf(servers, { startup: 'lazy' }) });
    await dormant.ready();
    return fleetOf(dormant);
  },
  openWarm(servers, folder) {
    const warm = createTroupe({ settings: settingsOf(servers), stateDir: folder });
    return {
      ...fleetOf(warm),
      ready: () => warm.ready(),
      isShown: (server) => warm.tools().some((tool) => tool.server === server),
    };
  },
};
