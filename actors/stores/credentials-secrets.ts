/**
 * Where the secrets of stored credentials are: in their records, sealed or not, or with the host.
 */

import type { Clock } from '../../src/domain/clock.ts';
import type { HostCredentials } from '../../src/domain/host/credentials.ts';
import { withinTime } from '../host/time-limit.ts';
import type { Sealer } from './credentials-keychain.ts';
import {
  type CredentialHead,
  type CredentialRecord,
  CredentialStoreError,
  credentialIn,
  headOf,
  hostValueOf,
  joined,
  maxRecordBytes,
  type SealedSecrets,
  type StoredCredential,
  secretsIn,
  secretsOf,
} from './credentials-record.ts';

type Report = (key: string, message: string | undefined) => void;

type Content = NonNullable<CredentialRecord['content']>;

/** What is stored under a key. */
export interface Current {
  /** 0 if there has never been a credential. */
  readonly generation: number;
  readonly credential?: StoredCredential;
  /** Whether there is a credential that cannot be read now. */
  readonly isHidden?: true;
}

export interface Secrets {
  /** Joins a record with its secrets. */
  join(key: string, record: CredentialRecord | undefined): Promise<Current>;
  /** Stores the secrets, or returns them for the record. */
  store(key: string, credential: StoredCredential): Promise<Content['secrets']>;
  /** Removes what is not in the record. */
  remove(key: string): Promise<void>;
  /** Returns the generation that is stored apart from the record, or 0. Never rejects. */
  generationApart(key: string): Promise<number>;
}

export const lockedAway =
  'the stored login is sealed with a key in the keychain, which is locked or absent; unlock the keychain, or log in again';
const problems = {
  lost: 'the stored login is sealed with a key that is no longer in the keychain; log in again',
  damaged: 'the stored login does not match its seal; log in again',
} as const;

/** Keeps secrets in their records, sealed if there is a keychain. */
export function secretsInRecords(sealer: Sealer | undefined, report: Report): Secrets {
  async function unsealed(
    key: string,
    generation: number,
    head: CredentialHead,
    secrets: SealedSecrets,
  ): Promise<Current> {
    const context = contextOf(key, generation, head);
    const opened = await sealer?.open(secrets, context);
    const failure = opened === undefined ? 'unavailable' : reasonOf(opened);
    if (failure === 'unavailable') {
      report(key, lockedAway);
      return { generation, isHidden: true };
    }
    const known = opened !== undefined && 'text' in opened ? secretsIn(opened.text) : undefined;
    report(key, known === undefined ? problems[failure] : undefined);
    if (known === undefined) return { generation };
    return { generation, credential: joined(head, generation, known) };
  }

  return {
    async join(key, record) {
      if (record?.content === undefined) return { generation: record?.generation ?? 0 };
      const { generation, content } = record;
      const { head, secrets } = content;
      switch (secrets.in) {
        case 'file':
          return { generation, credential: joined(head, generation, secrets.value) };
        case 'keychain':
          return unsealed(key, generation, head, secrets);
        case 'host':
          // Written by a run with a host's store.
          return { generation };
      }
    },
    store: (key, credential) => {
      const value = secretsOf(credential);
      const context = contextOf(key, credential.generation, headOf(credential));
      const sealed = sealer?.seal(JSON.stringify(value), context);
      return Promise.resolve(sealed ?? { in: 'file', value });
    },
    remove: () => Promise.resolve(),
    generationApart: () => Promise.resolve(0),
  };
}

type Opened = Awaited<ReturnType<Sealer['open']>>;

/** Why secrets cannot be used. Those that match their seal, but have another form, are damaged. */
function reasonOf(opened: Opened): 'unavailable' | 'lost' | 'damaged' {
  return 'failure' in opened ? opened.failure : 'damaged';
}

/** What a seal is bound to: sealed secrets are worth nothing in another record. */
function contextOf(key: string, generation: number, head: CredentialHead): string {
  return JSON.stringify([key, generation, head.issuer, head.scope, head.expiresAtMs]);
}

const longestHostMs = 10_000;
const damagedAtHost = "the value in the host's credential store is damaged; log in again";

/** Keeps secrets with the host. */
export function secretsAtHost(host: HostCredentials, clock: Clock, report: Report): Secrets {
  /** Asks the host, whose errors may contain secrets. */
  async function asked<Result>(verb: string, ask: () => Promise<Result>): Promise<Result> {
    const answer = ask().then(
      (result) => ({ result }),
      () => 'failed' as const,
    );
    const inTime = await withinTime(clock, longestHostMs, answer);
    if (typeof inTime === 'object') return inTime.result;
    const why = inTime ?? `did not answer within ${longestHostMs / 1_000} seconds`;
    const code = inTime === undefined ? 'ETIMEDOUT' : 'EIO';
    const message = `the host's credential store cannot ${verb} a login: it ${why}; try again`;
    throw new CredentialStoreError(code, message);
  }

  return {
    async join(key, record) {
      const generation = record?.generation ?? 0;
      const value = await asked('read', async () => host.get(key));
      const credential = value === undefined ? undefined : credentialIn(key, value);
      report(key, value !== undefined && credential === undefined ? damagedAtHost : undefined);
      if (credential === undefined) return { generation };
      // A deletion that the host missed.
      const isDeleted = record !== undefined && record.content === undefined;
      if (isDeleted && generation >= credential.generation) return { generation };
      // After a save that was interrupted, the record is older.
      const latest = Math.max(generation, credential.generation);
      return { generation: latest, credential: { ...credential, generation: latest } };
    },
    async store(key, credential) {
      const value = hostValueOf(credential);
      if (Buffer.byteLength(value) > maxRecordBytes)
        throw new CredentialStoreError('EFBIG', 'the login is larger than 256 KB');
      await asked('save', async () => host.set(key, value));
      return { in: 'host' };
    },
    remove: (key) => asked('remove', async () => host.delete(key)),
    async generationApart(key) {
      // A host that fails is reported to the next reader.
      const value = await asked('read', async () => host.get(key)).catch(() => undefined);
      return value === undefined ? 0 : (credentialIn(key, value)?.generation ?? 0);
    },
  };
}
