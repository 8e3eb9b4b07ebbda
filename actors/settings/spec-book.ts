import type { ServerSpec } from '../../src/domain/server-spec.ts';

/** Holds the specs, which may contain secrets, by generation and apart from charts and records. */
export interface SpecBook {
  /** Adds the specs of a load; those of the load before the last are forgotten. */
  put(specs: ReadonlyMap<string, ServerSpec>): void;
  get(generation: string): ServerSpec | undefined;
}

/**
 * Creates an empty book.
 *
 * It keeps the last two loads: the older one for servers that are being replaced. A generation
 * older than that is leaving and opens no connection.
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
