/**
 * When a server is met with SSE although nobody said so: the settings leave the
 * type open, and its address refuses the first message in a way that servers of
 * before 2025 do. See "Backwards Compatibility" in the MCP specification of transports.
 */

import type { ServerSpec, TransportKind } from '../../src/domain/server-spec.ts';
import type { Seen } from '../transports/connection/connection.ts';
import type { EraChoice } from './era.ts';
import type { GenerationSet } from './ports.ts';

// "No such thing here", "not by POST", and what frameworks say to a body they did not expect.
const olderStatuses: ReadonlySet<number> = new Set([400, 404, 405]);
// Nobody speaks the era of 2026 over the transport of 2024.
export const sseEra: EraChoice = { negotiation: { mode: 'legacy' } };

/** Says whether this generation was met with SSE the last time. */
export function isOverSse(
  spec: ServerSpec,
  generation: string,
  memory: GenerationSet | undefined,
): boolean {
  return spec.type === 'http' && spec.fallback === 'sse' && memory?.has(generation) === true;
}

/** Says whether the refusal of the first message is one that asks for another transport. */
export function mayBeOverSse(
  carrier: TransportKind,
  spec: ServerSpec,
  { status, rpcCode }: Seen,
): boolean {
  const isOpen = carrier === 'http' && spec.type === 'http' && spec.fallback === 'sse';
  if (!isOpen || status === undefined) return false;
  // Whoever answers in JSON-RPC understood the transport.
  return olderStatuses.has(status) && rpcCode === undefined;
}
