/**
 * How a connection begins: in which protocol era, and over HTTP or SSE. The settings decide, else
 * the era that an earlier session found, else a probe.
 */

import type { VersionNegotiationOptions } from '@modelcontextprotocol/client';

import { longestTimerMs } from '../../src/domain/clock.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { ServerSpec, TransportKind } from '../../src/domain/server-spec.ts';
import type { Seen } from '../transports/connection/connection.ts';
import type { EraVerdict, SessionPorts } from './ports.ts';

const modernRevision = '2026-07-28';
// A local server that supports the probe answers at once; others may stay silent.
const stdioProbeMs = 1_500;

/** Failures that leave the era open: the server is unreachable, demands a login, or is busy. */
export const failuresInEveryEra: ReadonlySet<Failure['kind']> = new Set([
  'transport',
  'unavailable',
  'authRequired',
  'rateLimited',
  'crashed',
  'initTimeout',
]);

export interface EraChoice {
  readonly negotiation: VersionNegotiationOptions;
  readonly prior?: EraVerdict;
}

/** The verdict with which a connection skips the probe. */
export const oldHandshake: EraVerdict = { kind: 'legacy' };

export function chooseEra(
  { era, type }: ServerSpec,
  generation: string,
  { eras, leftWhenAsked }: Pick<SessionPorts, 'eras' | 'leftWhenAsked'>,
): EraChoice {
  if (era === 'legacy') return { negotiation: { mode: 'legacy' } };
  if (era === 'modern') return { negotiation: { mode: { pin: modernRevision } } };
  const negotiation: VersionNegotiationOptions = {
    mode: 'auto',
    // Over HTTP silence is an outage; the connect deadline ends it.
    probe: { timeoutMs: type === 'http' ? longestTimerMs : stdioProbeMs },
  };
  const hasLeft = leftWhenAsked?.has(generation) === true;
  const prior = eras.get(generation) ?? (hasLeft ? oldHandshake : undefined);
  return { negotiation, ...(prior !== undefined && { prior }) };
}

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
