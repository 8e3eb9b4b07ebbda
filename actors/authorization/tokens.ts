/**
 * Requests tokens: for a code, a refresh token, a secret, an assertion.
 *
 * The SDK's `exchangeAuthorization` and `refreshAuthorization` report neither the status nor
 * `Retry-After`, and their errors quote whole responses. A refresh needs the first two to tell a
 * lost login from a passing fault, and no message may quote a token.
 */

import type { DpopSession } from '@modelcontextprotocol/client';
import { z } from 'zod';

import { isRecord } from '../../src/domain/data/is-record.ts';
import { secretsOf } from '../../src/policies/text/redact.ts';
import { addressOf } from '../transports/connection/failure.ts';
import type { AuthorizationRequest } from './authorization-request.ts';
import type { Discovered } from './discovery.ts';
import { assertAvailable, type IssuerAccess } from './login-fetch.ts';
import { jsonOf } from './metadata.ts';
import { authenticate, type Client } from './oauth-client.ts';
import { attempt, type Outcome, quoted, refused, StepError, shownText } from './outcome.ts';
import { scopeList } from './scopes.ts';

/** Secrets; they go to the store and to transports only. */
export interface Tokens {
  readonly accessToken: string;
  /** `Bearer` or `DPoP`. */
  readonly tokenType: 'Bearer' | 'DPoP';
  readonly refreshToken?: string;
  readonly scope?: string;
  /** Wall clock. */
  readonly expiresAtMs?: number;
}

/** Redeems the response that a login's browser brought. */
export function exchange(
  access: IssuerAccess,
  found: Discovered,
  client: Client,
  {
    request,
    response,
    dpop,
  }: {
    readonly request: AuthorizationRequest;
    readonly response: URLSearchParams;
    readonly dpop?: DpopSession;
  },
): Promise<Outcome<Tokens>> {
  return attempt(access.signal, async () => {
    // A code and its verifier go only to the issuer that the request was for.
    if (request.issuer !== found.issuer)
      throw refused('response', `the login was begun at ${quoted(request.issuer)}`);
    const { code, verifier } = request.accept(response);
    const parameters = {
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: request.redirectUri,
    };
    const { scope } = request;
    return requestTokens(access, found, client, { parameters, scope, dpop });
  });
}

/**
 * Renews a token. `isEarly`: the present one is still valid. Failure of the kind `grant`: the
 * issuer no longer accepts the refresh token; `registration`: nor the client; `unavailable`: it is
 * not known, and the tokens stay. An early refresh that is refused for another reason than these
 * is `unavailable` too.
 */
export function refresh(
  access: IssuerAccess,
  found: Discovered,
  client: Client,
  {
    tokens,
    isEarly,
    dpop,
  }: {
    readonly tokens: Tokens;
    readonly isEarly: boolean;
    readonly dpop?: DpopSession;
  },
): Promise<Outcome<Tokens>> {
  return attempt(access.signal, async () => {
    const { refreshToken, scope } = tokens;
    if (refreshToken === undefined) throw refused('grant', 'the issuer gave no refresh token');
    // Without `scope`: it asks for what was granted, and issuers differ in what else they accept.
    const parameters = { grant_type: 'refresh_token', refresh_token: refreshToken };
    const onOther = isEarly ? 'unavailable' : 'grant';
    const renewed = await requestTokens(access, found, client, {
      parameters,
      scope,
      dpop,
      onOther,
      mayOmitResource: true,
      // A proxy's page says nothing about the refresh token.
      onUnreadable: 'unavailable',
    });
    return { refreshToken, ...renewed };
  });
}

export interface TokenRequest {
  readonly parameters: Readonly<Record<string, string>>;
  /** What was asked for: an issuer that grants it need not repeat it (RFC 6749 section 5.1). */
  readonly scope: string | undefined;
  readonly dpop?: DpopSession | undefined;
  /** The kind of failure for an error code without a kind of its own. */
  readonly onOther?: RefusalKind;
  /** The kind of failure for a refusal that is no OAuth error. */
  readonly onUnreadable?: RefusalKind;
  /** Whether the grant is bound to the resource, so that some issuers refuse to be told it again. */
  readonly mayOmitResource?: boolean;
}

// RFC 8707 section 2, and what issuers answer that do not know the parameter.
const aboutResource: ReadonlySet<string | undefined> = new Set([
  'invalid_request',
  'invalid_target',
]);

type RefusalKind = 'unavailable' | 'grant' | 'denied';

// The credential's lock is held meanwhile; a parameter is refused at once.
const quickMs = 10_000;

/** Sends a token request; rejects with a {@link StepError}. */
export async function requestTokens(
  access: IssuerAccess,
  found: Discovered,
  client: Client,
  request: TokenRequest,
): Promise<Tokens> {
  const sentAtMs = access.clock.wallNow();
  const url = found.metadata.token_endpoint;
  const post = (parameters: TokenRequest['parameters']): Promise<unknown> =>
    postForm(access, found, client, { url, ...request, parameters });
  const body = await post({ ...request.parameters, resource: found.resource }).catch(
    (error: unknown) => {
      const code = error instanceof StepError ? error.failure.code : undefined;
      const isQuick = access.clock.wallNow() - sentAtMs < quickMs;
      if (request.mayOmitResource !== true || !aboutResource.has(code) || !isQuick) throw error;
      return post(request.parameters);
    },
  );
  return tokensIn(body, found.issuer, request, sentAtMs);
}

interface Form extends Omit<TokenRequest, 'scope'> {
  readonly url: string;
}

/** Posts a form with the client's authentication; returns the JSON of a success. */
export async function postForm(
  access: IssuerAccess,
  found: Pick<Discovered, 'metadata'>,
  client: Client,
  form: Form,
): Promise<unknown> {
  const url = await access.check(form.url, 'the endpoint');
  const { dpop } = form;
  let sent: readonly string[] = [];
  const postOnce = async (): Promise<Response> => {
    const headers = new Headers();
    const parameters = new URLSearchParams(form.parameters);
    // For each request: an assertion and a proof are accepted once.
    authenticate(client, found, headers, parameters);
    const proof = await dpop?.buildProof({ htm: 'POST', htu: url });
    if (proof !== undefined) headers.set('dpop', proof);
    sent = [...sent, ...secretsIn(headers, parameters, client)];
    const response = await access.fetch(url, { method: 'POST', headers, body: parameters });
    dpop?.observeNonce(response, url);
    return response;
  };
  let response = await postOnce();
  let text = await response.text();
  if (dpop !== undefined && errorIn(text)?.code === 'use_dpop_nonce') {
    response = await postOnce();
    text = await response.text();
  }
  assertAvailable(response, url, access.clock);
  // Some issuers refuse with status 200.
  const error = errorIn(text);
  if (response.ok && error === undefined) return jsonOf(text);
  // A repeated secret may be encoded as it was sent.
  throw refusalOf(response.status, error, form, secretsOf(sent));
}

/** What an issuer may not repeat in an error that users see. Other parameters are words of OAuth. */
const secretParameters = [
  'code',
  'code_verifier',
  'refresh_token',
  'device_code',
  'token',
  'assertion',
  'subject_token',
  'client_assertion',
  'client_secret',
] as const;

function secretsIn(headers: Headers, parameters: URLSearchParams, client: Client): string[] {
  const values = secretParameters.map((name) => parameters.get(name));
  const basic = headers.get('authorization')?.replace('Basic ', '');
  const all = [...values, basic, headers.get('dpop'), client.information.client_secret];
  return all.filter((each) => typeof each === 'string' && each !== '') as string[];
}

interface IssuerError {
  readonly code: string;
  readonly text: string | undefined;
}

function errorIn(text: string): IssuerError | undefined {
  const body = jsonOf(text);
  if (!isRecord(body) || typeof body['error'] !== 'string') return undefined;
  const { error, error_description: description } = body;
  return { code: error, text: typeof description === 'string' ? description : undefined };
}

const kinds: Readonly<Record<string, 'grant' | 'registration' | 'unavailable' | 'timeout'>> = {
  invalid_grant: 'grant',
  // GitHub's.
  bad_refresh_token: 'grant',
  invalid_client: 'registration',
  unauthorized_client: 'registration',
  server_error: 'unavailable',
  temporarily_unavailable: 'unavailable',
  slow_down: 'unavailable',
  authorization_pending: 'unavailable',
  expired_token: 'timeout',
};

function refusalOf(
  status: number,
  error: IssuerError | undefined,
  { url, onOther = 'denied', onUnreadable = 'denied' }: Form,
  secrets: readonly string[],
): StepError {
  const where = addressOf(url);
  if (error === undefined) {
    // These refuse this very request; any other may come from something between us and the issuer.
    const kind = status === 400 || status === 401 ? onOther : onUnreadable;
    return refused(kind, `${where} refused the request with status ${status}`);
  }
  const kind = kinds[error.code] ?? onOther;
  const text = error.text === undefined ? error.code : `${error.code}: ${error.text}`;
  return refused(kind, `${where} refused the request (${shownText(text, secrets)})`, error.code);
}

// A hundred years; dates end some time after it.
const longestSeconds = 3_155_760_000;

/**
 * Seconds in an issuer's answer, which some send as a string. An empty one counts as absent, as null does;
 * 0 does not.
 */
export const secondsSchema = z
  .union([z.number(), z.string().regex(/^\s*(?:\d+(?:\.\d+)?)?\s*$/u)])
  .nullish()
  .transform((value) => {
    if (typeof value !== 'string') return value;
    return value.trim() === '' ? null : Number(value);
  })
  .pipe(z.number().nonnegative().nullish());

const tokenResponse = z.object({
  // It becomes part of a header (RFC 6749 appendix A.12, without the space).
  access_token: z.string().regex(/^[\x21-\x7e]+$/u),
  token_type: z.string().default('Bearer'),
  refresh_token: z.string().nullish(),
  scope: z.string().nullish(),
  expires_in: secondsSchema,
});

const tokenTypes: Readonly<Record<string, Tokens['tokenType']>> = {
  bearer: 'Bearer',
  dpop: 'DPoP',
};

function tokensIn(
  body: unknown,
  issuer: string,
  { scope: asked, onUnreadable = 'denied', dpop }: TokenRequest,
  sentAtMs: number,
): Tokens {
  const read = tokenResponse.safeParse(body);
  if (!read.success) {
    const fields = read.error.issues.map(({ path }) => path.join('.')).join(', ');
    throw refused(
      onUnreadable,
      `${quoted(issuer)} answered with no valid token (${fields || 'no JSON'})`,
    );
  }
  const { access_token: accessToken, token_type: type, expires_in: seconds } = read.data;
  const tokenType = tokenTypes[type.toLowerCase()];
  if (tokenType === undefined)
    throw refused('denied', `${quoted(issuer)} issued a token of an unknown type, ${quoted(type)}`);
  // RFC 9449 section 5: a token that anyone can use is not what was asked for.
  if ((tokenType === 'DPoP') !== (dpop !== undefined))
    throw refused(
      'denied',
      `${quoted(issuer)} issued a token that is ${dpop ? 'not ' : ''}bound to a key`,
    );
  const { refresh_token: refreshToken } = read.data;
  const granted = read.data.scope ?? undefined;
  const scope = granted === undefined ? asked : scopeList(granted).join(' ');
  return {
    accessToken,
    tokenType,
    // Some issuers write an empty one instead of none.
    ...(refreshToken && { refreshToken }),
    ...(scope !== undefined && { scope }),
    // A life of 0 seconds is over at once, and so is renewed; only an absent one has no end.
    ...(typeof seconds === 'number' && {
      expiresAtMs: sentAtMs + Math.min(seconds, longestSeconds) * 1_000,
    }),
  };
}
