import { withApiWords } from '../errors/api-words.ts';
import type { Troupe, TroupeOptions } from '../troupe.ts';
import { createTroupe as createPlainTroupe } from './create-troupe.ts';

/**
 * Starts a troupe: reads the settings, starts admitted servers, and keeps
 * reconciling until it is stopped. Returns immediately; `ready()` resolves
 * after the startup gate.
 *
 * Faults in listeners and actors are reported as process warnings, because they must not end the
 * host and must not go unnoticed.
 */
export function createTroupe(options: TroupeOptions = {}): Troupe {
  return withApiWords(createPlainTroupe(options));
}
