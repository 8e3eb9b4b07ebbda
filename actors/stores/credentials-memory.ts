/** Credentials' records in memory, for one process. */

import type { CredentialRecord, CredentialRecords } from './credentials-record.ts';

export function createCredentialMemory(onProblem: (message: string) => void): CredentialRecords {
  const records = new Map<string, CredentialRecord>();
  const read = (key: string) => Promise.resolve(records.get(key));
  return {
    read,
    readLocked: read,
    generationOf: (key) => Promise.resolve(records.get(key)?.generation),
    write: (key, record) => {
      records.set(key, record);
      return Promise.resolve();
    },
    keys: () => Promise.resolve([...records.keys()].toSorted()),
    // The store changes a credential once at a time, and no other process sees these.
    locked: (_, _1, work) => work(),
    watch: () => () => {},
    report: (_, message) => {
      if (message !== undefined) onProblem(message);
    },
  };
}
