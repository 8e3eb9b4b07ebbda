/** The logins of a troupe, loaded when a remote server may need one. */

import type { SessionPorts } from '../../../actors/session/ports.ts';
import type { SharedPorts } from '../shared-ports.ts';
import type { LoginService, NoteLogin } from './login-service.ts';

export type LazyLogins = ReturnType<typeof lazyLogins>;

/** Loads the code with the first remote session: it is large, and local servers need none of it. */
export function lazyLogins(shared: SharedPorts) {
  let loading: Promise<LoginService> | undefined;
  let loaded: LoginService | undefined;
  let note: NoteLogin = () => undefined;
  const load = (): Promise<LoginService> => {
    loading ??= import('./authorizations.ts').then((it) => {
      loaded = new it.Authorizations(shared, (login, facts) => note(login, facts));
      return loaded;
    });
    return loading;
  };
  const authenticatorFor: SessionPorts['authenticatorFor'] = async (owner, endpoint) =>
    (await load()).authenticatorFor(owner, endpoint);
  return {
    load,
    /** Calls back when a login's actor exists, before it starts, and when other servers share it. */
    follow(next: NoteLogin): void {
      note = next;
    },
    authenticatorFor,
    /** The scopes that a server's refusal named; undefined if no session of it has met one. */
    scopesFor: (server: string) => loaded?.scopesFor(server),
    forCalls: {
      /** Keeps what a server wants of the next login. Only remote sessions have logins, and load them. */
      noteChallenge: (server: string, challenge: string): void => {
        loading?.then((it) => it.noteChallenge(server, challenge)).catch(() => undefined);
      },
    },
    /** Forgets servers that were removed. */
    retain: (isPresent: (server: string) => boolean): void => loaded?.retain(isPresent),
    async close(): Promise<void> {
      await (await loading)?.close();
    },
  };
}
