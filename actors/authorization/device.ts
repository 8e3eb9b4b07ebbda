/** Logs in on another device (RFC 8628): the user enters a short code there, and we ask for the token. */

import type { DpopSession } from '@modelcontextprotocol/client';
import { z } from 'zod';

import type { AuthorizationFailureKind } from '../../src/domain/authorization.ts';
import type { Discovered } from './discovery.ts';
import type { IssuerAccess } from './login-fetch.ts';
import type { Client } from './oauth-client.ts';
import { attempt, type Outcome, quoted, refused, StepError, type StepFailure } from './outcome.ts';
import { postForm, requestTokens, secondsSchema, type Tokens } from './tokens.ts';

/** A login that waits for the user at another device. */
export interface DeviceLogin {
  /** Secret. */
  readonly deviceCode: string;
  readonly userCode: string;
  readonly url: string;
  /** The URL with the code in it, where the issuer offers one. */
  readonly completeUrl?: string;
  readonly intervalMs: number;
  /** How long the code is valid. */
  readonly lifetimeMs: number;
  readonly scope: string | undefined;
}

// By RFC 8628 section 3.5, if the issuer names none.
const intervalSeconds = 5;
// An issuer may not make us ask more often, nor wait longer than a user would.
const shortestIntervalMs = 1_000;
const longestMs = 1_800_000;

// Codes are made to be read aloud and typed (RFC 8628 section 6.1). The text is printed for the user, so an
// issuer must not be able to write a sentence there.
const userCode = z
  .string()
  .regex(/^[A-Za-z0-9]+(?:[ -][A-Za-z0-9]+)*$/u)
  .max(32);

const deviceResponse = z.object({
  device_code: z.string().min(1),
  user_code: userCode,
  verification_uri: z.string(),
  verification_uri_complete: z.string().nullish(),
  expires_in: z.coerce.number().positive(),
  interval: secondsSchema,
});

export function beginDeviceLogin(
  access: IssuerAccess,
  found: Discovered,
  client: Client,
  scope?: string,
): Promise<Outcome<DeviceLogin>> {
  return attempt(access.signal, async () => {
    const { metadata, issuer, resource } = found;
    const url = metadata.device_authorization_endpoint;
    if (url === undefined) throw new StepError(withoutDevice(found));
    const parameters = { resource, ...(scope !== undefined && { scope }) };
    const body = await postForm(access, found, client, { url, parameters });
    const read = deviceResponse.safeParse(body);
    if (!read.success)
      throw refused('discovery', `${quoted(issuer)} answered with no valid device code`);
    const { data } = read;
    const shown = await access.check(data.verification_uri, 'the page for the device code');
    const given = data.verification_uri_complete ?? undefined;
    const complete = given && (await access.check(given, 'the page for the device code'));
    const intervalMs = (data.interval ?? intervalSeconds) * 1_000;
    return {
      deviceCode: data.device_code,
      userCode: data.user_code,
      url: shown.href,
      ...(complete instanceof URL && { completeUrl: complete.href }),
      intervalMs: Math.max(shortestIntervalMs, intervalMs),
      lifetimeMs: Math.min(longestMs, data.expires_in * 1_000),
      scope,
    };
  });
}

export function withoutDevice({ issuer }: Discovered): StepFailure {
  const message = `${quoted(issuer)} offers no login on another device; log in with --no-browser instead`;
  return refused('discovery', message).failure;
}

/** Asks once for the token; `pending` if the user has not decided yet. */
export function pollDeviceLogin(
  access: IssuerAccess,
  found: Discovered,
  client: Client,
  { deviceCode, scope }: DeviceLogin,
  dpop?: DpopSession,
): Promise<Outcome<DevicePoll>> {
  return attempt(access.signal, async () => {
    const parameters = { grant_type: deviceGrant, device_code: deviceCode };
    try {
      return { tokens: await requestTokens(access, found, client, { parameters, scope, dpop }) };
    } catch (error) {
      const code = error instanceof StepError ? (error.failure.code ?? '') : '';
      const pending = pendings[code];
      if (pending !== undefined) return { pending };
      const ended = endings[code];
      throw ended === undefined ? error : refused(...ended, code);
    }
  });
}

export type DevicePoll =
  | { readonly tokens: Tokens; readonly pending?: undefined }
  | { readonly pending: 'waiting' | 'slowDown' };

const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

const pendings: Readonly<Record<string, 'waiting' | 'slowDown'>> = {
  authorization_pending: 'waiting',
  slow_down: 'slowDown',
};

const endings: Readonly<Record<string, readonly [AuthorizationFailureKind, string]>> = {
  access_denied: ['denied', 'it was refused on the other device (access_denied)'],
  expired_token: ['timeout', 'the code is no longer valid (expired_token)'],
};
