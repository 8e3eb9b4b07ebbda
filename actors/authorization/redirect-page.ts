/** The pages of the redirect listener. They show nothing of what was received. */

import type { ServerResponse } from 'node:http';

export type RedirectAnswer =
  /** The issuer sent a code. */
  | 'received'
  /** The issuer, or the user there, refused. */
  | 'refused'
  | 'noLogin'
  | 'otherHost'
  | 'notFound'
  | 'otherMethod';

interface Page {
  readonly status: number;
  readonly title: string;
  readonly text: string;
}

const nothing = { title: 'Not found', text: 'There is no page here.' };

const pages: Readonly<Record<RedirectAnswer, Page>> = {
  received: {
    status: 200,
    title: 'Almost done',
    text: 'mcp-troupe is completing the login. You can close this window and return to where you started.',
  },
  refused: {
    status: 200,
    title: 'Login refused',
    text: 'mcp-troupe was not given access. You can close this window; the reason is shown where you started.',
  },
  noLogin: {
    status: 400,
    title: 'No such login',
    text: 'This response belongs to no login that is under way. Start the login again.',
  },
  otherHost: { status: 403, ...nothing },
  notFound: { status: 404, ...nothing },
  otherMethod: { status: 405, ...nothing },
};

const style =
  ':root{color-scheme:light dark;font:1rem/1.5 system-ui,sans-serif}' +
  'body{max-width:28rem;margin:20vh auto 0;padding:0 1.5rem}' +
  'h1{font-size:1.5rem;margin:0 0 .5rem}p{margin:0}';

export function answerWith(response: ServerResponse, answer: RedirectAnswer): void {
  const { status, title, text } = pages[answer];
  response.writeHead(status, {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy':
      "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    connection: 'close',
  });
  response.end(
    `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title} – mcp-troupe</title><style>${style}</style><h1>${title}</h1><p>${text}</p></html>\n`,
  );
}
