/**
 * Sends the headers of the settings with each request, current ones, and fetches them again once when
 * the server refuses them.
 */

import type { Authenticator } from '../../src/domain/authorization.ts';
import { secretsOf } from '../../src/policies/text/redact.ts';
import type { HttpEndpoint } from '../values/target.ts';

type Headers = Readonly<Record<string, string>>;

/**
 * Returns an authenticator that adds headers whose values may change; the given one if there are
 * none. A header of the settings wins over one of a login.
 */
export function withCurrentHeaders(
  { currentHeaders, refreshHeaders }: Pick<HttpEndpoint, 'currentHeaders' | 'refreshHeaders'>,
  logIn: Authenticator | undefined,
): Authenticator | undefined {
  if (currentHeaders === undefined || refreshHeaders === undefined) return logIn;

  /** Resolves with whether there are other headers than the refused ones. */
  const areOthers = async (sentWith: Headers): Promise<boolean> => {
    const isSent = (headers: Headers): boolean =>
      Object.entries(lowerCased(headers)).every(([name, value]) => sentWith[name] === value);
    // Another request may have been refused earlier.
    if (!isSent(await currentHeaders())) return true;
    try {
      return !isSent(await refreshHeaders());
    } catch {
      // The server's refusal says more to the user.
      return false;
    }
  };

  return {
    async headers(method, url) {
      const own = lowerCased(await currentHeaders());
      return { ...(await logIn?.headers(method, url)), ...own };
    },
    async refused(refusal) {
      if (await areOthers(refusal.sentWith)) return true;
      return (await logIn?.refused(refusal)) ?? false;
    },
    failure: () => logIn?.failure?.(),
  };
}

/** Reports each new token that the authenticator sends, so that it can be redacted. */
export function withReportedTokens(
  logIn: Authenticator | undefined,
  onSecrets: (secrets: readonly string[]) => void,
): Authenticator | undefined {
  if (logIn === undefined) return undefined;
  let latest = '';
  return {
    async headers(method, url) {
      const headers = await logIn.headers(method, url);
      const { authorization = '' } = headers;
      if (authorization !== latest) onSecrets(secretsOf([authorization]));
      latest = authorization;
      return headers;
    },
    refused: (refusal) => logIn.refused(refusal),
    failure: () => logIn.failure?.(),
  };
}

function lowerCased(headers: Headers): Headers {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]),
  );
}
