/**
 * Chooses the protocol era in which a connection begins: the settings' choice, otherwise the era
 * that an earlier session found, otherwise the result of a probe.
 */

import type { Failure } from '../../src/domain/failure.ts';
import type { ServerSpec } from '../../src/domain/server-spec.ts';
import type { EraVerdict } from '../../src/domain/session.ts';
import type { Client, Negotiation } from '../../src/protocol/mcp-client.ts';
import type { SessionPorts } from './ports.ts';

// A local server that supports the probe responds at once; others may stay silent.
const stdioProbeMs = 1_500;
// A remote one needs a few round trips more. A modern server that needs longer is probed again.
const httpProbeMs = 2_000;

/**
 * Failures that leave the era undecided: the server is unreachable, requires a login, or is busy.
 */
export const failuresInEveryEra: ReadonlySet<Failure['kind']> = new Set([
  'transport',
  'unavailable',
  'authRequired',
  'rateLimited',
  'crashed',
  'initTimeout',
]);

export interface EraChoice {
  readonly negotiation: Negotiation;
  readonly prior?: EraVerdict;
}

/** The stored era with which a connection skips the probe. */
export const oldHandshake: EraVerdict = { kind: 'legacy' };

export function chooseEra(
  { era, type }: ServerSpec,
  generation: string,
  { clock, eras, leftWhenAsked }: Pick<SessionPorts, 'clock' | 'eras' | 'leftWhenAsked'>,
): EraChoice {
  if (era === 'legacy') return { negotiation: { mode: 'legacy' } };
  const hasChannel = type !== 'http';
  if (era === 'modern') return { negotiation: { mode: 'modern', hasChannel } };
  const within = { clock, ms: hasChannel ? stdioProbeMs : httpProbeMs };
  const negotiation: Negotiation = { mode: 'auto', hasChannel, within };
  const hasLeft = leftWhenAsked?.has(generation) === true;
  const prior = eras.get(generation) ?? (hasLeft ? oldHandshake : undefined);
  return { negotiation, ...(prior !== undefined && { prior }) };
}

/** Stores the era in which a client has connected, and returns it. */
export function noteEra(
  client: Client,
  spec: ServerSpec,
  prior: EraVerdict | undefined,
  generation: string,
  { eras, leftWhenAsked }: Pick<SessionPorts, 'eras' | 'leftWhenAsked'>,
): 'legacy' | 'modern' {
  const era = client.getProtocolEra() ?? 'legacy';
  leftWhenAsked?.delete(generation);
  // A stored era keeps its date.
  const isStored = prior !== undefined && prior === eras.get(generation);
  if (spec.era === 'auto' && !isStored) {
    const discover = client.getDiscoverResult();
    const isModern = era === 'modern' && discover !== undefined;
    eras.set(generation, isModern ? { kind: 'modern', discover } : { kind: 'legacy' });
  }
  return era;
}

/** Has the next session probe the era. */
export function forgetEra(
  generation: string,
  { eras, leftWhenAsked }: Pick<SessionPorts, 'eras' | 'leftWhenAsked'>,
): void {
  eras.forget(generation);
  leftWhenAsked?.delete(generation);
}
