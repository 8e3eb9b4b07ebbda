/** mcporter's runtime, which connects a server when it is first used, also after a loss. */

import type { BenchServer, Contender } from '../contender.ts';

interface Runtime {
  registerDefinition(definition: object, options: { overwrite: boolean }): void;
  listTools(server: string): Promise<unknown>;
  callTool(server: string, tool: string, options: object): Promise<unknown>;
  close(server?: string): Promise<void>;
}

// Installed when it is first used, so its types are not at hand.
const main = 'mcporter';
const { createRuntime } = (await import(main)) as {
  readonly createRuntime: (options: object) => Promise<Runtime>;
};

function definitionOf(server: BenchServer): object {
  const { name } = server;
  if (server.kind === 'http')
    return { name, command: { kind: 'http', url: new URL(server.url), headers: {} } };
  const { command, args } = server;
  return { name, command: { kind: 'stdio', command, args, cwd: process.cwd() } };
}

const silent = { info() {}, warn() {}, error() {}, debug() {} };

export const mcporter: Contender = {
  open(servers) {
    const runtime = createRuntime({ servers: servers.map(definitionOf), logger: silent });
    const list = async (name: string): Promise<void> => {
      await (await runtime).listTools(name);
    };
    const listed = new Map(servers.map(({ name }) => [name, list(name)]));
    // `listed()` reports a failure; until it is awaited, it must not end the process.
    for (const promise of listed.values()) promise.catch(() => {});
    return {
      listed: (name) => listed.get(name) ?? Promise.reject(new Error(`There is no ${name}.`)),
      call: async (name, tool, args) => (await runtime).callTool(name, tool, { args }),
      async change(server) {
        const open = await runtime;
        await open.close(server.name);
        open.registerDefinition(definitionOf(server), { overwrite: true });
        await list(server.name);
      },
      reconnects: true,
      close: async () => (await runtime).close(),
    };
  },
};
