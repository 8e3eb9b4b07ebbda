/** The state of the login behind one credential, the servers that share it, and its errors. */

import { sentence } from '../../../actors/authorization/outcome.ts';
import { asHttp } from '../../../actors/transports/http/addresses.ts';
import type { Reach, RemoteEndpoint } from '../../../actors/transports/http/proxy-and-tls.ts';
import type { ResolvedOAuth } from '../../../actors/values/oauth.ts';
import type { AuthorizationContext } from '../../../machines/authorization/authorization-setup.ts';
import type { AuthorizationFailure, CredentialId } from '../../domain/authorization.ts';
import type { TroupeEvents } from '../../domain/host/event.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import type { SharedPorts } from '../shared-ports.ts';
import type { LoginActor, LoginSteps } from './login-actor.ts';

/** What the user must open, and by when. */
export type Shown = Omit<TroupeEvents['auth.started'], 'server'>;

/** A login that servers use. */
export interface Login {
  readonly id: CredentialId;
  readonly key: string;
  /** The server's address; a WebSocket's metadata and tokens are those of its HTTP address. */
  readonly server: URL;
  /** Created when a token may exist or is needed: most servers require no login. */
  begun: BegunLogin | undefined;
  /** The names of the servers that share it. */
  readonly servers: Set<string>;
  /** Whether the store may hold its credential; undefined until a request needs to know. */
  isStored: Promise<boolean> | undefined;
  /** The login settings of each server: those that do not identify the credential may differ. */
  readonly own: Map<string, OwnSettings>;
  /** The latest session's route. */
  reach: Reach | undefined;
  /** Ends the wait for the browser with the URL that it was redirected to. */
  redirected: ((url: URL) => void) | undefined;
  /** Servers whose latest session ended because they demanded a login before. */
  readonly unasked: Set<string>;
  /** The server whose user began the login. */
  for: string;
  /** When the login stops waiting, in wall time. */
  endsAtMs: number;
  /** What the user must open now. */
  shown: Shown | undefined;
  /** The servers whose callers wait for the login. */
  readonly waiting: string[];
}

export interface BegunLogin extends LoginSteps {
  readonly actor: LoginActor;
}

interface OwnSettings {
  settings: ResolvedOAuth | undefined;
  /** Reads the settings again. */
  readonly readOAuth: RemoteEndpoint['readOAuth'];
}

/** @param server - the first server that uses it */
export function newLogin(
  id: CredentialId,
  key: string,
  server: string,
  endpoint: RemoteEndpoint,
): Login {
  return {
    id,
    key,
    server: asHttp(endpoint.url),
    begun: undefined,
    isStored: undefined,
    servers: new Set(),
    own: new Map(),
    reach: endpoint.reach,
    redirected: undefined,
    unasked: new Set(),
    for: server,
    endsAtMs: 0,
    shown: undefined,
    waiting: [],
  };
}

/** Returns the server that the user is logging in to; the latest one if that server has left. */
export function ownerOf(login: Login): string {
  return login.own.has(login.for) ? login.for : ([...login.own.keys()].at(-1) ?? login.for);
}

/** Returns the settings of the server that the user is logging in to. */
export function settingsNow(login: Login): OwnSettings | undefined {
  return login.own.get(ownerOf(login));
}

/** Notes the settings and the route of a server's latest session; the latest server is the last. */
export function noteSession(login: Login, server: string, endpoint: RemoteEndpoint): void {
  const { oauth, readOAuth, reach } = endpoint;
  login.own.delete(server);
  login.own.set(server, { settings: oauth === false ? undefined : oauth, readOAuth });
  login.reach = reach;
}

/**
 * Returns the error for users whose login fails, or goes on after a mistake.
 *
 * @param failure - null if nothing failed, but the login is over all the same
 */
export function loginError(
  server: string,
  failure: AuthorizationFailure | null,
  { board, book }: Pick<SharedPorts, 'board' | 'book'>,
): TroupeError {
  const { kind, message: why = 'another login or a logout ended it' } = failure ?? {};
  const { file, line, key } = book.of(server)?.source ?? {};
  if (kind === 'discovery' && board().status(server)?.state === 'ready') {
    const message = `${server} works without a login, and has nothing to log in to: ${why}`;
    return new TroupeError('USAGE', message, { server });
  }
  const isInSettings = kind === 'clientNeeded' || kind === 'registration';
  // After a key of the entry, the sentence goes on.
  const link = why.endsWith('"') ? ' in' : '; see';
  const place =
    file === undefined || !isInSettings
      ? ''
      : `${link} ${key} (${line === undefined ? file : `${file}:${line}`})`;
  const message = `the login to ${server} failed: ${why}${place}`;
  return new TroupeError('AUTH_REQUIRED', message, { server });
}

/** Returns why there is no valid token, as a sentence; undefined if nothing failed. */
export function missingToken({
  token,
  needsUser,
  failure,
}: Pick<AuthorizationContext, 'token' | 'needsUser' | 'failure'>): string | undefined {
  const refusal = token?.renewalRefusal;
  // A user's login that failed later does not explain it; a request without a user does.
  const why = needsUser ? (refusal ?? failure) : (failure ?? refusal);
  if (!why) return undefined;
  const without = needsUser ? 'The last login failed' : 'No token was obtained';
  return `${token === null ? without : 'Its token was not renewed'}: ${sentence(why.message)}.`;
}

/** @throws TroupeError `INVALID_ARGUMENTS` unless a URL responds to the address that was opened */
export function refuseOther(opened: URL, { searchParams }: URL): void {
  // The opened address has the state as well.
  const isResponse = searchParams.has('code') || searchParams.has('error');
  if (isResponse && searchParams.get('state') === opened.searchParams.get('state')) return;
  throw argumentsError(
    'this is not the address that the browser was sent to after this login; agree there first, then copy the whole address line',
  );
}

export function notWaiting(server: string): TroupeError {
  return new TroupeError('USAGE', `no login to ${server} is waiting for the browser`, { server });
}
