/**
 * Logins that the inspector's page starts. The page gets the address to open and shows the rest from its
 * records, so a login continues when the page is reloaded.
 */

import { defined } from '../../domain/data/defined.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { secureUrlFault } from '../../policies/secure-url.ts';
import { wideTokenNote } from '../../policies/text/wide-token.ts';
import type { Troupe } from '../../runtime/troupe.ts';

/** The policy `auth.loginTimeoutMs` ends the login earlier. */
const loginTimeoutMs = 900_000;

/** The address that the user must open, or the status after a login without a user. */
export type BegunLogin =
  /** `after`: the last record before the wait for the user. */
  | { readonly url: string; readonly after: number; readonly note?: string }
  | { readonly status: ServerStatus; readonly url?: undefined };

export class PageLogins {
  readonly #troupe: Pick<Troupe, 'login' | 'on' | 'inspection'>;
  readonly #running = new Map<string, AbortController>();

  constructor(troupe: Pick<Troupe, 'login' | 'on' | 'inspection'>) {
    this.#troupe = troupe;
  }

  /**
   * Starts a login, in place of the one that the page started before. An abort of the signal after the
   * address is known has no effect.
   *
   * @throws TroupeError as `Troupe.login` does, if the login ends before it needs the user
   */
  async begin(server: string, signal: AbortSignal): Promise<BegunLogin> {
    this.#running.get(server)?.abort();
    const over = new AbortController();
    this.#running.set(server, over);
    const abort = (): void => over.abort();
    signal.addEventListener('abort', abort, { once: true });
    let unlisten = (): void => undefined;
    const started = new Promise<BegunLogin>((resolve) => {
      unlisten = this.#troupe.on('auth.started', (event) => {
        const { url, resource } = event;
        if (event.server !== server) return;
        const note = resource === undefined ? undefined : wideTokenNote(server, resource);
        resolve({ url, after: this.#troupe.inspection.last, ...defined({ note }) });
      });
    });
    const ended = this.#finish(server, over);
    try {
      const begun = await Promise.race([started, ended]);
      if (begun.url !== undefined) refuseUnlessSafe(server, begun.url);
      return begun;
    } catch (error) {
      over.abort();
      throw error;
    } finally {
      unlisten();
      signal.removeEventListener('abort', abort);
      // The page shows later failures from its records.
      ended.catch(() => undefined);
    }
  }

  /** @throws TroupeError `USAGE` if the page has started no login to the server, or it is over */
  cancel(server: string): void {
    const running = this.#running.get(server);
    if (running === undefined) {
      const message = `no page waits for a login to ${server}; end it where it was started`;
      throw new TroupeError('USAGE', message, { server });
    }
    running.abort();
  }

  async #finish(server: string, over: AbortController): Promise<BegunLogin> {
    try {
      const { signal } = over;
      return { status: await this.#troupe.login(server, { signal, timeoutMs: loginTimeoutMs }) };
    } finally {
      if (this.#running.get(server) === over) this.#running.delete(server);
    }
  }
}

function refuseUnlessSafe(server: string, url: string): void {
  const fault = secureUrlFault(new URL(url));
  if (fault === undefined) return;
  throw new TroupeError('UNAVAILABLE', `the address for the login to ${server} ${fault}`, {
    server,
  });
}
