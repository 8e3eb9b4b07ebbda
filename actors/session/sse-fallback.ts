/** Decides whether a connection falls back from Streamable HTTP to the HTTP with SSE of 2024. */

import type { ServerSpec, TransportKind } from '../../src/domain/server-spec.ts';
import type { Seen } from '../transports/connection/connection.ts';
import type { EraChoice } from './era.ts';

/** The era to use over SSE: SSE servers predate the modern era. */
export const sseEra: EraChoice = { negotiation: { mode: 'legacy' } };

// "Not found", "method not allowed", and the statuses with which frameworks reject an unexpected
// body.
const olderStatuses: ReadonlySet<number> = new Set([400, 404, 405]);

/**
 * Returns whether the address refused the first message the way a server from before 2025 does; see
 * "Backwards Compatibility" in the transports section of the MCP specification.
 */
export function mayBeOverSse(
  carrier: TransportKind,
  spec: ServerSpec,
  { status, rpcCode }: Seen,
): boolean {
  if (carrier !== 'http' || !fallsBackToSse(spec) || status === undefined) return false;
  // Only a server that understands the transport sends a JSON-RPC response.
  return olderStatuses.has(status) && rpcCode === undefined;
}

/** Returns whether the settings leave open which transport the address uses. */
export function fallsBackToSse(spec: ServerSpec): boolean {
  return spec.type === 'http' && spec.fallback === 'sse';
}
