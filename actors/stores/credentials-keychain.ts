/**
 * Seals secrets with a key in the system's keychain.
 *
 * The keychain holds one random key of 32 bytes; what it seals is in the state folder. Keychains are
 * no place for the tokens themselves: Windows limits an entry to 2,560 bytes, which many tokens
 * exceed; no keychain says when an entry is on disk, and a rotated token that is lost in a crash
 * cannot be obtained again; a keychain and the folder cannot change at once; and every entry may
 * ask the user for permission.
 *
 * On Linux only a Secret Service counts. The kernel's keyring, to which the package would fall back,
 * forgets its keys when the machine restarts.
 */

import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto';
import type { Clock } from '../../src/domain/clock.ts';
import { withinTime } from '../host/time-limit.ts';
import type { SealedSecrets } from './credentials-record.ts';

/** The part of `@napi-rs/keyring` that is used here. */
export interface SealingKeyring {
  readonly AsyncEntry: new (
    service: string,
    account: string,
    options?: { linux: { store: 'secret-service' } },
  ) => {
    getPassword(signal?: AbortSignal): Promise<string | null | undefined>;
    setPassword(password: string, signal?: AbortSignal): Promise<unknown>;
  };
}

export interface SealerPorts {
  readonly clock: Clock;
  readonly load: () => Promise<SealingKeyring>;
  /** Runs the work while no other process creates a key. */
  readonly exclusively: <Result>(work: () => Promise<Result>) => Promise<Result>;
  /** Called when the keychain answers after all. */
  readonly onUnlocked: () => void;
}

export type Sealer = Pick<KeychainSealer, keyof KeychainSealer>;

export function createSealer(ports: SealerPorts): Sealer {
  return new KeychainSealer(ports);
}

const service = 'mcp-troupe';
const account = 'credentials';
const options = { linux: { store: 'secret-service' } } as const;
// A keychain answers within milliseconds, unless it asks the user. The answer then counts later;
// meanwhile logins are saved in files, and those that are sealed cannot be read.
const patienceMs = 10_000;
const keyBytes = 32;
const nameLength = 16;
const keyPattern = /^[\da-f]{64}$/u;

const cipher = 'aes-256-gcm';
const nonceBytes = 12;
const tagBytes = 16;

class KeychainSealer {
  readonly #ports: SealerPorts;
  readonly #closing = new AbortController();
  #key: Buffer | undefined;
  #turn: Promise<unknown> = Promise.resolve();
  /** Whether the keychain has not answered in time; it probably waits for the user. */
  #isSlow = false;

  constructor(ports: SealerPorts) {
    this.#ports = ports;
  }

  /** Obtains the key, or creates it; resolves with whether that worked. Never rejects. */
  async prepare(): Promise<boolean> {
    return (await this.#keyOf({ mayCreate: true })) !== undefined;
  }

  /** Seals a string, if `prepare` worked. The context must be the same when it is opened. */
  seal(text: string, context: string): SealedSecrets | undefined {
    if (this.#key === undefined) return undefined;
    const nonce = randomBytes(nonceBytes);
    const sealing = createCipheriv(cipher, this.#key, nonce).setAAD(Buffer.from(context));
    const sealed = [sealing.update(text, 'utf8'), sealing.final(), sealing.getAuthTag()];
    return {
      in: 'keychain',
      sealedBy: nameOf(this.#key),
      nonce: nonce.toString('base64'),
      text: Buffer.concat(sealed).toString('base64'),
    };
  }

  /** Never rejects. */
  async open(
    { sealedBy, nonce, text }: SealedSecrets,
    context: string,
  ): Promise<{ readonly text: string } | { readonly failure: 'unavailable' | 'lost' | 'damaged' }> {
    let key = await this.#keyOf({ mayCreate: false });
    if (key !== undefined && nameOf(key) !== sealedBy) {
      // Another process may have replaced it.
      this.#key = undefined;
      key = await this.#keyOf({ mayCreate: false });
    }
    if (key === undefined) return { failure: 'unavailable' };
    if (nameOf(key) !== sealedBy) return { failure: 'lost' };
    try {
      const sealed = Buffer.from(text, 'base64');
      const opening = createDecipheriv(cipher, key, Buffer.from(nonce, 'base64'), {
        authTagLength: tagBytes,
      });
      opening.setAAD(Buffer.from(context)).setAuthTag(sealed.subarray(-tagBytes));
      const parts = [opening.update(sealed.subarray(0, -tagBytes)), opening.final()];
      return { text: Buffer.concat(parts).toString('utf8') };
    } catch {
      return { failure: 'damaged' };
    }
  }

  close(): void {
    this.#closing.abort();
  }

  /** Waits for the keychain, but not long. Asks it once at a time, since it may ask the user. */
  async #keyOf(needs: { readonly mayCreate: boolean }): Promise<Buffer | undefined> {
    if (this.#key !== undefined || this.#isSlow) return this.#key;
    let isAnswered = false;
    const answer = this.#turn.then(async () => {
      this.#key ??= await this.#ask(needs).catch(() => undefined);
      isAnswered = true;
      return this.#key;
    });
    this.#turn = answer;
    const { signal } = this.#closing;
    const key = await withinTime(this.#ports.clock, patienceMs, answer, signal);
    if (isAnswered || signal.aborted || this.#isSlow) return key;
    this.#isSlow = true;
    void answer.then((late) => {
      this.#isSlow = false;
      if (late !== undefined && !signal.aborted) this.#ports.onUnlocked();
    });
    return undefined;
  }

  async #ask({ mayCreate }: { readonly mayCreate: boolean }): Promise<Buffer | undefined> {
    const { load, exclusively } = this.#ports;
    const { AsyncEntry } = await load();
    const { signal } = this.#closing;
    const entry = new AsyncEntry(service, account, options);
    const known = keyIn(await entry.getPassword(signal));
    if (known !== undefined || !mayCreate) return known;
    return exclusively(async () => {
      // Another process may have created it first.
      const other = keyIn(await entry.getPassword(signal));
      if (other !== undefined) return other;
      await entry.setPassword(randomBytes(keyBytes).toString('hex'), signal);
      return keyIn(await entry.getPassword(signal));
    });
  }
}

function keyIn(text: string | null | undefined): Buffer | undefined {
  return keyPattern.test(text ?? '') ? Buffer.from(text ?? '', 'hex') : undefined;
}

function nameOf(key: Buffer): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, nameLength);
}
