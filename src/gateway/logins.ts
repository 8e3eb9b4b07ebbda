/**
 * Logins that calls of clients need. Only the client whose call needs a login is asked to open the issuer's
 * page; after the login, the call is sent. It has not run before, because its server refused it.
 */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../domain/clock.ts';
import type { Question, QuestionAnswer } from '../domain/question.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import type { Troupe } from '../runtime/troupe.ts';

/** The client of a call, which can open pages. */
export interface PageOpener {
  /** Several calls of one client ask it once. Undefined: the client is unknown, so each call asks. */
  readonly client: object | undefined;
  readonly ask: (question: Question, signal: AbortSignal) => Promise<QuestionAnswer>;
  /** The login that a question was about is over. */
  readonly completed: (question: Question) => void;
  /** Fires when the call is cancelled. */
  readonly signal: AbortSignal;
}

interface Login {
  /** The address to open; undefined if the login ends without a user. */
  readonly url: Promise<string | undefined>;
  readonly over: Promise<unknown>;
  /** Cancels the login, unless another caller waits for it. */
  readonly cancel: () => void;
  /** How many calls wait. */
  calls: number;
  /** Open and answered questions, by client. Undefined: the call that asked was cancelled. */
  readonly answers: Map<object, Promise<QuestionAnswer | undefined>>;
  /** Fires when an unknown client declines, which counts for all of them. */
  readonly declined: AbortController;
}

type Ports = { readonly troupe: Pick<Troupe, 'login' | 'on'>; readonly clock: Clock };

// The login's own limit (`auth.loginTimeoutMs`) ends the question earlier; this one is only shown.
const shownLimitMs = 300_000;

export class GatewayLogins {
  readonly #ports: Ports;
  readonly #underWay = new Map<string, Login>();
  /** How many logins have succeeded, by server. */
  readonly #succeeded = new Map<string, number>();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  /** Runs a request; if it needs a login that the client completes, runs it once more. */
  async around<Result>(
    server: string,
    opener: PageOpener | undefined,
    run: () => Promise<Result>,
  ): Promise<Result> {
    const before = this.#succeeded.get(server);
    try {
      return await run();
    } catch (error) {
      if (opener === undefined || !needsLogin(error)) throw error;
      // Another call's login may have ended since this one was refused.
      if (this.#succeeded.get(server) === before) await this.#logIn(server, opener, error);
    }
    return run();
  }

  async #logIn(server: string, opener: PageOpener, refusal: TroupeError): Promise<void> {
    const { signal } = opener;
    const login = this.#underWay.get(server) ?? this.#begin(server);
    login.calls += 1;
    try {
      const url = await orCancelled(login.url, signal, server);
      if (url !== undefined)
        await orCancelled(this.#ask(login, opener, server, url), signal, server);
      await orCancelled(login.over, signal, server);
    } catch (error) {
      // The server's settings leave nothing to log in to, so the refusal has the remedy.
      throw error instanceof TroupeError && error.code === 'USAGE' ? refusal : error;
    } finally {
      login.calls -= 1;
      if (login.calls === 0) {
        if (this.#underWay.get(server) === login) this.#underWay.delete(server);
        login.cancel();
      }
    }
  }

  #begin(server: string): Login {
    const { troupe } = this.#ports;
    const stop = new AbortController();
    let end = (): void => undefined;
    const shown = new Promise<string>((resolve) => {
      end = troupe.on('auth.started', (event) => {
        if (event.server === server) resolve(event.url);
      });
    });
    const over = troupe.login(server, { signal: stop.signal, joins: true });
    const login: Login = {
      url: Promise.race([
        shown,
        over.then(
          () => undefined,
          () => undefined,
        ),
      ]),
      over,
      cancel: () => stop.abort(),
      calls: 0,
      answers: new Map(),
      declined: new AbortController(),
    };
    this.#underWay.set(server, login);
    const forget = (): void => {
      end();
      if (this.#underWay.get(server) === login) this.#underWay.delete(server);
    };
    over.then(
      () => {
        this.#succeeded.set(server, (this.#succeeded.get(server) ?? 0) + 1);
        forget();
      },
      // Each call that waits reports the failure.
      forget,
    );
    return login;
  }

  /** Resolves when the client opens the page. @throws TroupeError `AUTH_REQUIRED` if it declines */
  async #ask(login: Login, opener: PageOpener, server: string, url: string): Promise<void> {
    const { client } = opener;
    let answer: QuestionAnswer | undefined;
    do {
      const known = client && login.answers.get(client);
      const asked = known ?? this.#askNow(login, opener, server, url);
      if (client !== undefined) login.answers.set(client, asked);
      answer = await asked;
      // The call that asked was cancelled; the next one asks.
      if (answer === undefined && client !== undefined && login.answers.get(client) === asked)
        login.answers.delete(client);
    } while (answer === undefined && !opener.signal.aborted);
    if (answer?.action === 'accept' || opener.signal.aborted) return;
    if (client === undefined) login.declined.abort();
    const message = `The login to ${server} was declined. Call again to be asked again, or run: troupe login ${server}`;
    throw new TroupeError('AUTH_REQUIRED', message, { server });
  }

  async #askNow(
    login: Login,
    { ask, completed, signal }: PageOpener,
    server: string,
    url: string,
  ): Promise<QuestionAnswer | undefined> {
    const nowMs = this.#ports.clock.wallNow();
    const question: Question = {
      kind: 'url',
      id: `login-${randomBytes(8).toString('hex')}`,
      server,
      message: `${server} requires a login. Open this address in a browser on this machine and log in; the call then continues.`,
      url,
      askedAt: new Date(nowMs).toISOString(),
      deadlineAt: new Date(nowMs + shownLimitMs).toISOString(),
    };
    const report = (): void => completed(question);
    login.over.then(report, report);
    const answer = await ask(question, login.declined.signal);
    return signal.aborted ? undefined : answer;
  }
}

/** Whether a login may help, and the request certainly has not run. */
function needsLogin(error: unknown): error is TroupeError {
  return (
    error instanceof TroupeError &&
    error.code === 'AUTH_REQUIRED' &&
    error.outcome === 'not_executed'
  );
}

/** @throws TroupeError `CANCELLED` when the signal fires first */
async function orCancelled<Value>(
  value: Promise<Value>,
  signal: AbortSignal,
  server: string,
): Promise<Value> {
  let cancel = (): void => undefined;
  const cancelled = new Promise<never>((_resolve, reject) => {
    cancel = () => {
      const message = `The call was cancelled before the login to ${server} was complete.`;
      reject(new TroupeError('CANCELLED', message, { server }));
    };
  });
  signal.addEventListener('abort', cancel, { once: true });
  if (signal.aborted) cancel();
  try {
    return await Promise.race([value, cancelled]);
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}
