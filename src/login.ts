/**
 * `mcp-troupe/login`: types for hosts that show accounts, store logins in a place of their own, or
 * provide headers. Types only, nothing to run.
 */

export type { Account, StoredLogin } from './domain/authorization.ts';
export type { HostCredentials } from './domain/host/credentials.ts';
export type { HeadersReason } from './domain/host/headers.ts';
export type { AuthPolicy } from './domain/policy.ts';
export type { LogInSpec } from './domain/server-spec.ts';
