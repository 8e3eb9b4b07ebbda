/**
 * Stores the credentials of logins, for all processes of a user.
 *
 * Secrets are in files that only their user can read, sealed with a key from the system's keychain
 * where there is one; with a host's own store, they are there. Without a state folder, they are in
 * memory, or with the host alone.
 *
 * A refresh token may be used once, so one process at a time changes a credential; the others wait
 * and get what it stored. A holder of the lock that was killed is passed over. One that was only
 * taken for dead may still answer: what it brings is stored only if nothing newer is.
 */

import type { HostCredentials } from '../../src/domain/host/credentials.ts';
import type { WatchFiles } from '../files/watcher.ts';
import { withinTime } from '../host/time-limit.ts';
import { createCredentialFiles } from './credentials-files.ts';
import { createSealer, type Sealer, type SealingKeyring } from './credentials-keychain.ts';
import {
  type CredentialRecord,
  type CredentialRecords,
  CredentialStoreError,
  type CredentialSummary,
  credentialKey,
  headOf,
  isCredentialKey,
  recordVersion,
  type StoredCredential,
} from './credentials-record.ts';
import {
  type Current,
  lockedAway,
  type Secrets,
  secretsAtHost,
  secretsInRecords,
} from './credentials-secrets.ts';
import type { StorePorts } from './store-problems.ts';

/**
 * Changes a credential. Undefined leaves it as it is; null deletes it. The signal is aborted after
 * thirty seconds.
 */
export type CredentialWork = (
  current: StoredCredential | undefined,
  signal: AbortSignal,
) => Promise<StoredCredential | null | undefined>;

export interface CredentialStore {
  /** @throws CredentialStoreError if a stored credential may be intact but cannot be read */
  read(key: string): Promise<StoredCredential | undefined>;
  /**
   * Changes a credential while no other process does. Resolves with what is stored then, and only
   * once that is durable. That may be a newer credential of another process, which is never
   * replaced by an older one.
   *
   * @throws CredentialStoreError, before the work begins if the store is not writable; `ELOCKED` if
   * others hold the lock too long; `ETIMEDOUT` if the work takes longer than thirty seconds; the
   * work's errors
   */
  update(key: string, work: CredentialWork): Promise<StoredCredential | undefined>;
  /**
   * Returns whether a credential may be stored, whether or not it can be used. False is certain:
   * listeners are notified if another process stores one later. Simultaneous calls share one
   * listing. Rejects only an invalid key.
   */
  mayHold(key: string): Promise<boolean>;
  /** Lists all stored credentials without their secrets. */
  list(): Promise<readonly CredentialSummary[]>;
  /** Calls the listener once after each change by another process, until the result is called. */
  listen(listener: (key: string) => void): () => void;
  /** Resolves after the last save. Never rejects. */
  close(): Promise<void>;
}

/** Without a state folder, credentials end with the run, or are with the host only. */
export interface CredentialStorePorts extends StorePorts {
  /** The host's own store. Default: files, sealed if there is a keychain. */
  readonly host?: HostCredentials | undefined;
  /** Loads the keychain package; null: none is used. Default: `@napi-rs/keyring`, if installed. */
  readonly keyring?: (() => Promise<SealingKeyring>) | null | undefined;
  /** Watches files. Default: on the disk. */
  readonly watch?: WatchFiles | undefined;
}

export function createCredentialStore(ports: CredentialStorePorts): CredentialStore {
  return new Store(ports);
}

// Thirty seconds: longer than an issuer needs, and than most let a request last.
const longestWorkMs = 30_000;
// As long as one change may keep the others waiting, twice, and time to save.
const turnPatienceMs = 80_000;

class Store implements CredentialStore {
  readonly #ports: CredentialStorePorts;
  readonly #records: CredentialRecords;
  readonly #secrets: Secrets;
  readonly #sealer: Sealer | undefined;
  readonly #listeners = new Set<(key: string) => void>();
  /** Changes in this process, by key: the last one that waits or works. */
  readonly #turns = new Map<string, Promise<boolean>>();
  /** The generations that listeners know. */
  readonly #known = new Map<string, number>();
  /** Credentials that could not be read because the keychain did not answer. */
  readonly #unopened = new Set<string>();
  /** Saves and comparisons run one at a time, so that own saves are not taken for others'. */
  #comparing: Promise<unknown> = Promise.resolve();
  readonly #saving = new Set<Promise<unknown>>();
  /** The stored keys, while they are being listed. */
  #listing: Promise<ReadonlySet<string> | undefined> | undefined;
  /** The listing that will find the next change. */
  #nextScan: Promise<void> | undefined;
  #unwatch: (() => void) | undefined;

  constructor(ports: CredentialStorePorts) {
    const { stateDir, clock, onProblems, host, watch } = ports;
    this.#ports = ports;
    this.#records =
      stateDir === undefined
        ? createCredentialMemory((message) => onProblems([{ file: 'credentials', message }]))
        : createCredentialFiles({ stateDir, clock, onProblems, watch });
    const { keyring: load = () => import('@napi-rs/keyring') } = ports;
    if (stateDir !== undefined && host === undefined && load !== null)
      this.#sealer = createSealer({
        clock,
        load,
        exclusively: (work) => this.#records.locked('sealing-key', 'save', work),
        onUnlocked: () => this.#retryUnopened(),
      });
    const report = this.#records.report.bind(this.#records);
    this.#secrets =
      host === undefined
        ? secretsInRecords(this.#sealer, report)
        : secretsAtHost(host, clock, report);
  }

  async read(key: string): Promise<StoredCredential | undefined> {
    assertKey(key);
    const current = await this.#current(key, await this.#records.read(key));
    return current.credential;
  }

  async update(key: string, work: CredentialWork): Promise<StoredCredential | undefined> {
    assertKey(key);
    return this.#inTurn(key, async () => {
      // Before anything is obtained that must be saved at once: the keychain may ask the user.
      await this.#sealer?.prepare();
      return this.#records.locked(key, 'change', async () => {
        // Also completes the save of a process that was killed.
        const record = await this.#records.locked(key, 'save', () => this.#records.readLocked(key));
        const current = await this.#current(key, record, { mayBeHidden: true });
        const save = (next: StoredCredential | null) => this.#save(key, current.generation, next);
        const next = await this.#limited(work, current, save);
        if (next === undefined) return current.credential;
        return save(next);
      });
    });
  }

  async mayHold(key: string): Promise<boolean> {
    assertKey(key);
    // A host cannot list its keys.
    if (this.#ports.host !== undefined) return true;
    this.#listing ??= this.#keysNow();
    const keys = await this.#listing;
    // A scan may have found it since.
    if (keys?.has(key) !== false || (this.#known.get(key) ?? 0) > 0) return true;
    this.#known.set(key, 0);
    return false;
  }

  /** Undefined if the credentials cannot be listed. */
  async #keysNow(): Promise<ReadonlySet<string> | undefined> {
    try {
      return new Set(await this.#records.keys());
    } catch {
      return undefined;
    } finally {
      this.#listing = undefined;
    }
  }

  async list(): Promise<readonly CredentialSummary[]> {
    const summaries: CredentialSummary[] = [];
    for (const key of await this.#records.keys()) {
      // A file that cannot be read is reported as a problem.
      const record = await this.#records.read(key).catch(() => undefined);
      if (record?.content !== undefined) summaries.push({ key, ...record.content.head });
    }
    return summaries;
  }

  listen(listener: (key: string) => void): () => void {
    // The same function may be added twice.
    const own = (key: string): void => listener(key);
    this.#listeners.add(own);
    if (this.#unwatch === undefined) {
      const unwatchRecords = this.#records.watch(() => this.#scanSoon(false));
      const unwatchHost = this.#ports.host?.listen?.((key) => void this.#compareWithHost(key));
      this.#unwatch = () => {
        unwatchRecords();
        unwatchHost?.();
      };
      this.#scanSoon(true);
    }
    return () => {
      this.#listeners.delete(own);
      if (this.#listeners.size === 0) this.#stopWatching();
    };
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    this.#stopWatching();
    this.#sealer?.close();
    // What an issuer answered while closing is saved all the same.
    await Promise.allSettled(this.#saving);
  }

  #stopWatching(): void {
    this.#unwatch?.();
    this.#unwatch = undefined;
  }

  /** Runs one change of a credential at a time. */
  #inTurn<Result>(key: string, work: () => Promise<Result>): Promise<Result> {
    const before = this.#turns.get(key) ?? Promise.resolve(true);
    const turn = withinTime(this.#ports.clock, turnPatienceMs, before).then((isMine) => {
      if (isMine === true) return work();
      throw new CredentialStoreError('ELOCKED', 'this login is being changed; try again');
    });
    // If this one gives up, the next must still wait for the ones before it.
    const settled = Promise.allSettled([before, turn]).then(() => true);
    this.#turns.set(key, settled);
    void settled.then(() => {
      if (this.#turns.get(key) === settled) this.#turns.delete(key);
    });
    return turn;
  }

  /** Waits for the work, but not longer than others can wait. */
  async #limited(
    work: CredentialWork,
    { credential }: Current,
    saveLate: (late: StoredCredential | null) => Promise<unknown>,
  ): Promise<StoredCredential | null | undefined> {
    const limit = new AbortController();
    const begin = async () => ({ next: await work(credential, limit.signal) });
    const answer = begin();
    const inTime = await withinTime(this.#ports.clock, longestWorkMs, answer);
    if (inTime !== undefined) return inTime.next;
    limit.abort();
    // A token that was obtained after all is saved, unless another process was faster.
    const save = async (): Promise<void> => {
      const { next } = await answer;
      if (next !== undefined) await saveLate(next);
    };
    save().catch(() => undefined);
    const message = `the login was not renewed within ${longestWorkMs / 1_000} seconds; try again`;
    throw new CredentialStoreError('ETIMEDOUT', message);
  }

  /** Saves a credential unless another than the expected generation is stored. */
  #save(
    key: string,
    base: number,
    next: StoredCredential | null,
  ): Promise<StoredCredential | undefined> {
    const saving = this.#records.locked(key, 'save', async () => {
      const record = await this.#records.readLocked(key);
      const current = await this.#current(key, record, { mayBeHidden: true });
      if (current.generation !== base) return current.credential;
      // It was never stored, or is deleted already.
      if (next === null && record?.content === undefined && current.credential === undefined) {
        await this.#secrets.remove(key);
        return undefined;
      }
      const saved = next === null ? undefined : { ...next, generation: base + 1 };
      // A host may report the change while it saves.
      this.#known.set(key, base + 1);
      try {
        await this.#alone(() => this.#write(key, base + 1, saved));
      } catch (error) {
        this.#known.set(key, base);
        throw error;
      }
      return saved;
    });
    this.#saving.add(saving);
    const forget = (): void => void this.#saving.delete(saving);
    saving.then(forget, forget);
    return saving;
  }

  async #write(
    key: string,
    generation: number,
    credential: StoredCredential | undefined,
  ): Promise<void> {
    if (credential === undefined) {
      // First the record: what is left with a host after a crash counts as deleted.
      await this.#records.write(key, { version: recordVersion, generation });
      await this.#secrets.remove(key);
      return;
    }
    if (credentialKey(credential.id) !== key)
      throw new TypeError('a credential can only be stored under its own key');
    const content = {
      head: headOf(credential),
      secrets: await this.#secrets.store(key, credential),
    };
    await this.#records.write(key, { version: recordVersion, generation, content });
  }

  /**
   * Joins a record with its secrets.
   *
   * @param options.mayBeHidden - whether secrets behind a locked keychain count as absent, so that
   * they can be replaced; otherwise they are an error, since a login exists
   */
  async #current(
    key: string,
    record: CredentialRecord | undefined,
    { mayBeHidden = false } = {},
  ): Promise<Current> {
    const current = await this.#secrets.join(key, record);
    if (current.isHidden === true) {
      this.#unopened.add(key);
      if (!mayBeHidden) throw new CredentialStoreError('EACCES', lockedAway);
    }
    if (!this.#known.has(key) || this.#listeners.size === 0)
      this.#known.set(key, current.generation);
    return current;
  }

  #alone<Result>(work: () => Promise<Result>): Promise<Result> {
    const done = this.#comparing.then(work);
    this.#comparing = done.catch(() => undefined);
    return done;
  }

  /** @param isStart - whether a credential that has not been read here yet is no news */
  #scanSoon(isStart: boolean): void {
    if (this.#nextScan !== undefined) return;
    this.#nextScan = this.#alone(async () => {
      this.#nextScan = undefined;
      for (const key of await this.#records.keys()) {
        const generation = await this.#records.generationOf(key);
        if (generation !== undefined) this.#compare(key, generation, isStart);
      }
    }).catch(() => undefined);
  }

  async #compareWithHost(key: string): Promise<void> {
    if (!isCredentialKey(key)) return;
    const stored = (await this.#records.generationOf(key)) ?? 0;
    this.#compare(key, Math.max(stored, await this.#secrets.generationApart(key)), false);
  }

  #compare(key: string, generation: number, isStart: boolean): void {
    const known = this.#known.get(key);
    this.#known.set(key, generation);
    if (known === generation || (known === undefined && isStart)) return;
    this.#notify(key);
  }

  #retryUnopened(): void {
    const keys = [...this.#unopened];
    this.#unopened.clear();
    for (const key of keys) this.#notify(key);
  }

  #notify(key: string): void {
    for (const listener of [...this.#listeners]) listener(key);
  }
}

function assertKey(key: string): void {
  if (!isCredentialKey(key)) throw new TypeError('a credential key has 43 characters');
}

/** Creates records in memory, for one process. */
function createCredentialMemory(onProblem: (message: string) => void): CredentialRecords {
  const records = new Map<string, CredentialRecord>();
  const read = (key: string) => Promise.resolve(records.get(key));
  return {
    read,
    readLocked: read,
    generationOf: (key) => Promise.resolve(records.get(key)?.generation),
    write: async (key, record) => void records.set(key, record),
    keys: () => Promise.resolve([...records.keys()].toSorted()),
    // The store changes a credential once at a time, and no other process sees these.
    locked: (_, _1, work) => work(),
    watch: () => () => {},
    report: (_, message) => {
      if (message !== undefined) onProblem(message);
    },
  };
}
