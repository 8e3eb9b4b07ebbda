/**
 * Reads exceptions: of Node, of undici, of the SDK, of a server. The policy then says what they mean.
 * The SDK need not be loaded for it: a process that cannot be started fails before that.
 */

import type { FailureCause } from '../src/domain/failure.ts';
import { redact } from '../src/policies/redact.ts';
import { RequestFailedError } from './http-request-failed.ts';
import type { Seen } from './session-connection.ts';
import { badResponse, isRecord, streamLost } from './session-messages.ts';
import { SettingError } from './session-target.ts';

// Deeper chains are loops or jokes.
const maxCauses = 8;

/** Describes any thrown value, without secrets. */
export function describeError(error: unknown, secrets: readonly string[]): Seen {
  const first = causeOf(error, secrets);
  const causes: FailureCause[] = [];
  let next = error instanceof Error ? error.cause : undefined;
  while (next !== undefined && causes.length < maxCauses) {
    causes.push(causeOf(next, secrets));
    next = next instanceof Error ? next.cause : undefined;
  }
  const ownWords = error instanceof SettingError ? first.message : inWords(first, causes);
  const status = statusOf(error);
  const rpcCode = rpcCodeOf(error);
  const request = requestFailureOf(error);
  return {
    ...first,
    message: redact(request?.message ?? '', secrets) || ownWords,
    ...(causes.length > 0 && { causes }),
    ...(status !== undefined && { status }),
    ...(rpcCode !== undefined && { rpcCode }),
    ...(request !== undefined && { wasConnected: request.wasConnected }),
  };
}

/** The SDK wraps it in words of its own that a person need not know. */
function requestFailureOf(error: unknown): RequestFailedError | undefined {
  let next = error;
  for (let depth = 0; depth <= maxCauses && next instanceof Error; depth += 1) {
    if (next instanceof RequestFailedError) return next;
    next = next.cause;
  }
  return undefined;
}

function causeOf(error: unknown, secrets: readonly string[]): FailureCause {
  if (!(error instanceof Error)) return { message: redact(String(error), secrets) };
  const own = ownCodeOf(error);
  const code = own ?? ('code' in error && typeof error.code === 'string' ? error.code : undefined);
  return {
    name: error.name,
    message: redact(error.message, secrets),
    ...(code !== undefined && { code }),
  };
}

/** "fetch failed" alone helps nobody: the nearest cause with a code is named, too. */
function inWords(first: FailureCause, causes: readonly FailureCause[]): string {
  const deepest = causes.findLast((cause) => cause.code !== undefined && cause.message !== '');
  if (deepest === undefined || first.message.includes(deepest.message)) return first.message;
  return `${first.message}: ${deepest.message}`;
}

function ownCodeOf(error: unknown): string | undefined {
  const data = rpcErrorOf(error)?.data;
  if (data === badResponse) return badResponse.code;
  return data === streamLost ? streamLost.code : undefined;
}

/**
 * The SDK's error for a JSON-RPC error answer. It is told by its shape, a number and data:
 * other errors that carry data have a word for a code, and those with a number have no data.
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
  if (!(error instanceof Error) || !('data' in error) || !isRecord(error.data)) return undefined;
  const text = error.data['text'];
  if (typeof text !== 'string' || !text.startsWith('{') || text.length > 65_536) return undefined;
  try {
    const body: unknown = JSON.parse(text);
    const rpcError = isRecord(body) ? body['error'] : undefined;
    return isRecord(rpcError) && typeof rpcError['code'] === 'number'
      ? rpcError['code']
      : undefined;
  } catch {
    return undefined;
  }
}
