/**
 * The role of a client: the library through its public interface. The suite starts a program for
 * each scenario, all at once; that program is only a relay to here, where the library is loaded.
 */

import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';

import { beClient, type Scenario } from './host.ts';
import { root } from './suite.ts';

export interface ClientHost {
  /** What the suite starts; it cannot take a path with a space. */
  readonly command: string;
  readonly env: Readonly<Record<string, string>>;
  /** Why the client of a scenario gave up, by scenario. */
  readonly troubles: ReadonlyMap<string, string>;
  stop(): void;
}

export async function startClientHost(): Promise<ClientHost> {
  const troubles = new Map<string, string>();
  const server = createServer((request, response) => {
    void (async () => {
      const { scenario, ...rest } = await read(request);
      try {
        await beClient(rest);
        response.end();
      } catch (error) {
        const trouble = error instanceof Error ? error.message : String(error);
        troubles.set(scenario, trouble);
        response.writeHead(500).end(`${trouble}\n`);
      }
    })();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    command: `${process.execPath} ${path.join(root, 'scripts', 'conformance-relay.mjs')}`,
    env: { CONFORMANCE_HOST: `http://127.0.0.1:${port}` },
    troubles,
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function read(request: IncomingMessage): Promise<Scenario & { readonly scenario: string }> {
  let body = '';
  for await (const chunk of request.setEncoding('utf8') as AsyncIterable<string>) body += chunk;
  return JSON.parse(body) as Scenario & { readonly scenario: string };
}
