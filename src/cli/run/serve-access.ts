/** Who may use a gateway over HTTP: the flags of `troupe serve` that say so, and what they need. */

import type { IssuerKeys } from '../../../actors/authorization/issuer-keys.ts';
import type { Clock } from '../../domain/clock.ts';
import { defined } from '../../domain/data/defined.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { usageError } from '../../domain/user-errors.ts';
import type { CliHost } from '../cli-host.ts';
import { type FlagDefinition, flag } from '../command.ts';
import { gatherText, type ListenAddress } from '../flag-values.ts';

export interface AccessFlags {
  readonly http?: ListenAddress;
  /** False for `--no-auth`; absent for the token. */
  readonly auth?: 'token' | 'oauth' | false;
  readonly issuer?: string;
  readonly audience?: string;
  readonly scope?: readonly string[];
}

/** Hosts that only programs on this machine can reach. */
export const loopbackHosts: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost']);
const wildcardHosts: ReadonlySet<string> = new Set(['0.0.0.0', '::']);

export const accessOptions: readonly FlagDefinition[] = [
  flag(
    '--auth <kind>',
    'who may connect over HTTP: token (default) = clients with the token file; oauth = clients with an access token of --issuer',
    parseKind,
  ),
  flag(
    '--no-auth',
    'accept every program on this machine without a token; only with --http on a loopback address',
  ),
  flag('--issuer <url>', 'the authorization server whose access tokens are accepted', parseIssuer),
  flag(
    '--audience <uri>',
    "the audience of accepted tokens; if it is a web address, also the gateway's public one; default: its URL",
    parseAudience,
  ),
  { ...flag('--scope <name>', 'a scope that tokens must have; repeatable'), parse: gatherScope },
];

/** Whether only the user who started the gateway can be its client, as far as can be known. */
export function isOnlyForOwner({ http, auth = 'token' }: AccessFlags): boolean {
  return http === undefined || (auth === 'token' && loopbackHosts.has(http.host));
}

/** @throws TroupeError `USAGE` for flags that contradict each other */
export function refuseMisuse(flags: AccessFlags): void {
  const why = flags.auth === false ? openMisuse(flags) : (oauthMisuse(flags) ?? tokenMisuse(flags));
  if (why !== undefined) throw usageError(why);
}

function openMisuse({ http, ...others }: AccessFlags): string | undefined {
  if (http === undefined)
    return '--no-auth needs --http; over stdio, only the program that starts it can connect';
  if (!loopbackHosts.has(http.host))
    return `--no-auth would accept the whole network at ${http.host}; leave it out, or listen on 127.0.0.1`;
  return tokenMisuse(others);
}

function tokenMisuse({ http, auth, ...oauth }: AccessFlags): string | undefined {
  if (auth === 'oauth') return undefined;
  const name = (['issuer', 'audience', 'scope'] as const).find((each) => oauth[each]);
  if (name !== undefined) return `--${name} needs --auth oauth; add it, or remove --${name}`;
  if (auth === 'token' && http === undefined)
    return '--auth needs --http; over stdio, only the program that starts it can connect';
  return undefined;
}

function oauthMisuse({ http, auth, issuer, audience }: AccessFlags): string | undefined {
  if (auth !== 'oauth') return undefined;
  if (http === undefined)
    return '--auth oauth needs --http; over stdio, only the program that starts it can connect';
  if (issuer === undefined)
    return '--auth oauth needs --issuer; name the authorization server whose tokens are accepted';
  if (wildcardHosts.has(http.host) && !/^https?:/i.test(audience ?? ''))
    return `--auth oauth at ${http.host} needs --audience with the address that clients use, such as https://tools.example.com/mcp`;
  return undefined;
}

/**
 * Fetches the keys of the issuer, in the way that the environment's proxy and authorities say.
 * @throws TroupeError `USAGE` or `UNAVAILABLE` with what is wrong
 */
export async function issuerKeys(
  issuer: string,
  clock: Clock,
  variables: CliHost['env'],
  note: (line: string) => void,
): Promise<IssuerKeys> {
  const [{ openIssuerKeys }, { openEndpoint }] = await Promise.all([
    import('../../../actors/authorization/issuer-keys.ts'),
    import('../../../actors/transports/http/proxy-and-tls.ts'),
  ]);
  const url = new URL(issuer);
  const endpoint = { url, headers: {}, reach: { variables } };
  const { reach } = await openEndpoint(endpoint, note);
  const opened = await openIssuerKeys(issuer, {
    clock,
    options: defined({ reach }),
    onFailure: ({ message }) =>
      note(`the keys of ${issuer} could not be fetched again: ${message}`),
  });
  if (opened.failed === undefined) return opened.value;
  const { kind, message } = opened.failed;
  throw kind === 'unavailable'
    ? new TroupeError('UNAVAILABLE', `--issuer ${issuer} cannot be used now: ${message}; try again`)
    : usageError(`--issuer ${issuer} cannot be used: ${message}; correct it`);
}

// They are quoted in headers. RFC 6749 allows these characters in a scope.
const quotable = /^[\x21\x23-\x5b\x5d-\x7e]{1,500}$/;

function parseKind(text: string): 'token' | 'oauth' {
  if (text === 'token' || text === 'oauth') return text;
  throw usageError('Write token or oauth; for neither, use --no-auth.');
}

function parseIssuer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isPlain =
    url?.search === '' && url.hash === '' && url.username === '' && url.password === '';
  const isSafe =
    url?.protocol === 'https:' ||
    (url?.protocol === 'http:' && loopbackHosts.has(url.hostname.replace(/^\[|\]$/g, '')));
  if (isPlain && isSafe && quotable.test(text)) return text;
  throw usageError(
    'Write an https address (http only on this machine) without query, fragment, user name and quotes.',
  );
}

function parseAudience(text: string): string {
  if (quotable.test(text)) return text;
  throw usageError('Write an address or a name without spaces and quotes.');
}

function gatherScope(text: string, previous: readonly string[] | undefined): readonly string[] {
  if (quotable.test(text)) return gatherText(text, previous);
  throw usageError('Write one scope, without spaces and quotes; repeat the flag.');
}
