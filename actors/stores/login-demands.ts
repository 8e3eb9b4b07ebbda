/**
 * Stores when servers last demanded a login, for later runs. Nothing in it is secret. A file that is
 * lost or damaged costs one request to a server, so its faults are not reported.
 */

import path from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../src/domain/clock.ts';
import { replaceWhole } from '../files/file-system.ts';
import { readPrivateJson } from '../files/private-file.ts';
import { withFileLock } from './file-lock.ts';

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

const schema = z.strictObject({
  version: z.literal(version),
  demands: z.record(z.string(), z.record(z.string(), z.number())),
});

export function createLoginDemandStore(stateDir: string, clock: Clock): LoginDemandStore {
  const file = path.join(stateDir, 'login-demands.json');
  /** Writes run one after another. */
  let writing: Promise<unknown> = Promise.resolve();

  async function all(): Promise<Readonly<Record<string, LoginDemands>>> {
    const reading = await readPrivateJson(file, { maxBytes, version, schema });
    return 'value' in reading && reading.value !== undefined ? reading.value.demands : {};
  }

  const isRecent = (atMs: number): boolean => clock.wallNow() - atMs < longestMs;

  async function replace(key: string, demands: LoginDemands): Promise<void> {
    const others = Object.entries(await all()).filter(
      ([each, its]) => each !== key && Object.values(its).some(isRecent),
    );
    const own = Object.keys(demands).length === 0 ? [] : [[key, demands] as const];
    const kept = Object.fromEntries([...others, ...own].slice(-maxCredentials));
    await replaceWhole(file, `${JSON.stringify({ version, demands: kept }, undefined, 1)}\n`);
  }

  return {
    async read(key) {
      await writing;
      return (await all())[key] ?? {};
    },
    write(key, demands) {
      writing = writing
        .then(() => withFileLock(file, clock, () => replace(key, demands)))
        .catch(() => undefined);
      return writing.then(() => undefined);
    },
    async close() {
      await writing;
    },
  };
}
