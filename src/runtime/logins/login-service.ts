/** What the rest of a troupe sees of its logins, whose code is loaded late. */

import type { AnyActorRef } from 'xstate';
import type { SessionOwner } from '../../../actors/session/ports.ts';
import type { RemoteEndpoint } from '../../../actors/transports/http/proxy-and-tls.ts';
import type { Account, Authenticator, StoredLogin } from '../../domain/authorization.ts';
import type { LoginFacts } from '../../domain/host/inspection.ts';
import type { ServerSpec } from '../../domain/server-spec.ts';
import type { LoginOptions } from '../troupe.ts';

/** Shows a login to the inspection: its actor, and who shares it. */
export type NoteLogin = (login: AnyActorRef, facts: LoginFacts) => void;

export interface LoginService {
  /** Returns what authorizes a session; undefined if its settings authorize it or rule it out. */
  authenticatorFor(owner: SessionOwner, endpoint: RemoteEndpoint): Authenticator | undefined;
  /** Whether a session of the server has asked for a token, so that its issuer can be found. */
  knows(server: string): boolean;
  /** The scopes that the server's latest refusal named. */
  scopesFor(server: string): readonly string[] | undefined;
  /**
   * Logs in to a server. The event `auth.started` has the URL that the user must open.
   *
   * @throws TroupeError `AUTH_REQUIRED` with the reason if the login fails; `CANCELLED` if the signal
   *   is aborted
   */
  login(server: string, options?: Omit<LoginOptions, 'timeoutMs'>): Promise<void>;
  /**
   * Passes on the URL to which the browser was redirected, where the browser cannot reach this machine.
   * A URL that does not belong to the login is refused, and the login goes on.
   *
   * @throws TroupeError `USAGE` if no login to the server is waiting for the browser;
   *   `INVALID_ARGUMENTS` for another URL
   */
  finishLogin(server: string, url: URL): void;
  /** Remembers what a tool's result requires of the next login. The call ran, so it is not repeated. */
  noteChallenge(server: string, challenge: string): void;
  /** Revokes and deletes the credential of a server. */
  logout(server: string): Promise<void>;
  /**
   * Revokes and deletes stored logins, whether servers use them or not.
   *
   * @throws TroupeError `USAGE` if there are none
   */
  forget(which: StoredLogin): Promise<void>;
  /**
   * Returns the stored credentials, without secrets.
   *
   * @param specs - all servers, started or not
   */
  accounts(specs: ReadonlyMap<string, ServerSpec | undefined>): Promise<readonly Account[]>;
  /** Forgets servers that were removed, and ends logins that no server uses any more. */
  retain(isPresent: (server: string) => boolean): void;
  /** Resolves after the last save. */
  close(): Promise<void>;
}
