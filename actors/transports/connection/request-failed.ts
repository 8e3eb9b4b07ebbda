/** The error of a request that got no answer. Not part of the fetch, so that it loads without the SDK. */

/** Says where a request went and why it failed. */
export class RequestFailedError extends TypeError {
  /** Whether there was a connection; without one no byte was sent. */
  readonly wasConnected: boolean;
  /** Absent if the cause has the best code. */
  readonly code: 'BAD_RESPONSE' | undefined;

  constructor(url: string | URL, cause: unknown, wasConnected: boolean) {
    super(`The request to ${addressOf(url)} failed: ${reasonOf(cause)}.`, { cause });
    this.wasConnected = wasConnected;
    this.code = isOfParser(cause) ? 'BAD_RESPONSE' : undefined;
  }
}

/** The answer was not HTTP: Node's parser has some thirty codes for that. */
function isOfParser(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('HPE_');
}

/** The address without the parts that may be secret: user, query and fragment. */
export function addressOf(url: string | URL): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** The cause in words: a host with several addresses fails with a code and an empty message. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  if (code === '' || cause.message.includes(code)) return cause.message;
  return cause.message === '' ? code : `${cause.message} (${code})`;
}
