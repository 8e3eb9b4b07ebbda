/**
 * The contenders, in table order. Each is imported only when it is used, so that the modules
 * of one do not add to the start or the memory of another.
 */

import type { Contender } from './contender.ts';
import { importPublished } from './published.ts';

export interface Entry {
  readonly title: string;
  readonly load: () => Promise<Contender>;
  /** Imports what a host imports, and nothing of the benchmark. */
  readonly importOnly: () => Promise<unknown>;
  /** The package and version to install before the first use; nothing of it is in the lock file. */
  readonly install?: string;
}

/** The contender that all others are compared with. */
export const baseline = 'sdk1';

/** The contender that the targets are for. */
export const subject = 'troupe';

/** The baseline a second time: without noise, its ratio to the baseline would be 1. */
export const control = 'sdk1 again';

const importAll = (...names: readonly string[]): Promise<unknown> =>
  Promise.all(names.map((name) => import(name)));

export const entries: Readonly<Record<string, Entry>> = {
  sdk1: {
    title: 'SDK 1.x',
    load: async () => (await import('./contenders/sdk1.ts')).sdk1,
    importOnly: () =>
      importAll(
        '@modelcontextprotocol/sdk/client/index.js',
        '@modelcontextprotocol/sdk/client/stdio.js',
        '@modelcontextprotocol/sdk/client/streamableHttp.js',
      ),
  },
  troupe: {
    title: 'mcp-troupe',
    load: async () => (await import('./contenders/troupe.ts')).troupe,
    importOnly: importPublished,
  },
  client: {
    title: 'client 2.4',
    load: async () => (await import('./contenders/client.ts')).client,
    importOnly: () =>
      importAll('@modelcontextprotocol/client', '@modelcontextprotocol/client/stdio'),
  },
  mcporter: {
    title: 'mcporter',
    load: async () => (await import('./contenders/mcporter.ts')).mcporter,
    importOnly: () => importAll('mcporter'),
    install: 'mcporter@0.12.3',
  },
  'ai-sdk': {
    title: '@ai-sdk/mcp',
    load: async () => (await import('./contenders/ai-sdk.ts')).aiSdk,
    importOnly: () => importAll('@ai-sdk/mcp', '@ai-sdk/mcp/mcp-stdio'),
    install: '@ai-sdk/mcp@2.0.99',
  },
};

/** The contenders that are only shown beside the two that matter. */
export const peers = Object.keys(entries).filter((name) => ![baseline, subject].includes(name));

export function entryOf(name: string): Entry {
  const entry = entries[name === control ? baseline : name];
  if (entry === undefined) throw new Error(`There is no contender ${name}.`);
  return entry;
}
