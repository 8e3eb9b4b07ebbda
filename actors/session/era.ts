/**
 * Which protocol era a connection begins with: what the settings say, else what
 * an earlier session found out, else the server is asked.
 */

import type { VersionNegotiationOptions } from '@modelcontextprotocol/client';

import { longestTimerMs } from '../../src/domain/clock.ts';
import type { Failure } from '../../src/domain/failure.ts';
import type { ServerSpec } from '../../src/domain/server-spec.ts';
import type { EraVerdict, SessionPorts } from './ports.ts';

const modernRevision = '2026-07-28';
// A local server that knows the question answers at once; one that does not may stay silent.
const stdioProbeMs = 1_500;

/** A server that cannot be reached, wants a log-in or is busy has not been understood yet. */
export const saysNothingOfEra: ReadonlySet<Failure['kind']> = new Set([
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

/** What a connection is made with that asks for no era. */
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
    // Over HTTP silence is an outage; the deadline of the whole connect decides.
    probe: { timeoutMs: type === 'http' ? longestTimerMs : stdioProbeMs },
  };
  const hasLeft = leftWhenAsked?.has(generation) === true;
  const prior = eras.get(generation) ?? (hasLeft ? oldHandshake : undefined);
  return { negotiation, ...(prior !== undefined && { prior }) };
}
