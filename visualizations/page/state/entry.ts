/**
 * The secret that authorizes this page. It stays with this tab and this address: unlike a cookie, the
 * browser never sends it by itself, and no other port of this machine gets it.
 *
 * It comes from the address's token, which is exchanged once; from this tab's storage after a reload;
 * or from another open tab of the same address.
 */

const storageKey = 'troupe-inspector-secret';
// Another tab answers within a few milliseconds, if there is one; on a busy machine it may answer later.
const askOthersMs = 250;
const tokenInHash = /([#?&])token=([\w-]*)&?/u;

type Asked = { readonly type: 'asked' } | { readonly type: 'told'; readonly secret: string };

const others = new BroadcastChannel(storageKey);
let secret = stored();
let asking: AbortController | undefined;

others.addEventListener('message', ({ data }: MessageEvent<Asked>) => {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel of one origin
  if (data.type === 'asked' && secret !== undefined) others.postMessage({ type: 'told', secret });
});

/** Says whether the address holds an unused token. */
export function hasToken(): boolean {
  return tokenInHash.test(location.hash);
}

/** Obtains the secret, if there is one. Calls `onLate` if another tab provides it after this has resolved. */
export async function enter(onLate: () => void): Promise<void> {
  const token = takeToken();
  if (token !== undefined) keep((await exchange(token)) ?? secret);
  if (secret === undefined) keep(await askOthers(onLate));
}

/** Forgets the secret, which is no longer valid: another troupe runs at this address. */
export function forget(): void {
  keep(undefined);
}

/** Sends a request with the secret to the server. */
export function request(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (secret !== undefined) headers.set('authorization', `Bearer ${secret}`);
  return fetch(path, { credentials: 'omit', cache: 'no-store', ...init, headers });
}

/** Removes the token from the address, so that it gets into no bookmark or history. */
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

/** Resolves with the first answer, or with nothing after a while; an answer after that is kept too. */
function askOthers(onLate: () => void): Promise<string | undefined> {
  asking?.abort();
  const question = new AbortController();
  asking = question;
  return new Promise((resolve) => {
    let isLate = false;
    const timer = setTimeout(() => {
      isLate = true;
      resolve(undefined);
    }, askOthersMs);
    const listen = ({ data }: MessageEvent<Asked>): void => {
      if (data.type !== 'told') return;
      question.abort();
      clearTimeout(timer);
      resolve(data.secret);
      if (!isLate || secret !== undefined) return;
      keep(data.secret);
      onLate();
    };
    others.addEventListener('message', listen, { signal: question.signal });
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel of one origin
    others.postMessage({ type: 'asked' });
  });
}

// Storage may be disabled for this site; the page then works until it is reloaded.
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
