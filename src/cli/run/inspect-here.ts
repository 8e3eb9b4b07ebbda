/**
 * Runs the inspector for the troupe of this process. Listening starts with the first request for a link.
 * Commands from the page are handled like commands from the socket.
 */

import type { InspectorServer } from '../../../visualizations/server/inspector-server.ts';
import { defined } from '../../domain/data/defined.ts';
import { isRecord } from '../../domain/data/is-record.ts';
import type { HostEvent } from '../../domain/host/event.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { secureUrlFault } from '../../policies/secure-url.ts';
import { wideTokenNote } from '../../policies/text/wide-token.ts';
import type { Troupe } from '../../runtime/troupe.ts';
import { controlHandler } from '../control/commands.ts';
import type { Identity } from '../control/protocol.ts';
import type { ControlArgs, ControlCommand, ProcessCommand } from '../control/schemas.ts';
import type { ControlHandler } from '../control/server.ts';
import { writeAddressFile } from './address-file.ts';

/**
 * What is recorded from the start without any flag, so that a link that is requested after a failure
 * shows it: at most 2 MB, some minutes of a busy troupe.
 */
export const recordedAlways = { maxBytes: 2_000_000 } as const;

/** Runs all commands that do not concern the process of the troupe. */
export type HereHandler = ControlHandler<Exclude<ControlCommand, ProcessCommand>>;

export type InspectHere = ReturnType<typeof inspectHere>;

/** @param port - where to listen; 0 = any free port */
export function inspectHere(troupe: Troupe, identity: Identity, port = 0) {
  let starting: Promise<InspectorServer> | undefined;
  let isOver = false;
  const running = async (): Promise<InspectorServer> => {
    if (isOver) throw new TroupeError('SHUTTING_DOWN', 'the troupe is stopping');
    starting ??= start(troupe, handler, identity.projectRoot, port).catch((error: unknown) => {
      // The next attempt may succeed.
      starting = undefined;
      throw error;
    });
    return starting;
  };
  // All calls are the same user's, who answers at any terminal or on the page.
  const runCommand = controlHandler(troupe, identity, { onQuestion: () => undefined });
  const handler: HereHandler = async (command, args, context) => {
    if (command !== 'inspect') return runCommand(command, args, context);
    const { open = false } = args as ControlArgs['inspect'];
    const inspector = await running();
    const url = inspector.newAddress();
    if (!open) return { url };
    return { url, file: await writeAddressFile(inspector, url, identity.stateFolder) };
  };
  return {
    /** Handles socket commands, including `inspect`. */
    handler,
    /** Returns a link that works once, in one browser. */
    address: async (): Promise<string> => (await running()).newAddress(),
    close(): void {
      isOver = true;
      void starting?.then(
        (inspector) => inspector.close(),
        () => undefined,
      );
    },
  };
}

async function start(
  troupe: Troupe,
  handler: HereHandler,
  title: string,
  port: number,
): Promise<InspectorServer> {
  // Loaded late: most troupes are never inspected.
  const [{ startInspector }, { possibleActs }] = await Promise.all([
    import('../../../visualizations/server/inspector-server.ts'),
    import('../../../visualizations/server/possible-acts.ts'),
  ]);
  troupe.inspection.start();
  const logins = new PageLogins(troupe);
  return startInspector(
    {
      source: troupe.inspection,
      mode: 'live',
      title,
      acts: (server) => possibleActs(troupe, server),
      command: async (name, args, signal) => {
        if (name === 'send') return send(troupe, args);
        if (name === 'cancelLogin') {
          const server = serverIn(args);
          logins.cancel(server);
          return { server };
        }
        if (name === 'login') return logins.begin(serverIn(args), signal);
        return run(handler, name, args, signal);
      },
    },
    { port },
  );
}

/** Commands that a page may send. A page must not change settings, because that could run programs. */
const allowedCommands: ReadonlySet<string> = new Set<ControlCommand>([
  'status',
  'usage',
  'explain',
  'logs',
  'tools',
  'call',
  'questions',
  'answer',
  'plan',
  'approvals',
  'approve',
  'reject',
  'revoke',
  'start',
  'stop',
  'restart',
  'refresh',
  'reload',
  'finishLogin',
  'logout',
]);

/** Commands of the page that the socket lacks or answers later. */
const ownCommands = ['send', 'login', 'cancelLogin'];

/** Host events that are not commands. */
const sendable: ReadonlySet<unknown> = new Set<HostEvent['type']>([
  'server.reconnect',
  'auth.completed',
  'trust.changed',
  'system.woke',
]);

async function run(
  handler: HereHandler,
  name: string,
  args: unknown,
  signal: AbortSignal,
): Promise<unknown> {
  if (!allowedCommands.has(name)) {
    const known = [...allowedCommands, ...ownCommands].join(', ');
    throw argumentsError(`a page cannot send this command; use one of ${known}`);
  }
  // Loaded late: it needs Zod.
  const { checkedCommand } = await import('../control/schemas.ts');
  const checked = checkedCommand(name, args);
  const allowed = checked.command as Parameters<HereHandler>[0];
  return handler(allowed, checked.args, { signal, emit: () => undefined });
}

function serverIn(args: unknown): string {
  const server = isRecord(args) ? args['server'] : undefined;
  if (typeof server === 'string' && server !== '') return server;
  throw argumentsError('args.server must be the name of a server');
}

async function send(troupe: Troupe, args: unknown): Promise<{ readonly sent: string }> {
  const event = isRecord(args) ? args['event'] : undefined;
  if (!isRecord(event) || !sendable.has(event['type'])) {
    const known = [...sendable].join(', ');
    const message = `a page cannot send this event; use one of ${known}`;
    throw argumentsError(message);
  }
  // `troupe.send` validates its other fields.
  troupe.send(event as unknown as HostEvent);
  return { sent: String(event['type']) };
}

/** The policy `auth.loginTimeoutMs` ends the login earlier. */
const loginTimeoutMs = 900_000;

/** The address that the user must open, or the status after a login without a user. */
type BegunLogin =
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
