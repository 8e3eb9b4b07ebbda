/**
 * The secret that lets this page in. It stays with this tab and this address: unlike a cookie,
 * nothing sends it by itself, and no other port of this machine ever gets it.
 *
 * It comes from the token of the address, which is exchanged once; from this tab, when the page is
 * loaded again; or from another tab of the same address, when this one was opened from it.
 */

const storageKey = 'troupe-inspector-secret';
// Another tab answers within a few milliseconds, if there is one.
const askOthersMs = 250;
const tokenInHash = /([#?&])token=([\w-]*)&?/u;

type Asked = { readonly type: 'asked' } | { readonly type: 'told'; readonly secret: string };

const others = new BroadcastChannel(storageKey);
let secret = stored();

others.addEventListener('message', ({ data }: MessageEvent<Asked>) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel of one origin
  if (data.type === 'asked' && secret !== undefined) others.postMessage({ type: 'told', secret });
});

/** Whether the address holds a token that was not taken yet. */
export function hasToken(): boolean {
  return tokenInHash.test(location.hash);
}

/** Finds the secret, if there is one to be found. */
export async function enter(): Promise<void> {
  const token = takeToken();
  if (token !== undefined) keep((await exchange(token)) ?? secret);
  if (secret === undefined) keep(await askOthers());
}

/** The secret is not good any more: the troupe behind this address is another one. */
export function forget(): void {
  keep(undefined);
}

/** Asks the server, and shows it the secret. */
export function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (secret !== undefined) headers.set('authorization', `Bearer ${secret}`);
  return fetch(path, { credentials: 'omit', cache: 'no-store', ...init, headers });
}

/** Takes the token out of the address, so that it is in no bookmark and no history. */
function takeToken(): string | undefined {
  const [, , token] = tokenInHash.exec(location.hash) ?? [];
  if (token === undefined) return undefined;
  const rest = location.hash.replace(tokenInHash, '$1').replace(/[#?&]$/u, '');
  history.replaceState(null, '', `${location.pathname}${rest}`);
  return token;
}

async function exchange(token: string): Promise<string | undefined> {
  const response = await fetch('api/enter', {
    method: 'POST',
    credentials: 'omit',
    headers: { authorization: `Bearer ${token}` },
  });
  if (!response.ok) return undefined;
  return ((await response.json()) as { readonly secret: string }).secret;
}

function askOthers(): Promise<string | undefined> {
  return new Promise((resolve) => {
    const done = (found: string | undefined): void => {
      clearTimeout(timer);
      others.removeEventListener('message', listen);
      resolve(found);
    };
    const listen = ({ data }: MessageEvent<Asked>): void => {
      if (data.type === 'told') done(data.secret);
    };
    const timer = setTimeout(() => done(undefined), askOthersMs);
    others.addEventListener('message', listen);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel of one origin
    others.postMessage({ type: 'asked' });
  });
}

// Storage may be forbidden for this site; the page then works until it is loaded again.
function stored(): string | undefined {
  try {
    return sessionStorage.getItem(storageKey) ?? undefined;
  } catch {
    return undefined;
  }
}

function keep(next: string | undefined): void {
  secret = next;
  try {
    if (next === undefined) sessionStorage.removeItem(storageKey);
    else sessionStorage.setItem(storageKey, next);
  } catch {
    // As above.
  }
}
