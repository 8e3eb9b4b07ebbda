/**
 * The contenders, in table order.
 *
 * Nothing is imported before it is asked for: what one contender loads must not weigh on the
 * start or the memory of another.
 */

import type { Contender } from './contender.ts';

export interface Entry {
  readonly title: string;
  readonly load: () => Promise<Contender>;
  /** Imports what a host imports, and nothing of the benchmark. */
  readonly importOnly: () => Promise<unknown>;
}

/** The contender that all others are compared with. */
export const baseline = 'client';

/** The baseline once more: its ratio to the baseline would be 1 if there were no noise. */
export const control = 'client again';

export const entries: Readonly<Record<string, Entry>> = {
  client: {
    title: 'client 2.4',
    load: async () => (await import('./contenders/client.ts')).client,
    importOnly: () =>
      Promise.all([
        import('@modelcontextprotocol/client'),
        import('@modelcontextprotocol/client/stdio'),
      ]),
  },
  sdkV1: {
    title: 'SDK v1',
    load: async () => (await import('./contenders/sdk-v1.ts')).sdkV1,
    importOnly: () =>
      Promise.all([
        import('@modelcontextprotocol/sdk/client/index.js'),
        import('@modelcontextprotocol/sdk/client/stdio.js'),
        import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      ]),
  },
  troupe: {
    title: 'mcp-troupe',
    load: async () => (await import('./contenders/troupe.ts')).troupe,
    importOnly: () => import('../../src/index.ts'),
  },
};

export function entryOf(name: string): Entry {
  const entry = entries[name === control ? baseline : name];
  if (entry === undefined) throw new Error(`There is no contender ${name}.`);
  return entry;
}
