/** Counts the open sessions by transport. */

import type { ServerStatus, SessionCount } from '../../domain/host/status.ts';
import type { TransportKind } from '../../domain/server-spec.ts';
import { isUsable } from '../../domain/server-state.ts';

export function countSessions(
  statuses: readonly Pick<ServerStatus, 'state' | 'transport' | 'pid'>[],
): SessionCount {
  const byTransport: Record<TransportKind, number> = {
    stdio: 0,
    http: 0,
    sse: 0,
    ws: 0,
    memory: 0,
  };
  let total = 0;
  let subprocessCount = 0;
  for (const { state, transport, pid } of statuses) {
    if (pid !== undefined) subprocessCount += 1;
    if (state !== 'loadingTools' && !isUsable(state)) continue;
    byTransport[transport] += 1;
    total += 1;
  }
  return { total, byTransport, subprocessCount };
}
