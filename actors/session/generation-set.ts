/** What a session remembers of a generation for the next one. */

import type { GenerationSet } from './ports.ts';

// As many as there may be servers.
const maxRemembered = 10_000;

/** Remembers generations; the one remembered longest ago is forgotten when there are too many. */
export function createGenerationSet(): GenerationSet {
  const generations = new Set<string>();
  return {
    has: (generation) => generations.has(generation),
    add(generation) {
      generations.add(generation);
      const [oldest] = generations;
      if (generations.size > maxRemembered && oldest !== undefined) generations.delete(oldest);
    },
    delete: (generation) => void generations.delete(generation),
  };
}
