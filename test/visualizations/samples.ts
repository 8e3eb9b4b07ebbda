/** Small statuses and pictures, to be varied. */

import type { InspectionPicture } from '../../src/domain/host/inspection.ts';
import type { ServerStatus } from '../../src/domain/host/status.ts';

export const emptyPicture: InspectionPicture = { n: 0, t: 0, actors: [], servers: [] };

export function statusOf(name: string, more: Partial<ServerStatus> = {}): ServerStatus {
  return {
    name,
    state: 'ready',
    catalog: 'live',
    circuit: 'closed',
    since: '2026-01-01T00:00:00.000Z',
    generation: 'a'.repeat(64),
    restarts: 0,
    tools: 1,
    transport: 'stdio',
    source: { key: `mcpServers.${name}`, scope: 'user' },
    ...more,
  };
}
