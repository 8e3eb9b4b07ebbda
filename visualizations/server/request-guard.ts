/**
 * Decides which HTTP requests the inspector accepts. Every path is checked, so that a foreign web page
 * cannot even find out that the inspector runs.
 */

import type { IncomingMessage } from 'node:http';
import { foreignRequest } from '../../actors/host/http-server.ts';

const methods: ReadonlySet<string> = new Set(['GET', 'POST', 'DELETE']);
// The values that browsers send for requests that no other site caused.
const ownSites: ReadonlySet<string> = new Set(['same-origin', 'none']);

/**
 * Refuses requests that another site caused. Opening the page itself is allowed from any link: the page
 * holds no data and can be neither framed nor read.
 */
export function refuseForeign(
  request: IncomingMessage,
): { readonly status: number; readonly message: string } | undefined {
  const { method = '', url, headers, headersDistinct } = request;
  const port = request.socket.localPort;
  const ownHosts = [`127.0.0.1:${port}`, `localhost:${port}`];
  const foreign = foreignRequest(request, (host) => ownHosts.includes(host));
  if (foreign !== undefined) return { status: 403, message: foreign };
  const site = headersDistinct['sec-fetch-site']?.join() ?? 'none';
  const isNavigation =
    headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document';
  const isOpening = isNavigation && method === 'GET' && url === '/';
  if (!ownSites.has(site) && !isOpening)
    return { status: 403, message: 'another site caused this request' };
  if (!methods.has(method)) return { status: 405, message: 'this method is not supported' };
  if (method !== 'GET' && headers.origin === undefined)
    return { status: 403, message: 'a request that changes something needs an Origin header' };
  return undefined;
}

// Headers for every response: it may not be stored, framed or sniffed, and loads nothing from elsewhere.
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
