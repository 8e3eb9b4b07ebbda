/**
 * Stores when servers last demanded a login, for later runs. Nothing in it is secret. A file that is
 * lost or damaged costs one request to a server, so its faults are not reported.
 */

import path from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../src/domain/clock.ts';
import { contentIn, RecordFile } from './record-file.ts';

/** Wall-clock times in milliseconds, by server. */
export type LoginDemands = Readonly<Record<string, number>>;

export interface LoginDemandStore {
  /** The demands of the servers that share a credential. Never rejects. */
  read(key: string): Promise<LoginDemands>;
  /** Replaces them. Never rejects. */
  write(key: string, demands: LoginDemands): Promise<void>;
  /** Resolves after the last write. */
  close(): Promise<void>;
}

const version = 1;
const maxBytes = 256 * 1024;
// A day: a policy may remember longer, but no user expects a demand of yesterday to count.
const longestMs = 86_400_000;
const maxCredentials = 500;

interface StoredDemands {
  readonly version: number;
  readonly demands: Readonly<Record<string, LoginDemands>>;
}

const form = {
  version,
  maxBytes,
  schema: z.strictObject({
    version: z.literal(version),
    demands: z.record(z.string(), z.record(z.string(), z.number())),
  }),
};

export function createLoginDemandStore(stateDir: string, clock: Clock): LoginDemandStore {
  const place = path.join(stateDir, 'login-demands.json');
  const file = new RecordFile<StoredDemands>({ ...form, path: place, clock });
  const isRecent = (atMs: number): boolean => clock.wallNow() - atMs < longestMs;
  return {
    read: async (key) => contentIn(await file.read())?.demands[key] ?? {},
    async write(key, its) {
      await file.update((content) => {
        const others = Object.entries(content?.demands ?? {}).filter(
          ([other, theirs]) => other !== key && Object.values(theirs).some(isRecent),
        );
        const own = Object.keys(its).length === 0 ? [] : [[key, its] as const];
        return { version, demands: Object.fromEntries([...others, ...own].slice(-maxCredentials)) };
      });
    },
    close: () => file.close(),
  };
}
