/** What a request fails with that got no answer. Apart from the fetch, so that it is told without the SDK. */

/** Says where a request went and why it failed: "fetch failed" alone helps nobody. */
export class RequestFailedError extends TypeError {
  /** Without a connection no byte was sent. */
  readonly wasConnected: boolean;
  /** Absent when the cause says it best. */
  readonly code: 'BAD_RESPONSE' | undefined;

  constructor(url: string | URL, cause: unknown, wasConnected: boolean) {
    super(`The request to ${addressOf(url)} failed: ${reasonOf(cause)}.`, { cause });
    this.wasConnected = wasConnected;
    this.code = isOfParser(cause) ? 'BAD_RESPONSE' : undefined;
  }
}

/** Something came, and it was no HTTP: Node's parser has some thirty codes for that. */
function isOfParser(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('HPE_');
}

/** Without what may be secret: user, query and fragment. */
export function addressOf(url: string | URL): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

/** A host with several addresses fails with an empty message and a code. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (!(cause instanceof Error)) return String(cause);
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  if (code === '' || cause.message.includes(code)) return cause.message;
  return cause.message === '' ? code : `${cause.message} (${code})`;
}
