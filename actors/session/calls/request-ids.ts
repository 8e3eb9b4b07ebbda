/**
 * Ids of requests, one row of numbers for all connections of this process.
 *
 * An id is never used twice, so that an answer which comes late, over whatever connection that a
 * server or something in between took for the old one, is nobody's answer.
 */

import type { Client } from '@modelcontextprotocol/client';

// From 0, so that servers which keep ids in 32 bits have room for two billion.
let next = 0;

export function nextRequestId(): number {
  const id = next;
  next += 1;
  return id;
}

/** Makes a client count in the same row. It has no option for it; a test sees to it that this works. */
export function shareRequestIds(client: Client): Client {
  return Object.defineProperty(client, '_requestMessageId', {
    get: () => next,
    set: (value: number) => {
      next = value;
    },
  });
}
