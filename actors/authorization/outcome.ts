/**
 * The outcome of a step of a login. A failed step is a value that says what to do next; an
 * exception is a bug. No message contains a token, a code, a verifier or a client secret.
 */

import type {
  AuthorizationFailure,
  AuthorizationFailureKind,
} from '../../src/domain/authorization.ts';
import { redactWords } from '../../src/policies/text/redact-words.ts';
import { ProtocolFault } from '../../src/protocol/errors.ts';
import { RequestFailedError } from '../transports/connection/failure.ts';
import { BlockedError } from '../transports/http/addresses.ts';

export interface StepFailure extends AuthorizationFailure {
  /** Whether the same step would fail again, without a change by the user or the issuer. */
  readonly isFinal: boolean;
  /** The issuer's error code, for example `invalid_grant`. */
  readonly code?: string;
}

export type Outcome<Value> =
  | { readonly value: Value; readonly failed?: undefined }
  | { readonly failed: StepFailure };

/** Ends a step inside this folder; {@link attempt} turns it into an outcome. */
export class StepError extends Error {
  override readonly name = 'StepError';
  readonly failure: StepFailure;

  constructor(failure: StepFailure, cause?: unknown) {
    super(failure.message, { cause });
    this.failure = failure;
  }
}

export function refused(kind: AuthorizationFailureKind, message: string, code?: string): StepError {
  const isFinal = kind !== 'unavailable';
  return new StepError({ kind, message, isFinal, ...(code !== undefined && { code }) });
}

/** Runs a step. An exception is a bug unless it is a {@link StepError} or a request caused it. */
export async function attempt<Value>(
  signal: AbortSignal,
  step: () => Promise<Value>,
): Promise<Outcome<Value>> {
  try {
    return { value: await step() };
  } catch (error) {
    if (signal.aborted) return failedAs('unavailable', 'the login was cancelled');
    return { failed: await failureOf(error) };
  }
}

function failedAs(
  kind: AuthorizationFailureKind,
  message: string,
): { readonly failed: StepFailure } {
  return { failed: refused(kind, message).failure };
}

async function failureOf(error: unknown): Promise<StepFailure> {
  if (error instanceof StepError) return error.failure;
  if (error instanceof RequestFailedError) {
    const kind = error.cause instanceof BlockedError ? 'discovery' : 'unavailable';
    return refused(kind, sentence(error.message)).failure;
  }
  const { IssuerMismatchError, SdkError } = await import('@modelcontextprotocol/client');
  // The received issuer may be an attacker's text.
  if (error instanceof IssuerMismatchError)
    return refused('response', 'the response to the login came from another issuer').failure;
  // The body's coding is unknown or broken.
  if (error instanceof ProtocolFault || error instanceof SdkError)
    return refused('discovery', sentence(error.message)).failure;
  throw error;
}

/** Turns a sentence into a clause. */
export function sentence(message: string): string {
  const text = message.replace(/\.$/u, '');
  return `${text.charAt(0).toLowerCase()}${text.slice(1)}`;
}

// One line of a terminal; an issuer's text is read by a user, not by a program.
const shownCharacters = 200;

/** Prepares an issuer's text for a message: one short line without these secrets. */
export function shownText(text: string, secrets: readonly string[] = []): string {
  const line = redactWords(text, secrets)
    .replaceAll(/[\p{C}\s]+/gu, ' ')
    .trim();
  return line.length > shownCharacters ? `${line.slice(0, shownCharacters)}…` : line;
}

/** Quotes a URL that a server or an issuer named. */
export function quoted(text: string | undefined): string {
  return text === undefined ? 'none' : `"${shownText(text.replace(/[?#].*$/su, ''))}"`;
}
