/**
 * Who may come in. Pure: facts of a request in, a refusal or nothing out. Everything is
 * asked here before anything else, so that no page of somebody else learns even that we are here.
 */

export interface Knock {
  readonly method: string;
  /** As it came. */
  readonly target: string;
  /** Every `Host` header there was. */
  readonly hosts: readonly string[];
  readonly origin: string | undefined;
  readonly fetchSite: string | undefined;
  /** Whether the browser reports a top-level navigation by the user. */
  readonly isNavigation: boolean;
}

export interface Refusal {
  readonly status: number;
  readonly message: string;
}

const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'DELETE']);
// What a browser says of a request that no page of another site has caused.
const ownSites: ReadonlySet<string> = new Set(['same-origin', 'none']);

/**
 * Refuses who calls us by a name that is not ours, which is what a page does that has turned
 * its own name to our address, and whatever another site has caused. Opening the page itself is
 * allowed from any link: the page holds no data and can be neither framed nor read.
 */
export function refuseStranger(knock: Knock, port: number): Refusal | undefined {
  const { method, target, hosts, origin, fetchSite, isNavigation } = knock;
  const [host] = hosts;
  if (!target.startsWith('/')) return { status: 403, message: 'this is no proxy' };
  const isOurs = host === `127.0.0.1:${port}` || host === `localhost:${port}`;
  if (!isOurs || hosts.length > 1)
    return { status: 403, message: 'the Host header names somebody else' };
  if (origin !== undefined && origin !== `http://${host}`)
    return { status: 403, message: 'pages of another origin are not let in' };
  const isOpening = isNavigation && method === 'GET' && target === '/';
  if (fetchSite !== undefined && !ownSites.has(fetchSite) && !isOpening)
    return { status: 403, message: 'another site sent this request' };
  if (!methods.has(method)) return { status: 405, message: 'there is no such method' };
  if (method !== 'GET' && origin === undefined)
    return { status: 403, message: 'who wants something done has to send an Origin' };
  return undefined;
}

// Of all answers: nothing is stored, framed, guessed at or loaded from elsewhere.
export const guardingHeaders: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; '),
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
};
