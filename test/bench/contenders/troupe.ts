/** This package, through its public interface only. */

import { createTroupe, type Troupe } from '../../../src/index.ts';
import type { BenchServer, Contender, Fleet, Start } from '../contender.ts';

type Settings = Readonly<Record<string, unknown>>;

function entryOf(server: BenchServer, isDormant: boolean): Settings {
  const startup = isDormant ? { startup: 'lazy' } : {};
  return server.kind === 'http'
    ? { type: 'http', url: server.url, ...startup }
    : { command: server.command, args: server.args, ...startup };
}

function settingsOf(servers: Iterable<BenchServer>, isDormant = false): Settings {
  return {
    mcpServers: Object.fromEntries(
      [...servers].map((server) => [server.name, entryOf(server, isDormant)]),
    ),
  };
}

function hasTool(troupe: Troupe, server: string, tool: string): boolean {
  return troupe.tools().some((it) => it.server === server && it.tool === tool);
}

function startOf(troupe: Troupe, server: string): readonly Start[] {
  const [first] = troupe.explain(server)?.attempts ?? [];
  if (first?.connectingMs === undefined || first.loadingToolsMs === undefined) return [];
  const queuedMs = first.queuedMs ?? 0;
  const begunAt = Date.parse(first.startedAt) + queuedMs;
  return [{ queuedMs, begunAt, listedAt: begunAt + first.connectingMs + first.loadingToolsMs }];
}

function fleetOf(troupe: Troupe, servers: readonly BenchServer[]): Fleet {
  const known = new Map(servers.map((server) => [server.name, server]));
  const pauses = new Map<string, number>();
  // The first loss counts; the state in which it is noticed is not yet the one that waits.
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
    change(server, tool) {
      known.set(server.name, server);
      return new Promise((resolve) => {
        const unsubscribe = troupe.on('tools.changed', () => {
          if (!hasTool(troupe, server.name, tool)) return;
          unsubscribe();
          resolve();
        });
        troupe.send({ type: 'settings.changed', settings: settingsOf(known.values()) });
      });
    },
    lost: (server) =>
      new Promise((resolve) => {
        const unsubscribe = troupe.on('status.changed', ({ status }) => {
          if (status.name !== server || status.state === 'ready') return;
          unsubscribe();
          resolve();
        });
      }),
    starts: () => servers.flatMap(({ name }) => startOf(troupe, name)),
    pauseAfterLossMs: (server) => pauses.get(server),
    close: () => troupe.stop(),
  };
}

export const troupe: Contender = {
  recovers: true,
  open(servers) {
    return fleetOf(createTroupe({ settings: settingsOf(servers) }), servers);
  },
  async openDormant(servers) {
    const dormant = createTroupe({ settings: settingsOf(servers, true) });
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
