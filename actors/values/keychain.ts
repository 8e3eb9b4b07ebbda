/**
 * Reads passwords from the system's keychain through an optional package, which is loaded on first
 * use. Every session rereads its passwords.
 */

import type { Clock } from '../../src/domain/clock.ts';
import { withinTime } from '../host/time-limit.ts';

/** The part of `@napi-rs/keyring` that is used here. */
export interface KeyringPackage {
  readonly AsyncEntry: new (
    service: string,
    account: string,
  ) => { getPassword(signal?: AbortSignal): Promise<string | null | undefined> };
}

/** `isMissing`: reading it again does not help. */
type KeychainAnswer =
  | { readonly value: string }
  | { readonly failure: string; readonly isMissing?: true };

// Time for a user to unlock the keychain; inputs have the same limit for the same reason.
const unlockMs = 120_000;

const missing =
  'is in the keychain, which needs the package @napi-rs/keyring; install it beside mcp-troupe: npm install @napi-rs/keyring';

export function createKeychain(
  clock: Clock,
  load: () => Promise<KeyringPackage> = () => import('@napi-rs/keyring'),
) {
  const closing = new AbortController();

  async function password(service: string, account: string): Promise<KeychainAnswer> {
    let keyring: KeyringPackage;
    try {
      keyring = await load();
    } catch {
      return { failure: missing, isMissing: true };
    }
    try {
      const value = await new keyring.AsyncEntry(service, account).getPassword(closing.signal);
      if (value !== null && value !== undefined) return { value };
      return {
        failure: 'is not in the keychain; store it there, or fix its name',
        isMissing: true,
      };
    } catch {
      return {
        failure:
          'cannot be read, because the keychain refused or is locked; unlock it and restart the server',
      };
    }
  }

  return {
    /** Resolves with the password. Never rejects. */
    async read(service: string, account: string): Promise<KeychainAnswer> {
      const read = password(service, account);
      const answer = await withinTime(clock, unlockMs, read, closing.signal);
      if (answer !== undefined) return answer;
      if (closing.signal.aborted) return { failure: 'is no longer read' };
      return {
        failure: `was not handed out within ${unlockMs / 1_000} seconds; unlock the keychain and restart the server`,
      };
    },
    close: () => closing.abort(),
  };
}
