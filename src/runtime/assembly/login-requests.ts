/** The methods of a troupe that log in and out. */

import { type Clock, longestTimerMs, startDeadline } from '../../domain/clock.ts';
import type { HostEvent } from '../../domain/host/event.ts';
import type { ServerStatus } from '../../domain/host/status.ts';
import { isRemote, type RemoteSpec, type ServerSpec } from '../../domain/server-spec.ts';
import type { ServerState } from '../../domain/server-state.ts';
import type { DesiredServer } from '../../domain/settings.ts';
import { TroupeError } from '../../domain/troupe-error.ts';
import { argumentsError } from '../../domain/user-errors.ts';
import { refusalAtRest } from '../calls/gate.ts';
import type { DesiredBook } from '../desired/book.ts';
import type { LoginService } from '../logins/login-service.ts';
import type { LazyLogins } from '../logins/logins.ts';
import { checkName } from '../options/check.ts';
import type { StatusBoard } from '../status/board.ts';
import type { Troupe, WaitOptions } from '../troupe.ts';
import { afterFirstPass, type FirstPassPorts } from '../waits/for-status.ts';

/** The parts of a troupe that logins use. */
interface LoginServices extends FirstPassPorts {
  readonly logins: Pick<LazyLogins, 'load'>;
  readonly board: StatusBoard;
  readonly book: DesiredBook;
}

interface LoginPorts {
  readonly send: (event: HostEvent) => void;
  readonly clock: Clock;
  readonly wait: (
    server: string,
    wanted: string,
    options: WaitOptions,
    matches: (status: ServerStatus) => boolean,
  ) => Promise<ServerStatus>;
}

/** Creates the methods of a troupe that log in and out. */
export function loginRequests(services: LoginServices, { send, wait, clock }: LoginPorts) {
  const { logins, progress, board, book } = services;
  /** Resolves once a session of the server has met the demand for a login, which names the issuer. */
  const afterDemand = async (server: string, options: WaitOptions): Promise<LoginService> => {
    checkName('name of the server', server);
    const { signal, timeoutMs = Number.POSITIVE_INFINITY } = options;
    if (!progress.hasReadSettings())
      await afterFirstPass(services, { signal, deadlineAt: clock.now() + timeoutMs });
    const desired = book.of(server);
    if (desired !== undefined) refuseWithoutLogin(desired, book.specOf(desired.generation));
    const authorizations = await logins.load();
    const isKnown = (): boolean => authorizations.knows(server);
    // A server that demanded a login in an earlier run was not asked in this one.
    const isUnasked = board.status(server)?.state === 'authRequired';
    if (!isKnown()) send({ type: isUnasked ? 'server.reconnect' : 'server.start', server });
    const status = await wait(server, 'asked to log in', options, ({ state }) =>
      isKnown() ? !startingStates.has(state) : restingStates.has(state),
    );
    const error = isKnown() ? undefined : refusalAtRest(status);
    if (error !== undefined) throw error;
    return authorizations;
  };
  return {
    login: async (server, options = {}) => {
      const authorizations = await afterDemand(server, options);
      await inTime(clock, server, options, (signal) =>
        authorizations.login(server, { ...options, signal }),
      );
      return wait(server, 'ready', options, ({ state }) => restingStates.has(state));
    },
    finishLogin: async (server, url) => {
      checkName('name of the server', server);
      if (!URL.canParse(url))
        throw argumentsError("the address is not a URL; copy the browser's whole address line");
      (await logins.load()).finishLogin(server, new URL(url));
    },
    async logout(which) {
      if (typeof which === 'string') return (await afterDemand(which, {})).logout(which);
      return (await logins.load()).forget(which);
    },
    async accounts() {
      if (!progress.hasReadSettings()) await afterFirstPass(services);
      const servers = board.statuses();
      const named = servers.map(({ name, generation }) => [name, book.specOf(generation)] as const);
      return (await logins.load()).accounts(new Map(named));
    },
  } satisfies Partial<Troupe>;
}

/** Ends a login whose user takes longer than its caller waits. */
async function inTime(
  clock: Clock,
  server: string,
  { signal, timeoutMs }: WaitOptions,
  login: (signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const late = new AbortController();
  const end = startDeadline(clock, timeoutMs ?? longestTimerMs, () => late.abort());
  try {
    await login(AbortSignal.any([late.signal, ...(signal === undefined ? [] : [signal])]));
  } catch (error) {
    if (!late.signal.aborted || signal?.aborted === true) throw error;
    const message = `no one completed the login to ${server} in time`;
    throw new TroupeError('TIMEOUT_WAITING', message, { server, retryable: true });
  } finally {
    end();
  }
}

/** The states in which a server stays until something outside it changes. */
const restingStates: ReadonlySet<ServerState> = new Set([
  'ready',
  'degraded',
  'authRequired',
  'blocked',
  'disabled',
  'failed',
  'suspended',
  'stopped',
]);

const startingStates: ReadonlySet<ServerState> = new Set(['queued', 'connecting', 'loadingTools']);

/** @throws TroupeError `USAGE` if the settings leave nothing to log in to */
function refuseWithoutLogin(desired: DesiredServer, spec: ServerSpec | undefined): void {
  const { name: server, transport, source, invalid } = desired;
  if (invalid !== undefined) return;
  const { file, line } = source;
  const place = file === undefined ? '' : ` (${[file, line].join(':')})`;
  const why = isRemote(transport)
    ? spec !== undefined && 'url' in spec && loginRuledOut(spec, place)
    : 'only remote servers have logins';
  if (typeof why !== 'string') return;
  throw new TroupeError('USAGE', `${server} uses no login: ${why}`, { server });
}

function loginRuledOut({ oauth, headers, values }: RemoteSpec, place: string): string | undefined {
  if (oauth === false) return `its settings have "oauth": false${place}; remove it to log in`;
  const keys = (values?.commands ?? []).map(({ key }) => key.replace('headers.', ''));
  const header = [...Object.keys(headers), ...keys].find(
    (each) => each.toLowerCase() === 'authorization',
  );
  if (header === undefined) return undefined;
  return `its settings have the header "${header}"${place}; replace its value, or remove it to log in`;
}
