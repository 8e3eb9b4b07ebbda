/**
 * The contenders, in table order. Each is imported only when it is used, so that the modules
 * of one do not add to the start or the memory of another.
 */

import type { Contender } from './contender.ts';

export interface Entry {
  readonly title: string;
  readonly load: () => Promise<Contender>;
  /** Imports what a host imports, and nothing of the benchmark. */
  readonly importOnly: () => Promise<unknown>;
}

/** The contender that all others are compared with. */
export const baseline = 'sdk1';

/** The contender that the targets are for. */
export const subject = 'troupe';

/** The baseline a second time: without noise, its ratio to the baseline would be 1. */
export const control = 'client again';

export const entries: Readonly<Record<string, Entry>> = {
  sdk1: {
    title: 'SDK 1.x',
    load: async () => (await import('./contenders/sdk1.ts')).sdk1,
    importOnly: () =>
      Promise.all([
        import('@modelcontextprotocol/sdk/client/index.js'),
        import('@modelcontextprotocol/sdk/client/stdio.js'),
        import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      ]),
  },
  client: {
    title: 'client 2.4',
    load: async () => (await import('./contenders/client.ts')).client,
    importOnly: () =>
      Promise.all([
        import('@modelcontextprotocol/client'),
        import('@modelcontextprotocol/client/stdio'),
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
