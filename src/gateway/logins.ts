/**
 * Logins that calls of clients need. Only the client whose call needs a login is asked to open the issuer's
 * page; after the login, the call is sent. It has not run before, because its server refused it.
 */

import { randomBytes } from 'node:crypto';
import type { Clock } from '../domain/clock.ts';
import type { TroupeEvents } from '../domain/host/event.ts';
import type { Question, QuestionAnswer } from '../domain/question.ts';
import { TroupeError } from '../domain/troupe-error.ts';
import { argumentsError } from '../domain/user-errors.ts';
import { wideTokenNote } from '../policies/text/wide-token.ts';
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

type Page = Pick<TroupeEvents['auth.started'], 'url' | 'resource'>;

interface Login {
  /** The page to open; undefined if the login ends without a user. */
  readonly page: Promise<Page | undefined>;
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

interface Ports {
  readonly troupe: Pick<Troupe, 'login' | 'on' | 'snapshot' | 'status'>;
  readonly clock: Clock;
  /** Whether clients see a server. Default: they see all. */
  readonly isShown?: (server: string) => boolean;
  /** The tool `log_in` changed, appeared or disappeared. */
  readonly onToolChanged?: () => void;
}

type Item = Readonly<Record<string, unknown>>;

/** Starts a login before there is a call that needs it, because the server has listed no tools yet. */
const toolName = 'log_in';

// The login's own limit (`auth.loginTimeoutMs`) ends the question earlier; this one is only shown.
const shownLimitMs = 300_000;

export class GatewayLogins {
  readonly #ports: Ports;
  readonly #underWay = new Map<string, Login>();
  /** How many logins have succeeded, by server. */
  readonly #succeeded = new Map<string, number>();
  /** Shown servers that require a login. */
  readonly #required = new Set<string>();
  readonly #end: () => void;

  constructor(ports: Ports) {
    this.#ports = ports;
    const { troupe } = ports;
    for (const { name } of troupe.snapshot().servers) this.#look(name);
    this.#end = troupe.on('status.changed', ({ status }) => this.#look(status.name));
  }

  close(): void {
    this.#end();
  }

  /** Called when servers may have been removed, or shown or hidden by a view, which have no further status. */
  lookAgain(): void {
    const servers = this.#ports.troupe.snapshot().servers.map(({ name }) => name);
    for (const name of new Set([...this.#required, ...servers])) this.#look(name);
  }

  /** Adds the tool while a server requires a login. A server's own tool of that name takes precedence. */
  beside(listed: readonly Item[]): readonly Item[] {
    const servers = [...this.#required].toSorted();
    if (servers.length === 0 || !this.has(toolName, listed)) return listed;
    const server = {
      type: 'string',
      enum: servers,
      description: 'The server that requires a login.',
    };
    const item = {
      name: toolName,
      description:
        'Asks the user to log in to a server in a browser, and waits for it. A server lists its tools after its first login.',
      inputSchema: { type: 'object', properties: { server }, required: ['server'] },
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    };
    return [...listed, item];
  }

  /** Whether a name means the tool. */
  has(exposed: string, listed: readonly Item[]): boolean {
    return exposed === toolName && !listed.some(({ name }) => name === toolName);
  }

  /** The server that a call of the tool is about. @throws TroupeError `INVALID_ARGUMENTS` */
  serverIn({ server }: Item): string {
    const { troupe, isShown = () => true } = this.#ports;
    if (typeof server === 'string' && isShown(server) && troupe.status(server) !== undefined)
      return server;
    const servers = [...this.#required].toSorted();
    const which = servers.length === 0 ? 'No server does now' : `These do: ${servers.join(', ')}`;
    throw argumentsError(`"server" must be the name of a server that requires a login. ${which}.`);
  }

  /** What the tool answers once the server needs no login. @throws TroupeError `AUTH_REQUIRED` until then */
  answer(server: string): { readonly content: readonly Item[] } {
    const { state = 'stopped', tools = 0 } = this.#ports.troupe.status(server) ?? {};
    if (state === 'authRequired') {
      const message = `${server} requires a login. Run: troupe login ${server}`;
      throw new TroupeError('AUTH_REQUIRED', message, { server, outcome: 'not_executed' });
    }
    const count = tools === 1 ? '1 tool' : `${tools} tools`;
    const text = `${server} requires no login now. It is ${state} and has ${count}; list the tools to see them.`;
    return { content: [{ type: 'text', text }] };
  }

  #look(name: string): void {
    const { troupe, isShown = () => true, onToolChanged } = this.#ports;
    const isRequired = isShown(name) && troupe.status(name)?.state === 'authRequired';
    if (isRequired === this.#required.has(name)) return;
    if (isRequired) this.#required.add(name);
    else this.#required.delete(name);
    onToolChanged?.();
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
      const page = await orCancelled(login.page, signal, server);
      if (page !== undefined)
        await orCancelled(this.#ask(login, opener, server, page), signal, server);
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
    const shown = new Promise<Page>((resolve) => {
      end = troupe.on('auth.started', (event) => {
        if (event.server === server) resolve(event);
      });
    });
    const over = troupe.login(server, { signal: stop.signal, joins: true });
    const login: Login = {
      page: Promise.race([
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
  async #ask(login: Login, opener: PageOpener, server: string, page: Page): Promise<void> {
    const { client } = opener;
    let answer: QuestionAnswer | undefined;
    do {
      const known = client && login.answers.get(client);
      const asked = known ?? this.#askNow(login, opener, server, page);
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
    { url, resource }: Page,
  ): Promise<QuestionAnswer | undefined> {
    const nowMs = this.#ports.clock.wallNow();
    const note = resource === undefined ? '' : ` Note: ${wideTokenNote(server, resource)}.`;
    const question: Question = {
      kind: 'url',
      id: `login-${randomBytes(8).toString('hex')}`,
      server,
      message: `${server} requires a login. Open this address in a browser on this machine and log in; the call then continues.${note}`,
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
