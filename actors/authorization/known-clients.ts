/** Which client a login may use again, so that not every attempt registers another. */

import type { StoredCredential } from '../stores/credentials-record.ts';
import type { Client, StoredClient } from './oauth-client.ts';
import type { StepFailure } from './outcome.ts';

export class KnownClients {
  /** The client that this process registered. */
  #registered: StoredClient | undefined;
  /** The client id that the issuer no longer knows, so that another is registered. */
  #lostId: string | undefined;

  /** The client of an earlier login, or of an earlier attempt. */
  known(stored: StoredCredential | undefined): StoredClient | undefined {
    const earlier = stored && { issuer: stored.issuer, information: stored.client };
    return [earlier, this.#registered].find(
      (each) => each !== undefined && each.information.client_id !== this.#lostId,
    );
  }

  registered(client: StoredClient): void {
    this.#registered = client;
  }

  /** Forgets a client that the issuer no longer knows. */
  note({ code }: StepFailure, { information }: Client): void {
    if (code === 'invalid_client' || code === 'unauthorized_client')
      this.#lostId = information.client_id;
  }
}
