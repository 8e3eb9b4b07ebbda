/** What a credential is given, and what it shows. */

import type { StepInput } from '../../machines/authorization/authorization-setup.ts';
import type { CredentialId } from '../../src/domain/authorization.ts';
import type { Clock } from '../../src/domain/clock.ts';
import type { CredentialStore } from '../stores/credentials.ts';
import type { Reach } from '../transports/http/proxy-and-tls.ts';
import type { ResolvedOAuth } from '../values/oauth.ts';
import type { DeviceLogin } from './device.ts';

export interface CredentialPorts {
  readonly key: string;
  readonly id: CredentialId;
  readonly server: URL;
  /** How the server is reached now, and thereby its issuer. */
  readonly reach: () => Reach | undefined;
  /** The server's login settings now; undefined if there are none. */
  readonly settings: () => ResolvedOAuth | undefined;
  /** Reads the values of the settings again, because assertions expire. Never rejects. */
  readonly freshSettings: () => Promise<ResolvedOAuth | undefined>;
  readonly store: CredentialStore;
  readonly clock: Clock;
  /**
   * Shows the URL to the user who asked for the login. Resolves with the URL that the user pasted;
   * never resolves if the user only uses the browser. Aborted when the login ends.
   */
  readonly showUrl: (shown: ShownUrl, signal: AbortSignal) => Promise<URL>;
  /** Shows a code to the user, who enters it on another device. */
  readonly showCode: (shown: ShownCode) => void;
}

/** What a user needs for a login in a browser. */
export interface ShownUrl {
  /** Contains the state, so only the user may see it. */
  readonly url: URL;
  readonly scopes: readonly string[];
  /** Whether the issuer offers a login on another device as well. */
  readonly offersDevice: boolean;
  /** The resource that the token is for, if it is not the server's address. */
  readonly resource?: string;
}

/** What a user needs for a login on another device. */
export interface ShownCode
  extends Pick<DeviceLogin, 'url' | 'completeUrl' | 'userCode' | 'lifetimeMs'> {
  readonly scopes: readonly string[];
  /** As in {@link ShownUrl}. */
  readonly resource?: string;
}

/** What a step asks for. */
export type Asked = Pick<StepInput, 'wanted' | 'asksForLess' | 'isOnDevice' | 'isRejected'>;
export type Scopes = Pick<Asked, 'wanted' | 'asksForLess'>;

/** A client is only looked up. */
export const plain: Asked = {
  wanted: [],
  asksForLess: false,
  isOnDevice: false,
  isRejected: false,
};
