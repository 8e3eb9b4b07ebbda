/**
 * Which protocol era a connection begins with. A server that left during the
 * question "do you speak the modern era?" is opened with the old handshake next
 * time; the guess becomes a verdict only when that works.
 */

import type { VersionNegotiationOptions } from '@modelcontextprotocol/client';

import type { ServerSpec } from '../src/domain/server-spec.ts';
import type { EraVerdict, SessionPorts } from './session-ports.ts';

const modernRevision = '2026-07-28';
// A local server that knows the question answers at once; one that does not may stay silent.
const stdioProbeMs = 1_500;

export interface EraChoice {
  readonly negotiation: VersionNegotiationOptions;
  readonly prior?: EraVerdict;
}

/** What earlier openings of a generation taught, besides the verdicts. */
export interface EraMemory {
  readonly guessedLegacy: Set<string>;
  /** A stored modern verdict did not hold; ask again. */
  readonly doubted: Set<string>;
}

// A generation is asked for again within seconds or, its settings gone, never.
const maxRemembered = 1_000;

/** Remembers a generation; the one remembered longest ago is forgotten when there are too many. */
export function remember(generations: Set<string>, generation: string): void {
  generations.delete(generation);
  generations.add(generation);
  const [oldest] = generations;
  if (generations.size > maxRemembered && oldest !== undefined) generations.delete(oldest);
}

export function createEraMemory(): EraMemory {
  return { guessedLegacy: new Set(), doubted: new Set() };
}

export function chooseEra(
  { era, type }: ServerSpec,
  generation: string,
  verdicts: SessionPorts['eras'],
  memory: EraMemory,
): EraChoice {
  if (era === 'legacy') return { negotiation: { mode: 'legacy' } };
  if (era === 'modern') return { negotiation: { mode: { pin: modernRevision } } };
  const negotiation: VersionNegotiationOptions = {
    mode: 'auto',
    // Over HTTP silence is an outage; the deadline of the whole connect decides.
    probe: { timeoutMs: type === 'stdio' ? stdioProbeMs : 2_147_483_647 },
  };
  // Both are used up: one more failure and the next opening asks again.
  const isDoubted = memory.doubted.delete(generation);
  const isGuessed = memory.guessedLegacy.delete(generation);
  if (isGuessed) return { negotiation, prior: { kind: 'legacy' } };
  const prior = isDoubted ? undefined : verdicts.get(generation);
  return { negotiation, ...(prior !== undefined && { prior }) };
}
