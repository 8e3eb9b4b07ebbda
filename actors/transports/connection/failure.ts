/**
 * Describes exceptions from Node, undici, the protocol layer and servers; the policy classifies
 * them later.
 */

import { STATUS_CODES } from 'node:http';
import { isRecord } from '../../../src/domain/data/is-record.ts';
import type { FailureCause } from '../../../src/domain/failure.ts';
import { redactWords } from '../../../src/policies/text/redact-words.ts';
import { badResponse, resultTooLarge, streamLost } from '../../../src/protocol/messages.ts';
import { type RpcErrorBody, rpcErrorIn } from '../../../src/protocol/rpc-codes.ts';
import { SettingError } from '../../values/setting-error.ts';
import type { Seen } from './connection.ts';

// A deeper chain of causes is a loop.
const maxCauses = 8;
// The beginning of a refusal explains it; searching a whole page for secrets is slow.
const bodyCharacters = 4_096;
// A longer body is a page rather than a JSON-RPC error.
const rpcBodyCharacters = 65_536;

/** Describes any thrown value, without secrets. */
export function describeError(error: unknown, secrets: readonly string[]): Seen {
  const chain = [error];
  for (let at = error; at instanceof Error && chain.length <= maxCauses; at = at.cause)
    if (at.cause !== undefined) chain.push(at.cause);
  const first = causeOf(error, secrets);
  const causes = chain.slice(1).map((cause) => causeOf(cause, secrets));
  const ownWords = error instanceof SettingError ? first.message : inWords(first, causes);
  const status = statusOf(error);
  const rpcCode = rpcCodeOf(error);
  const body = bodyOf(error);
  // The cause of another error, whose wording helps no user.
  const request = chain.find((each) => each instanceof RequestFailedError);
  return {
    ...first,
    message: redactWords(request?.message ?? '', secrets) || ownWords,
    ...(error instanceof SettingError && missingIn(error, secrets)),
    ...(causes.length > 0 && { causes }),
    ...(status !== undefined && { status }),
    ...(rpcCode !== undefined && { rpcCode }),
    ...(body !== undefined && { body: redactWords(body.slice(0, bodyCharacters), secrets) }),
    ...(request !== undefined && { wasConnected: request.wasConnected }),
  };
}

function missingIn({ missing }: SettingError, secrets: readonly string[]): Pick<Seen, 'missing'> {
  if (missing === undefined) return {};
  return { missing: { ...missing, name: redactWords(missing.name, secrets) } };
}

function causeOf(error: unknown, secrets: readonly string[]): FailureCause {
  if (!(error instanceof Error)) return { message: redactWords(String(error), secrets) };
  const own = ownCodeOf(error);
  const code = own ?? ('code' in error && typeof error.code === 'string' ? error.code : undefined);
  return {
    name: error.name,
    message: redactWords(wordsOf(error), secrets),
    ...(code !== undefined && { code }),
  };
}

// The first request asks for the protocol's version; users see the same answer as to any other.
const ofFirstRequest = 'Version negotiation failed: ';

/**
 * Strips the body of a refusal, which the error's message includes in full. It may be a proxy's
 * error page, so it is left out unless it is a JSON-RPC error, which is the server's own message.
 */
function wordsOf(error: Error, depth = 0): string {
  const { cause, message } = error;
  const body = bodyOf(error);
  const isRefusal = message.endsWith(`: ${body}`) || message.startsWith(ofFirstRequest);
  if (body !== undefined && isRefusal) return rpcWordsIn(body) ?? refusedWith(statusOf(error));
  if (!(cause instanceof Error) || cause.message === '' || depth === maxCauses) return message;
  return message.split(cause.message).join(wordsOf(cause, depth + 1));
}

function refusedWith(status: number | undefined): string {
  const name = STATUS_CODES[status ?? 0];
  return `The server answered with status ${status}${name === undefined ? '' : ` (${name})`}.`;
}

function bodyOf(error: unknown): string | undefined {
  if (statusOf(error) === undefined) return undefined;
  const { data } = error as { readonly data?: unknown };
  return isRecord(data) && typeof data['text'] === 'string' ? data['text'] : undefined;
}

/** Appends the deepest cause that has a code, because "fetch failed" alone explains nothing. */
function inWords(first: FailureCause, causes: readonly FailureCause[]): string {
  const deepest = causes.findLast((cause) => cause.code !== undefined && cause.message !== '');
  if (deepest === undefined || first.message.includes(deepest.message)) return first.message;
  return `${first.message}: ${deepest.message}`;
}

function ownCodeOf(error: unknown): string | undefined {
  const data = rpcErrorOf(error)?.data;
  return [badResponse, streamLost, resultTooLarge].find((mark) => data === mark)?.code;
}

/**
 * Returns the error for a JSON-RPC error response, recognized by its numeric code and its
 * data: other errors with data have a string as their code, and those with a number have no data.
 */
function rpcErrorOf(error: unknown): { readonly code: number; readonly data: unknown } | undefined {
  if (!(error instanceof Error) || !('code' in error) || !('data' in error)) return undefined;
  const { code, data } = error;
  return typeof code === 'number' ? { code, data } : undefined;
}

function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('status' in error)) return undefined;
  return typeof error.status === 'number' ? error.status : undefined;
}

function rpcCodeOf(error: unknown): number | undefined {
  const answer = rpcErrorOf(error);
  if (answer !== undefined) return ownCodeOf(error) === undefined ? answer.code : undefined;
  // An HTTP error may carry a JSON-RPC error as its body.
  return smallErrorIn(bodyOf(error) ?? '')?.code;
}

function rpcWordsIn(body: string): string | undefined {
  return smallErrorIn(body)?.message || undefined;
}

function smallErrorIn(body: string): RpcErrorBody | undefined {
  const mayHold = body.startsWith('{') && body.length <= rpcBodyCharacters;
  return mayHold ? rpcErrorIn(body) : undefined;
}

/** Reports where a request was sent and why it failed. */
export class RequestFailedError extends TypeError {
  /** Whether there was a connection; without one, no byte was sent. */
  readonly wasConnected: boolean;
  /** The error's code; absent if the cause has a better one. */
  readonly code: 'BAD_RESPONSE' | undefined;

  constructor(url: string | URL, cause: unknown, wasConnected: boolean) {
    super(`The request to ${addressOf(url)} failed: ${reasonOf(cause)}.`, { cause });
    this.wasConnected = wasConnected;
    this.code = isOfParser(cause) ? 'BAD_RESPONSE' : undefined;
  }
}

/**
 * The proxy could not be reached, or did not let the request pass: the server got nothing. The message
 * is a clause that ends with the next step, so no code is appended.
 */
export class ProxyError extends Error {
  override readonly name = 'ProxyError';
  readonly code: 'ERR_PROXY_UNREACHABLE' | 'ERR_PROXY_REFUSED';

  constructor(code: ProxyError['code'], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The response was not HTTP: Node's parser has some thirty codes for that. */
function isOfParser(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('HPE_');
}

/** Returns the address without the parts that may be secret: user, query and fragment. */
export function addressOf(url: string | URL): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** Describes the cause: a host with several addresses fails with a code and an empty message. */
export function reasonOf(error: unknown): string {
  if (error instanceof ProxyError) return error.message;
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  const ofCertificate = certificateReason(code, cause.message);
  if (ofCertificate !== undefined) return ofCertificate;
  if (code === '' || cause.message.includes(code)) return cause.message;
  return cause.message === '' ? code : `${cause.message} (${code})`;
}

/** Describes how a server's process ended; undefined if it is not known to have ended. */
export function endOf({ exitCode, signal }: Partial<Seen>): string | undefined {
  if (signal !== undefined) return `was ended by ${signal}`;
  return exitCode === undefined ? undefined : `exited with code ${exitCode}`;
}

interface Reason {
  readonly why: string;
  readonly next: string;
}

// OpenSSL's own messages about certificates name no setting.
const untrusted: Reason = {
  why: 'its certificate is not trusted',
  next: 'if it comes from an authority of your own, write "tls": { "ca": "FILE" } with the file of that authority',
};
const writeOne = 'write the files of "cert" and "key" into "tls"';
const refused: Reason = {
  why: 'it does not accept the client certificate',
  next: 'fix "tls.cert"',
};

/** What this side found wrong, by the code of the error. */
const ownReasons: ReadonlyMap<string, Reason> = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', untrusted],
  ['SELF_SIGNED_CERT_IN_CHAIN', untrusted],
  ['UNABLE_TO_GET_ISSUER_CERT', untrusted],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', untrusted],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', untrusted],
  [
    'CERT_HAS_EXPIRED',
    { why: 'its certificate has expired', next: 'let its operator renew it, or check the clock' },
  ],
  [
    'CERT_NOT_YET_VALID',
    { why: 'its certificate is not valid yet', next: 'check the clock of this machine' },
  ],
  [
    'ERR_TLS_CERT_ALTNAME_INVALID',
    { why: 'its certificate is for another host', next: 'fix the host in the address' },
  ],
]);

/** What the other side found wrong, by the number of its alert (RFC 8446, section 6). */
const alerts: ReadonlyMap<number, Reason> = new Map([
  // What servers say before TLS 1.3, among other things.
  [
    40,
    { why: 'it refused the TLS handshake and may require a client certificate', next: writeOne },
  ],
  ...[42, 43, 44, 45, 46, 48, 51].map((alert) => [alert, refused] as const),
  [116, { why: 'it requires a client certificate', next: writeOne }],
]);

/** Returns the cause and the next step; undefined if the error is not about certificates. */
function certificateReason(code: string, message: string): string | undefined {
  const own = ownReasons.get(code);
  if (own !== undefined) return `${own.why} (${code}); ${own.next}`;
  const alert = Number(/SSL alert number (\d{1,3})/u.exec(message)?.[1]);
  const reason = alerts.get(alert);
  return reason && `${reason.why} (TLS alert ${alert}); ${reason.next}`;
}
