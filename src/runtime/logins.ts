/** The logins of a troupe: loaded when a remote server may need one, and driven by the host. */

import type { SessionPorts } from '../../actors/session/ports.ts';
import type { HostEvent } from '../domain/host/event.ts';
import type { ServerStatus } from '../domain/host/status.ts';
import type { ServerState } from '../domain/server-state.ts';
import { argumentsError } from '../domain/user-errors.ts';
import { refusalAtRest } from './calls/gate.ts';
import { checkName } from './options/check.ts';
import { afterFirstPass } from './server-requests.ts';
import type { Services } from './services.ts';
import type { SharedPorts } from './shared-ports.ts';
import type { Troupe, WaitOptions } from './troupe.ts';
// Type-only: loaded late, as below.
import type { Authorizations } from './user/authorizations.ts';

/** Loads the code with the first remote session: it is large, and local servers need none of it. */
export function lazyLogins(shared: SharedPorts) {
  let loading: Promise<Authorizations> | undefined;
  const load = (): Promise<Authorizations> => {
    loading ??= import('./user/authorizations.ts').then((it) => new it.Authorizations(shared));
    return loading;
  };
  const authenticatorFor: SessionPorts['authenticatorFor'] = async (owner, endpoint) =>
    (await load()).authenticatorFor(owner, endpoint);
  return {
    load,
    authenticatorFor,
    async close(): Promise<void> {
      await (await loading)?.close();
    },
  };
}

interface LoginPorts {
  readonly send: (event: HostEvent) => void;
  readonly wait: (
    server: string,
    wanted: string,
    options: WaitOptions,
    matches: (status: ServerStatus) => boolean,
  ) => Promise<ServerStatus>;
}

/** Creates the methods of a troupe that log in and out. */
export function loginRequests(services: Services, { send, wait }: LoginPorts) {
  const { logins, progress } = services;
  return {
    login: async (server, options = {}) => {
      checkName('name of the server', server);
      if (!progress.hasReadSettings()) await afterFirstPass(services, options);
      const authorizations = await logins.load();
      if (!authorizations.knows(server)) {
        // Its first session meets the demand for a login, which names the issuer.
        send({ type: 'server.start', server });
        const isKnownOrEnded = ({ state }: ServerStatus): boolean =>
          authorizations.knows(server) || restingStates.has(state);
        const status = await wait(server, 'asked to log in', options, isKnownOrEnded);
        const error = authorizations.knows(server) ? undefined : refusalAtRest(status);
        if (error !== undefined) throw error;
      }
      await authorizations.login(server, options.signal);
      return wait(server, 'ready', options, ({ state }) => restingStates.has(state));
    },
    finishLogin: async (server, url) => {
      checkName('name of the server', server);
      if (!URL.canParse(url))
        throw argumentsError("the address is not a URL; copy the browser's whole address line");
      (await logins.load()).finishLogin(server, new URL(url));
    },
    logout: async (server) => {
      checkName('name of the server', server);
      await (await logins.load()).logout(server);
      send({ type: 'server.reconnect', server });
    },
    accounts: async () => (await logins.load()).accounts(),
  } satisfies Partial<Troupe>;
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
