/** An address that nothing may request; counts its requests. */

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Canary {
  readonly url: string;
  readonly visits: () => number;
  readonly close: () => void;
}

export async function startCanary(): Promise<Canary> {
  let visits = 0;
  const server = createServer((_request, response) => {
    visits += 1;
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.on('connection', (socket) => socket.unref());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/canary`,
    visits: () => visits,
    close: () => void server.close(),
  };
}
