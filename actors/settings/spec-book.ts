import type { ServerSpec } from '../../src/domain/server-spec.ts';

/** Where what decides a connection is held, apart from charts and records, by generation. */
export interface SpecBook {
  /** Adds the specs of a load; those of the load before the last are forgotten. */
  put(specs: ReadonlyMap<string, ServerSpec>): void;
  get(generation: string): ServerSpec | undefined;
}

/**
 * Creates an empty book.
 *
 * It keeps two loads: the last, and the one before it for servers that are just
 * being replaced. An older generation is leaving and opens nothing any more.
 */
export function createSpecBook(): SpecBook {
  let latest: ReadonlyMap<string, ServerSpec> = new Map();
  let previous: ReadonlyMap<string, ServerSpec> = latest;
  return {
    put(specs) {
      previous = latest;
      latest = new Map(specs);
    },
    get: (generation) => latest.get(generation) ?? previous.get(generation),
  };
}
