/** A stored credential: its key, and its form on disk. */

import { createHash, type JsonWebKey } from 'node:crypto';
import type { OAuthClientInformationMixed } from '@modelcontextprotocol/client';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import type { CredentialId } from '../../src/domain/authorization.ts';

/** A login with its secrets. Never leaves the actors that send or renew it. */
export interface StoredCredential {
  readonly id: CredentialId;
  /**
   * Counts the writes of this credential by any process, also across deletions. The store numbers
   * what it writes; a number from a caller is ignored.
   */
  readonly generation: number;
  /** Only this issuer gets the refresh token. */
  readonly issuer: string;
  /** With the registration's redirect URI. */
  readonly client: OAuthClientInformationMixed;
  readonly tokens: {
    readonly accessToken: string;
    readonly tokenType: string;
    readonly refreshToken?: string;
    readonly scope?: string;
    /** Wall clock. */
    readonly expiresAtMs?: number;
  };
  readonly dpopKey?: JsonWebKey;
  /** Wall clock. */
  readonly obtainedAtMs: number;
}

/** A credential without its secrets. */
export interface CredentialSummary {
  readonly key: string;
  readonly id: CredentialId;
  readonly issuer: string;
  readonly scope?: string;
  readonly expiresAtMs?: number;
  /** Whether it can be renewed without the user. Only shown, so the seal does not cover it. */
  readonly isRenewable?: boolean;
}

/** Returns a credential's key: a hash, so that it may be a file name and appear in messages. */
export function credentialKey({ resource, account, client, reach }: CredentialId): string {
  const text = canonicalize({ resource, account, client, reach }) ?? '';
  return createHash('sha256').update(text).digest('base64url');
}

const keyPattern = /^[\w-]{43}$/u;

/** Returns whether a string can be a key. A file name that is one contains no separators. */
export function isCredentialKey(text: string): boolean {
  return keyPattern.test(text);
}

// A client, two tokens and a key take a few kilobytes; tokens of 64 KB have been seen in the wild.
export const maxRecordBytes = 256 * 1024;
/** The version of the form on disk. */
export const recordVersion = 1;

const text = z.string();

const secretsSchema = z.object({
  client: z.looseObject({ client_id: text }),
  tokens: z.looseObject({
    accessToken: text,
    tokenType: text,
    refreshToken: text.optional(),
    scope: text.optional(),
    expiresAtMs: z.number().optional(),
  }),
  dpopKey: z.looseObject({}).optional(),
  obtainedAtMs: z.number(),
});
export type CredentialSecrets = Pick<
  StoredCredential,
  'client' | 'tokens' | 'dpopKey' | 'obtainedAtMs'
>;

const headSchema = z.strictObject({
  id: z.strictObject({
    resource: text,
    account: text.nullable(),
    client: text.nullable(),
    reach: text.nullable(),
  }),
  issuer: text,
  scope: text.optional(),
  expiresAtMs: z.number().optional(),
  isRenewable: z.boolean().optional(),
});
export type CredentialHead = Omit<CredentialSummary, 'key'>;

const sealedSchema = z.strictObject({
  in: z.literal('keychain'),
  /** Digest of the key in the keychain. */
  sealedBy: text,
  nonce: text,
  text,
});
/** Secrets that only the holder of a key in the keychain can read. */
export type SealedSecrets = z.infer<typeof sealedSchema>;

const contentSchema = z.strictObject({
  head: headSchema,
  secrets: z.discriminatedUnion('in', [
    z.strictObject({ in: z.literal('file'), value: secretsSchema }),
    sealedSchema,
    z.strictObject({ in: z.literal('host') }),
  ]),
});

export const recordSchema = z.strictObject({
  version: z.literal(recordVersion),
  generation: z.int().min(1),
  /** Absent after the credential was deleted: the count of its generations goes on. */
  content: contentSchema.optional(),
});

/** What a state folder holds of one credential. */
export interface CredentialRecord {
  readonly version: typeof recordVersion;
  readonly generation: number;
  readonly content?: {
    readonly head: CredentialHead;
    readonly secrets:
      | { readonly in: 'file'; readonly value: CredentialSecrets }
      | SealedSecrets
      | { readonly in: 'host' };
  };
}

/** What a host stores of one credential. */
const hostValueSchema = z.strictObject({
  version: z.literal(recordVersion),
  generation: z.int().min(1),
  head: headSchema,
  secrets: secretsSchema,
});

export function headOf({ id, issuer, tokens }: StoredCredential): CredentialHead {
  const { resource, account, client, reach } = id;
  return {
    id: { resource, account, client, reach },
    issuer,
    ...(tokens.scope !== undefined && { scope: tokens.scope }),
    ...(tokens.expiresAtMs !== undefined && { expiresAtMs: tokens.expiresAtMs }),
    ...(tokens.refreshToken !== undefined && { isRenewable: true }),
  };
}

export function secretsOf(credential: StoredCredential): CredentialSecrets {
  const { client, tokens, dpopKey, obtainedAtMs } = credential;
  return { client, tokens, obtainedAtMs, ...(dpopKey !== undefined && { dpopKey }) };
}

/** Reads secrets from their text; returns undefined if they are damaged. */
export function secretsIn(json: string): CredentialSecrets | undefined {
  const parsed = secretsSchema.safeParse(parsedOrNothing(json));
  return parsed.success ? (parsed.data as CredentialSecrets) : undefined;
}

export function hostValueOf(credential: StoredCredential): string {
  const { generation } = credential;
  const value = { head: headOf(credential), secrets: secretsOf(credential) };
  return JSON.stringify({ version: recordVersion, generation, ...value });
}

/** Reads a host's value; returns undefined if it is damaged or belongs to another key. */
export function credentialIn(key: string, value: string): StoredCredential | undefined {
  const parsed = hostValueSchema.safeParse(parsedOrNothing(value));
  if (!parsed.success || credentialKey(parsed.data.head.id) !== key) return undefined;
  const { generation, head, secrets } = parsed.data;
  return joined(head as CredentialHead, generation, secrets as CredentialSecrets);
}

export function joined(
  { id, issuer }: CredentialHead,
  generation: number,
  secrets: CredentialSecrets,
): StoredCredential {
  return { id, issuer, generation, ...secrets };
}

// The parser's message would quote the text.
function parsedOrNothing(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return undefined;
  }
}

/** A lock for one credential: held while it is changed, or only while a change is saved. */
export type LockKind = 'change' | 'save';

/** Where the records are. Problems are reported, and their records count as absent. */
export interface CredentialRecords {
  /** @throws CredentialStoreError if the record may be intact but cannot be read */
  read(key: string): Promise<CredentialRecord | undefined>;
  /** Returns a record's generation without waiting for a lock; undefined if it is not readable. */
  generationOf(key: string): Promise<number | undefined>;
  /** Reads while this process holds the `save` lock; adopts what a killed process left. */
  readLocked(key: string): Promise<CredentialRecord | undefined>;
  /** Resolves once the record is durable. The caller holds the `save` lock. */
  write(key: string, record: CredentialRecord): Promise<void>;
  keys(): Promise<readonly string[]>;
  /** Runs the work while no other process holds the lock. */
  locked<Result>(key: string, kind: LockKind, work: () => Promise<Result>): Promise<Result>;
  /** Calls back when any record may have changed, until the returned function is called. */
  watch(changed: () => void): () => void;
  report(key: string, message: string | undefined): void;
}

/** A credential could not be read or written. The message contains no secret. */
export class CredentialStoreError extends Error {
  override readonly name = 'CredentialStoreError';
  /** `ELOCKED`, `ETIMEDOUT`, or the system's code. */
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}
