/** Formats the clients of a troupe: who keeps which servers running. */

import { printableLine } from '../../domain/data/printable.ts';
import type { TroupeStatus } from '../../domain/host/status.ts';
import { sinceText } from './durations.ts';
import type { Paint } from './output.ts';
import { fitTable } from './table.ts';

type Clients = NonNullable<TroupeStatus['clients']>;

// A client may name itself.
const longestName = 100;

const columns = [
  { title: 'CLIENT', leastWidth: 12 },
  { title: 'SINCE', dropOrder: 0 },
  { title: 'SERVERS', leastWidth: 12 },
];

/** A table of the clients; empty without any. */
export function clientLines(
  clients: Clients = [],
  nowMs: number,
  width: number,
  paint: Paint,
): readonly string[] {
  if (clients.length === 0) return [];
  const rows = clients.map(({ name, since, servers }) => [
    { text: printableLine(name, longestName) },
    { text: sinceText(since, nowMs) },
    { text: servers.length === 0 ? 'none' : servers.join(', ') },
  ]);
  return ['', ...fitTable({ columns, rows }, width, (title) => paint('bold', title))];
}

/** The names of the clients that use a server; undefined without any. */
export function usersText(clients: Clients = [], server: string): string | undefined {
  const names = clients.filter(({ servers }) => servers.includes(server)).map(({ name }) => name);
  return names.length === 0 ? undefined : printableLine(names.join('; '), 1_000);
}
