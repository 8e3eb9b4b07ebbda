/**
 * Reads passwords from the system's keychain, through an optional package. The package is loaded at
 * the first use, and the password is read again for every session.
 */

import type { Clock } from '../../src/domain/clock.ts';
import { withinTime } from '../host/time-limit.ts';

/** What we use of `@napi-rs/keyring`. */
export interface KeyringPackage {
  readonly AsyncEntry: new (
    service: string,
    account: string,
  ) => { getPassword(signal?: AbortSignal): Promise<string | null | undefined> };
}

export type KeychainAnswer = { readonly value: string } | { readonly failure: string };

export interface Keychain {
  /** Never rejects. */
  read(service: string, account: string): Promise<KeychainAnswer>;
  close(): void;
}

export interface KeychainPorts {
  readonly clock: Clock;
  /** Default: the package. */
  readonly load?: (() => Promise<KeyringPackage>) | undefined;
}

// As long as a user may take to unlock it; an input has the same limit for the same reason.
const unlockMs = 120_000;

const missing =
  'is in the keychain, which needs the package @napi-rs/keyring; install it beside mcp-troupe: npm install @napi-rs/keyring';

export function createKeychain({
  clock,
  load = () => import('@napi-rs/keyring'),
}: KeychainPorts): Keychain {
  const closing = new AbortController();

  async function password(service: string, account: string): Promise<KeychainAnswer> {
    let keyring: KeyringPackage;
    try {
      keyring = await load();
    } catch {
      return { failure: missing };
    }
    try {
      const value = await new keyring.AsyncEntry(service, account).getPassword(closing.signal);
      if (value !== null && value !== undefined) return { value };
      return { failure: 'is not in the keychain; store it there, or fix its name' };
    } catch {
      return {
        failure:
          'cannot be read, because the keychain refused or is locked; unlock it and restart the server',
      };
    }
  }

  return {
    async read(service, account) {
      const read = password(service, account);
      const answer = await withinTime(clock, unlockMs, read, closing.signal);
      if (answer !== undefined) return answer;
      if (closing.signal.aborted) return { failure: 'is not read any more' };
      return {
        failure: `was not handed out within ${unlockMs / 1_000} seconds; unlock the keychain and restart the server`,
      };
    },
    close: () => closing.abort(),
  };
}
