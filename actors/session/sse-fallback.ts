/** Whether a connection falls back from Streamable HTTP to the HTTP with SSE of 2024. */

import type { ServerSpec, TransportKind } from '../../src/domain/server-spec.ts';
import type { Seen } from '../transports/connection/connection.ts';
import type { EraChoice } from './era.ts';

/** SSE servers predate the modern era. */
export const sseEra: EraChoice = { negotiation: { mode: 'legacy' } };

// "Not found", "not by POST", and the statuses with which frameworks reject an unexpected body.
const olderStatuses: ReadonlySet<number> = new Set([400, 404, 405]);

/**
 * Whether the address refused the first message as a server from before 2025 does; see "Backwards
 * Compatibility" in the MCP specification of transports.
 */
export function mayBeOverSse(
  carrier: TransportKind,
  spec: ServerSpec,
  { status, rpcCode }: Seen,
): boolean {
  if (carrier !== 'http' || !fallsBackToSse(spec) || status === undefined) return false;
  // Only a server that understood the transport sends a JSON-RPC answer.
  return olderStatuses.has(status) && rpcCode === undefined;
}

/** Whether the settings leave open which transport the address speaks. */
export function fallsBackToSse(spec: ServerSpec): boolean {
  return spec.type === 'http' && spec.fallback === 'sse';
}
