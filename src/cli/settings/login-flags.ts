/** Reads the flags of `troupe add` that belong to a login. */

import { defined } from '../../domain/data/defined.ts';
import { usageError } from '../../domain/user-errors.ts';

/** Flags as parsed; absent = not given. */
export interface LoginFlags {
  readonly account?: string;
  readonly oauthClientId?: string;
  /** The name of a variable; a secret never is an argument, which other users can read. */
  readonly oauthClientSecretEnv?: string;
  readonly oauthCallbackPort?: number;
  readonly oauthScope?: readonly string[];
}

type LoginKeys = Readonly<Record<'account' | 'oauth', unknown>>;

/**
 * Returns the keys of the entry; those without a flag are absent.
 * @throws TroupeError `USAGE`
 */
export function loginKeysOf(flags: LoginFlags): Partial<LoginKeys> {
  const { account, oauthClientId, oauthClientSecretEnv, oauthCallbackPort, oauthScope } = flags;
  if (oauthClientSecretEnv !== undefined && oauthClientId === undefined)
    throw usageError('--oauth-client-secret-env belongs to a client; add --oauth-client-id');
  const oauth = defined({
    clientId: oauthClientId,
    clientSecret: oauthClientSecretEnv && referenceTo(oauthClientSecretEnv),
    callbackPort: oauthCallbackPort,
    scopes: oauthScope,
  });
  return defined({ account, oauth: Object.keys(oauth).length === 0 ? undefined : oauth });
}

/** Returns whether any of these flags was given. */
export function hasLoginFlags(flags: LoginFlags): boolean {
  return Object.keys(loginKeysOf(flags)).length > 0;
}

function referenceTo(variable: string): string {
  // The text itself may be the secret.
  if (!/^[A-Za-z_]\w*$/u.test(variable))
    throw usageError(
      '--oauth-client-secret-env takes the name of a variable, such as CLIENT_SECRET, never the secret itself',
    );
  return `\${${variable}}`;
}
