/** Logins on the page: which one a server uses, where it stands, and which addresses may be opened. */

import type { AuthorizationFailureKind, TokenFacts } from '../../../src/domain/authorization.ts';
import { isRecord } from '../../../src/domain/data/is-record.ts';
import type { PicturedActor } from '../../../src/domain/host/inspection.ts';
import type { ServerStatus } from '../../../src/domain/host/status.ts';
import { secureUrlFault } from '../../../src/policies/secure-url.ts';
import type { Canvas } from '../../../src/recorder/picture.ts';
import { spoken } from './announcements.ts';
import type { Tone } from './state-tones.ts';

/** The recorded context of a login's chart, as far as the page shows it. */
export interface LoginContext {
  readonly needsUser: boolean;
  readonly token: TokenFacts | null;
  readonly wanted: readonly string[];
  readonly attempt: number;
  readonly failure: LoginFailure | null;
}

export interface LoginFailure {
  readonly kind: string;
  readonly message: string;
}

// The last moment of a `Date`.
const latestMs = 8.64e15;

/** Reads a recorded context; undefined if it is not a login's. A journal may come from anyone. */
export function loginContextOf(value: unknown): LoginContext | undefined {
  if (!isRecord(value) || value['token'] === undefined) return undefined;
  const { needsUser, wanted, attempt, failure } = value;
  return {
    needsUser: needsUser !== false,
    token: tokenOf(value['token']),
    wanted: textsIn(wanted),
    attempt: typeof attempt === 'number' ? attempt : 0,
    failure: isRecord(failure)
      ? { kind: String(failure['kind']), message: String(failure['message']) }
      : null,
  };
}

function tokenOf(value: unknown): TokenFacts | null {
  if (!isRecord(value)) return null;
  const { generation, issuer, scopes, expiresAtMs, isRefreshable } = value;
  return {
    generation: Number(generation),
    issuer: String(issuer),
    scopes: textsIn(scopes),
    expiresAtMs:
      typeof expiresAtMs === 'number' && Math.abs(expiresAtMs) <= latestMs ? expiresAtMs : null,
    isRefreshable: isRefreshable === true,
  };
}

function textsIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

/** The login that a server uses; undefined for a server that has not asked for a token. */
export function loginOf(world: Canvas, server: string): PicturedActor | undefined {
  for (const actor of world.actors.values())
    if (actor.machine === 'authorization' && worksFor(actor, server)) return actor;
  return undefined;
}

export function worksFor(actor: PicturedActor | undefined, server: string): boolean {
  return actor?.server === server || actor?.login?.servers.includes(server) === true;
}

/** The statuses of the servers that share a login. */
export function serversOf(world: Canvas, { login }: PicturedActor): readonly ServerStatus[] {
  return (login?.servers ?? []).flatMap((server) => world.servers.get(server) ?? []);
}

/** Whether a login is in use. A server that needs none may still have the chart of one. */
export function isInUse(world: Canvas, actor: PicturedActor): boolean {
  return (
    !actor.leaves.every((leaf) => leaf === 'loading' || leaf === 'unauthorized.signedOut') ||
    serversOf(world, actor).some(({ state }) => state === 'authRequired')
  );
}

interface LoginState {
  readonly text: string;
  readonly tone: Tone;
}

const states: Readonly<Record<string, LoginState>> = {
  loading: { text: 'reading the stored login', tone: 'busy' },
  authorized: { text: 'logged in', tone: 'good' },
  refreshing: { text: 'renewing the token', tone: 'busy' },
  requesting: { text: 'requesting a token', tone: 'busy' },
  retrying: { text: 'waiting to try again', tone: 'waiting' },
  'signingIn.discovering': { text: 'finding the issuer', tone: 'busy' },
  'signingIn.registering': { text: 'registering a client', tone: 'busy' },
  'signingIn.requestingCode': { text: 'requesting a code', tone: 'busy' },
  'signingIn.awaitingDevice.pausing': { text: 'waiting for you', tone: 'person' },
  'signingIn.awaitingDevice.polling': { text: 'waiting for you', tone: 'person' },
  'signingIn.awaitingUser': { text: 'waiting for you', tone: 'person' },
  'signingIn.exchanging': { text: 'requesting a token', tone: 'busy' },
  'unauthorized.signedOut': { text: 'not logged in', tone: 'person' },
  'unauthorized.clientNeeded': { text: 'needs a client', tone: 'person' },
  'unauthorized.denied': { text: 'denied', tone: 'bad' },
  'unauthorized.expired': { text: 'expired', tone: 'person' },
  'unauthorized.failed': { text: 'failed', tone: 'bad' },
  loggingOut: { text: 'revoking the login', tone: 'busy' },
};

/** Where a login stands; a state without a text of its own keeps its name. */
export function loginState({ leaves: [leaf = ''] }: PicturedActor): LoginState {
  return states[leaf] ?? { text: spoken(leaf.split('.').at(-1) ?? ''), tone: 'busy' };
}

/** Whether a user is logging in. */
export function isUnderWay({ leaves }: PicturedActor): boolean {
  return leaves.some((leaf) => leaf.startsWith('signingIn.'));
}

/** Whether the login waits for a browser. */
export function isAwaited({ leaves }: Pick<PicturedActor, 'leaves'>): boolean {
  return leaves.some((leaf) => leaf.startsWith('signingIn.awaiting'));
}

const helps: Readonly<Record<AuthorizationFailureKind, string>> = {
  discovery: 'Check the address of the server, or set "issuer" or "metadataUrl" in "oauth".',
  clientNeeded: 'Then log in again; docs/login.md has an example.',
  registration: 'Register a client at the issuer, and set "oauth.clientId".',
  denied: 'Log in again and agree, or use an account that may.',
  response: 'Log in again; the response belonged to another login, or was changed on its way.',
  grant: 'Log in again; the issuer no longer renews this login.',
  unavailable: 'Log in again later; the issuer did not answer.',
  timeout: 'Log in again.',
  store: 'Check the folder of stored logins, and the keychain.',
};

/** What the user can do about a failure. */
export function helpFor(kind: string): string | undefined {
  return Object.hasOwn(helps, kind) ? helps[kind as AuthorizationFailureKind] : undefined;
}

/** An address that a browser may open: https, or http on this machine. Undefined for any other. */
export function openable(address: string): URL | undefined {
  if (!URL.canParse(address)) return undefined;
  const url = new URL(address);
  return secureUrlFault(url) === undefined ? url : undefined;
}
