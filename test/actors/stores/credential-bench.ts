/** Credentials, places to store them and clocks for the tests of the store. */

import { realpathSync, rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import {
  type CredentialStore,
  type CredentialStorePorts,
  createCredentialStore,
} from '../../../actors/stores/credentials.ts';
import type { SealingKeyring } from '../../../actors/stores/credentials-keychain.ts';
import { credentialKey, type StoredCredential } from '../../../actors/stores/credentials-record.ts';
import type { HostCredentials } from '../../../src/domain/host/credentials.ts';
import type { Problem } from '../../../src/domain/settings.ts';
import { realClock } from '../../../src/runtime/real-clock.ts';
import type { VirtualClock } from '../../../src/testing/virtual-clock.ts';
import { turn } from '../../support/turn.ts';

export const id = { resource: 'https://db.example/mcp', account: null, client: null, reach: null };
export const key = credentialKey(id);
export const secrets = ['ACCESS-SECRET', 'REFRESH-SECRET', 'CLIENT-SECRET', 'KEY-SECRET'];

/** A credential that contains all secrets. */
export function credential(name = '', change: Partial<StoredCredential> = {}): StoredCredential {
  return {
    id,
    generation: 0,
    issuer: 'https://issuer.example',
    client: { client_id: 'client', client_secret: 'CLIENT-SECRET' },
    tokens: {
      accessToken: `ACCESS-SECRET${name}`,
      tokenType: 'Bearer',
      refreshToken: `REFRESH-SECRET${name}`,
      scope: 'read write',
      expiresAtMs: 1_800_000_000_000,
    },
    dpopKey: { kty: 'EC', d: 'KEY-SECRET' },
    obtainedAtMs: 1_700_000_000_000,
    ...change,
  };
}

/** A work that stores a credential. */
export const storing = (name?: string) => () => Promise.resolve(credential(name));

export interface Opened {
  readonly store: CredentialStore;
  readonly messages: () => readonly string[];
  readonly problems: () => readonly Problem[];
}

/** Creates a state folder for each test, and stores that are closed after it. */
export function useStores() {
  let stateDir = '';
  const stores: CredentialStore[] = [];
  beforeEach(async () => {
    stateDir = path.join(realpathSync(await mkdtemp(path.join(tmpdir(), 'credentials-'))), 'state');
  });
  afterEach(async () => {
    await Promise.all(stores.splice(0).map((store) => store.close()));
    rmSync(path.dirname(stateDir), { recursive: true, force: true });
  });
  return {
    stateDir: () => stateDir,
    folder: () => path.join(stateDir, 'credentials'),
    file: () => path.join(stateDir, 'credentials', `${key}.json`),
    /** Default: files that are not sealed. */
    open(ports: Partial<CredentialStorePorts> = {}): Opened {
      let problems: readonly Problem[] = [];
      const store = createCredentialStore({
        clock: realClock,
        stateDir,
        keyring: null,
        onProblems: (list) => {
          problems = list;
        },
        ...ports,
      });
      stores.push(store);
      return {
        store,
        problems: () => problems,
        messages: () => problems.map(({ message }) => message),
      };
    },
  };
}

/** A keychain in memory, which answers when `answer` does. */
export function keychain(answer: () => Promise<void> = () => Promise.resolve()) {
  const entries = new Map<string, string>();
  const opened: unknown[] = [];
  const keyring: SealingKeyring = {
    AsyncEntry: class {
      readonly #name: string;
      constructor(...words: unknown[]) {
        opened.push(words);
        this.#name = words.slice(0, 2).join('/');
      }
      async getPassword() {
        await answer();
        return entries.get(this.#name) ?? null;
      }
      async setPassword(password: string) {
        await answer();
        entries.set(this.#name, password);
      }
    },
  };
  return { entries, opened, load: () => Promise.resolve(keyring) };
}

/** A host's store in memory, which reports all changes. */
export function hostInMemory() {
  const values = new Map<string, string>();
  const listeners = new Set<(changed: string) => void>();
  const tell = (changed: string): void => {
    for (const listener of listeners) listener(changed);
  };
  const host: HostCredentials = {
    get: (name) => values.get(name),
    set: (name, value) => {
      values.set(name, value);
      tell(name);
    },
    delete: (name) => {
      values.delete(name);
      tell(name);
    },
    listen: (listener) => {
      listeners.add(listener);
      return () => {
        listeners.delete(listener);
      };
    },
  };
  return { values, host };
}

/** Resolves with the key of each change that a store reports, in order. */
export function changesOf({ store }: Opened) {
  const changes: string[] = [];
  let wake = (): void => {};
  store.listen((changed) => {
    changes.push(changed);
    wake();
  });
  return {
    changes,
    async next(count: number): Promise<readonly string[]> {
      while (changes.length < count)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      return changes;
    },
  };
}

/** Lets virtual time pass whenever no file is read or written, until the promise settles. */
export async function passTime<Value>(
  clock: VirtualClock,
  promise: Promise<Value>,
): Promise<Value> {
  let isSettled = false;
  const settle = (): void => {
    isSettled = true;
  };
  promise.then(settle, settle);
  while (!isSettled) {
    await turn();
    const isBusy = process
      .getActiveResourcesInfo()
      .some((name) => /^(?:FSReq|CloseReq)/u.test(name));
    if (!isBusy && !isSettled && clock.nextDeadlineMs !== undefined)
      clock.advanceTo(clock.nextDeadlineMs);
  }
  return promise;
}
