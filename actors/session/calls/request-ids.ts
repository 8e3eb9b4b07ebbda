/**
 * Request ids: one sequence for all connections of this process.
 *
 * An id is never reused, so a late answer matches no other request, even if a server or proxy
 * sends it on another connection.
 */

import type { Client } from '@modelcontextprotocol/client';

// From 0, so that servers which keep ids in 32 bits have room for two billion.
let next = 0;

export function nextRequestId(): number {
  const id = next;
  next += 1;
  return id;
}

/** Makes a client use the same sequence. It has no option for that; a test holds that this works. */
export function shareRequestIds(client: Client): Client {
  return Object.defineProperty(client, '_requestMessageId', {
    get: () => next,
    set: (value: number) => {
      next = value;
    },
  });
}
