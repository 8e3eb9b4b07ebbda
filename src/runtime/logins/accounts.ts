/** Lists stored logins for users, and finds those that a user names. */

import {
  type CredentialSummary,
  credentialKey,
} from '../../../actors/stores/credentials-record.ts';
import { asHttp, canonicalResource } from '../../../actors/transports/http/addresses.ts';
import type { RemoteEndpoint } from '../../../actors/transports/http/proxy-and-tls.ts';
import { SettingError } from '../../../actors/values/setting-error.ts';
import type { Account, CredentialId, StoredLogin } from '../../domain/authorization.ts';
import { defined } from '../../domain/data/defined.ts';
import { printableLine } from '../../domain/data/printable.ts';
import type { LoginFacts } from '../../domain/host/inspection.ts';
import type { ServerSpec } from '../../domain/server-spec.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import type { Variables } from '../../policies/expand-variables.ts';
import { digestOf, hasReferences } from './client-digest.ts';

/** What is known of a stored login beyond its record. */
interface KnownOfLogin {
  /** The names of the servers that use it. */
  readonly servers: Iterable<string>;
  /** Why the issuer refused to renew its token; undefined if it did not. */
  readonly renewalRefusal: string | undefined;
}

/** @param knownOf - what is known of a login, by its key */
export function accountsOf(
  list: readonly CredentialSummary[],
  nowMs: number,
  knownOf: (key: string) => KnownOfLogin,
): readonly Account[] {
  return list.map(({ key, id, issuer, scope, expiresAtMs, isRenewable = false }) => {
    const { servers, renewalRefusal } = knownOf(key);
    return {
      servers: [...new Set(servers)].toSorted(),
      resource: id.resource,
      issuer,
      scopes: scope?.split(' ') ?? [],
      expired: expiresAtMs !== undefined && expiresAtMs <= nowMs,
      renewable: isRenewable && renewalRefusal === undefined,
      ...defined({
        account: id.account ?? undefined,
        expiresAt: expiresAtMs === undefined ? undefined : new Date(expiresAtMs).toISOString(),
        renewalRefusal,
      }),
    };
  });
}

/**
 * Returns the key of a server's login if the settings determine it without resolving values, as
 * most do; otherwise undefined. Starts no server.
 */
export function plainKeyOf(spec: ServerSpec | undefined): string | undefined {
  if (spec === undefined || !('url' in spec)) return undefined;
  const { url, account, oauth, proxy, tls, values, headers } = spec;
  if (Object.keys(headers).some((name) => name.toLowerCase() === 'authorization')) return undefined;
  if (oauth === false || (oauth !== undefined && hasReferences(oauth))) return undefined;
  const isPlain = [proxy, tls, values].every((each) => each === undefined);
  if (!isPlain || `${url}${account}`.includes('${')) return undefined;
  if (!URL.canParse(url)) return undefined;
  const resource = canonicalResource(asHttp(new URL(url)));
  const client = oauth === undefined ? null : digestOf(oauth);
  return credentialKey({ resource, account: account ?? null, client, reach: null });
}

/**
 * Returns how to reach a login whose server is unknown. The server's own proxy and certificates are
 * lost with it; those of the environment apply to every server.
 *
 * @throws TroupeError `USAGE` that names the invalid variable
 */
export async function endpointOf(
  { resource, reach }: CredentialId,
  variables: Variables,
): Promise<RemoteEndpoint> {
  const endpoint = { url: new URL(resource), headers: {} };
  if (reach !== null) return endpoint;
  const { openEndpoint } = await import('../../../actors/transports/http/proxy-and-tls.ts');
  try {
    return await openEndpoint({ ...endpoint, reach: { variables } }, () => undefined);
  } catch (error) {
    if (!(error instanceof SettingError)) throw error;
    throw new TroupeError('USAGE', error.message, { cause: error });
  }
}

const longestAddress = 300;

/**
 * Returns the stored logins at an address. Without an account, returns the login that has none, or
 * else the only one.
 *
 * @throws TroupeError `INVALID_ARGUMENTS`, `USAGE`
 */
export function loginsAt(
  list: readonly CredentialSummary[],
  { resource: text, account }: StoredLogin,
): readonly CredentialSummary[] {
  if (!URL.canParse(text)) throw argumentsError('the address of the login is not a URL');
  const resource = canonicalResource(asHttp(new URL(text)));
  const shown = printableLine(resource, longestAddress);
  const there = list.filter(({ id }) => id.resource === resource);
  const names = [...new Set(there.map(({ id }) => id.account))];
  if (account === undefined && names.length > 1 && !names.includes(null)) {
    const choice = names.map((name) => printableLine(name ?? '', longestAddress)).join(', ');
    throw new TroupeError('USAGE', `${shown} has several logins; name the account: ${choice}`, {});
  }
  const wanted = account ?? (names.includes(null) ? null : names[0]);
  const found = there.filter(({ id }) => id.account === wanted);
  if (found.length > 0) return found;
  const whose = account === undefined ? '' : ` for the account ${printableLine(account, 100)}`;
  const message = `no login to ${shown}${whose} is stored; see troupe accounts`;
  throw new TroupeError('USAGE', message, {});
}

/** Returns what the inspection shows about a login. */
export function factsOf({
  id: { resource, account },
  servers,
}: {
  readonly id: CredentialId;
  readonly servers: ReadonlySet<string>;
}): LoginFacts {
  return {
    origin: new URL(resource).origin,
    ...(account !== null && { account }),
    servers: [...servers].toSorted(),
  };
}
