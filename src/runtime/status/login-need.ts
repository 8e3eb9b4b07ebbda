/** What hosts learn about a server that requires a login. */

import { defined } from '../../domain/data/defined.ts';
import type { TroupeEvents } from '../../domain/host/event.ts';
import type { ServerSpec } from '../../domain/server-spec.ts';

/** @param asked - the scopes that the server's refusal named */
export function loginNeedOf(
  server: string,
  spec: ServerSpec | undefined,
  asked: readonly string[] = [],
): TroupeEvents['auth.needed'] {
  const { url, account } = spec !== undefined && 'url' in spec ? spec : {};
  return {
    server,
    ...defined({
      url: url === undefined ? undefined : shownUrl(url),
      scopes: asked.length === 0 ? undefined : asked,
      // A value in it is for the session only.
      account: account?.includes('${') === true ? undefined : account,
    }),
  };
}

/** The address as the settings write it. Queries and values of variables may be secret. */
function shownUrl(text: string): string | undefined {
  if (text.includes('${') || !URL.canParse(text)) return undefined;
  const { protocol, host, pathname } = new URL(text);
  return `${protocol}//${host}${pathname}`;
}
