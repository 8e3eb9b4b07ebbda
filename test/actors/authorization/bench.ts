/** A test issuer, and the steps of a login at it. */

import { type DpopSession } from '@modelcontextprotocol/client';
import { expect, onTestFinished } from 'vitest';
import {
  type AuthorizationRequest,
  beginAuthorization,
} from '../../../actors/authorization/authorization-request.ts';
import { readChallenge } from '../../../actors/authorization/challenge.ts';
import {
  type Discovered,
  type DiscoveryHints,
  discover,
} from '../../../actors/authorization/discovery.ts';
import {
  createIssuerConnection,
  type IssuerAccess,
} from '../../../actors/authorization/login-fetch.ts';
import {
  type Client,
  type ClientNeeds,
  findClient,
} from '../../../actors/authorization/oauth-client.ts';
import type { Outcome, StepFailure } from '../../../actors/authorization/outcome.ts';
import { exchange, type Tokens } from '../../../actors/authorization/tokens.ts';
import type { ResolveAll } from '../../../actors/transports/http/agents.ts';
import type { Clock } from '../../../src/domain/clock.ts';
import { promptClock } from '../../../src/runtime/real-clock.ts';
import { startTestIssuer, type TestIssuer } from '../../support/issuer/issuer.ts';
import type { IssuerSettings } from '../../support/issuer/settings.ts';

export const redirectUri = 'http://127.0.0.1:38127/callback';

export async function issuerWith(settings: Partial<IssuerSettings> = {}): Promise<TestIssuer> {
  const issuer = await startTestIssuer(settings);
  onTestFinished(() => issuer.close());
  return issuer;
}

export function accessTo(
  server: string,
  {
    clock = promptClock,
    resolve,
    signal = new AbortController().signal,
  }: {
    readonly clock?: Clock;
    readonly resolve?: ResolveAll;
    readonly signal?: AbortSignal;
  } = {},
): IssuerAccess {
  const connection = createIssuerConnection(new URL(server), clock, { resolve });
  onTestFinished(() => connection.close());
  return connection.access(signal);
}

export function valueOf<Value>(outcome: Outcome<Value>): Value {
  if (outcome.failed !== undefined) throw new Error(outcome.failed.message);
  return outcome.value;
}

export function failureOf(outcome: Outcome<unknown>): StepFailure {
  expect(outcome).toHaveProperty('failed');
  if (outcome.failed === undefined) throw new Error('the step succeeded');
  return outcome.failed;
}

/** An issuer, what discovery finds, and a registered client. */
export interface Ready {
  readonly issuer: TestIssuer;
  readonly access: IssuerAccess;
  readonly found: Discovered;
  readonly client: Client;
}

export async function readyAt(
  settings: Partial<IssuerSettings> = {},
  {
    hints,
    clock = promptClock,
    ...needs
  }: Partial<ClientNeeds> & { readonly hints?: DiscoveryHints; readonly clock?: Clock } = {},
): Promise<Ready> {
  const issuer = await issuerWith(settings);
  const access = accessTo(issuer.server, { clock });
  const first = await called(issuer, {});
  const challenge = readChallenge(first.headers.get('www-authenticate') ?? undefined);
  const known = { ...(challenge !== undefined && { challenge }), ...hints };
  const found = valueOf(await discover(access, new URL(issuer.server), known));
  const wanted = { redirectUris: [redirectUri], ...needs };
  const client = valueOf(await findClient(access, found, wanted));
  return { issuer, access, found, client };
}

export async function begun(
  { access, found, client }: Ready,
  scope?: string,
): Promise<AuthorizationRequest> {
  const options = { redirectUri, ...(scope !== undefined && { scope }) };
  return valueOf(await beginAuthorization(access, found, client, options));
}

/** Completes a login; the user consents at once. */
export async function loggedIn(
  ready: Ready,
  { scope, dpop }: { readonly scope?: string; readonly dpop?: DpopSession } = {},
): Promise<Outcome<Tokens>> {
  const { issuer, access, found, client } = ready;
  const request = await begun(ready, scope);
  const { searchParams: response } = await issuer.consent(request.url);
  return exchange(access, found, client, {
    request,
    response,
    ...(dpop !== undefined && { dpop }),
  });
}

/** Sends a tool call with these headers. */
export async function called(
  issuer: TestIssuer,
  headers: Readonly<Record<string, string>>,
  tool = 'echo',
): Promise<Response> {
  const params = { name: tool, arguments: {} };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  return fetch(issuer.server, { method: 'POST', headers, body });
}
