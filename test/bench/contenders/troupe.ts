/** This package, through its public interface only. */

import type { ServerStatus, Troupe } from '../../../src/index.ts';
import type { BenchServer, Contender, Fleet } from '../contender.ts';
import { importPublished } from '../published.ts';

function settingsOf(servers: readonly BenchServer[], more: object = {}) {
  const entries = servers.map((server) => [
    server.name,
    server.kind === 'http'
      ? { type: 'http', url: server.url, ...more }
      : {
          command: server.command,
          args: server.args,
          ...(server.isSeamless === true && { handover: 'seamless' }),
          ...more,
        },
  ]);
  return { mcpServers: Object.fromEntries(entries) as object };
}

function fleetOf(troupe: Troupe, servers: readonly BenchServer[]): Fleet {
  const current = new Map(servers.map((server) => [server.name, server]));
  /** Resolves once the server's status fulfils the condition. */
  const until = (name: string, isFulfilled: (status: ServerStatus | undefined) => boolean) =>
    new Promise<void>((resolve) => {
      const look = (): void => {
        if (!isFulfilled(troupe.status(name))) return;
        unsubscribe();
        resolve();
      };
      const unsubscribe = troupe.on('status.changed', look);
      look();
    });
  return {
    async listed(server) {
      await troupe.waitFor(server, 'ready');
    },
    call: (server, tool, args) => troupe.callTool(`mcp__${server}__${tool}`, args),
    async change(server) {
      current.set(server.name, server);
      const before = troupe.status(server.name)?.generation;
      const replaced = until(server.name, (status) => status?.generation !== before);
      const settings = settingsOf([...current.values()]);
      troupe.send({ type: 'settings.changed', settings });
      await replaced;
      await troupe.waitFor(server.name, 'ready');
    },
    replaced: (server) => until(server, (status) => status?.predecessor === undefined),
    pid: (server) => troupe.status(server)?.pid,
    lost: (server) => until(server, (status) => status?.state !== 'ready'),
    reconnects: true,
    close: () => troupe.stop(),
  };
}

const { createTroupe } = await importPublished();

export const troupe: Contender = {
  open: (servers) => fleetOf(createTroupe({ settings: settingsOf(servers) }), servers),
  async openDormant(servers) {
    const dormant = createTroupe({ settings: settingsOf(servers, { startup: 'lazy' }) });
    await dormant.ready();
    return fleetOf(dormant, servers);
  },
  openWarm(servers, folder) {
    const warm = createTroupe({ settings: settingsOf(servers), stateDir: folder });
    return {
      ...fleetOf(warm, servers),
      ready: () => warm.ready(),
      isShown: (server) => warm.tools().some((tool) => tool.server === server),
    };
  },
};
