/**
 * Where a host keeps the credentials of logins, instead of the system's keychain and the state
 * folder: an encrypted database, for example.
 *
 * A key is 43 characters of `A-Z a-z 0-9 - _` and reveals nothing. A value is text that contains
 * tokens: at most 256 KB, never interpreted, to be returned as it was stored. With a state folder,
 * the troupes that share it take turns in changing a credential; the folder then holds a record of
 * each without secrets. Each method has ten seconds.
 */
export interface HostCredentials {
  /** Returns the stored value; undefined if there is none. */
  get(key: string): Promise<string | undefined> | string | undefined;
  /** Replaces the value. Resolves once it would survive a crash: the old one may be invalid by then. */
  set(key: string, value: string): Promise<void> | void;
  /** Removes the value. Succeeds if there is none. */
  delete(key: string): Promise<void> | void;
  /**
   * Calls the listener after a value was changed by another process, until the returned function is
   * called. Calls after own changes are allowed. Default: only troupes that share the state folder
   * notice one another's changes.
   */
  listen?(changed: (key: string) => void): () => void;
}
