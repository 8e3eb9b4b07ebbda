/**
 * `mcp-troupe/login`: types, and lists of grants and algorithms, for hosts that show accounts, store
 * logins in a place of their own, or provide headers.
 */

export { type Account, type Grant, grants, type StoredLogin } from './domain/authorization.ts';
export type { HostCredentials } from './domain/host/credentials.ts';
export type { HeadersReason } from './domain/host/headers.ts';
export type { AuthPolicy } from './domain/policy.ts';
export {
  type LogInSpec,
  type OAuthSpec,
  type SecretFile,
  type SignatureAlgorithm,
  signatureAlgorithms,
  type TokenEndpointAuthMethod,
  tokenEndpointAuthMethods,
} from './domain/server-spec.ts';
